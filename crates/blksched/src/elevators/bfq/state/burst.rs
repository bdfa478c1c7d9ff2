//! Large bursts: many queues created at once are the parallel start of an application or a service; no person waits for
//! a single one of them.
//!
//! **Rule** Queues created within 180 ms of each other are a burst; at the eighth it is a large one, and none of its
//! queues is raised. A queue that was idle for 10 s leaves its burst.
//! In 4.19 every new queue counts; later the first counts only if no queue is busy.
//! **Origin** docs/behaviour/elevators-6.1.md#b8 and #b10; docs/behaviour/elevators-4.19-5.15.md#y11; kernel
//! documentation, `block/bfq-iosched.rst`, "low_latency".
//! **Costs when wrong** a shell script's helpers are each served as if a person waited for them.
//! **In the kernel** `bfq_handle_burst`, `bfq_add_to_burst`, `bfq_reset_burst_list`, `burst_list`, `burst_size`,
//! `large_burst`, `last_ins_in_burst`.

use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::links::{Head, Links};
use crate::elevators::bfq::rules::BurstOf;
use crate::elevators::bfq::state::queue::Queues;
use crate::elevators::bfq::timeouts::{Call, Jiffy, LONG_AGO, Timeouts};
use crate::explain::Reason;

/// This many queues are a large burst.
const LARGE: u32 = 8;

/// The current burst, or the last one.
#[derive(Clone, Debug)]
pub(crate) struct Burst {
    is_large: bool,
    /// Its queues, while it is not large.
    members: Head,
    links: Links,
    /// The number of queues counted in it.
    size: u32,
    last_joined: Jiffy,
}

impl Burst {
    pub(crate) fn new() -> Burst {
        let links = Links::default();
        Burst { is_large: false, members: Head::default(), links, size: 0, last_joined: LONG_AGO }
    }

    pub(crate) fn reserve(&mut self, queues: usize) {
        self.links.reserve(queues);
    }

    pub(crate) fn is_large(&self) -> bool {
        self.is_large
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.size > 0
    }

    pub(crate) fn has(&self, q: Qid) -> bool {
        self.links.contains(q)
    }

    /// Adds a new queue to the burst, if it belongs to one, at its first request. `lone`: no queue is busy.
    pub(crate) fn handle(
        &mut self,
        call: &mut Call<'_>,
        queues: &mut Queues,
        q: Qid,
        (rule, lone): (BurstOf, bool),
        timeouts: &Timeouts,
    ) {
        let birth = queues[q].birth;
        let is_known = self.has(q) || birth.in_large_burst();
        // A queue just created by a split belongs to an old process.
        if is_known || birth.was_split_within(call.now, timeouts.just_split) {
            return;
        }
        if call.now > self.last_joined + timeouts.burst {
            self.begin_anew();
            // No source says why the first queue of a burst counts only if no queue is busy; kept.
            if rule == BurstOf::AllNew || lone {
                self.join_again(q);
                self.size = 1;
            }
        } else if self.is_large {
            mark_large(call, queues, q);
        } else {
            self.size += 1;
            if self.size == LARGE {
                self.become_large(call, queues, q);
            } else {
                self.join_again(q);
            }
        }
        self.last_joined = call.now;
    }

    fn become_large(&mut self, call: &mut Call<'_>, queues: &mut Queues, q: Qid) {
        self.is_large = true;
        while let Some(member) = self.members.first() {
            self.leave(member);
            mark_large(call, queues, member);
        }
        mark_large(call, queues, q);
    }

    pub(crate) fn join_again(&mut self, q: Qid) {
        self.links.push_front(&mut self.members, q);
    }

    pub(crate) fn leave(&mut self, q: Qid) {
        self.links.remove(&mut self.members, q);
    }

    /// Removes a queue that is released. One that belonged to a `sole` process is uncounted, so that processes that
    /// start and exit one after another do not form a burst. No source says why a shared one is not.
    pub(crate) fn released(&mut self, q: Qid, sole: bool) {
        if self.has(q) {
            self.leave(q);
            self.size = if sole { self.size.saturating_sub(1) } else { self.size };
        }
    }

    fn begin_anew(&mut self) {
        self.is_large = false;
        while let Some(q) = self.members.first() {
            self.leave(q);
        }
        self.size = 0;
    }
}

fn mark_large(call: &mut Call<'_>, queues: &mut Queues, q: Qid) {
    queues[q].birth.join_large_burst();
    call.explain(Reason::InLargeBurst { owner: queues[q].owner() });
}
