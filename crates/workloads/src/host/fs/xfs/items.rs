//! The committed item list: what is logged, each item once however often it changed, and how long that is.
//!
//! **Rule** a checkpoint is 52 bytes and its items. An inode of which only times changed: 256. With its extents: 268
//! and 16 for each extent, up to 12; beyond that a B-tree: 268 + 88, and its block as a buffer. A short directory: 268
//! and its names. A buffer: 48 and 128 for each changed chunk of 128 bytes, which is usually one.
//! **Origin** `xlog_iclog_syncing.offset`, exact in 162 of 166 recorded log writes of one process.

use std::collections::{BTreeMap, BTreeSet};

use super::super::inode::InodeId;
use super::XfsInode;

/// What every checkpoint has \[bytes\].
const CHECKPOINT: u64 = 52;

/// A buffer with one changed chunk \[bytes\].
const BUFFER: u64 = 48 + 128;

/// Extents that fit into the inode.
const INLINE: u64 = 12;

/// The longest directory that fits into an inode of 512 bytes \[bytes\] (MEMORY). A longer one has a block; how much of
/// that one more name changes was not recorded: three chunks are an assumption, one sector more or less.
const SHORT: u64 = 336;

/// What is logged of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InodeItem {
    /// Its times and attributes.
    Times,
    /// And its extents.
    Extents,
    /// And the names in it.
    Names,
}

/// The list.
#[derive(Clone, Debug, Default)]
pub(super) struct CommittedItems {
    inodes: BTreeMap<InodeId, InodeItem>,
    /// Groups in which blocks were allocated or freed: three buffers each.
    allocations: BTreeSet<u64>,
    /// Groups in which inodes were: three buffers each.
    creations: BTreeSet<u64>,
    /// Groups whose list of nameless inodes changed: a buffer each.
    unlinked: BTreeSet<u64>,
}

impl CommittedItems {
    pub fn inode(&mut self, inode: InodeId, item: InodeItem) {
        let known = self.inodes.entry(inode).or_insert(item);
        *known = (*known).max(item);
    }

    pub fn allocation(&mut self, group: u64) {
        self.allocations.insert(group);
    }

    pub fn creation(&mut self, group: u64) {
        self.creations.insert(group);
    }

    pub fn unlinked(&mut self, group: u64) {
        self.unlinked.insert(group);
    }

    pub fn is_empty(&self) -> bool {
        self.inodes.is_empty()
    }

    /// A length that it has at least \[bytes\], found quickly.
    pub fn at_least(&self) -> u64 {
        256 * self.inodes.len() as u64
    }

    /// Its length as a checkpoint \[bytes\].
    pub fn bytes<'a>(&self, known: impl Fn(InodeId) -> Option<&'a XfsInode>) -> u64 {
        let inodes = self.inodes.iter().map(|(inode, item)| of_inode(*item, known(*inode)));
        let groups = (self.allocations.len() + self.creations.len()) as u64;
        CHECKPOINT + inodes.sum::<u64>() + groups * 3 * BUFFER + self.unlinked.len() as u64 * BUFFER
    }

    /// Empties it; returns its length.
    pub fn take<'a>(&mut self, known: impl Fn(InodeId) -> Option<&'a XfsInode>) -> u64 {
        let bytes = self.bytes(known);
        *self = CommittedItems::default();
        bytes
    }
}

fn of_inode(item: InodeItem, known: Option<&XfsInode>) -> u64 {
    let extents = known.map_or(0, |known| known.extents.count() as u64);
    match (item, known) {
        (InodeItem::Times, _) | (InodeItem::Extents, None) => 256,
        (InodeItem::Extents, _) if extents == 0 => 256,
        (InodeItem::Extents, _) if extents <= INLINE => 268 + 16 * extents,
        (InodeItem::Extents, _) => 268 + 88 + 48 + 128 * (72 + 16 * extents).div_ceil(128),
        (InodeItem::Names, known) => {
            let names = known.map_or(0, |known| known.names.iter().map(|name| 8 + name).sum::<u64>());
            match 6 + names {
                short @ ..=SHORT => 268 + short.next_multiple_of(4),
                // An extent, and in the block the entry, its place among the sorted ones, and the block's tail.
                _ => 268 + 16 + 48 + 3 * 128,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::extents::FileExtents;
    use super::*;

    fn one(item: InodeItem, inode: &XfsInode) -> u64 {
        let mut items = CommittedItems::default();
        items.inode(InodeId(1), item);
        items.bytes(|_| Some(inode))
    }

    #[test]
    fn an_overwrite_is_308_bytes_and_an_append_848_and_its_extents() {
        let inode = XfsInode { extents: FileExtents::whole(2, 100), ..XfsInode::default() };
        assert_eq!(one(InodeItem::Times, &inode), 308);
        let mut items = CommittedItems::default();
        items.inode(InodeId(1), InodeItem::Times);
        items.inode(InodeId(1), InodeItem::Extents);
        items.allocation(0);
        assert_eq!(items.take(|_| Some(&inode)), 848 + 16);
        assert!(items.is_empty());
    }
}
