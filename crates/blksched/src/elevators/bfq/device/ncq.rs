//! Whether the device queues commands itself; if so, the order in which it gets requests matters less.
//!
//! **Rule** After 33 completions with more than three requests queued or in flight, it does if it has had more than
//! three at once; the test is repeated until the answer is yes. An unknown answer counts as yes. A non-rotational
//! device that queues needs no merging of queues by position. In 4.19 it must have had more than four.
//! **Origin** docs/behaviour/elevators-6.1.md#b13; #b14 for the traps; docs/behaviour/elevators-4.19-5.15.md#y15.
//! **In the kernel** `bfq_update_hw_tag`, `hw_tag`.

use crate::elevators::bfq::rules::Queueing;

/// Up to this many requests show nothing.
const THRESHOLD: u32 = 3;

const SAMPLES: u32 = 32;

/// The observations, and the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ncq {
    rotational: bool,
    rule: Queueing,
    answer: Option<bool>,
    samples: u32,
    most_in_device: u32,
    /// Whether the device is non-rotational and queues; until the first answer, whether it is non-rotational.
    flash_that_queues: bool,
}

/// The counts at a completion; the device's still includes the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) in_device: u32,
    pub(crate) queued: u32,
    /// Whether the queue in service has a short think time and too few requests to show anything.
    pub(crate) says_nothing: bool,
}

impl Ncq {
    pub(crate) fn new(rotational: bool, rule: Queueing) -> Ncq {
        // Until the first answer the kernel assumes this of any non-rotational device.
        Ncq { rotational, rule, answer: None, samples: 0, most_in_device: 0, flash_that_queues: !rotational }
    }

    /// Whether the device queues, as far as known.
    pub(crate) fn queues(&self) -> bool {
        self.answer != Some(false)
    }

    pub(crate) fn is_flash_that_queues(&self) -> bool {
        self.flash_that_queues
    }

    pub(crate) fn most_in_device(&self) -> u32 {
        self.most_in_device
    }

    /// Whether the queue in service and the device have too few requests to show anything.
    pub(crate) fn too_few(in_device: u32, of_queue: u32) -> bool {
        of_queue < THRESHOLD && in_device < THRESHOLD
    }

    /// Observes a completion; returns the answer, if this yields one.
    pub(crate) fn completed(&mut self, at: Load) -> Option<bool> {
        self.most_in_device = self.most_in_device.max(at.in_device);
        let says_nothing = at.says_nothing && self.rule == Queueing::MoreThanThree;
        if self.answer == Some(true) || at.in_device + at.queued <= THRESHOLD || says_nothing {
            return None;
        }
        self.samples += 1;
        if self.samples <= SAMPLES {
            return None;
        }
        let threshold = if self.rule == Queueing::MoreThanFour { THRESHOLD + 1 } else { THRESHOLD };
        self.answer = Some(self.most_in_device > threshold);
        self.most_in_device = 0;
        self.samples = 0;
        self.flash_that_queues = !self.rotational && self.answer == Some(true);
        self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Queueing = Queueing::MoreThanThree;

    fn after_33(in_device: u32) -> Ncq {
        after_33_by(RULE, in_device)
    }

    fn after_33_by(rule: Queueing, in_device: u32) -> Ncq {
        let mut ncq = Ncq::new(false, rule);
        (0..33).for_each(|_| _ = ncq.completed(Load { in_device, queued: 4, says_nothing: false }));
        ncq
    }

    #[test]
    fn an_unknown_device_counts_as_one_that_queues() {
        assert!(Ncq::new(true, RULE).queues() && !Ncq::new(true, RULE).is_flash_that_queues());
        assert!(Ncq::new(false, RULE).is_flash_that_queues());
    }

    #[test]
    fn four_at_once_show_that_it_queues_and_three_do_not() {
        assert!(after_33(4).queues() && after_33(4).is_flash_that_queues());
        assert!(!after_33(3).queues() && !after_33(3).is_flash_that_queues());
        let in_4_19 = |in_device| after_33_by(Queueing::MoreThanFour, in_device).queues();
        assert!(in_4_19(5) && !in_4_19(4));
    }
}
