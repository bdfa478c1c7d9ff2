//! Whether the disk queues requests itself (NCQ), which is observed rather than queried.
//!
//! **Rule** At each completion with more than 5 requests queued or in flight, remember the largest number in the disk;
//! after 50 such completions the disk queues if that was 5 or more.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c6; [`Ncq`] says what differs.
//! **In the kernel** `cfq_update_hw_tag`, `hw_tag`, `hw_tag_est_depth`, `rq_in_driver`.

use crate::elevators::cfq::rules::Ncq;

const MANY: u32 = 5;

const SAMPLES: u32 = 50;

/// The observations so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NcqWatch {
    rule: Ncq,
    /// The last decision; true until the first.
    queues: bool,
    decided: bool,
    most: u32,
    samples: u32,
}

/// The counts when a request completes; that request still counts as in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) queued: u32,
    pub(crate) in_driver: u32,
}

impl NcqWatch {
    pub(crate) fn new(rule: Ncq) -> NcqWatch {
        NcqWatch { rule, queues: true, decided: false, most: 0, samples: 0 }
    }

    /// Whether the disk queues; undecided counts as yes.
    pub(crate) fn queues(&self) -> bool {
        self.queues
    }

    /// Observes one completion. `idled_for`: the active queue's number of requests if its idle window is open; such a
    /// queue with few requests cannot show whether the disk queues.
    #[inline(always)]
    pub(crate) fn update(&mut self, at: Moment, idled_for: impl FnOnce() -> Option<u32>) {
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
            // Kept at the limit, so every later completion that qualifies decides again, until the answer is yes.
            Ncq::UntilYes => self.samples = SAMPLES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a queue for which the disk would idle.
    fn after(rule: Ncq, moments: &[(u32, Moment)]) -> bool {
        let mut watch = NcqWatch::new(rule);
        for &(times, moment) in moments {
            (0..times).for_each(|_| watch.update(moment, || None));
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
