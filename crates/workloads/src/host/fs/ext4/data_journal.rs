//! `data=journal`: data go through the journal, and then home.
//!
//! **Rule** `write` gives its blocks places at once, and they join the running transaction like metadata. Whoever
//! writes pages home (a sync, the flusher) first waits for the commit of the transaction that has them, and asks for
//! it; a checkpoint writes home what nobody has. `fdatasync` commits, too.
//! **Origin** recording 30 (one process). That the flusher waits for the commit, and that a handle takes 64 blocks at
//! most, is MEMORY; `sync_file_range` does not wait here.

use blksched::Instant;

use super::super::Entry;
use super::super::extents::Blocks;
use super::super::inode::{Change, InodeId};
use super::super::kind::JournalMode;
use super::super::layout::MetaBlock;
use super::super::outbox::FsTask;
use super::changes::Placing;
use super::{Ext4, Handle, Matters};

/// Blocks that join with one handle: a long write may wait for room between two.
const PIECE: u64 = 64;

impl Ext4 {
    /// Whether data go through the journal.
    pub(super) fn journals_data(&self) -> bool {
        self.settings.data == JournalMode::Journal
    }

    /// A write's blocks join, piece by piece.
    pub(super) fn journal_data(
        &mut self,
        now: Instant,
        task: FsTask,
        inode: InodeId,
        (blocks, page): (Blocks, u64),
    ) -> Entry {
        loop {
            if self.handles.contains_key(&task) && self.go_on(now, task) == Entry::Waits {
                return Entry::Waits;
            }
            let at = self.joined.get(&task).copied().unwrap_or(blocks.start);
            if at >= blocks.end {
                self.joined.remove(&task);
                return Entry::Done;
            }
            let part = Blocks { start: at, end: blocks.end.min(at + PIECE) };
            let change = Change::JournalData { blocks: part, page: page + (at - blocks.start) };
            let credits = self.credits(now, inode, &change).unwrap_or_default();
            if !self.journal.begin(now, task, credits, &mut self.out) {
                return Entry::Waits;
            }
            self.joined.insert(task, part.end);
            let handle = self.handle(now, inode, &change);
            self.handles.insert(task, handle);
        }
    }

    /// The handle of one piece.
    pub(super) fn journal_blocks(
        &mut self,
        inode: InodeId,
        (blocks, page): (&Blocks, u64),
        tick: u64,
        handle: &mut Handle,
    ) {
        let table = self.geometry.table_of(inode);
        if self.is_unplaced(inode, blocks) {
            self.place(inode, blocks, Placing::Data, handle);
        }
        let known = self.inodes.entry(inode).or_default();
        known.extents.convert(blocks);
        known.first_page = page - blocks.start;
        if known.changed != Some(tick) {
            known.changed = Some(tick);
            handle.blocks.push_back(table);
        }
        handle.blocks.extend((page..page + blocks.count()).map(MetaBlock::Data));
        handle.inodes.push((inode, Matters::ToAll));
        handle.inodes.push((inode, Matters::ToData));
    }

    /// Blocks are about to be written home. True if the task has to wait until they are committed.
    pub(super) fn waits_for_log(&mut self, now: Instant, task: FsTask, inode: InodeId, blocks: &Blocks) -> bool {
        if !self.journals_data() {
            return false;
        }
        let first = self.inodes.get(&inode).map_or(0, |known| known.first_page);
        let pages = first + blocks.start..first + blocks.end;
        let tid = pages.clone().filter_map(|page| self.journal.holds(MetaBlock::Data(page))).max();
        if tid.is_some_and(|tid| self.journal.wait_for(now, task, tid, &mut self.out)) {
            return true;
        }
        pages.for_each(|page| self.journal.goes_home(MetaBlock::Data(page)));
        // Its handle changes nothing.
        self.journal.touch(now);
        false
    }
}
