//! The host's files on a file system: which pages are which inode's, and what a call, a transfer or the flusher owes
//! the file system. Without one, everything here lets pass.
//!
//! **Rule** A write first changes the file's times. A process that writes dirty pages has them placed first. Pages of
//! new blocks count as written when the file system says so. A sync ends with the metadata, or with a flush of the
//! disk's cache if the metadata are stable. Each of these may sleep in the file system, and asks again when it is
//! told to. What is dirty of a file that is removed and not under way is never written; what is under way is waited
//! for (`unlink(2)`; that a truncation waits for pages under write-back is MEMORY).

use std::collections::BTreeMap;

use blksched::author::Waiter;
use blksched::{Bio, Class, Durability, GroupId, Hints, Instant, Op, Priority, SubmitterId, Tag};

use super::Host;
use super::cache::TransferId;
use super::call::{CallWork, HostCall};
use super::filed_pages::FiledPages;
use super::fs::{
    Agent, Blocks, Change, Entry, FileSystem, FsBio, FsIo, FsTask, FsWish, InodeId, Known, Missing, Syncing,
};
use super::io_ends::{EndedWrite, IoEnds};
use super::op::{HostOp, OpId, OpStage, OpTask, Who};
use super::ordered::OrderedWrites;
use super::outbox::Wish;
use super::page::{PAGE_SECTORS, Pages, count, pages_of};
use super::report::WaitsFor;
use super::runs::PageRuns;
use super::transfer::TransferKind;

/// The flusher's number as a task of the file system; a greater one is a thread of the file system's own.
const FLUSHER: FsTask = FsTask::MAX - 1;

/// The flusher of the device that the file system is on.
const FIRST_FLUSHER: usize = 0;

/// From here on tasks are those of calls that do not wait ([`Starter`]).
const STARTERS: FsTask = 1 << 31;

/// A call that begins writes and does not wait for them, and whose blocks have not all been placed.
#[derive(Clone, Copy, Debug)]
struct Starter {
    inode: InodeId,
    blocks: Blocks,
    who: Who,
}

/// The files, and what is under way between them and the file system.
#[derive(Clone, Debug)]
pub(super) struct Filing {
    fs: FileSystem,
    journal: SubmitterId,
    worker: SubmitterId,
    files: FiledPages,
    next_inode: u64,
    /// What the flusher may write: it has been placed.
    placed: Pages,
    flusher_sleeps: bool,
    /// By task.
    starters: BTreeMap<FsTask, Starter>,
    starters_begun: u32,
    /// Direct writes at the disk, as they were handed in, by tag.
    direct: BTreeMap<Tag, Bio>,
    io_ends: IoEnds,
    ordered: OrderedWrites,
    obeys: bool,
}

impl Filing {
    /// Whether a file that replaces another is written at once (ext4's `auto_da_alloc`; xfs does not, as recorded).
    pub fn writes_what_replaces(&self) -> bool {
        matches!(self.fs, FileSystem::Ext4(_))
    }

    fn find(&self, page: u64) -> Option<(u64, InodeId)> {
        self.files.find(page).map(|(file, inode)| (file.start, inode))
    }

    fn blocks(&self, pages: &Pages) -> Option<(InodeId, Blocks)> {
        let (start, inode) = self.find(pages.start)?;
        Some((inode, (pages.start - start..pages.end - start).into()))
    }

    /// Whether the file system has a say in this direct bio.
    pub fn concerns(&self, bio: &Bio) -> bool {
        bio.op == Op::Write && self.find(bio.start.0 / PAGE_SECTORS).is_some()
    }

    /// The blocks of a direct bio in which the file system has a say.
    pub fn blocks_of_direct(&self, bio: &Bio) -> Option<Blocks> {
        let blocks = || self.blocks(&pages_of(bio.start, u64::from(bio.sectors)));
        if self.concerns(bio) { blocks().map(|(_, blocks)| blocks) } else { None }
    }

    /// A direct write goes to the queue.
    pub fn direct_begins(&mut self, bio: Bio) {
        self.direct.insert(bio.tag, bio);
    }

    /// Places what a caller writes that does not wait for anything: what has to wait in the file system is done when it
    /// may be, though the call may have returned.
    pub fn place_at_once(&mut self, now: Instant, who: Who, pages: &Pages) {
        let Some((inode, blocks)) = self.blocks(pages) else { return };
        self.starters_begun = (self.starters_begun + 1) % (1 << 30);
        let task = STARTERS + self.starters_begun;
        self.starters.insert(task, Starter { inode, blocks, who });
        self.start(now, task);
        self.begin_io_end(inode, blocks);
    }

    /// Places a starter's blocks, unless it has to wait again.
    fn start(&mut self, now: Instant, task: FsTask) {
        let Some(&Starter { inode, blocks, .. }) = self.starters.get(&task) else { return };
        if self.fs.enter(now, task, inode, Change::WriteBack(blocks)) == Entry::Done {
            self.starters.remove(&task);
        }
    }

    /// Whether the flusher may write these dirty pages now. If not, it sleeps in the file system, and
    /// [`Host::write_back`] is called when it may go on.
    pub fn may_write_back(&mut self, now: Instant, pages: &Pages, dirty: &PageRuns) -> bool {
        if self.flusher_sleeps {
            return false;
        }
        if self.placed.start <= pages.start && pages.end <= self.placed.end {
            return true;
        }
        let Some((file, inode)) = self.files.find(pages.start) else { return true };
        // All of the run that is dirty is placed at once.
        let run = dirty.first_within(&(pages.start..file.end)).unwrap_or(pages.clone());
        let blocks = Blocks { start: run.start - file.start, end: run.end - file.start };
        let entry = self.fs.enter(now, FLUSHER, inode, Change::WriteBack(blocks));
        if entry == Entry::Waits {
            self.flusher_sleeps = true;
        } else {
            self.placed = run;
            self.begin_io_end(inode, blocks);
        }
        entry == Entry::Done
    }

    /// Writes of these blocks, which come next, count as written together, if the file system has to convert them.
    fn begin_io_end(&mut self, inode: InodeId, blocks: Blocks) {
        if self.fs.is_unwritten(inode, blocks) && self.io_ends.begin(inode, blocks) {
            self.placed = 0..0;
        }
    }

    /// A file's pages.
    pub fn pages_of(&self, inode: InodeId) -> Option<Pages> {
        self.files.of(inode)
    }

    /// The writes that commits wait for.
    pub fn ordered(&mut self) -> &mut OrderedWrites {
        &mut self.ordered
    }

    /// Data that a commit needs are on the disk.
    pub fn data_is_there(&mut self, now: Instant, ticket: u64) {
        self.fs.data_is_there(now, ticket);
    }

    /// jbd2.
    pub fn journal_is(&self) -> Who {
        Who { submitter: self.journal, priority: self.journal_priority(), group: GroupId::default() }
    }

    /// The priority of jbd2; xfs has no such thread.
    fn journal_priority(&self) -> Priority {
        match &self.fs {
            FileSystem::Ext4(fs) => Priority { class: Class::BestEffort, level: fs.journal_ioprio() },
            FileSystem::Xfs(_) => Priority::default(),
        }
    }

    /// Whether `write` makes its data stable.
    pub fn writes_synchronously(&self) -> bool {
        self.fs.writes_synchronously()
    }

    /// How a `write` of these pages begins.
    pub fn change_of_write(&self, pages: &Pages) -> Change {
        match (&self.fs, self.blocks(pages)) {
            (FileSystem::Ext4(fs), Some((_, blocks))) => fs.change_of_write(blocks, pages.start),
            _ => Change::Times,
        }
    }

    /// This agent writes metadata home that no transaction holds.
    pub fn write_home(&mut self, by: Agent) {
        self.fs.write_home(by);
    }

    /// The data of a `syncfs` have been submitted.
    pub fn sync_begins(&mut self, now: Instant, task: FsTask) {
        self.fs.sync_begins(now, task);
    }

    /// The data of a `sync` are on the disk: makes all metadata stable. Asked again whenever the task goes on.
    pub fn sync_all(&mut self, now: Instant, task: FsTask) -> Missing {
        self.fs.sync_all(now, task)
    }

    /// These dirty pages of a file leave memory without having been written.
    pub fn dropped(&mut self, pages: &Pages) {
        let Some((inode, blocks)) = self.blocks(pages) else { return };
        self.io_ends.drop_rest(inode, blocks);
        self.placed = 0..0;
    }

    /// A write of these pages begins.
    pub fn write_begins(&mut self, id: TransferId, pages: &Pages) {
        if let Some((inode, blocks)) = self.blocks(pages) {
            self.io_ends.join(id, inode, blocks);
        }
    }
}

/// The bio that the queue gets for one of the file system's own.
pub(super) fn bio_of(bio: &FsBio, tag: Tag, submitter: SubmitterId) -> Bio {
    if bio.sectors == 0 {
        return Bio::flush(tag.0, submitter);
    }
    let made = match bio.waiter {
        Waiter::Sync => Bio::write(tag.0, submitter, bio.start, bio.sectors),
        Waiter::Async => Bio::write_back(tag.0, submitter, bio.start, bio.sectors),
    };
    let durability = Durability { preflush: bio.barrier, fua: bio.barrier };
    // The journal's own writes are marked as direct ones are (`REQ_IDLE`): write-back throttling lets them pass.
    Bio { durability, hints: Hints { meta: true, write_back: bio.what == FsIo::Home, ..made.hints }, ..made }
}

impl Host {
    /// The same with a file system below the files that it is told of. `journal` and `worker` are the submitters of
    /// jbd2 and of other threads of the kernel.
    pub fn with_file_system(mut self, fs: FileSystem, journal: SubmitterId, worker: SubmitterId) -> Host {
        self.filing = Some(Box::new(Filing {
            fs,
            journal,
            worker,
            files: FiledPages::default(),
            // The first that mkfs leaves to users, and `lost+found`.
            next_inode: 12,
            placed: 0..0,
            flusher_sleeps: false,
            starters: BTreeMap::new(),
            starters_begun: 0,
            direct: BTreeMap::new(),
            io_ends: IoEnds::default(),
            ordered: OrderedWrites::default(),
            obeys: false,
        }));
        self
    }

    /// These pages are a file of this inode.
    pub fn add_file(&mut self, pages: Pages, inode: InodeId, known: Known) {
        let Some(filing) = &mut self.filing else { return };
        filing.files.insert(pages, inode);
        filing.fs.know(inode, known);
    }

    /// These pages are a new file; returns its inode, the next free one.
    pub fn add_next_file(&mut self, pages: Pages, known: Known) -> Option<InodeId> {
        let filing = self.filing.as_mut()?;
        filing.next_inode += 1;
        let inode = InodeId(filing.next_inode);
        self.add_file(pages, inode, known);
        Some(inode)
    }

    /// The file system, to inspect.
    pub fn file_system(&self) -> Option<&FileSystem> {
        self.filing.as_ref().map(|filing| &filing.fs)
    }

    /// When the file system must be told the time.
    pub(super) fn files_next(&self) -> Option<Instant> {
        self.filing.as_ref()?.fs.next()
    }

    pub(super) fn files_elapse(&mut self, now: Instant) {
        if let Some(filing) = &mut self.filing {
            filing.fs.elapse(now);
        }
        self.obey_files(now);
    }

    /// A change of metadata is made, and the call continues.
    pub(super) fn enter_on(&mut self, now: Instant, id: OpId, change: Change) {
        let page = match self.ops[id].task {
            OpTask::Call(call) => call.start().0 / PAGE_SECTORS,
            OpTask::Bypass(bio) | OpTask::Landing(bio) => bio.start.0 / PAGE_SECTORS,
        };
        let inode = match self.ops[id].task {
            OpTask::Call(HostCall { work: CallWork::Change(inode, _), .. }) => Some(inode),
            _ => self.filing.as_ref().and_then(|filing| filing.find(page)).map(|(_, inode)| inode),
        };
        if let Some(inode) = inode
            && !self.enter(now, id, inode, change)
        {
            return;
        }
        match self.ops[id].task {
            OpTask::Call(HostCall { work: CallWork::Change(..) | CallWork::Name(_), .. }) => self.finish(now, id),
            OpTask::Call(_) => {
                self.ops[id].stage = OpStage::Paging;
                self.go_on(now, id);
            }
            OpTask::Bypass(bio) => self.release_direct(id, bio),
            OpTask::Landing(bio) => {
                let syncs = bio.durability.fua.then_some(Syncing::Data);
                match syncs {
                    Some(_) => self.stabilise(now, id, page, syncs),
                    None => self.finish(now, id),
                }
            }
        }
    }

    /// The file of this page has new times. False if the call has to wait in the file system.
    pub(super) fn enter_times(&mut self, now: Instant, id: OpId, page: u64) -> bool {
        match self.filing.as_ref().and_then(|filing| filing.find(page)) {
            Some((_, inode)) => self.enter(now, id, inode, Change::Times),
            None => true,
        }
    }

    /// False if the call has to wait in the file system.
    fn enter(&mut self, now: Instant, id: OpId, inode: InodeId, change: Change) -> bool {
        let process = self.ops[id].who().submitter;
        let Some(filing) = &mut self.filing else { return true };
        filing.fs.called_by(process.0);
        let entry = filing.fs.enter(now, id, inode, change);
        if entry == Entry::Waits {
            self.sleep_in_files(now, id);
        }
        self.obey_files(now);
        entry == Entry::Done
    }

    pub(super) fn sleep_in_files(&mut self, now: Instant, id: OpId) {
        let op = &mut self.ops[id];
        op.in_fs = true;
        // The file system says at once for what: `FsWish::Sleeps`.
        op.waits.get_or_insert((now, WaitsFor::OthersLog));
    }

    /// What the call waits for is another thing from now on.
    fn turns_to(&mut self, now: Instant, id: OpId, what: WaitsFor) {
        self.note_wait(now, id);
        self.ops[id].waits = Some((now, what));
    }

    /// Calls waited for these writes, whose data had ended at `landed` and which count as written only now: since then
    /// for the log write that held the conversion up.
    fn note_conversion(&mut self, now: Instant, id: TransferId, landed: Instant) {
        for waiter in self.mapping.transfer(id).waiters().to_vec() {
            if let Some((since, WaitsFor::Writing)) = self.ops[waiter].waits
                && landed < now
            {
                self.turns_to(landed.max(since), waiter, WaitsFor::OthersLog);
            }
        }
    }

    /// Whether the call may write these dirty pages now; they get places. The file system is to be obeyed when they
    /// have been submitted, as others may write them otherwise.
    pub(super) fn may_write(&mut self, now: Instant, id: OpId, pages: &Pages) -> bool {
        let Some((inode, blocks)) = self.filing.as_ref().and_then(|filing| filing.blocks(pages)) else { return true };
        let Some(filing) = &mut self.filing else { return true };
        let entry = filing.fs.enter(now, id, inode, Change::WriteBack(blocks));
        match entry {
            Entry::Waits => self.sleep_in_files(now, id),
            Entry::Done => filing.begin_io_end(inode, blocks),
        }
        entry == Entry::Done
    }

    /// Whether the flusher may write these dirty pages now; it sleeps if not.
    pub(super) fn may_write_back(&mut self, now: Instant, pages: &Pages) -> bool {
        let Some(filing) = &mut self.filing else { return true };
        filing.may_write_back(now, pages, self.mapping.dirty())
    }

    /// Whether a write that has ended at the disk counts as written. If not, it does later, with the others of its
    /// allocation.
    pub(super) fn counts_as_written(&mut self, now: Instant, id: TransferId, failed: bool, issued_at: Instant) -> bool {
        let Some(filing) = &mut self.filing else { return true };
        let blocks = count(&self.mapping.transfer(id).pages);
        let Some(whole) = filing.io_ends.write_ended(EndedWrite { id, failed, issued_at }, blocks) else { return true };
        if let Some(number) = whole {
            self.end_io(now, number);
        }
        false
    }

    /// All writes of an allocation have ended.
    fn end_io(&mut self, now: Instant, number: u64) {
        let Some(filing) = &mut self.filing else { return };
        let Some((inode, blocks)) = filing.io_ends.landed(now, number) else { return };
        if filing.fs.data_ended(now, inode, blocks, number) {
            self.written_together(now, number);
        }
        self.obey_files(now);
    }

    fn written_together(&mut self, now: Instant, number: u64) {
        let Some((ended, landed)) = self.filing.as_mut().and_then(|filing| filing.io_ends.end(number)) else { return };
        for EndedWrite { id, failed, issued_at } in ended {
            self.note_conversion(now, id, landed.unwrap_or(now));
            self.end_transfer(now, id, failed, issued_at);
        }
    }

    /// The call's data are on the disk: makes its metadata stable, too.
    pub(super) fn stabilise(&mut self, now: Instant, id: OpId, page: u64, syncs: Option<Syncing>) {
        let filed = self.filing.as_mut().and_then(|filing| filing.find(page).map(|(_, inode)| (filing, inode)));
        let (Some((filing, inode)), Some(what)) = (filed, syncs) else {
            self.ops[id].stage = OpStage::Flushing;
            return self.start_flush(now, id);
        };
        let missing = filing.fs.sync(now, id, inode, what);
        match missing {
            Missing::Nothing => self.finish(now, id),
            Missing::Flush => {
                self.ops[id].stage = OpStage::Flushing;
                self.start_flush(now, id);
            }
            Missing::Metadata => {
                self.ops[id].stage = OpStage::Flushing;
                self.sleep_in_files(now, id);
            }
        }
        self.obey_files(now);
    }

    /// A bio of a process's own is complete. True if it is a direct write that the file system is not done with:
    /// [`Wish::Landed`] says when its process may be told.
    pub fn landed(&mut self, now: Instant, tag: Tag) -> bool {
        let Some(bio) = self.filing.as_mut().and_then(|filing| filing.direct.remove(&tag)) else { return false };
        let pages = pages_of(bio.start, u64::from(bio.sectors));
        let Some((_, blocks)) = self.filing.as_ref().and_then(|filing| filing.blocks(&pages)) else { return false };
        let change = Change::DirectEnds(blocks);
        let id = self.ops.insert(HostOp::new(OpTask::Landing(bio), pages));
        self.ops[id].stage = OpStage::Entering(change);
        self.enter_on(now, id, change);
        true
    }

    /// A bio of the file system's own is complete.
    pub(super) fn files_ended(&mut self, now: Instant, bio: FsBio) {
        if let Some(filing) = &mut self.filing {
            filing.fs.ended(now, bio.tag);
        }
        self.obey_files(now);
    }

    /// Does what the file system wants done.
    pub(super) fn obey_files(&mut self, now: Instant) {
        let Some(filing) = &mut self.filing else { return };
        if core::mem::replace(&mut filing.obeys, true) {
            return;
        }
        let mut has_room = false;
        while let Some(wish) = self.filing.as_mut().and_then(|filing| filing.fs.wish()) {
            if let FsWish::Go(task) = wish
                && self.filing.as_mut().is_some_and(|filing| !filing.fs.resume(now, task))
            {
                continue;
            }
            match wish {
                FsWish::Submit(bio) => self.submit_for_files(bio),
                FsWish::Waits(agent) => {
                    let submitter = self.agent(agent).submitter;
                    self.out.push(Wish::Waits(submitter));
                }
                FsWish::Clean(page) => {
                    self.mapping.clean(page, &mut self.memory);
                    has_room = true;
                }
                FsWish::Go(FLUSHER) | FsWish::Done(FLUSHER) => {
                    if let Some(filing) = &mut self.filing {
                        filing.flusher_sleeps = false;
                    }
                    self.memory.flusher_sleeps(FIRST_FLUSHER, false);
                    self.write_back(now);
                }
                FsWish::Sleeps(STARTERS.., _) => {}
                FsWish::Go(task @ STARTERS..) | FsWish::Done(task @ STARTERS..) => {
                    if let Some(filing) = &mut self.filing {
                        filing.start(now, task);
                    }
                }
                FsWish::Sleeps(task, what) => self.turns_to(now, task, what.into()),
                FsWish::Go(task) | FsWish::Done(task) => {
                    self.ops[task].in_fs = false;
                    if self.ops[task].transfers == 0 || matches!(self.ops[task].stage, OpStage::Entering(_)) {
                        self.go_on(now, task);
                    } else {
                        self.turns_to(now, task, WaitsFor::Writing);
                        _ = self.write_pending(now, task);
                    }
                }
                FsWish::Written(number) => self.written_together(now, number),
                FsWish::Order { ticket, inode, blocks, writes } => self.order(now, ticket, (inode, blocks), writes),
            }
        }
        let cut = self.filing.as_mut().map(|filing| filing.io_ends.take_cut()).unwrap_or_default();
        if let Some(filing) = &mut self.filing {
            filing.obeys = false;
            if filing.fs.take_dirtied() {
                self.metadata_is_dirty(now);
            }
        }
        cut.into_iter().for_each(|number| self.end_io(now, number));
        // What went home in another way is dirty no more.
        if has_room {
            self.memory.wake().into_iter().for_each(|waiter| self.go_on(now, waiter));
        }
    }

    /// Metadata is dirty at its home since then: the flusher writes it among the files.
    fn metadata_is_dirty(&mut self, since: Instant) {
        self.memory.note_metadata(since);
        self.set_age_check(since);
    }

    /// The same, where metadata was dirty before the beginning; the flusher first looks for what is old at this time.
    #[must_use]
    pub fn with_dirty_metadata(mut self, first_look: Instant) -> Host {
        self.memory.note_metadata(Instant::ZERO);
        self.timers.set_age_check(Some(first_look));
        self
    }

    /// `unlink`: drops what need not be written, and removes the name when nothing of the file is under way.
    pub(super) fn unlink_on(&mut self, now: Instant, id: OpId, change: Change) {
        let OpTask::Call(call) = self.ops[id].task else { unreachable!("only calls unlink") };
        let pages = call.file.pages();
        for dropped in self.mapping.truncate(&pages, &mut self.memory) {
            if let Some(filing) = &mut self.filing {
                filing.dropped(&dropped);
            }
        }
        for (transfer, _) in self.mapping.writes_within(&pages) {
            self.wait_for(now, id, transfer, WaitsFor::Writing);
        }
        if self.ops[id].transfers == 0 {
            self.ops[id].stage = OpStage::Entering(change);
            self.enter_on(now, id, change);
        }
        // Allocations that are whole now, and writers for whom there is room.
        self.obey_files(now);
        for waiter in self.memory.wake() {
            self.go_on(now, waiter);
        }
    }

    fn agent(&self, agent: Agent) -> Who {
        let filing = self.filing.as_ref().expect("there is a file system");
        let own = |submitter, priority| Who { submitter, priority, group: GroupId::default() };
        match agent {
            Agent::Journal => filing.journal_is(),
            Agent::Worker => own(filing.worker, Priority::default()),
            Agent::Flusher | Agent::Caller(FLUSHER) => self.flusher_is,
            Agent::Caller(task) => match filing.starters.get(&task) {
                Some(starter) => starter.who,
                None => self.ops[task].who(),
            },
        }
    }

    fn submit_for_files(&mut self, bio: FsBio) {
        let who = self.agent(bio.by);
        let pages = pages_of(bio.start, 0);
        let transfer = self.mapping.begin(TransferKind::Files(bio), pages);
        self.submit(transfer, who, bio.waiter);
    }
}
