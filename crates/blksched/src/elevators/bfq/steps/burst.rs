//! Large bursts: many queues created at once are the parallel start of an application or a service; no person waits for
//! a single one of them.
//!
//! **Rule** Queues created within 180 ms of each other are a burst; at the eighth it is a large one, and none of its
//! queues is raised. A queue that was idle for 10 s leaves its burst.
//! In 4.19 every new queue counts; later the first counts only if no queue is busy.
//! **Origin** docs/behaviour/elevators-6.1.md#b10; docs/behaviour/elevators-4.19-5.15.md#y11; kernel documentation,
//! `block/bfq-iosched.rst`, "low_latency".
//! **Costs when wrong** a shell script's helpers are each served as if a person waited for them.
//! **In the kernel** `bfq_handle_burst`, `bfq_add_to_burst`, `large_burst`, `burst_list`, `in_large_burst`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::BurstOf;
use crate::elevators::bfq::timeouts::Call;
use crate::explain::Reason;

/// This many queues are a large burst.
const LARGE: u32 = 8;

impl Bfq {
    /// Adds a new queue to the burst, if it belongs to one, at its first request.
    pub(super) fn handle_burst(&mut self, call: &mut Call<'_>, q: Qid) {
        let birth = self.queues[q].birth;
        let is_known = self.burst.has(q) || birth.in_large_burst;
        // A queue just created by a split belongs to an old process.
        if is_known || birth.split + self.timeouts.just_split >= call.now {
            return;
        }
        if call.now > self.burst.last_joined + self.timeouts.burst {
            self.burst.begin_anew();
            // No source says why the first queue of a burst counts only if no queue is busy; kept.
            if self.rules.burst_of == BurstOf::AllNew || self.busy_queues() == 0 {
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

    fn become_large(&mut self, call: &mut Call<'_>, q: Qid) {
        self.burst.is_large = true;
        while let Some(member) = self.burst.members.first() {
            self.burst.leave(member);
            self.mark_large(call, member);
        }
        self.mark_large(call, q);
    }

    fn mark_large(&mut self, call: &mut Call<'_>, q: Qid) {
        self.queues[q].birth.in_large_burst = true;
        call.explain(Reason::InLargeBurst { owner: self.queues[q].owner });
    }
}
