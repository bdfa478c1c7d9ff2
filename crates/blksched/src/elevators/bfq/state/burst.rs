//! A queue's creation, and the current burst.
//!
//! **Rule** Queues created shortly after one another are a burst; with eight or more it is large.
//! **Origin** docs/behaviour/elevators-6.1.md#b8.
//! **In the kernel** `burst_list`, `burst_size`, `large_burst`, `last_ins_in_burst`, `in_large_burst`,
//! `bfq_reset_burst_list`, `creation_time`, `split_time`, `just_created`.

use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::links::{Head, Links};
use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO};
use crate::request::Waiter;

/// A queue's creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    pub(crate) made: Jiffy,
    /// When it was split off a shared queue.
    pub(crate) split: Jiffy,
    /// Whether it has not had a request yet.
    pub(crate) is_new: bool,
    pub(crate) in_large_burst: bool,
}

impl Birth {
    pub(crate) fn new(now: Jiffy, waiter: Waiter) -> Birth {
        Birth { made: now, split: LONG_AGO, is_new: waiter == Waiter::Sync, in_large_burst: false }
    }
}

/// The current burst, or the last one.
#[derive(Clone, Debug)]
pub(crate) struct Burst {
    pub(crate) is_large: bool,
    /// Its queues, while it is not large.
    pub(crate) members: Head,
    pub(crate) links: Links,
    /// The number of queues counted in it.
    pub(crate) size: u32,
    pub(crate) last_joined: Jiffy,
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

    pub(crate) fn join_again(&mut self, q: Qid) {
        self.links.push_front(&mut self.members, q);
    }

    pub(crate) fn leave(&mut self, q: Qid) {
        self.links.remove(&mut self.members, q);
    }

    /// Uncounts a released member that belonged to a single process.
    pub(crate) fn uncount(&mut self) {
        self.size = self.size.saturating_sub(1);
    }

    pub(crate) fn begin_anew(&mut self) {
        self.is_large = false;
        while let Some(q) = self.members.first() {
            self.leave(q);
        }
        self.size = 0;
    }
}
