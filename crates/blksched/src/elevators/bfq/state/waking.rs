//! A queue's waker, and the queues that it wakes.
//!
//! **Rule** A queue is the waker of this one if one of its requests completed right before a request of this one
//! arrived, three times within 128 idle times.
//! **Origin** docs/behaviour/elevators-6.1.md#b9.
//! **In the kernel** `waker_bfqq`, `woken_list`, `tentative_waker_bfqq`, `num_waker_detections`.

use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::links::Head;

pub(crate) const TIMES: u32 = 3;

/// A queue's waker, and the queues that it wakes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waking {
    pub(crate) waker: Option<Qid>,
    /// The queues that it wakes.
    pub(crate) woken: Head,
    pub(crate) suspect: Suspect,
}

/// A tentative waker, identified by its serial number, because the queue may be gone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Suspect {
    pub(crate) serial: Option<u64>,
    pub(crate) times: u32,
    pub(crate) since_ns: u64,
}

impl Suspect {
    /// Counts a detection. True if it confirms the waker.
    pub(crate) fn again(&mut self, serial: u64, ns: u64, within_ns: u64) -> bool {
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
