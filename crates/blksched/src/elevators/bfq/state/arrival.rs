//! Updates of a queue from an arrival: its process's think time, and whether it seeks.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b7 and #b11; docs/behaviour/elevators-4.19-5.15.md#w9 and #w10.
//! **In the kernel** `bfq_update_io_thinktime`, `bfq_update_has_short_ttime`, `bfq_update_io_seektime`.

use crate::elevators::bfq::rules::{Rules, ShortThink, ThinkOf};
use crate::elevators::bfq::state::queue::BfqQueue;
use crate::elevators::bfq::timeouts::Jiffy;
use crate::request::Sector;

/// The arrival of a request in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) ns: u64,
    pub(crate) now: Jiffy,
    /// `slice_idle` \[ns\].
    pub(crate) idle: u64,
    /// For this long after a split, a queue's think time is not judged.
    pub(crate) new_start: Jiffy,
    pub(crate) start: Sector,
    pub(crate) sectors: u32,
    pub(crate) rotational: bool,
    /// Whether its process has exited.
    pub(crate) is_gone: bool,
}

/// What the arrival changes for the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// Its think time has become short, or long.
    pub(crate) has_short_ttime: Option<bool>,
    /// It is raised as soft real-time but now only seeks.
    pub(crate) only_seeks: bool,
}

impl News {
    #[inline(always)]
    pub(crate) fn is_any(self) -> bool {
        self.has_short_ttime.is_some() || self.only_seeks
    }
}

impl BfqQueue {
    #[inline(always)]
    pub(crate) fn arrives(&mut self, at: Arrival, rules: &Rules) -> News {
        if rules.think_of == ThinkOf::AllRequests || (self.in_device() == 0 && !self.is_busy()) {
            self.habits.thought(at.ns, at.idle);
        }
        self.seeks.add(at.start, at.sectors, at.rotational);
        News {
            has_short_ttime: self.thinks_otherwise(at, rules.short_think),
            only_seeks: self.raising().is_soft_real_time() && self.seeks.are_all(rules.only_seeks),
        }
    }

    /// Whether its think time is short, if that has changed. Not judged for write-back, nor soon after a split.
    #[inline(always)]
    fn thinks_otherwise(&self, at: Arrival, short: ShortThink) -> Option<bool> {
        // Why not soon after a split, no source says; kept.
        if !self.is_sync() || at.idle == 0 || self.birth.was_split_within(at.now, at.new_start) {
            return None;
        }
        let longest = if short == ShortThink::Half { at.idle / 2 } else { at.idle };
        let too_long = self.habits.thinks_longer_than(longest);
        let shortly = !(at.is_gone || too_long);
        (shortly != self.habits.has_short_ttime()).then_some(shortly)
    }
}
