//! jbd2: transactions, and the thread that commits them.
//!
//! **Rule** there is one running transaction, which calls join, and at most one that commits. A commit sends the log (a
//! descriptor and every metadata block), waits for its end, sends the commit block, and waits for that. While the log
//! is under way, a call that is to change a block in it sleeps until its end; a call that needs the transaction on the
//! disk sleeps until the commit block's. A request for the running transaction while another commits is remembered.
//!
//! A transaction commits when a sync asks for it, when it is 5 s old (`commit=`: with the next call that changes
//! anything, and by a timer at the next whole second), or when it is full. Then its blocks are dirty at home. When the
//! log is short of room, the caller that wants to begin checkpoints: it writes home what the oldest transaction still
//! holds, and the journal's superblock.

use std::collections::{BTreeSet, VecDeque};

use blksched::author::Waiter;
use blksched::{Instant, Sector, Span};

use super::BLOCK_SECTORS;
use super::dirty_home::DirtyHome;
use super::kind::Ext4Settings;
use super::layout::{Ext4Geometry, MetaBlock};
use super::log_ring::{LogRing, Tid};
use super::outbox::{Agent, FsIo, FsOutbox, FsTask, FsWait, FsWish};
use super::race::{JiffyCount, JournalRace};

mod batch;
mod home;
mod ordered;
mod whole;

use batch::CommitBatching;
use home::HomeWrites;
use ordered::Ordered;
use whole::WholeSyncs;

/// Metadata blocks that one descriptor describes.
const TAGS: u64 = 254;

/// What a checkpoint leaves free beyond a full transaction \[blocks\]: FIT. Recorded: at 367 free blocks of 1023 a
/// caller checkpoints, at 375 not, and a full transaction has 339.
const SPARE: u64 = 32;

/// How long jbd2 takes from being woken to the log write: recorded 0.07 to 0.12 ms, the calls' own time among it.
const WAKES_AFTER: Span = Span::from_us(80);

/// A start of jbd2 that is later than this behind a call is not that call's.
const SLOWEST: Span = Span::from_ms(1);

#[derive(Clone, Debug)]
struct Running {
    tid: Tid,
    blocks: BTreeSet<MetaBlock>,
    /// Blocks of files whose data have to be on the disk before its commit block.
    ordered: Ordered,
    /// So many metadata blocks were freed, which revoke blocks of the log name.
    revokes: u64,
    begun: Instant,
    /// When a call that changes anything asks for its commit.
    old: Instant,
    /// When it commits by itself.
    due: Instant,
    /// Somebody asked for its commit.
    wanted: bool,
    /// When jbd2, woken for it, runs.
    wakes: Option<Instant>,
    /// It is to commit, and waits for the end of the calls that are changing it; no other may begin.
    locked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CommitStep {
    /// The log is under way.
    Log(BTreeSet<u64>),
    /// The log has ended, data that must be there have not.
    Data,
    /// The log has ended; jbd2 runs at this time.
    Sealing(Instant),
    /// The commit block is under way, or the flush after it.
    Commit(u64),
}

#[derive(Clone, Debug)]
struct Committing {
    tid: Tid,
    blocks: BTreeSet<MetaBlock>,
    /// Blocks of the log in all, its commit block among them.
    logged: u64,
    begun: Instant,
    /// Data that are waited for.
    data: BTreeSet<u64>,
    step: CommitStep,
}

#[derive(Clone, Debug)]
enum CheckpointStep {
    Home(BTreeSet<u64>),
    Super(u64),
}

/// A caller makes room in the log.
#[derive(Clone, Debug)]
struct Checkpoint {
    task: FsTask,
    step: CheckpointStep,
}

/// The journal of a file system.
#[derive(Clone, Debug)]
pub struct Journal {
    settings: Ext4Settings,
    geometry: Ext4Geometry,
    /// The longest bio \[blocks\].
    longest: u64,
    last: Tid,
    committed: Tid,
    running: Option<Running>,
    committing: Option<Committing>,
    ring: LogRing,
    /// Blocks that are newer in the log than at home, and the last transaction of each.
    dirty: DirtyHome,
    /// The oldest transaction, if each of its blocks there belongs to one that is not committed, too: until the next
    /// has committed nobody needs to look at them again.
    all_busy: Option<Tid>,
    /// Whether any came since this was last asked.
    dirtied: bool,
    home: HomeWrites,
    /// Calls that sleep while they change the running transaction.
    open: BTreeSet<FsTask>,
    checkpoint: Option<Checkpoint>,
    for_log: Vec<FsTask>,
    for_commit: Vec<(Tid, FsTask)>,
    for_room: Vec<FsTask>,
    whole: WholeSyncs,
    batching: CommitBatching,
    race: JournalRace,
    jiffies: JiffyCount,
    /// When jbd2 ran to begin a commit, where a recording tells, ascending.
    starts: Vec<Instant>,
    commits: u64,
}

impl Journal {
    /// An empty one.
    pub(super) fn new(settings: Ext4Settings, geometry: Ext4Geometry, longest: u64, race: JournalRace) -> Journal {
        Journal {
            ring: LogRing::new(settings.journal_blocks),
            settings,
            geometry,
            longest: longest.max(1),
            last: 0,
            committed: 0,
            running: None,
            committing: None,
            all_busy: None,
            dirty: DirtyHome::default(),
            dirtied: false,
            home: HomeWrites::default(),
            open: BTreeSet::new(),
            checkpoint: None,
            for_log: Vec::new(),
            for_commit: Vec::new(),
            for_room: Vec::new(),
            whole: WholeSyncs::default(),
            batching: CommitBatching::default(),
            race,
            jiffies: JiffyCount::default(),
            starts: Vec::new(),
            commits: 0,
        }
    }

    /// Sets the clock of its timer.
    pub(super) fn set_jiffies(&mut self, jiffies: JiffyCount) {
        self.jiffies = jiffies;
    }

    /// It has been used before.
    pub(super) fn begin_at(&mut self, head: u64, used: u64) {
        self.ring.begin_at(head, used);
    }

    /// Sets when jbd2 ran to begin a commit.
    pub(super) fn set_starts(&mut self, starts: Vec<Instant>) {
        self.starts = starts;
    }

    /// Sets the outcomes of its races.
    pub(super) fn set_race(&mut self, race: JournalRace) {
        self.race = race;
    }

    /// Blocks that a transaction may have: a third of the journal without descriptors and a commit block.
    pub fn most(&self) -> u64 {
        let third = self.settings.journal_blocks / 3;
        third - third / TAGS - 1
    }

    /// How many transactions have committed.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// Whether this transaction is stable.
    pub(super) fn is_stable(&self, tid: Tid) -> bool {
        tid <= self.committed
    }

    /// A call that is going to change this many blocks at most begins. False if it has to wait.
    pub(super) fn begin(&mut self, now: Instant, task: FsTask, credits: u64, out: &mut FsOutbox) -> bool {
        let full = |running: &Running| running.blocks.len() as u64 + credits >= self.most();
        if self.running.as_ref().is_some_and(full) {
            if self.committing.is_none() {
                self.commit(now, out);
            } else {
                self.want(now);
                return self.waits_for_room(task, out);
            }
        }
        if self.running.as_ref().is_some_and(|running| running.locked) {
            return self.waits_for_room(task, out);
        }
        // What is being committed counts as used.
        if self.ring.free() <= self.most() + SPARE && self.makes_room(task, out) {
            out.push(FsWish::Sleeps(task, FsWait::Room));
            return false;
        }
        true
    }

    fn waits_for_room(&mut self, task: FsTask, out: &mut FsOutbox) -> bool {
        self.for_room.push(task);
        out.push(FsWish::Sleeps(task, FsWait::Room));
        false
    }

    /// A call's handle begins and changes nothing: there is a running transaction, which commits when it is old.
    pub(super) fn touch(&mut self, now: Instant) {
        self.running(now);
    }

    /// A call's changes have joined: it asks for the commit of a transaction that is old enough.
    pub(super) fn handle_ends(&mut self, now: Instant, task: FsTask, out: &mut FsOutbox) {
        self.open.remove(&task);
        if self.open.is_empty() && self.running.as_ref().is_some_and(|running| running.locked) {
            return self.commit(now, out);
        }
        if self.running.as_ref().is_some_and(|running| now >= running.old) {
            self.want(now);
        }
    }

    /// Adds blocks to the running transaction, in this order. `None` if the task has to wait for the end of a log
    /// write, or of a block's way home, and what is left is in `blocks`.
    pub(super) fn join(
        &mut self,
        now: Instant,
        task: FsTask,
        blocks: &mut VecDeque<MetaBlock>,
        out: &mut FsOutbox,
    ) -> Option<Tid> {
        while let Some(&block) = blocks.front() {
            if self.is_being_logged(block) && !self.is_running(block) {
                self.for_log.push(task);
                self.open.insert(task);
                out.push(FsWish::Sleeps(task, FsWait::OthersLog));
                return None;
            }
            if self.home.has(block) {
                self.home.waiters.push(task);
                self.open.insert(task);
                out.push(FsWish::Sleeps(task, FsWait::OthersLog));
                return None;
            }
            self.running(now).blocks.insert(block);
            blocks.pop_front();
        }
        Some(self.running(now).tid)
    }

    /// A block was freed: it leaves the running transaction, and must not be replayed from an older one.
    pub(super) fn revoke(&mut self, now: Instant, block: MetaBlock) {
        let running = self.running(now);
        running.blocks.remove(&block);
        running.revokes += 1;
        self.dirty.remove(block);
    }

    /// The transaction that has this block and is not committed.
    pub(super) fn holds(&self, block: MetaBlock) -> Option<Tid> {
        let committing = || self.committing.as_ref().filter(|it| it.blocks.contains(&block)).map(|it| it.tid);
        let running = self.running.as_ref().filter(|running| running.blocks.contains(&block));
        running.map(|running| running.tid).or_else(committing)
    }

    /// Somebody else writes this block home.
    pub(super) fn goes_home(&mut self, block: MetaBlock) {
        self.dirty.remove(block);
    }

    fn is_being_logged(&self, block: MetaBlock) -> bool {
        let logs = |it: &Committing| matches!(it.step, CommitStep::Log(_)) && it.blocks.contains(&block);
        self.committing.as_ref().is_some_and(logs)
    }

    fn is_running(&self, block: MetaBlock) -> bool {
        self.running.as_ref().is_some_and(|running| running.blocks.contains(&block))
    }

    fn running(&mut self, now: Instant) -> &mut Running {
        let last = &mut self.last;
        let due = self.jiffies.whole_second(now, self.settings.commit);
        let old = now + self.settings.commit;
        self.running.get_or_insert_with(|| {
            *last += 1;
            Running {
                tid: *last,
                blocks: BTreeSet::new(),
                ordered: Ordered::default(),
                revokes: 0,
                begun: now,
                old,
                due,
                wanted: false,
                wakes: None,
                locked: false,
            }
        })
    }

    /// The task sleeps until this transaction is stable. False if it is.
    pub(super) fn wait_for(&mut self, now: Instant, task: FsTask, tid: Tid, out: &mut FsOutbox) -> bool {
        if self.is_stable(tid) {
            return false;
        }
        self.for_commit.push((tid, task));
        let what = match &self.committing {
            None => FsWait::Log,
            Some(committing) if committing.tid != tid => FsWait::OthersLog,
            Some(Committing { step: CommitStep::Log(_) | CommitStep::Data, .. }) => FsWait::Log,
            Some(_) => FsWait::Commit,
        };
        out.push(FsWish::Sleeps(task, what));
        if self.running.as_ref().is_some_and(|running| running.tid == tid) {
            self.want(now);
        }
        true
    }

    /// Those that want this transaction stable sleep for this from now on.
    fn all_sleep(&self, tid: Tid, what: FsWait, out: &mut FsOutbox) {
        let own = self.for_commit.iter().filter(|(of, _)| *of == tid);
        own.for_each(|&(_, task)| out.push(FsWish::Sleeps(task, what)));
    }

    /// Asks for the commit of the running transaction.
    pub(super) fn want(&mut self, now: Instant) {
        let Some(running) = &mut self.running else { return };
        running.wanted = true;
        if self.committing.is_none() {
            let told = self.starts.get(self.starts.partition_point(|start| *start < now)).copied();
            let told = told.filter(|start| start.since(now) < SLOWEST);
            running.wakes.get_or_insert(told.unwrap_or(now + WAKES_AFTER));
        }
    }

    /// Sends the log of the running transaction.
    fn commit(&mut self, now: Instant, out: &mut FsOutbox) {
        if !self.open.is_empty() {
            // In the middle of a change nothing is committed.
            return self.running.iter_mut().for_each(|running| running.locked = true);
        }
        let Some(Running { tid, blocks, ordered, revokes, .. }) = self.running.take() else { return };
        // Those that waited for a smaller transaction begin the next one.
        self.for_room.drain(..).for_each(|task| out.push(FsWish::Go(task)));
        self.ring.drop_done(|tid| !self.dirty.holds(tid));
        if blocks.is_empty() && revokes == 0 {
            // Only its commit block is sent.
            let (data, step) = (BTreeSet::new(), CommitStep::Sealing(now));
            let logged = u64::from(!self.settings.async_commit);
            self.committing = Some(Committing { tid, blocks, logged, begun: now, data, step });
            return self.seal(now, out);
        }
        let count = blocks.len() as u64;
        let log = count.div_ceil(TAGS).max(1) + count + revokes.div_ceil(self.geometry.revokes_in_a_block());
        let logged = log + u64::from(self.settings.async_commit);
        let runs = self.ring.take(logged);
        let data = self.order(ordered, out);
        let mut tags = self.send(runs, FsIo::Log, false, out);
        if self.settings.own_disk && self.settings.barrier {
            // What the commit block makes valid must not be in the cache of the other disk (traced on 6.18).
            tags.insert(out.submit(Agent::Journal, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync));
        }
        let step = CommitStep::Log(tags);
        self.committing = Some(Committing { tid, blocks, logged: log + 1, begun: now, data, step });
    }

    fn send(&self, runs: Vec<(u64, u64)>, what: FsIo, barrier: bool, out: &mut FsOutbox) -> BTreeSet<u64> {
        let mut tags = BTreeSet::new();
        for (at, blocks) in runs {
            let mut done = 0;
            while done < blocks {
                let part = (blocks - done).min(self.longest);
                let start = Sector(self.settings.journal_start.0 + (at + done) * BLOCK_SECTORS);
                tags.insert(out.submit(Agent::Journal, what, (start, part * BLOCK_SECTORS), barrier, Waiter::Sync));
                done += part;
            }
        }
        out.push(FsWish::Waits(Agent::Journal));
        tags
    }

    /// A bio of the journal's is complete. False if it is not the journal's.
    pub(super) fn ended(&mut self, now: Instant, tag: u64, out: &mut FsOutbox) -> bool {
        self.home.ended(tag, out);
        self.whole.ended(tag, out) || self.checkpoint_ended(tag, out) || self.commit_ended(now, tag, out)
    }

    fn checkpoint_ended(&mut self, tag: u64, out: &mut FsOutbox) -> bool {
        let Some(checkpoint) = &mut self.checkpoint else { return false };
        match &mut checkpoint.step {
            CheckpointStep::Home(tags) => {
                let mine = tags.remove(&tag);
                if mine && tags.is_empty() {
                    self.write_super(out);
                }
                mine
            }
            CheckpointStep::Super(of) if *of == tag => {
                self.has_room(out);
                true
            }
            CheckpointStep::Super(_) => false,
        }
    }

    fn commit_ended(&mut self, now: Instant, tag: u64, out: &mut FsOutbox) -> bool {
        let Some(committing) = &mut self.committing else { return false };
        match &mut committing.step {
            CommitStep::Log(tags) => {
                let mine = tags.remove(&tag);
                if mine && tags.is_empty() {
                    self.log_ended(now, out);
                }
                mine
            }
            CommitStep::Commit(of) if *of == tag => {
                let tid = committing.tid;
                self.is_committed(now, tid, out);
                true
            }
            CommitStep::Commit(_) | CommitStep::Data | CommitStep::Sealing(_) => false,
        }
    }

    /// Wakes those that want to change a block of the log, and has jbd2 run.
    fn log_ended(&mut self, now: Instant, out: &mut FsOutbox) {
        let woken = core::mem::take(&mut self.for_log);
        let delay = self.race.delay(!woken.is_empty());
        let committing = self.committing.as_mut().expect("its log has ended");
        committing.step = CommitStep::Sealing(now + delay);
        if !committing.data.is_empty() {
            committing.step = CommitStep::Data;
        } else if delay.is_zero() {
            self.seal(now, out);
        }
        woken.into_iter().for_each(|task| out.push(FsWish::Go(task)));
    }

    /// Sends the commit block, which with `journal_async_commit` was part of the log: then only the flush is left, and
    /// with `nobarrier` nothing.
    fn seal(&mut self, now: Instant, out: &mut FsOutbox) {
        let barrier = self.settings.barrier;
        let tags = match self.settings.async_commit {
            true if !barrier => {
                let tid = self.committing.as_ref().expect("it is being sealed").tid;
                return self.is_committed(now, tid, out);
            }
            true => BTreeSet::from([out.submit(Agent::Journal, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync)]),
            false => {
                let runs = self.ring.take(1);
                self.send(runs, FsIo::Commit, barrier, out)
            }
        };
        let tag = tags.first().copied().expect("a block is one bio");
        let committing = self.committing.as_mut().expect("it is being sealed");
        committing.step = CommitStep::Commit(tag);
        let tid = committing.tid;
        self.all_sleep(tid, FsWait::Commit, out);
    }

    fn is_committed(&mut self, now: Instant, tid: Tid, out: &mut FsOutbox) {
        self.committed = tid;
        self.commits += 1;
        self.all_busy = None;
        if let Some(Committing { blocks, logged, begun, .. }) = self.committing.take() {
            self.batching.committed(now.since(begun));
            self.ring.committed(tid, logged);
            blocks.into_iter().for_each(|block| self.dirty.insert(block, tid));
            self.dirtied = true;
        }
        self.for_commit.retain(|&(of, task)| {
            if of <= tid {
                out.push(FsWish::Done(task));
            }
            of > tid
        });
        self.for_room.drain(..).for_each(|task| out.push(FsWish::Go(task)));
        if let Some(running) = self.running.as_ref().filter(|running| running.wanted || running.due <= now) {
            self.all_sleep(running.tid, FsWait::Log, out);
            self.commit(now, out);
        }
    }

    /// When the journal must be told the time.
    pub(super) fn next(&self) -> Option<Instant> {
        let sealing = self.committing.as_ref().and_then(|committing| match committing.step {
            CommitStep::Sealing(at) => Some(at),
            CommitStep::Log(_) | CommitStep::Data | CommitStep::Commit(_) => None,
        });
        let waits = |running: &&Running| !running.locked;
        let due = self.running.as_ref().filter(|_| self.committing.is_none()).filter(waits).map(|running| running.due);
        let wakes = self.running.as_ref().filter(waits).and_then(|running| running.wakes);
        [sealing, due, wakes, self.batching.next()].into_iter().flatten().min()
    }

    pub(super) fn elapse(&mut self, now: Instant, out: &mut FsOutbox) {
        if let Some(Committing { step: CommitStep::Sealing(at), .. }) = self.committing
            && at <= now
        {
            self.seal(now, out);
        }
        self.batching.elapse(now, out);
        let is_up = |running: &Running| running.due <= now || running.wakes.is_some_and(|wakes| wakes <= now);
        if self.committing.is_none() && self.running.as_ref().is_some_and(is_up) {
            self.commit(now, out);
        }
    }

    /// Whether metadata became dirty at home since this was last asked.
    pub(super) fn take_dirtied(&mut self) -> bool {
        core::mem::take(&mut self.dirtied)
    }

    /// Whether a transaction that is not committed has the block, so that it may not be written home.
    fn is_busy(&self, block: MetaBlock) -> bool {
        self.is_running(block) || self.committing.as_ref().is_some_and(|it| it.blocks.contains(&block))
    }

    /// Makes room in the log in this task's name, or lets it wait for the caller that does. False if there is nothing
    /// to do.
    fn makes_room(&mut self, task: FsTask, out: &mut FsOutbox) -> bool {
        if self.checkpoint.is_some() {
            self.for_room.push(task);
            return true;
        }
        self.ring.drop_done(|tid| !self.dirty.holds(tid));
        if self.ring.can_advance() {
            self.checkpoint = Some(Checkpoint { task, step: CheckpointStep::Home(BTreeSet::new()) });
            self.write_super(out);
            return true;
        }
        let Some(oldest) = self.ring.oldest().filter(|oldest| self.all_busy != Some(*oldest)) else { return false };
        let blocks: Vec<MetaBlock> = self.dirty.held_by(oldest).filter(|block| !self.is_busy(*block)).collect();
        if blocks.is_empty() {
            self.all_busy = Some(oldest);
            return false;
        }
        let tags = self.write_home(&blocks, Agent::Caller(task), Waiter::Sync, out);
        self.checkpoint = Some(Checkpoint { task, step: CheckpointStep::Home(tags) });
        true
    }

    fn write_super(&mut self, out: &mut FsOutbox) {
        self.ring.drop_done(|tid| !self.dirty.holds(tid));
        let checkpoint = self.checkpoint.as_mut().expect("a caller makes room");
        let by = Agent::Caller(checkpoint.task);
        let place = (self.settings.journal_start, BLOCK_SECTORS);
        let tag = out.submit(by, FsIo::JournalSuper, place, self.settings.barrier, Waiter::Sync);
        out.push(FsWish::Waits(by));
        checkpoint.step = CheckpointStep::Super(tag);
    }

    fn has_room(&mut self, out: &mut FsOutbox) {
        self.ring.advance();
        let Some(Checkpoint { task, .. }) = self.checkpoint.take() else { return };
        out.push(FsWish::Go(task));
        self.for_room.drain(..).for_each(|task| out.push(FsWish::Go(task)));
    }
}
