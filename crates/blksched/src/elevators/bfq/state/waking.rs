//! A queue's waker, and the queues that it wakes.
//!
//! **Rule** A queue is the waker of this one if one of its requests completed right before a request of this one
//! arrived, three times within 128 idle times.
//! **Origin** docs/behaviour/elevators-6.1.md#b9.
//! **In the kernel** `waker_bfqq`, `woken_list`, `tentative_waker_bfqq`, `num_waker_detections`,
//! `last_completed_rq_bfqq`.

use alloc::vec::Vec;

use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::links::{Head, Links};

const TIMES: u32 = 3;

/// One queue's waker, and the queues that it wakes.
#[derive(Clone, Copy, Debug, Default)]
struct Waking {
    waker: Option<Qid>,
    woken: Head,
    suspect: Suspect,
}

/// All queues' wakers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakers {
    of: Vec<Waking>,
    links: Links,
    last_completed: Option<Qid>,
}

impl Wakers {
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.of.reserve(queues);
        self.links.reserve(queues);
    }

    /// A queue was created, perhaps under the number of one that was released.
    pub(crate) fn made(&mut self, q: Qid) {
        let at = q as usize;
        if at >= self.of.len() {
            self.of.resize(at + 1, Waking::default());
        }
        self.of[at] = Waking::default();
    }

    pub(crate) fn waker(&self, q: Qid) -> Option<Qid> {
        self.of[q as usize].waker
    }

    /// The queue woken last by `q`.
    pub(crate) fn first_woken(&self, q: Qid) -> Option<Qid> {
        self.of[q as usize].woken.first()
    }

    /// The queue of the request that completed last.
    pub(crate) fn last_completed(&self) -> Option<Qid> {
        self.last_completed
    }

    /// A request of `q` has completed; of a queue that cannot be a waker if `None`.
    #[inline(always)]
    pub(crate) fn completed(&mut self, q: Option<Qid>) {
        self.last_completed = q;
    }

    /// Counts `waker`, by its serial number, as a possible waker of `q`; true if it has become its waker.
    pub(crate) fn suspect(&mut self, q: Qid, (waker, serial): (Qid, u64), ns: u64, within_ns: u64) -> bool {
        let proven = self.of[q as usize].suspect.again(serial, ns, within_ns);
        if proven {
            self.set(q, Some(waker));
        }
        proven
    }

    /// Sets the waker of `q`, and moves `q` to the head of the waker's list.
    pub(crate) fn set(&mut self, q: Qid, waker: Option<Qid>) {
        if let Some(old) = core::mem::replace(&mut self.of[q as usize].waker, waker) {
            self.links.remove(&mut self.of[old as usize].woken, q);
        }
        if let Some(waker) = waker {
            self.links.push_front(&mut self.of[waker as usize].woken, q);
        }
    }

    /// Lets a merged queue inherit the waker of one that joined it.
    pub(crate) fn inherit(&mut self, q: Qid, from: Qid) {
        let waker = self.waker(from);
        if waker.is_some() && waker != Some(q) && self.waker(q).is_none() {
            self.set(q, waker);
            self.of[q as usize].suspect.serial = None;
        }
    }

    /// Moves `q`, which has become busy, to the head of its waker's list.
    pub(crate) fn woke(&mut self, q: Qid) {
        let waker = self.waker(q);
        if waker.is_some() {
            self.set(q, waker);
        }
    }

    /// Removes a released queue as a waker, and from its own waker's list.
    pub(crate) fn released(&mut self, q: Qid) {
        self.set(q, None);
        while let Some(woken) = self.first_woken(q) {
            self.set(woken, None);
        }
        if self.last_completed == Some(q) {
            self.last_completed = None;
        }
    }
}

/// A tentative waker, identified by its serial number, because the queue may be gone.
#[derive(Clone, Copy, Debug, Default)]
struct Suspect {
    serial: Option<u64>,
    times: u32,
    since_ns: u64,
}

impl Suspect {
    /// Counts a detection. True if it confirms the waker.
    fn again(&mut self, serial: u64, ns: u64, within_ns: u64) -> bool {
        if self.serial == Some(serial) && ns <= self.since_ns.saturating_add(within_ns) {
            self.times += 1;
        } else {
            *self = Suspect { serial: Some(serial), times: 1, since_ns: ns };
        }
        let proven = self.times == TIMES;
        if proven {
            self.serial = None;
        }
        proven
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_times_in_time_is_no_accident() {
        let mut suspect = Suspect::default();
        let again = |suspect: &mut Suspect, serial, ns| suspect.again(serial, ns, 100);
        assert!(!again(&mut suspect, 7, 0) && !again(&mut suspect, 7, 50) && again(&mut suspect, 7, 100));
        assert!(!again(&mut suspect, 7, 110) && !again(&mut suspect, 8, 120) && !again(&mut suspect, 7, 130));
        assert!(!again(&mut suspect, 7, 140) && !again(&mut suspect, 7, 231), "too late for the third");
    }
}
