//! The host's memory between processes and the block queue: page cache, readahead, dirty pool, flusher.
//!
//! ```text
//! process ── Call ──► Host ── Wish::Submit ──► block queue
//!    ▲                 │  ▲                        │
//!    └─ Wish::Return ──┘  └────── completed ───────┘
//! ```
//!
//! [`Host`] is a pure state machine: it is told the time, takes calls and completions, and leaves [`Wish`]es for its
//! driver. Parts that programs use separately are public:
//!
//! * [`Readahead`] says what to read when a reader of a file misses a page, or reaches a marker.
//! * [`DirtyPool`] says when writers sleep and wake, and when dirty memory is to be written, before 3.1; [`Balance`]
//!   says how fast they may dirty memory since.
//! * [`PageRuns`] says which pages are dirty, and [`Flusher`] which of them are written next.
//!
//! One memory holds the whole disk, by page number; a device and a file on it share it. A file system ([`fs`]) may lie
//! between files and the queue. Not modelled: reclaim under pressure, congestion, cgroup write-back.

mod balance;
mod bypass;
mod cache;
mod call;
mod dirty_files;
mod dirty_memory;
mod dirty_pool;
mod filed_pages;
mod filing;
mod flush_queue;
mod flusher;
pub mod fs;
mod io_ends;
mod knobs;
mod mapping;
mod op;
mod ordered;
mod outbox;
mod page;
mod range;
mod read;
mod readahead;
mod report;
mod runs;
mod slots;
mod sync;
mod timers;
mod transfer;
mod write;
mod writeback;

use std::collections::BTreeMap;

use blksched::{Bio, GroupId, Instant, Priority, Span, SubmitterId, Tag};

use cache::TransferId;
use dirty_memory::DirtyMemory;
use filing::Filing;
use fs::Change;
use mapping::Mapping;
use op::{AfterStep, HostOp, OpId, OpStage, OpTask, Then, Who};
use outbox::Outbox;
use page::count;
use slots::NumberedSlots;
use timers::Timers;
use transfer::{PageWriter, Transfer, TransferKind};

pub use balance::{Answer, Balance, BalanceLimits, DeviceIndex, DeviceLimits, DirtyingTask, Ticks, Verdict};
pub use call::{CallWork, HostCall, Memory, NameChange, OpenFile, RangeSync, Stable, SyncAll, Touch};
pub use dirty_files::FlusherReason;
pub use dirty_memory::{MemoryDevice, WriteBack};
pub use dirty_pool::{DirtyLimits, DirtyPool};
pub use flusher::{CHUNK_PAGES, Flusher};
pub use knobs::HostKnobs;
pub use outbox::Wish;
pub use page::{ByteRange, PAGE_BYTES, PAGE_SECTORS, Pages, pages_of};
pub use readahead::{Advice, Fetch, Readahead};
pub use report::{Calls, HostReport, WaitsFor, Written};
pub use runs::PageRuns;

/// The longest bio \[pages\]: 1 MiB (MEMORY: `BIO_MAX_VECS`).
const LONGEST: u64 = 256;

/// The page cache of the simulated host.
#[derive(Clone, Debug)]
pub struct Host {
    knobs: HostKnobs,
    flusher_is: Who,
    /// What is in memory, and on its way between it and the disk.
    mapping: Mapping,
    /// How much is dirty, and what writers may do.
    memory: DirtyMemory,
    /// Why each flusher is writing, while it has anything in flight.
    bursts: Vec<Option<FlusherReason>>,
    /// By process and the file's first page.
    readaheads: BTreeMap<(SubmitterId, u64), Readahead>,
    ops: NumberedSlots<HostOp>,
    timers: Timers,
    out: Outbox,
    stopped: bool,
    /// Its pages lie on several disks.
    is_on_several: bool,
    report: HostReport,
    /// The file system below the files, if there is one.
    filing: Option<Box<Filing>>,
}

impl Host {
    /// A host with an empty memory of a kernel with this write-back. `flusher` is the submitter of background writes,
    /// `max_sectors` the largest request \[512-byte sectors\].
    pub fn new(knobs: HostKnobs, write_back: WriteBack, flusher: SubmitterId, max_sectors: u32) -> Host {
        Host {
            flusher_is: Who { submitter: flusher, priority: Priority::default(), group: GroupId::default() },
            mapping: Mapping::new(knobs.memory / PAGE_BYTES, (u64::from(max_sectors) / PAGE_SECTORS).clamp(1, LONGEST)),
            memory: DirtyMemory::new(&knobs, write_back),
            bursts: vec![None],
            readaheads: BTreeMap::new(),
            ops: NumberedSlots::default(),
            timers: Timers::default(),
            out: Outbox::default(),
            stopped: false,
            is_on_several: false,
            report: HostReport::default(),
            filing: None,
            knobs,
        }
    }

    /// The same above several devices, in the order of their pages, which lie side by side: a flush names the file's
    /// place; each device has a share of the limits and, since 3.1, a flusher of its own.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn on_several(self, devices: &[MemoryDevice]) -> Host {
        let memory = self.memory.above(devices, &self.knobs);
        let bursts = vec![None; memory.flushers()];
        Host { is_on_several: true, memory, bursts, ..self }
    }

    /// Handles a call of a process.
    pub fn call(&mut self, now: Instant, mut call: HostCall) {
        if let (CallWork::Write(range, Stable::Later), Some(filing)) = (call.work, &self.filing)
            && filing.writes_synchronously()
        {
            call.work = CallWork::Write(range, Stable::OnReturn);
        }
        let id = self.ops.insert(HostOp::new(OpTask::Call(call), call.pages()));
        match (call.work, &self.filing) {
            (CallWork::Change(_, change), Some(filing)) => {
                if matches!(change, Change::Rename { over: Some(_), .. }) && filing.writes_what_replaces() {
                    // Whoever replaces a file wants the new data soon: their write-back begins now.
                    self.start_range(now, id, false);
                }
                self.ops[id].stage = OpStage::Entering(change);
            }
            (CallWork::Change(..) | CallWork::Name(_), None) => return self.finish(now, id),
            (CallWork::Name(name @ NameChange::Create(_)), Some(_)) => {
                self.ops[id].stage = OpStage::Entering(name.change());
            }
            (CallWork::Name(name @ NameChange::Unlink(_)), Some(_)) => {
                self.ops[id].stage = OpStage::Unlinking(name.change());
            }
            (CallWork::Write(range, _), Some(filing)) => {
                self.ops[id].stage = OpStage::Entering(filing.change_of_write(&range.pages()));
            }
            _ => {}
        }
        self.go_on(now, id);
    }

    /// Takes a direct bio; [`Wish::GoOn`] returns it when it may go to the queue.
    pub fn bypass(&mut self, now: Instant, mut bio: Bio) {
        let pages = bypass::range(&bio);
        let is_synchronous = |filing: &Filing| filing.writes_synchronously() && filing.concerns(&bio);
        bio.durability.fua |= self.filing.as_deref().is_some_and(is_synchronous);
        let id = self.ops.insert(HostOp::new(OpTask::Bypass(bio), pages.clone()));
        self.begin_sync(now, id, pages);
    }

    /// Nothing has been written in these pages: whoever writes one in part need not read it first.
    pub fn add_blank(&mut self, pages: Pages) {
        self.mapping.add_blank(pages);
    }

    /// A process sets what happens to a file in memory.
    pub fn remember(&mut self, submitter: SubmitterId, file: &OpenFile, memory: Memory) {
        self.readaheads.remove(&(submitter, file.first_page()));
        match memory {
            Memory::Keep => {}
            Memory::Drop => self.mapping.drop_clean(&file.pages()),
            Memory::Load => self.mapping.load(&file.pages()),
        }
    }

    /// Whether there is anything to do, except for submitters that sleep.
    #[inline]
    pub fn has_wishes(&self) -> bool {
        !self.out.is_empty() || self.memory.flushes()
    }

    /// The next thing to do. To be called until there is none, after every other call.
    pub fn wish(&mut self, now: Instant) -> Option<Wish> {
        if let Some(wish) = self.out.next() {
            return Some(wish);
        }
        // The flusher goes on when all it wished has been done, so that it sleeps with its next write, not with all.
        self.flush_on(now);
        self.out.next()
    }

    /// A bio of this submitter, the host's or its own, found no request slot.
    pub fn fell_asleep(&mut self, submitter: SubmitterId) {
        self.out.fell_asleep(submitter);
        if let Some(number) = self.memory.which_flusher(self.flusher_is.submitter, submitter) {
            self.memory.flusher_sleeps(number, true);
        }
    }

    /// This submitter has its slot now.
    pub fn woke(&mut self, now: Instant, submitter: SubmitterId) {
        self.out.woke(submitter);
        if let Some(number) = self.memory.which_flusher(self.flusher_is.submitter, submitter) {
            self.memory.flusher_sleeps(number, false);
            self.write_back(now);
        }
    }

    /// When it must be told the time.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        // Where all I/O is direct, never.
        if self.timers.is_idle() && self.filing.is_none() { None } else { self.earliest() }
    }

    fn earliest(&self) -> Option<Instant> {
        // Once every process has exited nothing is written any more, and nothing waits for that.
        let age_check = self.timers.age_check().filter(|_| !self.stopped);
        let files = self.files_next().filter(|_| !self.stopped);
        [self.timers.next_call(), age_check, files].into_iter().flatten().min()
    }

    /// Does what is due by `now`.
    pub fn elapse(&mut self, now: Instant) {
        while let Some(id) = self.timers.take_returning(now) {
            self.give_back(id);
        }
        while let Some(id) = self.timers.take_paused(now) {
            self.go_on(now, id);
        }
        if self.timers.age_check().is_some_and(|at| at <= now) {
            self.look_at_ages(now);
        }
        if self.files_next().is_some_and(|next| next <= now) {
            self.files_elapse(now);
        }
    }

    /// Every process has exited: dirty pages stay in memory.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.memory.stop();
    }

    /// The submitter of background writes to the first device.
    pub fn flusher(&self) -> SubmitterId {
        self.flusher_is.submitter
    }

    /// Whether a submitter is a flusher, where `first` is that of the first device.
    pub fn is_flusher(first: SubmitterId, submitter: SubmitterId) -> bool {
        let behind = submitter.0.wrapping_sub(first.0);
        submitter >= first && (behind == 0 || behind >= 4 && behind.is_multiple_of(2))
    }

    /// How many calls have not returned, and how many bios are in flight.
    pub fn busy(&self) -> (usize, usize) {
        (self.ops.len(), self.mapping.transfers())
    }

    /// What it has done so far.
    pub fn report(&self) -> HostReport {
        HostReport { dirty_most: self.memory.most(), dirty: self.memory.total(), ..self.report }
    }

    /// The most that was dirty or being written for each of several devices \[bytes\], in the order of their pages;
    /// none if there is one device, or if the kernel keeps one pool for all.
    pub fn dirty_most_of_devices(&self) -> Vec<u64> {
        self.memory.most_of_devices()
    }

    /// A call continues, as nothing delays it any more.
    fn go_on(&mut self, now: Instant, id: OpId) {
        self.note_wait(now, id);
        let op = &self.ops[id];
        let next = match (op.stage, op.task) {
            (OpStage::Entering(change), _) => return self.enter_on(now, id, change),
            (OpStage::Unlinking(change), _) => return self.unlink_on(now, id, change),
            (OpStage::Paging, OpTask::Call(HostCall { work: CallWork::Read(_), file, .. })) => {
                self.read_on(now, id, &file)
            }
            (OpStage::Paging, OpTask::Call(HostCall { work: CallWork::Write(range, stable), file, .. })) => {
                self.write_on(now, id, &file, range, stable)
            }
            (OpStage::Paging, OpTask::Call(HostCall { work: CallWork::Touch(touch), file, .. })) => {
                self.touch_on(now, id, &file, touch)
            }
            (OpStage::Paging, OpTask::Call(HostCall { work: CallWork::Range { what, .. }, .. })) => {
                self.begin_range(now, id, what)
            }
            (OpStage::Paging, OpTask::Call(HostCall { work: CallWork::SyncAll(what), .. })) => {
                return self.begin_sync_all(now, id, what);
            }
            (OpStage::SyncingAll(what, step), _) => return self.sync_all_on(now, id, what, step),
            (OpStage::Paging, OpTask::Call(call)) => AfterStep::syncs(call.pages()),
            (OpStage::Paging, OpTask::Bypass(_) | OpTask::Landing(_)) => {
                unreachable!("direct I/O begins with its pages' way to the disk")
            }
            (OpStage::Syncing, _) => return self.sync_on(now, id),
            (OpStage::Ranging(what), _) => self.range_on(now, id, what),
            (OpStage::Ranged | OpStage::Flushing, _) => AfterStep::FINISHES,
            (OpStage::Returning, _) => unreachable!("a call that returns waits for nothing"),
        };
        if next.flusher_first {
            self.write_back(now);
        }
        match next.then {
            Then::Waits => {}
            Then::Finishes => self.finish(now, id),
            Then::Syncs(pages) => self.begin_sync(now, id, pages),
        }
    }

    /// A bio of the host's is complete; the device began with it at `issued_at`.
    ///
    /// # Panics
    /// If it is not one of the host's.
    pub fn completed(&mut self, now: Instant, tag: Tag, failed: bool, issued_at: Instant) {
        let id = tag.0 as u32;
        if let TransferKind::Files(bio) = self.mapping.transfer(id).kind {
            self.mapping.end(id);
            return self.files_ended(now, bio);
        }
        if !self.counts_as_written(now, id, failed, issued_at) {
            return;
        }
        self.end_transfer(now, id, failed, issued_at);
    }

    /// A transfer is done with, for the host too: what waited for it goes on.
    fn end_transfer(&mut self, now: Instant, id: TransferId, failed: bool, issued_at: Instant) {
        let transfer = self.mapping.end(id);
        let Transfer { kind, pages, .. } = &transfer;
        match kind {
            TransferKind::Read => self.mapping.arrived(pages.clone(), failed),
            TransferKind::Write(writer, file) => {
                self.note_written(now, pages, writer);
                self.mapping.written(now, id, pages.clone(), file, &mut self.memory);
                self.ordered_ended(now, id);
            }
            TransferKind::Flush | TransferKind::Files(_) => {}
        }
        for &waiter in transfer.waiters() {
            let op = &mut self.ops[waiter];
            op.transfers -= 1;
            op.failed |= failed;
            op.issued_at = op.issued_at.max(Some(issued_at));
            if op.transfers == 0 && !op.in_fs {
                self.go_on(now, waiter);
            }
        }
        // Writers that slept for room, if there is enough by now; before 3.1.
        for id in self.memory.wake() {
            self.go_on(now, id);
        }
        self.write_back(now);
    }

    fn note_written(&mut self, now: Instant, pages: &Pages, writer: &PageWriter) {
        let written = count(pages);
        self.memory.written(now, pages);
        match writer {
            PageWriter::Flusher(FlusherReason::Background) => self.report.written.background += written,
            PageWriter::Flusher(FlusherReason::Expired) => self.report.written.expired += written,
            PageWriter::Caller(_) | PageWriter::Starter(_) | PageWriter::Asked | PageWriter::Journal => {
                self.report.written.by_caller += written
            }
        }
        if matches!(writer, PageWriter::Flusher(_)) {
            self.memory.flusher_wrote();
        }
    }

    fn note_wait(&mut self, now: Instant, id: OpId) {
        let op = &mut self.ops[id];
        if let (Some((since, what)), OpTask::Call(call)) = (op.waits.take(), op.task)
            && !matches!(call.work, CallWork::Name(_))
        {
            self.report.calls_mut(call.op()).waited[what as usize] += now.since(since);
        }
    }

    /// Nothing is left but the processor's part.
    fn finish(&mut self, now: Instant, id: OpId) {
        if let OpTask::Landing(bio) = self.ops[id].task {
            self.ops.remove(id);
            return self.out.push(Wish::Landed(bio));
        }
        let HostOp { task: OpTask::Call(call), .. } = self.ops[id] else { unreachable!("only calls return") };
        self.ops[id].stage = OpStage::Returning;
        let mut cost: Span = self.knobs.cost(call.bytes());
        if matches!(call.work, CallWork::Name(_)) && self.filing.is_some() {
            cost += self.knobs.name;
        }
        self.timers.return_at(now + cost, id);
    }

    fn give_back(&mut self, id: OpId) {
        let HostOp { task, failed, issued_at, .. } = self.ops.remove(id);
        let OpTask::Call(call) = task else { unreachable!("only calls return") };
        if !matches!(call.work, CallWork::Name(_)) {
            self.report.calls_mut(call.op()).returned += 1;
        }
        self.out.push(Wish::Return { submitter: call.submitter, tag: call.tag, failed, issued_at });
    }
}
