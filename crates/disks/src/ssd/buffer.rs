//! **What for**: the write buffer: a write ends when its data is in it, and is programmed later.
//!
//! **Rule**: a write takes its room when it is admitted and returns it when its program ends. A flush waits for
//! everything admitted before it. A read whose data is completely in the buffer needs no die. The buffer is looked up
//! in units of 4 KiB, the mapping unit of such drives.

use core::ops::Range;
use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// Sectors in a unit, as a shift.
const UNIT_SHIFT: u32 = 3;
/// Consecutive units that are looked up at once, as a shift: a write of 128 KiB touches one or two such rows.
const ROW_SHIFT: u32 = 5;
const ROW: usize = 1 << ROW_SHIFT;

/// How often each unit of a row is in the buffer, and how many are.
#[derive(Clone, Debug, Default)]
struct BufferRow {
    counts: [u32; ROW],
    held: u32,
}

/// Data that is written but not programmed.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    size_sectors: u64,
    used_sectors: u64,
    is_stable: bool,
    /// Rows with any unit in the buffer.
    rows: FxHashMap<u64, BufferRow>, // tidy: never iterated
    /// Sectors admitted between two flushes and not yet programmed, oldest first; never empty.
    epochs: VecDeque<u64>,
    first_epoch: u64,
}

/// A flush and the epoch it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    pub(super) op: u32,
    epoch: u64,
}

impl Buffer {
    /// With room for so much; stable if a power cut loses nothing.
    pub(super) fn new(size_sectors: u64, is_stable: bool) -> Buffer {
        Buffer {
            size_sectors,
            used_sectors: 0,
            is_stable,
            rows: FxHashMap::default(),
            epochs: VecDeque::from([0]),
            first_epoch: 0,
        }
    }

    /// Whether it could ever hold this many.
    pub(super) fn fits(&self, sectors: u32) -> bool {
        u64::from(sectors) <= self.size_sectors
    }

    /// Whether it can take this many now.
    pub(super) fn has_room(&self, sectors: u32) -> bool {
        self.used_sectors + u64::from(sectors) <= self.size_sectors
    }

    /// Whether its data survives a power failure.
    pub(super) fn is_stable(&self) -> bool {
        self.is_stable
    }

    /// Whether there is nothing to program.
    pub(super) fn is_clean(&self) -> bool {
        self.used_sectors == 0
    }

    /// Takes room for a write; returns its epoch.
    pub(super) fn admit(&mut self, sectors: u32) -> u64 {
        self.used_sectors += u64::from(sectors);
        let newest = self.epochs.len() - 1;
        self.epochs[newest] += u64::from(sectors);
        self.first_epoch + newest as u64
    }

    /// Data has arrived.
    pub(super) fn arrived(&mut self, start: u64, sectors: u32) {
        for (row, within) in rows(start, sectors) {
            let row = self.rows.entry(row).or_default();
            for count in &mut row.counts[within] {
                row.held += u32::from(*count == 0);
                *count += 1;
            }
        }
    }

    /// A part of a write has been programmed.
    pub(super) fn programmed(&mut self, start: u64, sectors: u32, epoch: u64) {
        self.used_sectors -= u64::from(sectors);
        self.epochs[(epoch - self.first_epoch) as usize] -= u64::from(sectors);
        for (at, within) in rows(start, sectors) {
            let row = self.rows.get_mut(&at).expect("what is programmed has arrived");
            for count in &mut row.counts[within] {
                *count -= 1;
                row.held -= u32::from(*count == 0);
            }
            if row.held == 0 {
                self.rows.remove(&at);
            }
        }
    }

    /// Whether all of it is in the buffer.
    #[inline]
    pub(super) fn holds(&self, start: u64, sectors: u32) -> bool {
        let is_held = |(row, within): (u64, Range<usize>)| {
            self.rows.get(&row).is_some_and(|row| row.counts[within].iter().all(|&count| count > 0))
        };
        !self.rows.is_empty() && rows(start, sectors).all(is_held)
    }

    /// A flush that waits for everything admitted; later writes belong to the next epoch.
    pub(super) fn barrier(&mut self, op: u32) -> Barrier {
        let epoch = self.first_epoch + self.epochs.len() as u64 - 1;
        self.epochs.push_back(0);
        Barrier { op, epoch }
    }

    /// Whether everything before the barrier has been programmed. The oldest barrier must be asked about first.
    pub(super) fn is_over(&mut self, barrier: &Barrier) -> bool {
        while self.first_epoch <= barrier.epoch && self.epochs.front() == Some(&0) {
            self.epochs.pop_front();
            self.first_epoch += 1;
        }
        self.first_epoch > barrier.epoch
    }
}

/// The rows of a range, and which units of each.
fn rows(start: u64, sectors: u32) -> impl Iterator<Item = (u64, Range<usize>)> {
    let (first, last) = (start >> UNIT_SHIFT, (start + u64::from(sectors) - 1) >> UNIT_SHIFT);
    (first >> ROW_SHIFT..=last >> ROW_SHIFT).map(move |row| {
        let base = row << ROW_SHIFT;
        let from = first.saturating_sub(base) as usize;
        (row, from..(last - base).min(ROW as u64 - 1) as usize + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer() -> Buffer {
        Buffer::new(64, false)
    }

    #[test]
    fn a_flush_waits_for_what_was_before_it_and_not_for_what_came_later() {
        let mut buffer = buffer();
        let before = buffer.admit(8);
        buffer.arrived(0, 8);
        let barrier = buffer.barrier(0);
        let later = buffer.admit(8);
        buffer.arrived(800, 8);
        assert!(before < later && !buffer.is_over(&barrier));
        buffer.programmed(0, 8, before);
        assert!(buffer.is_over(&barrier) && !buffer.is_clean());
        buffer.programmed(800, 8, later);
        assert!(buffer.is_clean());
    }

    #[test]
    fn a_stretch_across_rows_is_held_in_both() {
        let mut buffer = Buffer::new(4096, false);
        let epoch = buffer.admit(600);
        buffer.arrived(248, 600);
        assert!(buffer.holds(248, 600) && buffer.holds(256, 256) && !buffer.holds(240, 16) && !buffer.holds(848, 8));
        buffer.programmed(256, 592, epoch);
        assert!(buffer.holds(248, 8) && !buffer.holds(248, 16) && !buffer.holds(840, 8));
    }

    #[test]
    fn it_holds_what_is_wholly_inside_until_that_is_programmed_as_often_as_written() {
        let mut buffer = buffer();
        for _ in 0..2 {
            buffer.admit(16);
            buffer.arrived(16, 16);
        }
        assert!(buffer.holds(16, 16) && buffer.holds(24, 8) && !buffer.holds(24, 16));
        buffer.programmed(16, 16, 0);
        assert!(buffer.holds(16, 16));
        buffer.programmed(16, 16, 0);
        assert!(!buffer.holds(16, 8));
        assert!(buffer.has_room(64) && !buffer.has_room(65) && !buffer.fits(65));
    }
}
