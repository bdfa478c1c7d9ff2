//! A queue's weight raising: its kind, its start, and the service received during it.
//!
//! **Rule** Interactive counts 30 times, soft real-time 3000 times.
//! **Origin** docs/behaviour/elevators-6.1.md#b6.
//! **In the kernel** `wr_coeff`, `wr_cur_max_time`, `last_wr_start_finish`, `wr_start_at_switch_to_srt`,
//! `soft_rt_next_start`.

#![doc(alias = "wr_coeff")]
#![doc(alias = "wr_cur_max_time")]
#![doc(alias = "last_wr_start_finish")]
#![doc(alias = "wr_start_at_switch_to_srt")]
#![doc(alias = "soft_rt_next_start")]

use crate::elevators::bfq::terms::{Jiffy, LONG_AGO};

/// How much a raised weight counts.
pub(crate) const INTERACTIVE: i64 = 30;

pub(crate) const SOFT_REAL_TIME: i64 = 30 * 100;

/// As what a queue is raised.
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
    /// How long at most.
    pub(crate) lasts: Jiffy,
    /// Since when.
    pub(crate) since: Jiffy,
    /// Soft real-time: since when it was interactive before that.
    pub(crate) interactive_since: Jiffy,
    /// What it has had while raised \[sectors\].
    pub(crate) served: i64,
    /// From when its next arrival may be soft real-time.
    pub(crate) soft_from: Jiffy,
    /// That is to be found out when its last request comes back.
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

    /// How many times its weight it has.
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

    /// It was interactive before it became soft real-time, and goes on so.
    pub(crate) fn go_back_to_interactive(&mut self, lasts: Jiffy) {
        self.make_interactive(lasts);
        self.since = self.interactive_since;
    }

    pub(crate) fn is_over(&self, now: Jiffy) -> bool {
        now > self.since + self.lasts
    }
}
