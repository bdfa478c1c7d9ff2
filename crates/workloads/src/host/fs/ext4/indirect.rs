//! Indirect blocks: how ext2 and ext3 find a file's blocks beyond the twelfth.
//!
//! **Rule** the inode points to twelve blocks of the file, to a block that points to 1024 more, to one that points to
//! 1024 of those, and to one level more. A new block of the file changes what points to it; indirect blocks on the way
//! that are not there yet are allocated with it. Where a file is cut, those that lead nowhere any more become free, and
//! must not be replayed from the log.
//! **Origin** recordings ext3/03, 06, 07 and 11.

use super::super::extents::{Blocks, Extent};
use super::super::inode::InodeId;
use super::super::layout::MetaBlock;
use super::{Ext4, Handle};

/// Blocks that the inode itself points to.
const DIRECT: u64 = 12;

/// Pointers of an indirect block.
const POINTERS: u64 = 1024;

/// An indirect block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Indirect {
    /// Its number among those of a file: the single one, the double one and its 1024, the triple one and its levels.
    nth: u64,
    /// The blocks of the file that it leads to.
    leads_to: Blocks,
}

/// The indirect blocks from the inode to this block of a file.
fn way_to(block: u64) -> Vec<Indirect> {
    let square = POINTERS * POINTERS;
    let level = |nth: u64, base: u64, index: u64, each: u64| {
        let start = base + index * each;
        Indirect { nth: nth + index, leads_to: Blocks { start, end: start + each } }
    };
    let (single, double, triple) = (DIRECT, DIRECT + POINTERS, DIRECT + POINTERS + square);
    match block {
        _ if block < single => vec![],
        _ if block < double => vec![level(0, single, 0, POINTERS)],
        _ if block < triple => {
            let index = (block - double) / POINTERS;
            vec![level(1, double, 0, square), level(2, double, index, POINTERS)]
        }
        _ => {
            let (middle, index) = ((block - triple) / square, (block - triple) / POINTERS);
            let first = 2 + POINTERS;
            vec![
                level(first, triple, 0, square * POINTERS),
                level(first + 1, triple, middle, square),
                level(first + 1 + POINTERS, triple, index, POINTERS),
            ]
        }
    }
}

/// The first block behind this one that something else points to.
fn next_pointer(block: u64) -> u64 {
    way_to(block).last().map_or(DIRECT, |last| last.leads_to.end)
}

impl Ext4 {
    /// Gives a hole of a file, or its beginning, these places, with the indirect blocks that lead there.
    pub(super) fn point_to(&mut self, inode: InodeId, extent: Extent, handle: &mut Handle) {
        let group = self.geometry.group_of(extent.place);
        let known = self.inodes.entry(inode).or_default();
        let end = extent.at + extent.blocks;
        let mut at = extent.at;
        while at < end {
            let until = next_pointer(at).min(end);
            let way = way_to(at);
            let is_new = |block: &Indirect| !known.extents.has_any(&block.leads_to);
            let (old, new) = way.split_at(way.iter().take_while(|block| !is_new(block)).count());
            if !new.is_empty() {
                handle.blocks.extend([MetaBlock::BlockBitmap(group), self.geometry.descriptor_of(group)]);
            }
            // What points to the new ones is the last to change.
            let changed = new.iter().chain(old.last());
            handle.blocks.extend(changed.map(|block| MetaBlock::Indirect(inode, block.nth)));
            let place = extent.place + (at - extent.at);
            known.extents.insert(Extent { at, blocks: until - at, place, ..extent });
            at = until;
        }
    }

    /// Blocks of a file from this one on are about to become free: what pointed to them changes, or becomes free, too.
    pub(super) fn point_no_more(&mut self, inode: InodeId, from: u64, handle: &mut Handle) {
        let extents = &self.inodes.entry(inode).or_default().extents;
        // On the way to the first of them, each keeps what comes before, and loses what is behind, or a block that
        // is lost itself: from the last one up.
        let mut begins = from;
        for block in way_to(from).iter().rev() {
            let own = MetaBlock::Indirect(inode, block.nth);
            let Blocks { start, end } = block.leads_to;
            let (keeps, loses) = (Blocks { start, end: from }, Blocks { start: begins, end });
            match (extents.has_any(&keeps), extents.has_any(&loses)) {
                (true, true) => handle.blocks.push_back(own),
                (false, _) if extents.has_any(&block.leads_to) => handle.freed.push(own),
                // What it points to stays, whatever that loses.
                (true, false) | (false, _) => {}
            }
            if extents.has_any(&keeps) {
                begins = end;
            }
        }
        let mut at = next_pointer(from);
        while at < extents.end() {
            // Those of the upper levels lead to many, and are met at the first.
            let met = way_to(at).into_iter().filter(|block| at == block.leads_to.start);
            let there = met.filter(|block| extents.has_any(&block.leads_to));
            handle.freed.extend(there.map(|block| MetaBlock::Indirect(inode, block.nth)));
            at = next_pointer(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::super::kind::{Ext4Settings, FsKind};
    use super::super::super::layout::Ext4Geometry;
    use super::*;

    const FILE: InodeId = InodeId(12);

    #[test]
    fn where_a_file_is_cut_what_leads_nowhere_is_freed_and_what_leads_on_changes() {
        for seed in 0..200_u64 {
            let mut state = seed | 1;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let mut fs = Ext4::new(Ext4Settings::default(), Ext4Geometry::of_kind(FsKind::Ext3, 1 << 25), 32);
            let reach = [40, 5000, 3_000_000][seed as usize % 3];
            let mut blocks: Vec<u64> = (0..30).map(|_| random(reach)).collect();
            let mut had = BTreeSet::new();
            for block in &blocks {
                let mut handle = Handle::default();
                if !fs.inodes.entry(FILE).or_default().extents.has_any(&Blocks { start: *block, end: block + 1 }) {
                    fs.point_to(FILE, Extent { at: *block, blocks: 1, place: *block, written: true }, &mut handle);
                }
                for one in way_to(*block) {
                    // A new one's bitmap and descriptor change, too.
                    let is_new = had.insert(one.nth);
                    let own = MetaBlock::Indirect(FILE, one.nth);
                    assert!(!is_new || handle.blocks.contains(&own), "{block}: {handle:?}");
                    assert!(!is_new || handle.blocks.contains(&MetaBlock::BlockBitmap(block / 32_768)), "{block}");
                }
            }
            let from = random(reach);
            let mut handle = Handle::default();
            fs.point_no_more(FILE, from, &mut handle);
            // What each points to: indirect blocks, or (odd numbers) blocks of the file.
            let pointers = |blocks: &[u64]| {
                let mut pointers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
                for block in blocks {
                    let way: Vec<u64> = way_to(*block).iter().map(|one| one.nth).collect();
                    let next = way.iter().skip(1).map(|nth| 2 * nth).chain([2 * block + 1]);
                    way.iter().zip(next).for_each(|(nth, to)| _ = pointers.entry(*nth).or_default().insert(to));
                }
                pointers
            };
            let before = pointers(&blocks);
            blocks.retain(|block| *block < from);
            let after = pointers(&blocks);
            let named = |nth: &u64| MetaBlock::Indirect(FILE, *nth);
            let freed: Vec<MetaBlock> = had.iter().filter(|nth| !after.contains_key(nth)).map(named).collect();
            handle.freed.sort();
            assert_eq!(handle.freed, freed, "seed {seed}, from {from}");
            let changed: BTreeSet<MetaBlock> =
                after.iter().filter(|(nth, to)| before[nth] != **to).map(|(nth, _)| named(nth)).collect();
            assert_eq!(handle.blocks.iter().copied().collect::<BTreeSet<_>>(), changed, "seed {seed}, from {from}");
        }
    }

    #[test]
    fn the_levels_begin_where_they_should() {
        let numbers = |block: u64| way_to(block).iter().map(|block| block.nth).collect::<Vec<_>>();
        assert!(numbers(11).is_empty());
        assert_eq!((numbers(12), numbers(1035)), (vec![0], vec![0]));
        assert_eq!((numbers(1036), numbers(2059), numbers(2060)), (vec![1, 2], vec![1, 2], vec![1, 3]));
        let triple = 12 + 1024 + 1024 * 1024;
        assert_eq!(numbers(triple - 1), [1, 1025]);
        assert_eq!(numbers(triple), [1026, 1027, 2051]);
        assert_eq!(numbers(triple + 1024 * 1024), [1026, 1028, 3075]);
    }

    #[test]
    fn each_leads_to_the_block_that_it_was_asked_for() {
        for block in [12, 1035, 1036, 5000, 1_049_611, 1_049_612, 500_000_000] {
            let way = way_to(block);
            assert!(way.iter().all(|one| (one.leads_to.start..one.leads_to.end).contains(&block)), "{block}: {way:?}");
            assert!(way.windows(2).all(|two| two[0].leads_to.count() == 1024 * two[1].leads_to.count()));
        }
    }
}
