//! Dirty memory, its writers and the flusher, as kernels before 3.1 and since treat them.

use blksched::{Instant, Kernel, Span, SubmitterId};

use super::balance::{Balance, BalanceLimits, DeviceIndex, DeviceLimits, DirtyingTask, Ticks, Verdict};
use super::dirty_files::DirtyFiles;
use super::dirty_pool::DirtyPool;
use super::flush_queue::FlushQueue;
use super::flusher::Flusher;
use super::knobs::HostKnobs;
use super::op::OpId;
use super::page::{PAGE_BYTES, Pages};
use super::runs::PageRuns;

/// The first kernel that slows writers down instead of stopping them.
const V3_1: Kernel = Kernel::new(3, 1, 0);

/// How a kernel treats dirty memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// Before 3.1, writers run at full speed until the limit, and sleep there ([`DirtyPool`]).
    Stops,
    /// Since 3.1, writers are slowed down on the way to it ([`Balance`]), by pauses that end at a tick; how often they
    /// look depends on the number of processors.
    Balances {
        /// The kernel's tick.
        ticks: Ticks,
        /// The number of processors.
        processors: u32,
    },
}

impl WriteBack {
    /// That of this kernel.
    pub fn of(kernel: Kernel, ticks: Ticks, processors: u32) -> WriteBack {
        if kernel < V3_1 { WriteBack::Stops } else { WriteBack::Balances { ticks, processors } }
    }
}

/// The one disk of this host.
const DISK: DeviceIndex = DeviceIndex(0);

/// Dirty memory, who writes it, and where it is.
#[derive(Clone, Debug)]
pub(super) enum DirtyMemory {
    Stopping(StoppingMemory),
    Balanced(BalancedMemory),
}

/// Before 3.1.
#[derive(Clone, Debug)]
pub(super) struct StoppingMemory {
    pub pool: DirtyPool<OpId>,
    pub files: DirtyFiles,
    pub flusher: Flusher,
}

/// Since 3.1.
#[derive(Clone, Debug)]
pub(super) struct BalancedMemory {
    pub balance: Balance,
    pub queue: FlushQueue,
    /// Whether the writers are real-time tasks.
    is_real_time: bool,
    flusher: FlusherTask,
}

/// What the flusher does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlusherTask {
    /// It waits for work.
    Idle,
    /// It writes.
    Writes,
    /// It sleeps for a request slot.
    Sleeps,
    /// The simulation is over for it.
    Stopped,
}

impl DirtyMemory {
    pub fn new(knobs: &HostKnobs, write_back: WriteBack) -> DirtyMemory {
        match write_back {
            WriteBack::Stops => DirtyMemory::Stopping(StoppingMemory {
                pool: DirtyPool::new(knobs.dirty_limits()),
                files: DirtyFiles::default(),
                flusher: Flusher::new(knobs.flusher_requests, knobs.flusher_batch),
            }),
            WriteBack::Balances { ticks, processors } => {
                DirtyMemory::Balanced(BalancedMemory::new(knobs, ticks, processors))
            }
        }
    }

    /// Whether a writer may dirty this much more; since 3.1 it has asked before.
    pub fn has_room(&self, bytes: u64) -> bool {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.has_room(bytes),
            DirtyMemory::Balanced(_) => true,
        }
    }

    /// A page became dirty.
    pub fn dirtied(&mut self, submitter: SubmitterId) {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.dirtied(PAGE_BYTES),
            DirtyMemory::Balanced(memory) => memory.balance.dirtied(submitter, DISK, 1),
        }
    }

    /// A page of this file is about to become dirty, beside the dirty ones.
    pub fn note(&mut self, now: Instant, file: &Pages, dirty: &PageRuns) {
        match self {
            DirtyMemory::Stopping(memory) => memory.files.note(now, file),
            DirtyMemory::Balanced(memory) => memory.queue.note(now, file, dirty),
        }
    }

    pub fn submitted(&mut self, now: Instant, pages: u64) {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.submitted(pages * PAGE_BYTES),
            DirtyMemory::Balanced(memory) => memory.balance.submitted(now, DISK, pages),
        }
    }

    pub fn written(&mut self, now: Instant, pages: u64) {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.written(pages * PAGE_BYTES),
            DirtyMemory::Balanced(memory) => memory.balance.written(now, DISK, pages),
        }
    }

    /// When a timer of this length that starts now ends: before 3.1 to the moment, since then with the grain of the
    /// kernel's timers, as recorded.
    pub fn timer(&self, now: Instant, interval: Span) -> Instant {
        match self {
            DirtyMemory::Stopping(_) => now + interval,
            DirtyMemory::Balanced(memory) => memory.balance.limits().ticks.timer(now, interval),
        }
    }

    /// A write of the flusher's is done.
    pub fn flusher_wrote(&mut self) {
        if let DirtyMemory::Stopping(memory) = self {
            memory.flusher.completed();
        }
    }

    /// A writer sleeps at the limit.
    pub fn sleep(&mut self, id: OpId) {
        if let DirtyMemory::Stopping(memory) = self {
            memory.pool.sleep(id);
        }
    }

    /// The writers that no longer have to sleep at the limit.
    pub fn wake(&mut self) -> Vec<OpId> {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.wake(),
            DirtyMemory::Balanced(_) => Vec::new(),
        }
    }

    /// Whether the flusher has something to do at once.
    #[inline]
    pub fn flushes(&self) -> bool {
        matches!(self, DirtyMemory::Balanced(BalancedMemory { flusher: FlusherTask::Writes, .. }))
    }

    /// The flusher fell asleep for a request slot, or woke.
    pub fn flusher_sleeps(&mut self, sleeps: bool) {
        if let DirtyMemory::Balanced(memory) = self {
            memory.flusher_sleeps(sleeps);
        }
    }

    pub fn stop(&mut self) {
        if let DirtyMemory::Balanced(memory) = self {
            memory.flusher = FlusherTask::Stopped;
        }
    }

    /// Dirty or being written \[bytes\].
    pub fn total(&self) -> u64 {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.total(),
            DirtyMemory::Balanced(memory) => memory.balance.total() * PAGE_BYTES,
        }
    }

    /// The most that this has been \[bytes\].
    pub fn most(&self) -> u64 {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.most(),
            DirtyMemory::Balanced(memory) => memory.balance.most() * PAGE_BYTES,
        }
    }
}

impl BalancedMemory {
    fn new(knobs: &HostKnobs, ticks: Ticks, processors: u32) -> BalancedMemory {
        let limits = knobs.dirty_limits();
        let (background, limit) = (limits.background / PAGE_BYTES, limits.limit / PAGE_BYTES);
        let most = (knobs.max_bytes > 0).then_some(knobs.max_bytes / PAGE_BYTES);
        let device = DeviceLimits { most, is_strict: knobs.strict_limit };
        BalancedMemory {
            balance: Balance::new(BalanceLimits { background, limit, ticks, processors }, &[device]),
            queue: FlushQueue::default(),
            is_real_time: knobs.real_time_writers,
            flusher: FlusherTask::Idle,
        }
    }

    /// What a writer does next; `None` if it need not ask yet.
    pub fn check(&mut self, now: Instant, submitter: SubmitterId) -> Option<Verdict> {
        if !self.balance.is_due(submitter) {
            return None;
        }
        let task = DirtyingTask { submitter, is_real_time: self.is_real_time };
        let answer = self.balance.check(now, task, DISK);
        if answer.wakes_flusher {
            self.queue.wants_background();
            self.wake_flusher();
        }
        Some(answer.verdict)
    }

    /// There may be something to write.
    pub fn wake_flusher(&mut self) {
        if self.flusher == FlusherTask::Idle && self.queue.has_work() {
            self.flusher = FlusherTask::Writes;
        }
    }

    /// There is nothing left to write.
    pub fn flusher_rests(&mut self) {
        if self.flusher == FlusherTask::Writes {
            self.flusher = FlusherTask::Idle;
        }
    }

    fn flusher_sleeps(&mut self, sleeps: bool) {
        self.flusher = match (self.flusher, sleeps) {
            (FlusherTask::Stopped, _) => FlusherTask::Stopped,
            (_, true) => FlusherTask::Sleeps,
            (FlusherTask::Sleeps, false) => FlusherTask::Writes,
            (other, false) => other,
        };
    }

    /// Whether too much is dirty.
    pub fn is_over_background(&mut self, now: Instant) -> bool {
        self.balance.wants_background(now, DISK)
    }

    pub fn chunk(&self) -> u64 {
        self.balance.chunk(DISK)
    }

    pub fn wrote_chunk(&mut self, now: Instant) {
        self.balance.wrote_chunk(now, DISK);
    }
}
