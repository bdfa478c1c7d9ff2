//! fio's `verify`: the data written by a pass is read back before the next pass begins.
//!
//! **Rule** (tried with fio 3.33, whose `--debug=io` prints each I/O) A pass covers the files' size, or `io_size` if
//! that is less. All its writes are reaped, and the flush at its end is over, before the first is read back. They are
//! read back at the job's depth: with a random map in the order in which they were written; without one (sequential
//! jobs or a distribution) in the order of their offsets, each once and without overwritten parts. These reads ignore
//! rates, think time and flushes, but `number_ios` and `io_size` count them: there are as many passes as `loops` says,
//! and more while the total transferred is less than `io_size`. Once `number_ios` is reached, the data written since is
//! read back, and nothing more is written. The end of the run time ends them.

use std::collections::{BTreeMap, VecDeque};

use blksched::Sector;

/// The settings for reading a job's writes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadBackPlan {
    /// How much a pass writes and reads itself \[bytes\].
    pub pass: u64,
    /// At least this many passes.
    pub loops: u64,
    /// The total, including what is read back \[bytes\].
    pub bytes: u64,
    pub order: ReadBackOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadBackOrder {
    AsWritten,
    /// Sorted by place: without a random map a block may be written twice.
    ByPlace,
}

/// Start and length \[sectors\].
type WrittenRange = (Sector, u32);

/// The progress of a process.
#[derive(Clone, Debug)]
pub(super) struct ReadBack {
    plan: ReadBackPlan,
    passes: u64,
    /// What was transferred by the job itself when this pass began, and what was read back so far \[bytes\].
    began: u64,
    read: u64,
    /// The pass has ended before its bytes were done.
    is_cut: bool,
    written: Vec<WrittenRange>,
    /// What is left to be read; `None` while it writes.
    left: Option<VecDeque<WrittenRange>>,
}

impl ReadBack {
    pub fn new(plan: ReadBackPlan) -> ReadBack {
        ReadBack { plan, passes: 0, began: 0, read: 0, is_cut: false, written: Vec::new(), left: None }
    }

    pub fn wrote(&mut self, place: WrittenRange) {
        self.written.push(place);
    }

    /// Whether something of this pass is to be read back.
    pub fn has_written(&self) -> bool {
        !self.written.is_empty()
    }

    /// Its files have nothing more for this pass.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    pub fn is_reading(&self) -> bool {
        self.left.is_some()
    }

    pub fn next(&mut self) -> Option<WrittenRange> {
        let place = self.left.as_mut()?.pop_front()?;
        self.read += u64::from(place.1) * 512;
        Some(place)
    }

    /// Whether the present phase is complete, with this many bytes transferred by the job itself.
    pub fn is_through(&self, bytes: u64) -> bool {
        match &self.left {
            Some(left) => left.is_empty(),
            None => self.is_cut || bytes >= self.began.saturating_add(self.plan.pass),
        }
    }

    /// Changes from writing to reading back, or to the next pass; returns whether there is anything more to do. `bytes`
    /// were transferred by the job itself.
    pub fn turn(&mut self, bytes: u64) -> bool {
        if self.left.take().is_some() {
            (self.passes, self.began, self.is_cut) = (self.passes + 1, bytes, false);
            return self.passes < self.plan.loops || bytes.saturating_add(self.read) < self.plan.bytes;
        }
        let written = core::mem::take(&mut self.written);
        let left: VecDeque<WrittenRange> = match self.plan.order {
            ReadBackOrder::AsWritten => written.into(),
            ReadBackOrder::ByPlace => latest(&written),
        };
        let there_is = !left.is_empty();
        self.left = there_is.then_some(left);
        there_is
    }
}

/// By place; a later write replaces those that it overlaps.
fn latest(written: &[WrittenRange]) -> VecDeque<WrittenRange> {
    let mut kept: BTreeMap<u64, u32> = BTreeMap::new();
    for (start, sectors) in written {
        let (start, end) = (start.0, start.0 + u64::from(*sectors));
        while let Some((&met, &length)) = kept.range(..end).next_back()
            && met + u64::from(length) > start
        {
            kept.remove(&met);
        }
        kept.insert(start, *sectors);
    }
    kept.into_iter().map(|(start, sectors)| (Sector(start), sectors)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_overwritten_is_not_read_back() {
        // As fio did: 4 KiB blocks of 0, b to d, d to e, 7 to a, 6, d, 6, 5, e, 1 to 2.
        let blocks = [(0, 1), (11, 3), (13, 2), (7, 4), (6, 1), (13, 1), (6, 1), (5, 1), (14, 1), (1, 2)];
        let written: Vec<WrittenRange> = blocks.map(|(at, length)| (Sector(8 * at), 8 * length)).to_vec();
        let read = [(0, 1), (1, 2), (5, 1), (6, 1), (7, 4), (13, 1), (14, 1)];
        let read: Vec<WrittenRange> = read.map(|(at, length)| (Sector(8 * at), 8 * length)).to_vec();
        assert_eq!(Vec::from(latest(&written)), read);
    }

    /// Passes of two blocks each.
    fn passes(plan: ReadBackPlan) -> u64 {
        let mut back = ReadBack::new(plan);
        for pass in 1.. {
            back.wrote((Sector(8), 8));
            assert!(!back.is_through(8192 * pass - 4096));
            back.wrote((Sector(0), 8));
            assert!(back.is_through(8192 * pass) && !back.is_reading() && back.turn(8192 * pass) && back.is_reading());
            assert_eq!([back.next(), back.next()], [Some((Sector(8), 8)), Some((Sector(0), 8))]);
            assert!(back.is_through(8192 * pass));
            if !back.turn(8192 * pass) {
                return pass;
            }
        }
        0
    }

    #[test]
    fn passes_are_written_and_read_in_turn() {
        let plan = ReadBackPlan { pass: 8192, loops: 2, bytes: 0, order: ReadBackOrder::AsWritten };
        assert_eq!(passes(plan), 2);
        // What is read back counts towards `io_size`.
        let of = |loops, bytes| passes(ReadBackPlan { loops, bytes, ..plan });
        assert_eq!([of(1, 16384), of(1, 16385), of(1, 40000), of(3, 40000), of(4, 40000)], [1, 2, 3, 3, 4]);
        // A pass that wrote nothing has nothing to be read.
        assert!(!ReadBack::new(plan).turn(0));
    }
}
