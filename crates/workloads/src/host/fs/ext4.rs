//! ext4: which metadata blocks a call changes, and what a sync of a file waits for.
//!
//! **Rule** data of new blocks are written before their extents count as written: a worker converts them when the
//! data have ended, in a handle of the then running transaction, one file after another. Pages count as written only
//! then, so that a sync's wait for its data can contain the wait for another's log write.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Instant, Span};

use super::extents::{Blocks, FileExtents};
use super::inode::{Change, InodeId, Known};
use super::journal::Journal;
use super::kind::{BlockMap, Ext4Settings, NewBlocks};
use super::layout::{Ext4Geometry, MetaBlock};
use super::log_ring::Tid;
use super::outbox::{Agent, FsOutbox, FsTask, FsWish};
use super::race::{JiffyCount, JournalRace, TickPhase};
use super::{Entry, Missing, Syncing};

mod changes;
mod data_journal;
mod directories;
mod indirect;
mod no_journal;
mod places;
mod synchronous;

use directories::Directories;
use no_journal::NoJournal;
pub use places::Places;
use synchronous::{Behind, SyncEnding};

/// Extents that fit into the inode.
const INLINE: usize = 4;

/// The task of the worker that converts extents.
const CONVERTER: FsTask = FsTask::MAX;

#[derive(Clone, Debug, Default)]
struct Ext4Inode {
    extents: FileExtents,
    /// The group of the block with the extents beyond the fourth.
    leaf: Option<u64>,
    /// A direct write beyond its end is under way.
    appends: bool,
    /// The page of the disk that its first block has, once data of it went through the journal.
    first_page: u64,
    /// The tick of its last change of times.
    changed: Option<u64>,
    /// The last transaction with any change of it, and with one that its data need.
    any: Tid,
    needed: Tid,
}

/// What becomes of an inode when a handle is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matters {
    /// Only an fsync has to wait for this transaction.
    ToAll,
    /// So has an fdatasync.
    ToData,
}

/// A handle whose blocks have not all joined.
#[derive(Clone, Debug, Default)]
struct Handle {
    /// The change, unless it is a part of one.
    of: Option<(InodeId, Change)>,
    blocks: VecDeque<MetaBlock>,
    inodes: Vec<(InodeId, Matters)>,
    /// Blocks that are freed when all have joined.
    freed: Vec<MetaBlock>,
    /// Blocks whose data the commit needs.
    ordered: Option<(InodeId, Blocks)>,
    /// Whether its transaction is to be stable when the call returns; and what is changed after that.
    synchronous: bool,
    behind: Option<Behind>,
}

/// Data that have ended, whose extents are to be converted.
#[derive(Clone, Copy, Debug)]
struct Ended {
    inode: InodeId,
    blocks: Blocks,
    ticket: u64,
}

/// ext4 of Linux 6.18.
#[derive(Clone, Debug)]
pub struct Ext4 {
    settings: Ext4Settings,
    geometry: Ext4Geometry,
    journal: Journal,
    inodes: BTreeMap<InodeId, Ext4Inode>,
    directories: Directories,
    handles: BTreeMap<FsTask, Handle>,
    /// Changes that were made for a task when it woke, and when: it is about to ask for them again.
    resumed: BTreeMap<FsTask, (Instant, InodeId, Change)>,
    /// Up to where each task's data have joined a transaction, of those that go through the journal.
    joined: BTreeMap<FsTask, u64>,
    /// Calls whose synchronous changes have been made.
    endings: BTreeMap<FsTask, SyncEnding>,
    /// Inodes that would have to be seen to after a crash, the superblock's list: the last is its first.
    orphans: Vec<InodeId>,
    /// The process whose call is handled.
    caller: u32,
    ended: VecDeque<Ended>,
    phase: TickPhase,
    places: Places,
    /// Instead of the journal.
    bare: Option<NoJournal>,
    out: FsOutbox,
}

impl Ext4 {
    /// A mounted one, on a disk that takes bios of at most `longest` blocks.
    pub fn new(settings: Ext4Settings, geometry: Ext4Geometry, longest: u64) -> Ext4 {
        Ext4 {
            bare: (!settings.has_journal).then(NoJournal::default),
            journal: Journal::new(settings.clone(), geometry, longest, JournalRace::First),
            settings,
            geometry,
            inodes: BTreeMap::new(),
            directories: Directories::default(),
            handles: BTreeMap::new(),
            resumed: BTreeMap::new(),
            joined: BTreeMap::new(),
            endings: BTreeMap::new(),
            orphans: Vec::new(),
            caller: 0,
            ended: VecDeque::new(),
            phase: TickPhase::default(),
            places: Places::new(),
            out: FsOutbox::default(),
        }
    }

    /// The same with outcomes of races, the phase of the clock, and places of new blocks.
    pub fn with(mut self, race: JournalRace, phase: TickPhase, places: Places) -> Ext4 {
        self.journal.set_race(race);
        (self.phase, self.places) = (phase, places);
        self
    }

    /// The same, where the journal has been used before: its next block is `head`, and so many before it are in use.
    #[must_use]
    pub fn with_log_at(mut self, head: u64, used: u64) -> Ext4 {
        self.journal.begin_at(head, used);
        self
    }

    /// The same, where jbd2, asked to commit, ran at the next of these moments.
    #[must_use]
    pub fn with_starts(mut self, starts: Vec<Instant>) -> Ext4 {
        self.journal.set_starts(starts);
        self
    }

    /// The same, where commits took this long on average before.
    #[must_use]
    pub fn with_commit_time(mut self, average: Span) -> Ext4 {
        self.journal.set_average(average);
        self
    }

    /// The same, where the kernel has counted ticks like this; by them transactions commit that are old.
    #[must_use]
    pub fn with_jiffies(mut self, jiffies: JiffyCount) -> Ext4 {
        self.journal.set_jiffies(jiffies);
        self
    }

    /// The level of jbd2's I/O in the best-effort class.
    pub fn journal_ioprio(&self) -> u8 {
        self.settings.journal_ioprio
    }

    /// How a `write` of these blocks begins, the first of which has this page of the disk.
    pub(in crate::host) fn change_of_write(&self, blocks: Blocks, page: u64) -> Change {
        match self.settings.new_blocks {
            _ if self.journals_data() => Change::JournalData { blocks, page },
            NewBlocks::AtOnce => Change::Place(blocks),
            NewBlocks::Unwritten | NewBlocks::Written => Change::Times,
        }
    }

    /// Its journal, to inspect.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(super) fn know(&mut self, inode: InodeId, known: Known) {
        let has_leaf = self.geometry.block_map == BlockMap::Extents && known.extents.count() > INLINE;
        let leaf = has_leaf.then_some(1);
        self.inodes.insert(inode, Ext4Inode { extents: known.extents, leaf, ..Ext4Inode::default() });
    }

    pub(super) fn wish(&mut self) -> Option<FsWish> {
        self.out.next()
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.journal.next()
    }

    pub(super) fn elapse(&mut self, now: Instant) {
        self.journal.elapse(now, &mut self.out);
        self.own_turns(now);
    }

    pub(super) fn ended(&mut self, now: Instant, tag: u64) {
        if let Some(bare) = &mut self.bare {
            return bare.ended(tag, self.settings.barrier, &self.geometry, &mut self.out);
        }
        self.journal.ended(now, tag, &mut self.out);
        self.own_turns(now);
    }

    /// The converter is no call of the host's: its turns are taken here.
    fn own_turns(&mut self, now: Instant) {
        let mut others = Vec::new();
        let mut mine = false;
        while let Some(wish) = self.out.next() {
            match wish {
                FsWish::Go(CONVERTER) => mine = true,
                other => others.push(other),
            }
        }
        others.into_iter().for_each(|wish| self.out.push(wish));
        if mine {
            self.convert(now);
        }
    }

    pub(super) fn enter(&mut self, now: Instant, task: FsTask, inode: InodeId, change: Change) -> Entry {
        match change {
            Change::JournalData { blocks, page } => return self.journal_data(now, task, inode, (blocks, page)),
            Change::WriteBack(blocks) if self.waits_for_log(now, task, inode, &blocks) => return Entry::Waits,
            _ => {}
        }
        if self.endings.contains_key(&task) {
            return self.end_synchronously(now, task);
        }
        if self.resumed.remove(&task) == Some((now, inode, change)) {
            return Entry::Done;
        }
        if self.handles.contains_key(&task) {
            return self.go_on(now, task);
        }
        let Some(credits) = self.credits(now, inode, &change) else { return Entry::Done };
        if self.bare.is_some() {
            let handle = self.handle(now, inode, &change);
            self.change_at_once(handle);
            if let (Some(bare), Change::Create(at) | Change::MakeDirectory(at) | Change::Symlink(at)) =
                (&mut self.bare, change)
            {
                bare.is_named(inode, self.directories.block_of(at.dir, inode));
            }
            return Entry::Done;
        }
        if !self.journal.begin(now, task, credits, &mut self.out) {
            return Entry::Waits;
        }
        let handle = Handle { of: Some((inode, change)), ..self.handle(now, inode, &change) };
        self.handles.insert(task, handle);
        self.go_on(now, task)
    }

    /// The task wakes, and what is left of its handle joins, whether or not it still has anything to ask for: pages
    /// that it was to write may have been written by others meanwhile, and no transaction commits with a handle open.
    /// False if it sleeps again.
    pub(super) fn resume(&mut self, now: Instant, task: FsTask) -> bool {
        let Some(of) = self.handles.get(&task).map(|handle| handle.of) else { return true };
        let joined = self.go_on(now, task) == Entry::Done;
        if let Some((inode, change)) = of.filter(|_| joined) {
            self.resumed.insert(task, (now, inode, change));
        }
        joined
    }

    /// Without a journal nothing has to be waited for, and there is no list of orphans in the superblock: after a crash
    /// all inodes are looked at.
    fn change_at_once(&mut self, handle: Handle) {
        let Some(bare) = &mut self.bare else { return };
        bare.change(handle.blocks.into_iter().filter(|block| *block != MetaBlock::Super));
        handle.freed.into_iter().for_each(|block| bare.forget(block));
        for (inode, matters) in handle.inodes {
            let inode = self.inodes.entry(inode).or_default();
            (inode.any, inode.needed) = (1, inode.needed.max(Tid::from(matters == Matters::ToData)));
        }
    }

    /// Lets the rest of a handle's blocks join.
    fn go_on(&mut self, now: Instant, task: FsTask) -> Entry {
        let Handle { blocks, .. } = self.handles.get_mut(&task).expect("the task has a handle");
        let Some(tid) = self.journal.join(now, task, blocks, &mut self.out) else { return Entry::Waits };
        let Handle { inodes, freed, ordered, synchronous, behind, .. } =
            self.handles.remove(&task).expect("the task has a handle");
        for block in freed {
            self.journal.revoke(now, block);
        }
        if let Some((inode, blocks)) = ordered {
            self.journal.orders(now, inode, blocks);
        }
        for (inode, matters) in inodes {
            let inode = self.inodes.entry(inode).or_default();
            inode.any = tid;
            if matters == Matters::ToData {
                inode.needed = tid;
            }
        }
        if synchronous {
            self.endings.insert(task, SyncEnding::of(tid, behind));
            return self.end_synchronously(now, task);
        }
        self.journal.handle_ends(now, task, &mut self.out);
        Entry::Done
    }

    pub(super) fn sync(&mut self, now: Instant, task: FsTask, inode: InodeId, what: Syncing) -> Missing {
        let known = self.inodes.entry(inode).or_default();
        let tid = match what {
            // Without a journal `fdatasync` writes the inode, too, if only times changed (tried, ext4 and ext2).
            Syncing::Data if self.bare.is_none() => known.needed,
            Syncing::All | Syncing::Data => known.any,
        };
        if let Some(bare) = &mut self.bare {
            let changed = (tid > 0).then(|| self.geometry.table_of(inode));
            if tid > 0 {
                (known.any, known.needed) = (0, 0);
            }
            return match bare.sync((task, inode), changed, &self.geometry, &mut self.out) {
                true => Missing::Metadata,
                false if self.settings.barrier => Missing::Flush,
                false => Missing::Nothing,
            };
        }
        match self.journal.wait_for(now, task, tid, &mut self.out) {
            true => Missing::Metadata,
            false if self.settings.barrier => Missing::Flush,
            false => Missing::Nothing,
        }
    }

    /// This agent writes metadata home that no transaction holds.
    pub(super) fn write_home(&mut self, by: Agent) {
        match &mut self.bare {
            Some(bare) => bare.write_home(by, &self.geometry, &mut self.out),
            None => self.journal.write_idle_home(by, &mut self.out),
        }
    }

    /// Whether metadata became dirty at home since this was last asked.
    pub(super) fn take_dirtied(&mut self) -> bool {
        match &mut self.bare {
            Some(bare) => bare.take_dirtied(),
            None => self.journal.take_dirtied(),
        }
    }

    /// The data of a `syncfs` have been submitted: it asks for a commit, and does not wait.
    pub(super) fn sync_begins(&mut self, now: Instant, task: FsTask) {
        if self.bare.is_none() {
            self.journal.want(now);
        }
        self.write_home(Agent::Caller(task));
    }

    pub(super) fn sync_all(&mut self, now: Instant, task: FsTask) -> Missing {
        match &mut self.bare {
            Some(bare) => bare.sync_all(task, self.settings.barrier, &mut self.out),
            None => self.journal.sync_all(now, task, &mut self.out),
        }
    }

    /// Data that a commit needs are on the disk.
    pub(super) fn data_is_there(&mut self, now: Instant, ticket: u64) {
        self.journal.data_is_there(now, ticket, &mut self.out);
    }

    pub(super) fn is_unwritten(&self, inode: InodeId, blocks: Blocks) -> bool {
        self.inodes.get(&inode).is_some_and(|known| known.extents.is_unwritten(&blocks))
    }

    pub(super) fn data_ended(&mut self, now: Instant, inode: InodeId, blocks: Blocks, ticket: u64) -> bool {
        if !self.is_unwritten(inode, blocks) {
            return true;
        }
        if self.bare.is_some() {
            let handle = self.conversion(inode, &blocks);
            self.change_at_once(handle);
            return true;
        }
        self.ended.push_back(Ended { inode, blocks, ticket });
        if self.ended.len() == 1 {
            self.convert(now);
        }
        false
    }

    /// The worker converts what has ended, until it has to wait.
    fn convert(&mut self, now: Instant) {
        while let Some(Ended { inode, blocks, ticket }) = self.ended.front().copied() {
            if !self.handles.contains_key(&CONVERTER) {
                let handle = self.conversion(inode, &blocks);
                self.handles.insert(CONVERTER, handle);
            }
            if self.go_on(now, CONVERTER) == Entry::Waits {
                return;
            }
            self.ended.pop_front();
            self.out.push(FsWish::Written(ticket));
        }
    }

    /// The handle that makes these blocks written.
    fn conversion(&mut self, inode: InodeId, blocks: &Blocks) -> Handle {
        let table = self.geometry.table_of(inode);
        let known = self.inodes.entry(inode).or_default();
        known.extents.convert(blocks);
        let mut handle =
            Handle { blocks: VecDeque::new(), inodes: vec![(inode, Matters::ToData)], ..Handle::default() };
        self.merged(inode, &mut handle);
        handle.blocks.push_back(table);
        handle
    }

    /// What was converted has been merged with its neighbours: a leaf goes if the inode holds what is left.
    fn merged(&mut self, inode: InodeId, handle: &mut Handle) {
        let known = self.inodes.entry(inode).or_default();
        let Some(group) = known.leaf else { return };
        let leaf = MetaBlock::Leaf(inode);
        if known.extents.count() <= INLINE {
            known.leaf = None;
            handle.blocks.extend([MetaBlock::BlockBitmap(group), self.geometry.descriptor_of(group)]);
            handle.freed.push(leaf);
        } else {
            handle.blocks.push_back(leaf);
        }
    }
}
