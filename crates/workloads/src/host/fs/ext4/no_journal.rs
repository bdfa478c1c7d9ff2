//! ext4 without a journal: whoever syncs a file writes its metadata home.
//!
//! **Rule** no call waits for another's. A sync writes the block with the inode, then, of a file whose name is new, its
//! directory's block, one after the other, and then flushes the disk's cache. What nobody syncs, the flusher writes
//! home when it is 30 s old.
//! **Origin** recording 32 (one process); that a second sync of the same file waits for the first is inferred.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use blksched::author::Waiter;
use blksched::{Instant, Sector, Span};

use super::super::BLOCK_SECTORS;
use super::super::inode::InodeId;
use super::super::layout::{Ext4Geometry, MetaBlock};
use super::super::outbox::{Agent, FsIo, FsOutbox, FsTask, FsWait, FsWish};

/// The age at which dirty metadata is written home (`dirty_expire_centisecs`).
const EXPIRE: Span = Span::from_secs(30);

/// How often the flusher looks for it: 5 s and the coarseness of its timer.
const LOOKS_EVERY: Span = Span::from_ms(5120);

/// A sync under way.
#[derive(Clone, Debug)]
struct HomeSync {
    task: FsTask,
    inode: InodeId,
    /// What it has to write after what is under way.
    left: VecDeque<MetaBlock>,
    /// Its flush is under way.
    flushes: bool,
    /// Other syncs of the same file.
    waiters: Vec<FsTask>,
}

/// Metadata without a journal.
#[derive(Clone, Debug, Default)]
pub(super) struct NoJournal {
    /// What is newer in memory than at home.
    dirty: BTreeSet<MetaBlock>,
    since: Option<Instant>,
    look: Option<Instant>,
    /// The directories of files whose names are new.
    named: BTreeMap<InodeId, InodeId>,
    /// By the bio that is under way.
    syncs: BTreeMap<u64, HomeSync>,
}

impl NoJournal {
    /// These blocks have changed.
    pub fn change(&mut self, now: Instant, blocks: impl IntoIterator<Item = MetaBlock>) {
        self.dirty.extend(blocks);
        self.since.get_or_insert(now);
        self.look.get_or_insert(now + LOOKS_EVERY);
    }

    /// A block is no more.
    pub fn forget(&mut self, block: MetaBlock) {
        self.dirty.remove(&block);
    }

    /// A file has a name that is not on the disk.
    pub fn is_named(&mut self, inode: InodeId, dir: InodeId) {
        self.named.insert(inode, dir);
    }

    /// A task syncs a file whose inode, if `changed`, is in this block. False if nothing but a flush is needed.
    pub fn sync(
        &mut self,
        (task, inode): (FsTask, InodeId),
        changed: Option<MetaBlock>,
        geometry: &Ext4Geometry,
        out: &mut FsOutbox,
    ) -> bool {
        if let Some(first) = self.syncs.values_mut().find(|sync| sync.inode == inode && !sync.flushes) {
            first.waiters.push(task);
            out.push(FsWish::Sleeps(task, FsWait::OthersLog));
            return true;
        }
        let Some(table) = changed else { return false };
        let dir = self.named.remove(&inode).map(MetaBlock::Directory);
        let left = [Some(table), dir].into_iter().flatten().collect();
        let sync = HomeSync { task, inode, left, flushes: false, waiters: Vec::new() };
        // A block comes first, whether flushes follow or not.
        self.go_on(sync, false, geometry, out);
        true
    }

    /// Sends the next block of a sync, or its flush.
    fn go_on(&mut self, mut sync: HomeSync, barrier: bool, geometry: &Ext4Geometry, out: &mut FsOutbox) {
        let by = Agent::Caller(sync.task);
        let tag = match sync.left.pop_front() {
            Some(block) => {
                self.dirty.remove(&block);
                out.push(FsWish::Sleeps(sync.task, FsWait::Log));
                out.submit(by, FsIo::Home, (geometry.home(block), BLOCK_SECTORS), false, Waiter::Sync)
            }
            None if barrier => {
                sync.flushes = true;
                out.push(FsWish::Sleeps(sync.task, FsWait::Commit));
                out.submit(by, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync)
            }
            None => return out.push(FsWish::Done(sync.task)),
        };
        out.push(FsWish::Waits(by));
        self.syncs.insert(tag, sync);
    }

    /// A bio is complete.
    pub fn ended(&mut self, tag: u64, barrier: bool, geometry: &Ext4Geometry, out: &mut FsOutbox) {
        let Some(mut sync) = self.syncs.remove(&tag) else { return };
        if sync.flushes {
            return out.push(FsWish::Done(sync.task));
        }
        let inode = sync.inode;
        let waiters = if sync.left.is_empty() { core::mem::take(&mut sync.waiters) } else { Vec::new() };
        self.go_on(sync, barrier, geometry, out);
        for task in waiters {
            // Its data may have ended after the other's flush began: it has a flush of its own.
            let sync = HomeSync { task, inode, left: VecDeque::new(), flushes: false, waiters: Vec::new() };
            self.go_on(sync, barrier, geometry, out);
        }
    }

    /// When it must be told the time.
    pub fn next(&self) -> Option<Instant> {
        self.look
    }

    /// The flusher writes all dirty metadata home, in the disk's order, if any has been dirty for long enough.
    pub fn elapse(&mut self, now: Instant, geometry: &Ext4Geometry, out: &mut FsOutbox) {
        if self.look.is_none_or(|look| look > now) {
            return;
        }
        if self.since.is_some_and(|since| now.since(since) >= EXPIRE) {
            let mut places: Vec<u64> = self.dirty.iter().map(|block| geometry.home(*block).0).collect();
            places.sort_unstable();
            places.dedup();
            for run in places.chunk_by(|a, b| a + BLOCK_SECTORS == *b) {
                let place = (Sector(run[0]), run.len() as u64 * BLOCK_SECTORS);
                out.submit(Agent::Flusher, FsIo::Home, place, false, Waiter::Async);
            }
            out.push(FsWish::Waits(Agent::Flusher));
            self.dirty.clear();
            self.since = None;
        }
        self.look = self.since.map(|_| now + LOOKS_EVERY);
    }
}
