//! Directories of ext4: which of a directory's blocks a name is in.
//!
//! **Rule** a name takes 8 bytes and its length, rounded up to 4, and a block has room for 4084. A directory that
//! outgrows its block becomes a tree: that block is the root, and two new ones have the names, by their hashes. A leaf
//! that is full is split in two, and the root changes.
//! **Origin** recording 28: transactions that are full after 3840 names in 40 directories, and after 2744 while these
//! outgrow their blocks. A tree of more levels (beyond some 500 leaves) is not modelled. Names are not known here, so
//! that a hash of the inode's number stands for the name's.

use std::collections::BTreeMap;

use super::super::inode::InodeId;
use super::super::layout::MetaBlock;

/// Bytes of a block for names: without its checksum.
const ROOM: u64 = 4096 - 12;

/// What a directory's first block has beside names: those of itself and its parent.
const DOTS: u64 = 24;

#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// Its first hash.
    from: u64,
    bytes: u64,
    /// Its block in the directory.
    block: u32,
}

/// A directory's leaves by hash: the first block alone, or, in a tree, the others.
#[derive(Clone, Debug)]
struct Names {
    leaves: Vec<Leaf>,
}

impl Default for Names {
    fn default() -> Names {
        Names { leaves: vec![Leaf { from: 0, bytes: DOTS, block: 0 }] }
    }
}

impl Names {
    fn is_tree(&self) -> bool {
        self.leaves.len() > 1
    }

    fn nth(&self, hash: u64) -> usize {
        self.leaves.partition_point(|leaf| leaf.from <= hash) - 1
    }

    /// Splits a leaf in the middle of its hashes.
    fn split(&mut self, nth: usize) {
        let blocks = self.leaves.iter().map(|leaf| leaf.block).max().unwrap_or(0);
        let end = self.leaves.get(nth + 1).map_or(u64::MAX, |next| next.from);
        let was_tree = self.is_tree();
        let leaf = &mut self.leaves[nth];
        if !was_tree {
            // The first block is the root from now on.
            (leaf.block, leaf.bytes) = (1, leaf.bytes - DOTS.min(leaf.bytes));
        }
        leaf.bytes /= 2;
        let from = leaf.from + (end - leaf.from) / 2;
        let half = Leaf { from, bytes: leaf.bytes, block: if was_tree { blocks + 1 } else { 2 } };
        self.leaves.insert(nth + 1, half);
    }
}

/// All directories.
#[derive(Clone, Debug, Default)]
pub(super) struct Directories {
    of: BTreeMap<InodeId, Names>,
}

impl Directories {
    /// The block that has, or would have, this file's name.
    pub fn block_of(&self, dir: InodeId, inode: InodeId) -> MetaBlock {
        let block = self.of.get(&dir).map_or(0, |names| names.leaves[names.nth(hash(inode))].block);
        block_of(dir, block)
    }

    /// A file's name comes. Returns the blocks that change, and how many of them are new.
    pub fn add(&mut self, dir: InodeId, inode: InodeId, name: u64) -> (Vec<MetaBlock>, u64) {
        let (names, hash, bytes) = (self.of.entry(dir).or_default(), hash(inode), bytes(name));
        let nth = names.nth(hash);
        if names.leaves[nth].bytes + bytes <= ROOM {
            names.leaves[nth].bytes += bytes;
            return (vec![block_of(dir, names.leaves[nth].block)], 0);
        }
        let new = if names.is_tree() { 1 } else { 2 };
        names.split(nth);
        let blocks = names.leaves[nth..=nth + 1].iter().map(|leaf| block_of(dir, leaf.block));
        let blocks = core::iter::once(block_of(dir, 0)).chain(blocks).collect();
        let nth = names.nth(hash);
        names.leaves[nth].bytes += bytes;
        (blocks, new)
    }

    /// A file's name goes. Returns the block that changes.
    pub fn remove(&mut self, dir: InodeId, inode: InodeId, name: u64) -> MetaBlock {
        if let Some(names) = self.of.get_mut(&dir) {
            let nth = names.nth(hash(inode));
            let leaf = &mut names.leaves[nth];
            leaf.bytes = leaf.bytes.saturating_sub(bytes(name));
        }
        self.block_of(dir, inode)
    }

    /// A directory is no more.
    pub fn forget(&mut self, dir: InodeId) {
        self.of.remove(&dir);
    }
}

fn block_of(dir: InodeId, block: u32) -> MetaBlock {
    match block {
        0 => MetaBlock::Directory(dir),
        leaf => MetaBlock::DirectoryLeaf(dir, leaf),
    }
}

/// What a name of this length takes \[bytes\].
fn bytes(name: u64) -> u64 {
    (8 + name).next_multiple_of(4)
}

/// Numbers spread over all hashes.
fn hash(inode: InodeId) -> u64 {
    let mixed = inode.0.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: InodeId = InodeId(2);

    #[test]
    fn a_directory_that_outgrows_its_block_has_a_root_and_leaves_of_which_none_overflows() {
        let mut directories = Directories::default();
        let mut splits = Vec::new();
        for nth in 0..4000 {
            let (blocks, new) = directories.add(DIR, InodeId(100 + nth), 6);
            assert!(if new == 0 { blocks.len() == 1 } else { blocks.len() == 3 }, "{blocks:?}");
            if new > 0 {
                splits.push((nth, new));
            }
        }
        // (4084 - 24) / 16 names fit into the first block.
        assert_eq!(splits[0], (253, 2));
        assert!(splits[1..].iter().all(|(_, new)| *new == 1));
        let names = &directories.of[&DIR];
        assert!((16..=36).contains(&names.leaves.len()), "{} leaves", names.leaves.len());
        assert!(names.leaves.iter().all(|leaf| leaf.bytes <= ROOM));
        // What was added last is where it was put, and goes from there.
        assert_eq!(directories.remove(DIR, InodeId(200), 6), directories.block_of(DIR, InodeId(200)));
    }
}
