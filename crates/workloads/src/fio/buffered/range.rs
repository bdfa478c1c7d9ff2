//! `sync_file_range` of a buffered job: when it is called, and its range.

use std::collections::BTreeMap;

use blksched::Sector;

use crate::host::{ByteRange, CallWork, RangeSync};

/// The job's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangePlan {
    pub what: RangeSync,
    /// After this many writes.
    pub every: u64,
}

/// The calls of one process.
pub(super) struct Ranges {
    plan: RangePlan,
    writes: u64,
    /// For each file by number, the first sector written since it was last synced, and the sector after the last.
    written: BTreeMap<usize, (u64, u64)>,
    /// A call comes before the next I/O.
    is_due: bool,
}

impl Ranges {
    pub fn new(plan: RangePlan) -> Ranges {
        Ranges { plan, writes: 0, written: BTreeMap::new(), is_due: false }
    }

    pub fn wrote(&mut self, file: usize, wrote: ByteRange) {
        let (start, end) = (wrote.start / 512, (wrote.start + wrote.bytes).div_ceil(512));
        let range = self.written.entry(file).or_insert((start, end));
        *range = (range.0.min(start), range.1.max(end));
        self.writes += 1;
        self.is_due = self.writes.is_multiple_of(self.plan.every);
    }

    /// Every file was synced by another call.
    pub fn synced(&mut self) {
        self.written.clear();
    }

    /// The call that must come before an I/O of this file.
    pub fn due(&mut self, file: usize) -> Option<CallWork> {
        if !core::mem::take(&mut self.is_due) {
            return None;
        }
        let (start, end) = self.written.remove(&file)?;
        Some(CallWork::Range { start: Sector(start), sectors: end - start, what: self.plan.what })
    }
}
