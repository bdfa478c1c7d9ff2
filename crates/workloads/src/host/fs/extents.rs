//! A file's extents: which of its blocks have a place, and whether anything has been written there.
//!
//! **Rule** extents are counted at the moment of allocation, when a new one is still unwritten and so an extent of its
//! own; writing into an unwritten extent splits it into up to three. The conversion at the end of the data then merges
//! what was written with written neighbours.

use core::ops::Range;
use std::collections::BTreeMap;

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

/// A file's extents, by their first block. Each question costs what its blocks have, however many extents there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileExtents {
    extents: BTreeMap<u64, Extent>,
}

impl FileExtents {
    /// One written extent at the place's beginning.
    pub fn whole(blocks: u64, place: u64) -> FileExtents {
        let mut extents = FileExtents::default();
        if blocks > 0 {
            extents.extents.insert(0, Extent { at: 0, blocks, place, written: true });
        }
        extents
    }

    /// How many extents there are.
    pub fn count(&self) -> usize {
        self.extents.len()
    }

    /// The block after the last with a place.
    pub fn end(&self) -> u64 {
        self.extents.last_key_value().map_or(0, |(_, extent)| extent.end())
    }

    /// The extents that have any of these blocks, ascending.
    fn within(&self, blocks: &Blocks) -> impl Iterator<Item = &Extent> {
        let first = self.before(blocks.start).filter(|extent| blocks.start < extent.end());
        let from = first.map_or(blocks.start, |extent| extent.at);
        self.extents.range(from..blocks.end.max(from)).map(|(_, extent)| extent)
    }

    /// The last extent that begins at this block or before.
    fn before(&self, at: u64) -> Option<&Extent> {
        self.extents.range(..=at).next_back().map(|(_, extent)| extent)
    }

    /// The first of these blocks without a place, and those after it that have none either.
    pub fn hole(&self, blocks: &Blocks) -> Option<Blocks> {
        let mut at = blocks.start;
        for extent in self.within(blocks) {
            if extent.at > at {
                return Some(Blocks { start: at, end: extent.at });
            }
            at = extent.end();
        }
        (at < blocks.end).then_some(Blocks { start: at, end: blocks.end })
    }

    /// Whether any of these blocks has a place that has not been written.
    pub fn is_unwritten(&self, blocks: &Blocks) -> bool {
        self.within(blocks).any(|extent| !extent.written)
    }

    /// Whether any of these blocks has a place.
    pub fn has_any(&self, blocks: &Blocks) -> bool {
        blocks.count() > 0 && self.within(blocks).next().is_some()
    }

    /// The length of the extent that ends right before this block, if there is one.
    pub fn last_before(&self, at: u64) -> Option<u64> {
        let before = self.extents.range(..at).next_back().map(|(_, extent)| extent);
        before.filter(|extent| extent.end() == at).map(|extent| extent.blocks)
    }

    /// The place right behind the extent before this block.
    pub fn goal(&self, at: u64) -> Option<u64> {
        let before = self.extents.range(..at).rev().map(|(_, extent)| extent).find(|extent| extent.end() <= at);
        before.map(|extent| extent.place + extent.blocks)
    }

    /// Adds an extent where none is; if it has been written, it is merged with its neighbours.
    pub fn insert(&mut self, extent: Extent) {
        self.extents.insert(extent.at, extent);
        if extent.written {
            self.merge_at(extent.end());
            self.merge_at(extent.at);
        }
    }

    /// Splits unwritten extents at the borders of these blocks. True if any was split.
    pub fn split(&mut self, blocks: &Blocks) -> bool {
        let before = self.extents.len();
        for border in [blocks.start, blocks.end] {
            let left = self.before(border).copied().filter(|e| !e.written && e.at < border && border < e.end());
            if let Some(left) = left {
                let blocks = border - left.at;
                let right = Extent { at: border, blocks: left.blocks - blocks, place: left.place + blocks, ..left };
                self.extents.insert(left.at, Extent { blocks, ..left });
                self.extents.insert(border, right);
            }
        }
        self.extents.len() > before
    }

    /// These blocks have been written. True if any had not been before.
    pub fn convert(&mut self, blocks: &Blocks) -> bool {
        self.split(blocks);
        let within = |extent: &&Extent| !extent.written && blocks.start <= extent.at && extent.end() <= blocks.end;
        let converted: Vec<Extent> = self.within(blocks).filter(within).copied().collect();
        for &extent in converted.iter().rev() {
            self.extents.insert(extent.at, Extent { written: true, ..extent });
            self.merge_at(extent.end());
            self.merge_at(extent.at);
        }
        !converted.is_empty()
    }

    /// Cuts everything from this block on; returns whether there was anything.
    pub fn truncate(&mut self, at: u64) -> bool {
        let before = self.end();
        self.extents.split_off(&at);
        if let Some(mut last) = self.extents.last_entry() {
            let last = last.get_mut();
            last.blocks = last.blocks.min(at - last.at);
        }
        self.end() < before
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Extent> {
        self.extents.values()
    }

    /// Merges the extent that begins at this block with the one before it, if they are one.
    fn merge_at(&mut self, at: u64) {
        let Some(&own) = self.extents.get(&at) else { return };
        if let Some((_, before)) = self.extents.range_mut(..at).next_back()
            && own.continues(before)
        {
            before.blocks += own.blocks;
            self.extents.remove(&at);
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
    fn a_file_in_many_pieces_is_as_quick_to_ask() {
        let mut extents = FileExtents::default();
        extents.insert(Extent { at: 0, blocks: 400_000, place: 0, written: false });
        // Every other block: with a walk over all extents this would be 10^10 steps.
        for at in (0..200_000).map(|nth| 2 * (nth * 7_919 % 200_000)) {
            assert!(extents.is_unwritten(&(at..at + 1).into()) && extents.convert(&(at..at + 1).into()));
            assert!(!extents.is_unwritten(&(at..at + 1).into()));
        }
        assert_eq!((extents.count(), extents.end()), (400_000, 400_000));
        assert_eq!(extents.hole(&(0..400_001).into()), Some((400_000..400_001).into()));
        assert!(extents.convert(&(0..400_000).into()));
        assert_eq!(extents, FileExtents::whole(400_000, 0));
    }

    #[test]
    fn a_cut_file_ends_there() {
        let mut extents = FileExtents::whole(10, 0);
        assert!(extents.truncate(3));
        assert!(!extents.truncate(7));
        assert_eq!(extents.end(), 3);
    }
}
