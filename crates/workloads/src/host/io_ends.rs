//! Writes that count as written together: those of one allocation of blocks, when the file system has converted it.
//!
//! **Rule** the last write of an allocation that ends at the disk ends it. If somebody else writes a part of it, what
//! lies before that part is all that is waited for.
//! **In the kernel** `ext4_io_end`, `iomap_ioend`.

use std::collections::BTreeMap;

use blksched::Instant;

use super::cache::TransferId;
use super::fs::{Blocks, InodeId};

/// A write of an allocation's that has ended at the disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedWrite {
    pub id: TransferId,
    pub failed: bool,
    /// When the device began with it.
    pub issued_at: Instant,
}

/// Bios of one allocation.
#[derive(Clone, Debug)]
struct IoEnd {
    inode: InodeId,
    blocks: Blocks,
    /// Blocks whose writes have not ended.
    left: u64,
    ended: Vec<EndedWrite>,
    /// When the last of them had.
    landed: Option<Instant>,
}

/// The allocations whose writes are under way, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct IoEnds {
    open: BTreeMap<u64, IoEnd>,
    /// The allocation that each write of pages belongs to.
    of: BTreeMap<TransferId, u64>,
    begun: u64,
    /// Allocations that ended because somebody else writes the rest.
    cut: Vec<u64>,
}

impl IoEnds {
    /// Writes of these blocks, which come next, count as written together. Allocations whose writes have not come that
    /// far end before them; true if there are such.
    pub fn begin(&mut self, inode: InodeId, blocks: Blocks) -> bool {
        let is_cut = self.cut_short(inode, blocks);
        self.begun += 1;
        let io = IoEnd { inode, blocks, left: blocks.count(), ended: Vec::new(), landed: None };
        self.open.insert(self.begun, io);
        is_cut
    }

    fn cut_short(&mut self, inode: InodeId, blocks: Blocks) -> bool {
        let mut is_cut = false;
        for (number, io) in &mut self.open {
            if io.inode == inode && io.blocks.start <= blocks.start && blocks.start < io.blocks.end {
                io.left -= (io.blocks.end - blocks.start).min(io.left);
                io.blocks.end = blocks.start;
                is_cut = true;
                if io.left == 0 && !io.ended.is_empty() {
                    self.cut.push(*number);
                }
            }
        }
        self.open.retain(|_, io| io.left > 0 || !io.ended.is_empty());
        is_cut
    }

    /// These blocks, whose writes have not come, will not be written: what lies beside them is all that is waited for.
    pub fn drop_rest(&mut self, inode: InodeId, blocks: Blocks) {
        for (number, io) in self.open.iter_mut().filter(|(_, io)| io.inode == inode) {
            let dropped = io.blocks.end.min(blocks.end).saturating_sub(io.blocks.start.max(blocks.start));
            io.left -= dropped.min(io.left);
            if dropped > 0 && io.left == 0 && !io.ended.is_empty() {
                self.cut.push(*number);
            }
        }
        self.open.retain(|_, io| io.left > 0 || !io.ended.is_empty());
    }

    /// The allocations that ended by being cut short, since this was last asked.
    pub fn take_cut(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.cut)
    }

    /// A write of these blocks begins; it belongs to the latest allocation that has them, if any has.
    pub fn join(&mut self, id: TransferId, inode: InodeId, blocks: Blocks) {
        let holds = |io: &IoEnd| io.inode == inode && io.blocks.start <= blocks.start && blocks.end <= io.blocks.end;
        let found = self.open.iter().rev().find(|(_, io)| holds(io)).map(|(number, _)| *number);
        if let Some(number) = found {
            self.of.insert(id, number);
        }
    }

    /// A write of so many blocks has ended at the disk. `None` if it belongs to no allocation; otherwise its
    /// allocation's number, if all writes of that have ended now.
    pub fn write_ended(&mut self, write: EndedWrite, blocks: u64) -> Option<Option<u64>> {
        let number = self.of.remove(&write.id)?;
        let io = self.open.get_mut(&number).expect("a write of it was under way");
        io.ended.push(write);
        io.left -= blocks;
        Some((io.left == 0).then_some(number))
    }

    /// All writes of this allocation are at the disk: its blocks, if it has not ended.
    pub fn landed(&mut self, now: Instant, number: u64) -> Option<(InodeId, Blocks)> {
        let io = self.open.get_mut(&number)?;
        io.landed = Some(now);
        Some((io.inode, io.blocks))
    }

    /// This allocation ends: its writes, and when they had all landed.
    pub fn end(&mut self, number: u64) -> Option<(Vec<EndedWrite>, Option<Instant>)> {
        self.open.remove(&number).map(|io| (io.ended, io.landed))
    }
}
