//! Large bursts: many queues made at once are one application's parallel start, or a service's, and nothing that
//! somebody waits for on its own.
//!
//! **Rule** Queues made within 180 ms of each other are a burst; at the eighth it is a large one, and none of its
//! queues is raised. Who was idle for 10 s leaves its burst.
//! **Origin** docs/behaviour/elevators-6.1.md#b10; kernel documentation, `block/bfq-iosched.rst`, "low_latency".
//! **Costs when wrong** a shell script's helpers are each served as if somebody waited for them.
//! **In the kernel** `bfq_handle_burst`, `bfq_add_to_burst`, `large_burst`, `burst_list`, `in_large_burst`.

#![doc(alias = "bfq_handle_burst")]
#![doc(alias = "bfq_add_to_burst")]
#![doc(alias = "large_burst")]
#![doc(alias = "burst_list")]
#![doc(alias = "in_large_burst")]

use super::Bfq;
use super::links::{Head, Links};
use super::qid::Qid;
use super::terms::{Call, Jiffy, LONG_AGO};
use crate::explain::Reason;
use crate::request::Waiter;

/// This many queues are a large burst.
const LARGE: u32 = 8;

/// What is known of a queue's beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub(super) made: Jiffy,
    /// When its process got it back from a shared one.
    pub(super) split: Jiffy,
    /// It has not had a request yet.
    pub(super) is_new: bool,
    pub(super) in_large_burst: bool,
}

impl Birth {
    pub(super) fn new(now: Jiffy, waiter: Waiter) -> Birth {
        Birth { made: now, split: LONG_AGO, is_new: waiter == Waiter::Sync, in_large_burst: false }
    }
}

/// The burst that is on, or was last.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    is_large: bool,
    /// Its queues, as long as it is not large.
    members: Head,
    links: Links,
    /// How many queues it has had.
    size: u32,
    last_joined: Jiffy,
}

impl Burst {
    pub(super) fn new() -> Burst {
        let links = Links::default();
        Burst { is_large: false, members: Head::default(), links, size: 0, last_joined: LONG_AGO }
    }

    pub(super) fn reserve(&mut self, queues: usize) {
        self.links.reserve(queues);
    }

    pub(super) fn is_large(&self) -> bool {
        self.is_large
    }

    pub(super) fn has_begun(&self) -> bool {
        self.size > 0
    }

    pub(super) fn has(&self, q: Qid) -> bool {
        self.links.contains(q)
    }

    pub(super) fn join_again(&mut self, q: Qid) {
        self.links.push_front(&mut self.members, q);
    }

    pub(super) fn leave(&mut self, q: Qid) {
        self.links.remove(&mut self.members, q);
    }

    /// A member that one process had is gone: it does not count.
    pub(super) fn uncount(&mut self) {
        self.size = self.size.saturating_sub(1);
    }

    fn begin_anew(&mut self) {
        self.is_large = false;
        while let Some(q) = self.members.first() {
            self.leave(q);
        }
        self.size = 0;
    }
}

impl Bfq {
    /// The first request of a new queue: does it belong to a burst?
    pub(super) fn meet_burst(&mut self, call: &mut Call<'_, '_>, q: Qid) {
        let birth = self.queues[q].birth;
        let is_known = self.burst.has(q) || birth.in_large_burst;
        if is_known || birth.split + self.terms.just_split >= call.now {
            return;
        }
        if call.now > self.burst.last_joined + self.terms.burst {
            self.burst.begin_anew();
            if self.busy_queues() == 0 {
                self.burst.join_again(q);
                self.burst.size = 1;
            }
        } else if self.burst.is_large {
            self.mark_large(call, q);
        } else {
            self.burst.size += 1;
            if self.burst.size == LARGE {
                self.become_large(call, q);
            } else {
                self.burst.join_again(q);
            }
        }
        self.burst.last_joined = call.now;
    }

    fn become_large(&mut self, call: &mut Call<'_, '_>, q: Qid) {
        self.burst.is_large = true;
        while let Some(member) = self.burst.members.first() {
            self.burst.leave(member);
            self.mark_large(call, member);
        }
        self.mark_large(call, q);
    }

    fn mark_large(&mut self, call: &mut Call<'_, '_>, q: Qid) {
        self.queues[q].birth.in_large_burst = true;
        call.explain(Reason::InLargeBurst { owner: self.queues[q].owner });
    }
}
