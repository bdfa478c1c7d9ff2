//! Does the disk queue requests itself (NCQ)? This is observed, not queried.
//!
//! **Rule** At each completion with more than 5 requests queued or in flight, remember the largest number in the disk;
//! after 50 such completions the disk queues if that was 5 or more.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c6;
//! [`Ncq`] says what differs.
//! **In the kernel** `cfq_update_hw_tag`, `hw_tag`.

#![doc(alias = "cfq_update_hw_tag")]
#![doc(alias = "hw_tag")]

use crate::elevators::cfq::rules::Ncq;

const MANY: u32 = 5;

const SAMPLES: u32 = 50;

/// What was seen so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NcqWatch {
    rule: Ncq,
    /// The last answer; undecided counts as yes.
    queues: bool,
    decided: bool,
    most: u32,
    samples: u32,
}

/// What the watch looks at when a request completes (which still counts as in flight).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) queued: u32,
    pub(crate) in_driver: u32,
}

impl NcqWatch {
    pub(crate) fn new(rule: Ncq) -> NcqWatch {
        NcqWatch { rule, queues: true, decided: false, most: 0, samples: 0 }
    }

    /// Undecided counts as yes.
    pub(crate) fn queues(&self) -> bool {
        self.queues
    }

    /// `idled_for`: the requests of the queue being served, if the disk would idle for it, as it cannot show what the
    /// disk does; asked where that counts.
    #[inline(always)]
    pub(crate) fn look(&mut self, at: Moment, idled_for: impl FnOnce() -> Option<u32>) {
        self.most = self.most.max(at.in_driver);
        let sticky = self.rule == Ncq::UntilYes;
        if sticky && self.decided && self.queues || at.queued <= MANY && at.in_driver <= MANY {
            return;
        }
        if sticky && at.in_driver < MANY && idled_for().is_some_and(|requests| requests < MANY) {
            return;
        }
        self.samples += 1;
        if self.samples > SAMPLES {
            self.decide();
        }
    }

    #[inline(never)]
    fn decide(&mut self) {
        self.queues = self.most >= MANY;
        self.decided = true;
        match self.rule {
            Ncq::Recurring => (self.most, self.samples) = (0, 0),
            Ncq::UntilYes => self.samples = SAMPLES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With no queue that the disk would idle for.
    fn after(rule: Ncq, moments: &[(u32, Moment)]) -> bool {
        let mut watch = NcqWatch::new(rule);
        for &(times, moment) in moments {
            (0..times).for_each(|_| watch.look(moment, || None));
        }
        watch.queues()
    }

    const SHALLOW: Moment = Moment { queued: 20, in_driver: 1 };
    const DEEP: Moment = Moment { queued: 20, in_driver: 8 };

    #[test]
    fn a_disk_that_takes_one_at_a_time_is_found_out_after_fifty_completions() {
        for rule in [Ncq::Recurring, Ncq::UntilYes] {
            assert!(after(rule, &[(50, SHALLOW)]) && !after(rule, &[(51, SHALLOW)]));
        }
    }

    #[test]
    fn later_kernels_do_not_ask_again_once_the_answer_is_yes() {
        assert!(!after(Ncq::Recurring, &[(51, DEEP), (51, SHALLOW)]));
        assert!(after(Ncq::UntilYes, &[(51, DEEP), (51, SHALLOW)]));
        assert!(after(Ncq::UntilYes, &[(51, SHALLOW), (1, DEEP)]));
    }
}
