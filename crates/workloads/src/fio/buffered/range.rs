//! `sync_file_range` of a buffered job: when it is called, its range, and what waits for its return.

use std::collections::BTreeMap;

use blksched::{Instant, Sector, Tag};

use crate::Emission;
use crate::host::{CallWork, RangeSync};

/// A tag that none of a process's I/Os has.
pub(super) const RANGE_TAG: Tag = Tag(u64::MAX);

/// The job's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangePlan {
    pub what: RangeSync,
    /// After this many writes.
    pub every: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeState {
    /// The next I/O may go, or a call comes first.
    Going {
        due: bool,
    },
    Calling,
    Returned(Instant),
}

/// The calls of one process.
pub(super) struct Ranges {
    plan: RangePlan,
    writes: u64,
    /// For each file by number, the first sector written since it was last synced, and the sector after the last.
    written: BTreeMap<usize, (u64, u64)>,
    state: RangeState,
    /// What the process would do next.
    held: Vec<Emission>,
}

impl Ranges {
    pub fn new(plan: RangePlan) -> Ranges {
        Ranges { plan, writes: 0, written: BTreeMap::new(), state: RangeState::Going { due: false }, held: Vec::new() }
    }

    pub fn wrote(&mut self, file: usize, start: Sector, sectors: u32) {
        let end = start.0 + u64::from(sectors);
        let range = self.written.entry(file).or_insert((start.0, end));
        *range = (range.0.min(start.0), range.1.max(end));
        self.writes += 1;
        self.state = RangeState::Going { due: self.writes.is_multiple_of(self.plan.every) };
    }

    /// Every file was synced by another call.
    pub fn synced(&mut self) {
        self.written.clear();
    }

    /// The call that must come before an I/O of this file.
    pub fn due(&mut self, file: usize) -> Option<CallWork> {
        if self.state != (RangeState::Going { due: true }) {
            return None;
        }
        self.state = RangeState::Going { due: false };
        let (start, end) = self.written.remove(&file)?;
        self.state = RangeState::Calling;
        Some(CallWork::Range { start: Sector(start), sectors: end - start, what: self.plan.what })
    }

    pub fn is_calling(&self) -> bool {
        !matches!(self.state, RangeState::Going { .. })
    }

    pub fn hold(&mut self, emission: Emission) {
        self.held.push(emission);
    }

    pub fn came_back(&mut self, now: Instant) {
        self.state = RangeState::Returned(now);
    }

    /// When the call returned, if the process has not continued since.
    pub fn returned(&self) -> Option<Instant> {
        match self.state {
            RangeState::Returned(at) => Some(at),
            RangeState::Going { .. } | RangeState::Calling => None,
        }
    }

    /// What it would have done meanwhile.
    pub fn go_on(&mut self) -> Vec<Emission> {
        self.state = RangeState::Going { due: false };
        core::mem::take(&mut self.held)
    }
}
