//! A file's extents: which of its blocks have a place, and whether anything has been written there.
//!
//! **Rule** extents are counted at the moment of allocation, when a new one is still unwritten and so an extent of its
//! own; writing into an unwritten extent splits it into up to three. The conversion at the end of the data then merges
//! what was written with written neighbours.

use core::ops::Range;

/// Blocks of a file, counted from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The first.
    pub start: u64,
    /// The one after the last.
    pub end: u64,
}

impl From<Range<u64>> for Blocks {
    fn from(range: Range<u64>) -> Blocks {
        Blocks { start: range.start, end: range.end }
    }
}

impl Blocks {
    /// How many.
    pub fn count(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Blocks that are contiguous in the file and on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its first block in the file.
    pub at: u64,
    /// How many.
    pub blocks: u64,
    /// The block of the disk that it begins at.
    pub place: u64,
    /// Whether it has been written.
    pub written: bool,
}

impl Extent {
    fn end(&self) -> u64 {
        self.at + self.blocks
    }

    fn continues(&self, before: &Extent) -> bool {
        before.end() == self.at && before.place + before.blocks == self.place && before.written == self.written
    }
}

/// A file's extents, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileExtents {
    extents: Vec<Extent>,
}

impl FileExtents {
    /// One written extent at the place's beginning.
    pub fn whole(blocks: u64, place: u64) -> FileExtents {
        let mut extents = FileExtents::default();
        if blocks > 0 {
            extents.extents.push(Extent { at: 0, blocks, place, written: true });
        }
        extents
    }

    /// How many extents there are.
    pub fn count(&self) -> usize {
        self.extents.len()
    }

    /// The block after the last with a place.
    pub fn end(&self) -> u64 {
        self.extents.last().map_or(0, Extent::end)
    }

    /// The first of these blocks without a place, and those after it that have none either.
    pub fn hole(&self, blocks: &Blocks) -> Option<Blocks> {
        let mut at = blocks.start;
        for extent in &self.extents {
            if extent.end() <= at {
                continue;
            }
            if extent.at > at {
                return (at < blocks.end).then(|| Blocks { start: at, end: extent.at.min(blocks.end) });
            }
            at = extent.end();
        }
        (at < blocks.end).then_some(Blocks { start: at, end: blocks.end })
    }

    /// Whether any of these blocks has a place that has not been written.
    pub fn is_unwritten(&self, blocks: &Blocks) -> bool {
        self.extents.iter().any(|extent| !extent.written && extent.at < blocks.end && blocks.start < extent.end())
    }

    /// The place right behind the extent before this block.
    pub fn goal(&self, at: u64) -> Option<u64> {
        self.extents.iter().rev().find(|extent| extent.end() <= at).map(|extent| extent.place + extent.blocks)
    }

    /// Adds an extent where none is; if it has been written, it is merged with its neighbours.
    pub fn insert(&mut self, extent: Extent) {
        let at = self.extents.partition_point(|other| other.at < extent.at);
        self.extents.insert(at, extent);
        if extent.written {
            self.merge_at(at + 1);
            self.merge_at(at);
        }
    }

    /// Splits unwritten extents at the borders of these blocks. True if any was split.
    pub fn split(&mut self, blocks: &Blocks) -> bool {
        let before = self.extents.len();
        for border in [blocks.start, blocks.end] {
            let at = self.extents.iter().position(|e| !e.written && e.at < border && border < e.end());
            if let Some(at) = at {
                let left = self.extents[at];
                let blocks = border - left.at;
                self.extents[at].blocks = blocks;
                let right = Extent { at: border, blocks: left.blocks - blocks, place: left.place + blocks, ..left };
                self.extents.insert(at + 1, right);
            }
        }
        self.extents.len() > before
    }

    /// These blocks have been written. True if any had not been before.
    pub fn convert(&mut self, blocks: &Blocks) -> bool {
        self.split(blocks);
        let mut any = false;
        for at in (0..self.extents.len()).rev() {
            let extent = &mut self.extents[at];
            if !extent.written && blocks.start <= extent.at && extent.end() <= blocks.end {
                extent.written = true;
                any = true;
                self.merge_at(at + 1);
                self.merge_at(at);
            }
        }
        any
    }

    /// Cuts everything from this block on; returns whether there was anything.
    pub fn truncate(&mut self, at: u64) -> bool {
        let before = self.end();
        self.extents.retain(|extent| extent.at < at);
        if let Some(last) = self.extents.last_mut() {
            last.blocks = last.blocks.min(at - last.at);
        }
        self.end() < before
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Extent> {
        self.extents.iter()
    }

    /// Merges the extent at this position with the one before it, if they are one.
    fn merge_at(&mut self, at: usize) {
        if at > 0 && at < self.extents.len() && self.extents[at].continues(&self.extents[at - 1]) {
            self.extents[at - 1].blocks += self.extents[at].blocks;
            self.extents.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_into_the_middle_of_an_unwritten_extent_makes_three_and_the_next_block_merges() {
        let mut extents = FileExtents::default();
        extents.insert(Extent { at: 0, blocks: 100, place: 5000, written: false });
        assert!(extents.split(&(10..11).into()));
        assert_eq!(extents.count(), 3);
        assert!(extents.convert(&(10..11).into()));
        extents.split(&(11..12).into());
        assert_eq!(extents.count(), 4);
        extents.convert(&(11..12).into());
        assert_eq!(extents.count(), 3, "10 and 11 are one");
        assert!(!extents.convert(&(10..12).into()));
    }

    #[test]
    fn holes_are_found_in_order() {
        let mut extents = FileExtents::whole(4, 100);
        extents.insert(Extent { at: 8, blocks: 2, place: 50, written: true });
        assert_eq!(extents.hole(&(0..4).into()), None);
        assert_eq!(extents.hole(&(2..20).into()), Some((4..8).into()));
        assert_eq!(extents.hole(&(8..12).into()), Some((10..12).into()));
        assert_eq!(extents.goal(9), Some(104));
        assert_eq!(extents.end(), 10);
    }

    #[test]
    fn a_cut_file_ends_there() {
        let mut extents = FileExtents::whole(10, 0);
        assert!(extents.truncate(3));
        assert!(!extents.truncate(7));
        assert_eq!(extents.end(), 3);
    }
}
