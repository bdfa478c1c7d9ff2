//! A queue's weight raising: its kind, its start, and the service received during it.
//!
//! **Rule** Interactive counts 30 times, soft real-time 3000 times.
//! **Origin** docs/behaviour/elevators-6.1.md#b6.
//! **In the kernel** `wr_coeff`, `wr_cur_max_time`, `last_wr_start_finish`, `wr_start_at_switch_to_srt`,
//! `soft_rt_next_start`, `service_from_wr`, `softrt_update`.

use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO};

/// The factor by which the weight of an interactive queue is raised.
pub(crate) const INTERACTIVE: i64 = 30;

pub(crate) const SOFT_REAL_TIME: i64 = 30 * 100;

/// The kind of a queue's raising.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaisingKind {
    None,
    Interactive,
    SoftRealTime,
}

/// A queue's raising.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raising {
    pub(crate) kind: RaisingKind,
    /// Its maximum duration.
    pub(crate) lasts: Jiffy,
    /// When it began.
    pub(crate) since: Jiffy,
    /// Soft real-time: when the interactive raising before it began.
    pub(crate) interactive_since: Jiffy,
    /// The service received while raised \[sectors\].
    pub(crate) served: i64,
    /// From when its next arrival may count as soft real-time.
    pub(crate) soft_from: Jiffy,
    /// Whether `soft_from` is to be updated when its last request completes.
    pub(crate) soft_is_open: bool,
}

impl Raising {
    pub(crate) fn new(now: Jiffy) -> Raising {
        Raising {
            kind: RaisingKind::None,
            lasts: 0,
            since: now,
            interactive_since: LONG_AGO,
            served: 0,
            soft_from: now,
            soft_is_open: false,
        }
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.kind != RaisingKind::None
    }

    pub(crate) fn is_soft_real_time(&self) -> bool {
        self.kind == RaisingKind::SoftRealTime
    }

    /// The factor of its weight.
    pub(crate) fn times(&self) -> i64 {
        match self.kind {
            RaisingKind::None => 1,
            RaisingKind::Interactive => INTERACTIVE,
            RaisingKind::SoftRealTime => SOFT_REAL_TIME,
        }
    }

    pub(crate) fn make_interactive(&mut self, lasts: Jiffy) {
        (self.kind, self.lasts) = (RaisingKind::Interactive, lasts);
    }

    /// Returns to the interactive raising that preceded soft real-time.
    pub(crate) fn go_back_to_interactive(&mut self, lasts: Jiffy) {
        self.make_interactive(lasts);
        self.since = self.interactive_since;
    }

    pub(crate) fn is_over(&self, now: Jiffy) -> bool {
        now > self.since + self.lasts
    }
}
