//! Does the device queue commands itself? Then the order in which requests go to it matters less.
//!
//! **Rule** After 33 completions with more than three requests queued or in flight, it does if it has had more than
//! three at once; the test is repeated until the answer is yes. While the answer is unknown, it counts as yes. A
//! non-rotational device that queues needs no merging of queues by position.
//! **Origin** docs/behaviour/elevators-6.1.md#b13; #b14 for the traps.
//! **In the kernel** `bfq_update_hw_tag`, `hw_tag`.

#![doc(alias = "bfq_update_hw_tag")]
#![doc(alias = "hw_tag")]

/// Fewer than this say nothing.
const THRESHOLD: u32 = 3;

const SAMPLES: u32 = 32;

/// What is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ncq {
    rotational: bool,
    answer: Option<bool>,
    samples: u32,
    most_in_device: u32,
    /// No arm, and it queues; true of any device without an arm until the first answer.
    flash_that_queues: bool,
}

/// What a completion looks like; the device still counts the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) in_device: u32,
    pub(crate) queued: u32,
    /// The queue in service, which thinks shortly, has fewer requests than would show anything.
    pub(crate) says_nothing: bool,
}

impl Ncq {
    pub(crate) fn new(rotational: bool) -> Ncq {
        // True until the first answer: a kernel assumes so of any device without an arm.
        Ncq { rotational, answer: None, samples: 0, most_in_device: 0, flash_that_queues: !rotational }
    }

    /// It does, as far as known.
    pub(crate) fn queues(&self) -> bool {
        self.answer != Some(false)
    }

    pub(crate) fn is_flash_that_queues(&self) -> bool {
        self.flash_that_queues
    }

    pub(crate) fn most_in_device(&self) -> u32 {
        self.most_in_device
    }

    /// So few requests of the queue in service say nothing.
    pub(crate) fn too_few(in_device: u32, of_queue: u32) -> bool {
        of_queue < THRESHOLD && in_device < THRESHOLD
    }

    /// A request comes back; the answer, if this gave one.
    pub(crate) fn completed(&mut self, at: Load) -> Option<bool> {
        self.most_in_device = self.most_in_device.max(at.in_device);
        if self.answer == Some(true) || at.in_device + at.queued <= THRESHOLD || at.says_nothing {
            return None;
        }
        self.samples += 1;
        if self.samples <= SAMPLES {
            return None;
        }
        self.answer = Some(self.most_in_device > THRESHOLD);
        self.most_in_device = 0;
        self.samples = 0;
        self.flash_that_queues = !self.rotational && self.answer == Some(true);
        self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_33(in_device: u32) -> Ncq {
        let mut ncq = Ncq::new(false);
        (0..33).for_each(|_| _ = ncq.completed(Load { in_device, queued: 4, says_nothing: false }));
        ncq
    }

    #[test]
    fn an_unknown_device_counts_as_one_that_queues() {
        assert!(Ncq::new(true).queues() && !Ncq::new(true).is_flash_that_queues());
        assert!(Ncq::new(false).is_flash_that_queues());
    }

    #[test]
    fn four_at_once_show_that_it_queues_and_three_do_not() {
        assert!(after_33(4).queues() && after_33(4).is_flash_that_queues());
        assert!(!after_33(3).queues() && !after_33(3).is_flash_that_queues());
    }
}
