//! ext4 without a journal: whoever syncs a file writes its metadata home.
//!
//! **Rule** no call waits for another's. A sync writes the file's indirect blocks (a directory's own), together and in
//! the order in which they changed, then the block with the inode, then, of a file whose name is new, its directory's
//! block, one after the other, and then flushes the disk's cache. What nobody syncs, the flusher writes home when it is
//! 30 s old.
//! **Origin** recording 32 (one process), and those of ext2; that a second sync of the same file waits for the first is
//! inferred.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use blksched::Sector;
use blksched::author::Waiter;

use super::super::inode::InodeId;
use super::super::layout::{Ext4Geometry, MetaBlock};
use super::super::outbox::{Agent, FsIo, FsOutbox, FsTask, FsWait, FsWish};
use super::super::{BLOCK_SECTORS, Missing};

/// A sync under way.
#[derive(Clone, Debug)]
struct HomeSync {
    task: FsTask,
    inode: InodeId,
    /// What is under way.
    tags: BTreeSet<u64>,
    /// What it has to write first, together.
    own: Vec<MetaBlock>,
    /// What it has to write after what is under way.
    left: VecDeque<MetaBlock>,
    /// Its flush is under way.
    flushes: bool,
    /// Other syncs of the same file, and the block with its inode if it has changed before they came.
    waiters: Vec<(FsTask, Option<MetaBlock>)>,
}

impl HomeSync {
    /// One that has nothing to write.
    fn of(task: FsTask, inode: InodeId) -> HomeSync {
        HomeSync {
            task,
            inode,
            tags: BTreeSet::new(),
            own: Vec::new(),
            left: VecDeque::new(),
            flushes: false,
            waiters: Vec::new(),
        }
    }
}

/// Metadata without a journal.
#[derive(Clone, Debug, Default)]
pub(super) struct NoJournal {
    /// What is newer in memory than at home.
    dirty: BTreeSet<MetaBlock>,
    /// Whether any came since this was last asked.
    dirtied: bool,
    /// The directories' blocks with the names of files whose names are new.
    named: BTreeMap<InodeId, MetaBlock>,
    /// Blocks that belong to one file, in the order in which they changed.
    own: BTreeMap<InodeId, Vec<MetaBlock>>,
    syncs: Vec<HomeSync>,
    /// What was sent home and nobody waits for by itself.
    homes: BTreeSet<u64>,
    /// `sync`s, and the bios that each still waits for.
    whole: BTreeMap<FsTask, BTreeSet<u64>>,
}

impl NoJournal {
    /// These blocks have changed.
    pub fn change(&mut self, blocks: impl IntoIterator<Item = MetaBlock>) {
        for block in blocks {
            if let MetaBlock::Indirect(inode, _) | MetaBlock::Directory(inode) | MetaBlock::DirectoryLeaf(inode, _) =
                block
                && !self.dirty.contains(&block)
            {
                // It may be there already, if another's sync wrote it home since.
                self.own.entry(inode).or_default().push(block);
            }
            self.dirty.insert(block);
        }
        self.dirtied = true;
    }

    /// Whether any became dirty since this was last asked.
    pub fn take_dirtied(&mut self) -> bool {
        core::mem::take(&mut self.dirtied)
    }

    /// A block is no more.
    pub fn forget(&mut self, block: MetaBlock) {
        self.dirty.remove(&block);
    }

    /// A file has a name that is not on the disk.
    pub fn is_named(&mut self, inode: InodeId, in_block: MetaBlock) {
        self.named.insert(inode, in_block);
    }

    /// A task syncs a file whose inode, if `changed`, is in this block. False if nothing but a flush is needed.
    pub fn sync(
        &mut self,
        (task, inode): (FsTask, InodeId),
        changed: Option<MetaBlock>,
        geometry: &Ext4Geometry,
        out: &mut FsOutbox,
    ) -> bool {
        if let Some(first) = self.syncs.iter_mut().find(|sync| sync.inode == inode && !sync.flushes) {
            // The block under way was taken before this change: it is written again.
            first.waiters.push((task, changed));
            out.push(FsWish::Sleeps(task, FsWait::Home));
            return true;
        }
        let Some(table) = changed else { return false };
        let sync = self.begun((task, inode), table, Vec::new());
        // A block comes first, whether flushes follow or not.
        self.go_on(sync, false, geometry, out);
        true
    }

    /// A sync of a changed inode, and what it writes: the file's own blocks, its block, then, if the name is new, its
    /// directory's.
    fn begun(
        &mut self,
        (task, inode): (FsTask, InodeId),
        table: MetaBlock,
        waiters: Vec<(FsTask, Option<MetaBlock>)>,
    ) -> HomeSync {
        // They may have gone home with all that was dirty, and its directory's block with another's sync.
        let mut own = self.own.remove(&inode).unwrap_or_default();
        let mut seen = BTreeSet::new();
        own.retain(|block| self.dirty.contains(block) && seen.insert(*block));
        let named = self.named.remove(&inode).filter(|block| self.dirty.contains(block));
        let left = [table].into_iter().chain(named).collect();
        HomeSync { own, left, waiters, ..HomeSync::of(task, inode) }
    }

    /// Sends what comes next of a sync: its own blocks, the next block, or its flush.
    fn go_on(&mut self, mut sync: HomeSync, barrier: bool, geometry: &Ext4Geometry, out: &mut FsOutbox) {
        let by = Agent::Caller(sync.task);
        let mut blocks = core::mem::take(&mut sync.own);
        if blocks.is_empty() {
            blocks.extend(sync.left.pop_front());
        }
        for block in &blocks {
            self.dirty.remove(block);
            sync.tags.insert(out.submit(by, FsIo::Home, (geometry.home(*block), BLOCK_SECTORS), false, Waiter::Sync));
        }
        if !blocks.is_empty() {
            out.push(FsWish::Sleeps(sync.task, FsWait::Home));
        } else if barrier {
            sync.flushes = true;
            out.push(FsWish::Sleeps(sync.task, FsWait::Flush));
            sync.tags.insert(out.submit(by, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync));
        } else {
            return out.push(FsWish::Done(sync.task));
        }
        out.push(FsWish::Waits(by));
        self.syncs.push(sync);
    }

    /// Writes all dirty metadata home, in the disk's order; nobody waits.
    pub fn write_home(&mut self, by: Agent, geometry: &Ext4Geometry, out: &mut FsOutbox) {
        let mut places: Vec<u64> = self.dirty.iter().map(|block| geometry.home(*block).0).collect();
        places.sort_unstable();
        places.dedup();
        for run in places.chunk_by(|a, b| a + BLOCK_SECTORS == *b) {
            let place = (Sector(run[0]), run.len() as u64 * BLOCK_SECTORS);
            self.homes.insert(out.submit(by, FsIo::Home, place, false, Waiter::Async));
        }
        out.push(FsWish::Waits(by));
        self.dirty.clear();
        self.own.clear();
    }

    /// A `sync`, for which all metadata have been sent home: flushes the disk's cache and waits for all of that. Asked
    /// again when it is done.
    pub fn sync_all(&mut self, task: FsTask, barrier: bool, out: &mut FsOutbox) -> Missing {
        if self.whole.remove(&task).is_some() {
            return Missing::Nothing;
        }
        let mut tags = self.homes.clone();
        let by = Agent::Caller(task);
        if barrier {
            tags.insert(out.submit(by, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync));
            out.push(FsWish::Waits(by));
        }
        if tags.is_empty() {
            return Missing::Nothing;
        }
        out.push(FsWish::Sleeps(task, FsWait::Flush));
        self.whole.insert(task, tags);
        Missing::Metadata
    }

    fn whole_ended(&mut self, tag: u64, out: &mut FsOutbox) {
        self.homes.remove(&tag);
        for (task, tags) in &mut self.whole {
            if tags.remove(&tag) && tags.is_empty() {
                out.push(FsWish::Done(*task));
            }
        }
    }

    /// A bio is complete.
    pub fn ended(&mut self, tag: u64, barrier: bool, geometry: &Ext4Geometry, out: &mut FsOutbox) {
        self.whole_ended(tag, out);
        let Some(nth) = self.syncs.iter().position(|sync| sync.tags.contains(&tag)) else { return };
        self.syncs[nth].tags.remove(&tag);
        if !self.syncs[nth].tags.is_empty() {
            return;
        }
        let mut sync = self.syncs.remove(nth);
        if sync.flushes {
            return out.push(FsWish::Done(sync.task));
        }
        let inode = sync.inode;
        let waiters = if sync.left.is_empty() { core::mem::take(&mut sync.waiters) } else { Vec::new() };
        self.go_on(sync, barrier, geometry, out);
        self.wake(inode, waiters, barrier, geometry, out);
    }

    /// The waiters of a sync that is over go on. If the inode has changed since, the first of them writes it for all,
    /// and the others wait for that one.
    fn wake(
        &mut self,
        inode: InodeId,
        mut waiters: Vec<(FsTask, Option<MetaBlock>)>,
        barrier: bool,
        geometry: &Ext4Geometry,
        out: &mut FsOutbox,
    ) {
        if let Some(table) = waiters.iter().find_map(|(_, changed)| *changed) {
            let others = waiters.split_off(1).into_iter().map(|(task, _)| (task, None)).collect();
            let sync = self.begun((waiters[0].0, inode), table, others);
            return self.go_on(sync, barrier, geometry, out);
        }
        for (task, _) in waiters {
            // Its data may have ended after the other's flush began: it has a flush of its own.
            self.go_on(HomeSync::of(task, inode), barrier, geometry, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Syncing;
    use super::super::super::inode::Known;
    use super::super::super::kind::Ext4Settings;
    use super::super::{Ext4, Handle, Matters};
    use super::*;
    use blksched::Instant;

    const INODE: InodeId = InodeId(12);

    /// Calls on one file, and the versions of its inode: in memory, and at home.
    struct Rig {
        fs: Ext4,
        now: Instant,
        version: u64,
        home: u64,
        /// Bios under way: tags, and the version of a block with the inode.
        bios: Vec<(u64, Option<u64>)>,
        /// By sync: the version that has to be at home when it returns.
        asked: BTreeMap<FsTask, u64>,
    }

    impl Rig {
        fn new(barrier: bool) -> Rig {
            let geometry = Ext4Geometry::of(1 << 21);
            let settings = Ext4Settings { has_journal: false, barrier, ..Ext4Settings::default() };
            let mut fs = Ext4::new(settings, geometry, 32);
            fs.know(INODE, Known::default());
            Rig { fs, now: Instant::ZERO, version: 0, home: 0, bios: Vec::new(), asked: BTreeMap::new() }
        }

        fn change(&mut self) {
            self.version += 1;
            let blocks = VecDeque::from([self.fs.geometry.table_of(INODE)]);
            self.fs.change_at_once(Handle { blocks, inodes: vec![(INODE, Matters::ToData)], ..Handle::default() });
        }

        fn sync(&mut self, task: FsTask) {
            self.asked.insert(task, self.version);
            if self.fs.sync(self.now, task, INODE, Syncing::All) != Missing::Metadata {
                self.returns(task);
            }
            self.obey();
        }

        fn returns(&mut self, task: FsTask) {
            let asked = self.asked.remove(&task).expect("it has been called");
            assert!(self.home >= asked, "sync {task} of version {asked} returned with {} at home", self.home);
        }

        fn obey(&mut self) {
            while let Some(wish) = self.fs.wish() {
                match wish {
                    FsWish::Submit(bio) => {
                        self.bios.push((bio.tag, (bio.what == FsIo::Home).then_some(self.version)));
                    }
                    FsWish::Done(task) => self.returns(task),
                    _ => {}
                }
            }
        }

        /// The nth bio under way ends.
        fn end(&mut self, nth: usize) {
            let (tag, version) = self.bios.remove(nth);
            self.home = self.home.max(version.unwrap_or_default());
            self.fs.ended(self.now, tag);
            self.obey();
        }
    }

    #[test]
    fn an_inode_that_was_changed_before_fsync_is_home_when_it_returns() {
        for seed in 0..400_u64 {
            let mut rig = Rig::new(seed % 2 == 0);
            let mut random = seed | 1;
            for task in 0..60 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                match (random >> 33) % 4 {
                    0 => rig.change(),
                    1 | 2 => rig.sync(task),
                    _ if rig.bios.is_empty() => {}
                    _ => rig.end((random >> 40) as usize % rig.bios.len()),
                }
            }
            while !rig.bios.is_empty() {
                rig.end(0);
            }
            assert!(rig.asked.is_empty(), "{:?} never returned", rig.asked);
        }
    }
}
