//! The committed item list: what is logged, each item once however often it changed, and how long that is.
//!
//! **Rule** a checkpoint is 52 bytes and its items. An inode of which only times changed: 256. With its extents: 268
//! and 16 for each extent, up to 12; beyond that a B-tree: 268 + 88, and its block as a buffer. A short directory: 268
//! and its names. A buffer: 48 and 128 for each changed chunk of 128 bytes, which is usually one.
//! **Origin** `xlog_iclog_syncing.offset`, exact in 162 of 166 recorded log writes of one process.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use super::super::inode::InodeId;
use super::XfsInode;

/// What every checkpoint has \[bytes\].
const CHECKPOINT: u64 = 52;

/// A buffer with one changed chunk \[bytes\].
const BUFFER: u64 = 48 + 128;

/// Extents that fit into the inode.
const INLINE: u64 = 12;

/// The longest directory that fits into an inode, where 12 extents have room, too \[bytes\]: recorded, 183 bytes of
/// names are inside and 216 are not.
const SHORT: u64 = 192;

/// A directory's block \[bytes\].
const BLOCK: u64 = 4096;

/// Inodes that are read and written together.
pub(super) const CLUSTER: u64 = 32;

/// The first inode that a real one has.
const FIRST: u64 = 128;

/// Inodes that get their blocks together.
pub(super) const CHUNK: u64 = 64;

/// That inodes got blocks \[bytes\]: 28 (MEMORY) and what each part has. Recorded with it: 68 of them among 1.3 MB to
/// 50 bytes, which are the parts that go on in another log buffer.
const NEW_CHUNK: u64 = 40;

/// What is logged of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InodeItem {
    /// Its times and attributes.
    Times,
    /// And its extents.
    Extents,
    /// And the names in it, or what a symbolic link says (which has one byte here).
    Names,
}

/// The list.
#[derive(Clone, Debug, Default)]
pub(super) struct CommittedItems {
    /// What of each, and how long that is \[bytes\].
    inodes: BTreeMap<InodeId, (InodeItem, u64)>,
    /// All of them together \[bytes\].
    of_inodes: u64,
    /// Groups in which blocks were allocated or freed: three buffers each.
    allocations: BTreeSet<u64>,
    /// Groups in which inodes were: three buffers each.
    creations: BTreeSet<u64>,
    /// Groups whose list of nameless inodes changed: a buffer each.
    unlinked: BTreeSet<u64>,
    /// New chunks of inodes.
    chunks: u64,
    /// Groups in which there are, and how many there are now: one block of a tree has an entry for each.
    grown: BTreeMap<u64, u64>,
}

impl CommittedItems {
    /// This of an inode has changed, which is so now.
    pub fn inode(&mut self, inode: InodeId, item: InodeItem, known: Option<&XfsInode>) {
        let logged = self.inodes.entry(inode).or_insert((item, 0));
        let item = item.max(logged.0);
        self.of_inodes -= logged.1;
        *logged = (item, of_inode(item, known));
        self.of_inodes += logged.1;
    }

    pub fn allocation(&mut self, group: u64) {
        self.allocations.insert(group);
    }

    pub fn creation(&mut self, group: u64) {
        self.creations.insert(group);
    }

    /// A group has a new chunk of inodes, with which there are so many.
    pub fn chunk(&mut self, group: u64, chunks: u64) {
        self.chunks += 1;
        self.grown.insert(group, chunks);
        self.allocation(group);
    }

    pub fn unlinked(&mut self, group: u64) {
        self.unlinked.insert(group);
    }

    /// Where what it changes is at home \[sectors\], the place and the length, if a group has so many sectors.
    pub fn homes(&self, group: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        // An inode has a sector, and is written with its cluster. The first are behind the heads of the group.
        let place = |inode: u64| if inode < FIRST { inode + FIRST } else { inode };
        let clusters = self.inodes.keys().map(move |inode| (place(inode.0) / CLUSTER * CLUSTER, CLUSTER));
        let of = |groups: &BTreeSet<u64>, places: &'static [(u64, u64)]| {
            let all = groups.iter().flat_map(|nth| places.iter().map(move |(at, long)| (nth * group + at, *long)));
            all.collect::<Vec<_>>()
        };
        let space = of(&self.allocations, &[(1, 1), (8, 8), (16, 8)]);
        let inodes = of(&self.creations, &[(2, 1), (24, 8), (32, 8)]);
        clusters.chain(space).chain(inodes).chain(of(&self.unlinked, &[(2, 1)]))
    }

    pub fn is_empty(&self) -> bool {
        self.inodes.is_empty()
    }

    /// Its length as a checkpoint \[bytes\].
    pub fn bytes(&self) -> u64 {
        let groups = (self.allocations.len() + self.creations.len()) as u64;
        // A group's list of nameless inodes is in one of the three of its creations.
        let unlinked = self.unlinked.difference(&self.creations).count() as u64;
        let grown = self.grown.values().map(|chunks| 128 * ((56 + 16 * chunks).div_ceil(128).min(BLOCK / 128) - 1));
        CHECKPOINT
            + self.of_inodes
            + groups * 3 * BUFFER
            + unlinked * BUFFER
            + self.chunks * NEW_CHUNK
            + grown.sum::<u64>()
    }

    /// The inodes in it whose names have changed.
    pub fn directories(&self) -> impl Iterator<Item = InodeId> + '_ {
        self.inodes.iter().filter(|(_, (item, _))| *item == InodeItem::Names).map(|(inode, _)| *inode)
    }

    /// Empties it; returns its length.
    pub fn take(&mut self) -> u64 {
        core::mem::take(self).bytes()
    }
}

/// The inodes that are at home in this cluster.
pub(super) fn inodes_of(at: u64) -> [Range<InodeId>; 2] {
    let from = |first: u64| InodeId(first)..InodeId(first + CLUSTER);
    // The first inodes of a real one have other numbers.
    [from(at), if at < 2 * FIRST { from(at - FIRST) } else { InodeId(0)..InodeId(0) }]
}

fn of_inode(item: InodeItem, known: Option<&XfsInode>) -> u64 {
    let extents = known.map_or(0, |known| known.extents.count() as u64);
    match (item, known) {
        (InodeItem::Times, _) | (InodeItem::Extents, None) => 256,
        (InodeItem::Extents, _) if extents == 0 => 256,
        (InodeItem::Extents, _) if extents <= INLINE => 268 + 16 * extents,
        (InodeItem::Extents, _) => 268 + 88 + 48 + 128 * (72 + 16 * extents).div_ceil(128),
        (InodeItem::Names, None) => 268 + 8,
        (InodeItem::Names, Some(XfsInode { names, .. })) => match 6 + names.in_inode {
            short @ ..=SHORT => 268 + short.next_multiple_of(4),
            _ => 268 + 16 + names.of_block(),
        },
    }
}

/// The names in a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Their lengths \[bytes\].
    lengths: Vec<u64>,
    /// What they take in the inode \[bytes\].
    in_inode: u64,
    /// What they take in a block \[bytes\].
    in_block: u64,
    /// How much that was, and how many names, when the block was last written home.
    at_home: Option<(u64, u64)>,
    /// And when the list before this one was full.
    in_list: Option<(u64, u64)>,
}

impl Names {
    /// Those of a directory that is at home.
    pub fn at_home(lengths: &[u64]) -> Names {
        let mut names = Names::default();
        lengths.iter().for_each(|name| names.add(*name));
        names.is_at_home();
        names
    }

    /// The block is written home.
    pub fn is_at_home(&mut self) {
        self.at_home = self.now();
    }

    /// What has changed is in a list that takes nothing more.
    pub fn is_in_list(&mut self) {
        self.in_list = self.now();
    }

    fn now(&self) -> Option<(u64, u64)> {
        (6 + self.in_inode > SHORT).then_some((self.in_block, self.lengths.len() as u64))
    }

    pub fn add(&mut self, name: u64) {
        self.lengths.push(name);
        self.in_inode += 8 + name;
        self.in_block += (12 + name).next_multiple_of(8);
    }

    pub fn remove(&mut self, name: u64) {
        if let Some(nth) = self.lengths.iter().position(|known| *known == name) {
            self.lengths.swap_remove(nth);
            self.in_inode -= 8 + name;
            self.in_block -= (12 + name).next_multiple_of(8);
        }
    }

    /// The changed chunks of the block \[bytes\]. From its front grow the entries, from its back the list of them,
    /// sorted by a hash, so that a new one may change all of it; what has changed since the block was last written home
    /// is logged with every change of it. A longer directory has its list in blocks of its own, and those that do not
    /// change are not in the list. Of it only that was recorded how many new names fill a list (x33, to a percent);
    /// that a new name of an old one changes half a block of the list is an assumption.
    fn of_block(&self) -> u64 {
        // The head, `.` and `..` come first.
        let entries = 64 + 16 + 16 + self.in_block;
        let list = 8 + 8 * (self.lengths.len() as u64 + 2) + 2;
        if entries + list > BLOCK {
            return self.of_blocks(entries);
        }
        let from = self.at_home.map_or(0, |(in_block, _)| (96 + in_block.min(self.in_block)) / 128);
        let (front, back) = ((entries + 4).div_ceil(128) - from, list.div_ceil(128));
        36 + 12 + 128 * front + 12 + 128 * back
    }

    fn of_blocks(&self, entries: u64) -> u64 {
        let whole = |bytes: u64| bytes + bytes.div_ceil(BLOCK) * 48;
        let at = |known: Option<(u64, u64)>| known.map_or(0, |(in_block, _)| 96 + in_block.min(self.in_block));
        // Of the block that was the last of the list before, all that is not at home.
        let from = at(self.at_home).max(at(self.in_list) / BLOCK * BLOCK) / 128;
        let list = whole((8 * self.lengths.len() as u64).next_multiple_of(128));
        let known = self.at_home.max(self.in_list);
        let new = known.map(|(_, names)| (self.lengths.len() as u64).saturating_sub(names).max(1));
        let list = new.map_or(list, |new| list.min(new * (48 + BLOCK / 2)));
        whole(128 * (entries.div_ceil(128) - from)) + list + BUFFER
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::extents::FileExtents;
    use super::*;

    fn one(item: InodeItem, inode: &XfsInode) -> u64 {
        let mut items = CommittedItems::default();
        items.inode(InodeId(1), item, Some(inode));
        items.bytes()
    }

    #[test]
    fn an_overwrite_is_308_bytes_and_an_append_848_and_its_extents() {
        let inode = XfsInode { extents: FileExtents::whole(2, 100), ..XfsInode::default() };
        assert_eq!(one(InodeItem::Times, &inode), 308);
        let mut items = CommittedItems::default();
        items.inode(InodeId(1), InodeItem::Times, Some(&inode));
        items.inode(InodeId(1), InodeItem::Extents, Some(&inode));
        items.allocation(0);
        assert_eq!(items.take(), 848 + 16);
        assert!(items.is_empty());
    }

    #[test]
    fn a_directory_of_more_than_192_bytes_of_names_has_a_block() {
        let of = |names: &[u64]| {
            let mut inode = XfsInode::default();
            names.iter().for_each(|name| inode.names.add(*name));
            one(InodeItem::Names, &inode) - CHECKPOINT
        };
        assert_eq!(of(&[]), 276);
        assert_eq!(of(&[178]), 268 + 192, "as long as it may be");
        assert_eq!(of(&[179]), 284 + 36 + 12 + 3 * 128 + 12 + 128);
        // Recorded: 22 names, of which ten have two letters and the others three.
        let names: Vec<u64> = (0..22).map(|nth| if nth < 10 { 2 } else { 3 }).collect();
        assert_eq!(of(&names), 284 + 828);
        assert_eq!(of(&[8; 200]), 284 + (4992 + 2 * 48) + (1664 + 48) + 176, "more than a block");
    }

    #[test]
    fn of_a_block_that_is_at_home_the_new_end_is_logged() {
        let mut names = Names::at_home(&[10; 60]);
        names.add(10);
        assert_eq!(names.of_block(), 36 + (12 + 128) + (12 + 5 * 128), "the last entries, and the list");
        for _ in 0..61 {
            names.remove(10);
        }
        assert_eq!(names.in_inode + names.in_block, 0);
    }
}
