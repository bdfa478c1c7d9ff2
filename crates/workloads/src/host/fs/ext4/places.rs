//! Where new blocks lie: mballoc, as far as its outcome shows in the journal.
//!
//! **Rule** a file of at most 64 KiB gets its blocks from the reserve of the processor that writes it: 512 blocks, one
//! behind the other, in a block group of its own. A larger file has a preallocation of its own: its size is rounded up
//! to a power of two, of which it has what is not allocated yet, and an allocation does not cross its end. The next
//! one lies right behind, if nobody else has been there.

use std::collections::BTreeMap;

use super::super::extents::{Blocks, FileExtents};
use super::super::inode::InodeId;
use super::super::layout::Ext4Geometry;

/// The largest file that gets its blocks from a processor's reserve \[blocks\].
const SMALL: u64 = 16;

/// A reserve's length \[blocks\].
const RESERVE: u64 = 512;

/// The largest preallocation \[blocks\]: 16 MiB.
const LARGEST: u64 = 4096;

/// Blocks by number.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    next: u64,
    left: u64,
}

/// The allocator of blocks.
#[derive(Clone, Debug)]
pub struct Places {
    /// A reserve for each processor.
    reserves: Vec<Run>,
    /// Where the next reserve lies.
    next_reserve: u64,
    /// Where the next preallocation lies.
    next: u64,
    /// Files' preallocations: from which of their blocks on, and where.
    preallocated: BTreeMap<InodeId, (u64, Run)>,
    /// What a recording says: the place of a block of a file, and how many.
    recorded: BTreeMap<(InodeId, u64), (u64, u64)>,
    /// The group of leaves, if a recording says it.
    leaf_group: Option<u64>,
}

impl Places {
    /// Those of a fresh file system of two processors.
    pub fn new() -> Places {
        Places {
            reserves: vec![Run::default(); 2],
            next_reserve: 33_792,
            next: 4224,
            preallocated: BTreeMap::new(),
            recorded: BTreeMap::new(),
            leaf_group: None,
        }
    }

    /// The same, where a recording says which place a block of a file got, and how many blocks from there on.
    pub fn recorded(mut self, recorded: BTreeMap<(InodeId, u64), (u64, u64)>, leaf_group: Option<u64>) -> Places {
        (self.recorded, self.leaf_group) = (recorded, leaf_group);
        self
    }

    /// A place for the first blocks of a hole, and how many of them. `whole`: for `fallocate`.
    pub(super) fn take(&mut self, inode: InodeId, extents: &FileExtents, hole: &Blocks, whole: bool) -> (u64, u64) {
        let wanted = hole.count();
        if let Some(&(place, count)) = self.recorded.get(&(inode, hole.start)) {
            return (place, count.clamp(1, wanted));
        }
        if whole {
            let place = self.next;
            self.next += wanted;
            return (place, wanted);
        }
        if let Some((at, run)) = self.preallocated.get_mut(&inode)
            && *at == hole.start
            && run.left > 0
        {
            let count = wanted.min(run.left);
            let place = run.next;
            (*at, run.next, run.left) = (*at + count, run.next + count, run.left - count);
            return (place, count);
        }
        if hole.end <= SMALL { self.take_reserved(inode, wanted) } else { self.preallocate(inode, extents, hole) }
    }

    fn take_reserved(&mut self, inode: InodeId, wanted: u64) -> (u64, u64) {
        let which = (inode.0 % self.reserves.len() as u64) as usize;
        if self.reserves[which].left < wanted {
            self.reserves[which] = Run { next: self.next_reserve, left: RESERVE };
            // The other processor's is in another block group.
            self.next_reserve += if which == 0 { 32_768 - 1024 } else { RESERVE };
        }
        let run = &mut self.reserves[which];
        let place = run.next;
        (run.next, run.left) = (run.next + wanted, run.left - wanted);
        (place, wanted)
    }

    fn preallocate(&mut self, inode: InodeId, extents: &FileExtents, hole: &Blocks) -> (u64, u64) {
        let wanted = hole.count();
        let end = match hole.end {
            end if end <= LARGEST => end.next_power_of_two(),
            end => end.next_multiple_of(LARGEST),
        };
        let length = end - hole.start;
        let follows = extents.goal(hole.start).filter(|goal| *goal == self.next);
        let place = follows.unwrap_or(self.next);
        self.next = place + length;
        let run = Run { next: place + wanted, left: length - wanted };
        self.preallocated.insert(inode, (hole.start + wanted, run));
        (place, wanted)
    }

    /// The block group of a file's leaf: the one behind its inode's.
    pub(super) fn leaf_group(&self, geometry: &Ext4Geometry, inode: InodeId) -> u64 {
        self.leaf_group.unwrap_or(geometry.inode_group(inode) + 1)
    }

    /// The file is gone.
    pub(super) fn forget(&mut self, inode: InodeId) {
        self.preallocated.remove(&inode);
    }
}

impl Default for Places {
    fn default() -> Places {
        Places::new()
    }
}
