//! Dirty memory, its writers and the flushers, as kernels before 3.1 and since treat them.
//!
//! **Rule** of several devices each has a share of the limits and, since 3.1, a flusher of its own. Before 3.1 one
//! flusher writes to all (the kernel's had several tasks that shared the work).

use blksched::{Instant, Kernel, Span, SubmitterId};

use super::balance::{Balance, BalanceLimits, DeviceIndex, DeviceLimits, DirtyingTask, Ticks, Verdict};
use super::dirty_files::DirtyFiles;
use super::dirty_pool::DirtyPool;
use super::flush_queue::FlushQueue;
use super::flusher::Flusher;
use super::knobs::HostKnobs;
use super::op::OpId;
use super::page::{PAGE_BYTES, Pages, count};
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
    /// Since when metadata of the file system is dirty.
    pub metadata: Option<Instant>,
}

/// Since 3.1.
#[derive(Clone, Debug)]
pub(super) struct BalancedMemory {
    pub balance: Balance,
    /// By device, in the order of their pages; at least one.
    flushers: Vec<DeviceFlusher>,
    /// Whether any of them writes.
    any_writes: bool,
    /// Whether the writers are real-time tasks.
    is_real_time: bool,
}

/// The flusher of one device.
#[derive(Clone, Debug)]
pub(super) struct DeviceFlusher {
    /// The device's first page.
    first: u64,
    pub queue: FlushQueue,
    task: FlusherTask,
}

impl DeviceFlusher {
    fn at(first: u64) -> DeviceFlusher {
        DeviceFlusher { first, queue: FlushQueue::default(), task: FlusherTask::Idle }
    }
}

/// A device whose pages are in this memory: what processes see, a disk or what is stacked on some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryDevice {
    /// Its first page.
    pub first_page: u64,
    /// Its own limits, if they are not the host's.
    pub limits: Option<DeviceLimits>,
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
                metadata: None,
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

    /// The same for pages of several devices.
    pub fn above(self, devices: &[MemoryDevice], knobs: &HostKnobs) -> DirtyMemory {
        match self {
            DirtyMemory::Balanced(memory) => DirtyMemory::Balanced(memory.above(devices, knobs)),
            stopping => stopping,
        }
    }

    /// A page became dirty.
    #[inline]
    pub fn dirtied(&mut self, submitter: SubmitterId, page: u64) {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.dirtied(PAGE_BYTES),
            DirtyMemory::Balanced(memory) => memory.balance.dirtied(submitter, memory.device_of(page), 1),
        }
    }

    /// A page of this file is about to become dirty, beside the dirty ones.
    #[inline]
    pub fn note(&mut self, now: Instant, file: &Pages, dirty: &PageRuns) {
        match self {
            DirtyMemory::Stopping(memory) => memory.files.note(now, file),
            DirtyMemory::Balanced(memory) => memory.flusher_of(file.start).queue.note(now, file, dirty),
        }
    }

    /// Metadata of the first device's file system became dirty.
    pub fn note_metadata(&mut self, now: Instant) {
        match self {
            DirtyMemory::Stopping(memory) => _ = memory.metadata.get_or_insert(now),
            DirtyMemory::Balanced(memory) => memory.flusher(0).queue.note_metadata(now),
        }
    }

    /// Whether any may be dirty.
    pub fn has_metadata(&self) -> bool {
        match self {
            DirtyMemory::Stopping(memory) => memory.metadata.is_some(),
            DirtyMemory::Balanced(memory) => memory.flushers[0].queue.has_metadata(),
        }
    }

    pub fn submitted(&mut self, now: Instant, pages: &Pages) {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.submitted(count(pages) * PAGE_BYTES),
            DirtyMemory::Balanced(memory) => {
                memory.balance.submitted(now, memory.device_of(pages.start), count(pages));
            }
        }
    }

    /// These dirty pages are gone without having been written.
    pub fn dropped(&mut self, pages: &Pages) {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.dropped(count(pages) * PAGE_BYTES),
            DirtyMemory::Balanced(memory) => {
                memory.balance.dropped(memory.device_of(pages.start), count(pages));
            }
        }
    }

    pub fn written(&mut self, now: Instant, pages: &Pages) {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.written(count(pages) * PAGE_BYTES),
            DirtyMemory::Balanced(memory) => {
                memory.balance.written(now, memory.device_of(pages.start), count(pages));
            }
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

    /// Whether a flusher has something to do at once.
    #[inline]
    pub fn flushes(&self) -> bool {
        matches!(self, DirtyMemory::Balanced(BalancedMemory { any_writes: true, .. }))
    }

    /// Files with dirty pages, in the order in which they became dirty.
    pub fn dirty_files(&self, dirty: &PageRuns) -> Vec<Pages> {
        let all: Vec<Pages> = match self {
            DirtyMemory::Stopping(memory) => memory.files.all().collect(),
            DirtyMemory::Balanced(memory) => memory.flushers.iter().flat_map(|flusher| flusher.queue.all()).collect(),
        };
        all.into_iter().filter(|file| dirty.first_within(file).is_some()).collect()
    }

    /// How many flushers there are.
    pub fn flushers(&self) -> usize {
        match self {
            DirtyMemory::Stopping(_) => 1,
            DirtyMemory::Balanced(memory) => memory.flushers.len(),
        }
    }

    /// Whose pages the flusher of this page writes, by the flusher's number.
    pub fn flusher_of(&self, page: u64) -> usize {
        match self {
            DirtyMemory::Stopping(_) => 0,
            DirtyMemory::Balanced(memory) => memory.device_of(page).0,
        }
    }

    /// The number of the flusher that is this submitter, where `first` is that of the first device.
    pub fn which_flusher(&self, first: SubmitterId, submitter: SubmitterId) -> Option<usize> {
        (0..self.flushers()).find(|&flusher| flusher_number(first, flusher) == submitter)
    }

    /// A flusher fell asleep for a request slot, or woke.
    pub fn flusher_sleeps(&mut self, flusher: usize, sleeps: bool) {
        if let DirtyMemory::Balanced(memory) = self {
            memory.flusher_sleeps(flusher, sleeps);
        }
    }

    pub fn stop(&mut self) {
        if let DirtyMemory::Balanced(memory) = self {
            memory.flushers.iter_mut().for_each(|flusher| flusher.task = FlusherTask::Stopped);
            memory.any_writes = false;
        }
    }

    /// Dirty or being written \[bytes\].
    pub fn total(&self) -> u64 {
        match self {
            DirtyMemory::Stopping(memory) => memory.pool.total(),
            DirtyMemory::Balanced(memory) => memory.balance.total() * PAGE_BYTES,
        }
    }

    /// The most that this has been of each of several devices \[bytes\]; none if there is one, or one pool for all.
    pub fn most_of_devices(&self) -> Vec<u64> {
        match self {
            DirtyMemory::Balanced(memory) if memory.flushers.len() > 1 => {
                memory.balance.most_of_devices().map(|pages| pages * PAGE_BYTES).collect()
            }
            _ => Vec::new(),
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

/// The submitter that is the flusher of this number, where `first` is that of the first device.
pub(super) fn flusher_number(first: SubmitterId, flusher: usize) -> SubmitterId {
    match flusher {
        0 => first,
        // Behind the file system's two threads, every other: those between are stacked devices'.
        other => SubmitterId(first.0 + 2 + 2 * other as u32),
    }
}

/// What the host's knobs say of a device.
fn device_limits(knobs: &HostKnobs) -> DeviceLimits {
    let most = (knobs.max_bytes > 0).then_some(knobs.max_bytes / PAGE_BYTES);
    DeviceLimits { most, is_strict: knobs.strict_limit }
}

impl BalancedMemory {
    fn new(knobs: &HostKnobs, ticks: Ticks, processors: u32) -> BalancedMemory {
        let limits = knobs.dirty_limits();
        let (background, limit) = (limits.background / PAGE_BYTES, limits.limit / PAGE_BYTES);
        let limits = BalanceLimits { background, limit, ticks, processors };
        BalancedMemory {
            balance: Balance::new(limits, &[device_limits(knobs)]),
            flushers: vec![DeviceFlusher::at(0)],
            any_writes: false,
            is_real_time: knobs.real_time_writers,
        }
    }

    fn above(self, devices: &[MemoryDevice], knobs: &HostKnobs) -> BalancedMemory {
        let limits: Vec<DeviceLimits> =
            devices.iter().map(|device| device.limits.unwrap_or_else(|| device_limits(knobs))).collect();
        BalancedMemory {
            balance: Balance::new(self.balance.limits(), &limits),
            flushers: devices.iter().map(|device| DeviceFlusher::at(device.first_page)).collect(),
            ..self
        }
    }

    /// The device that this page is of.
    #[inline]
    fn device_of(&self, page: u64) -> DeviceIndex {
        match &self.flushers[..] {
            [_] => DeviceIndex(0),
            several => DeviceIndex(several.partition_point(|flusher| flusher.first <= page).saturating_sub(1)),
        }
    }

    #[inline]
    fn flusher_of(&mut self, page: u64) -> &mut DeviceFlusher {
        let at = self.device_of(page).0;
        &mut self.flushers[at]
    }

    /// The flusher of this number.
    pub fn flusher(&mut self, number: usize) -> &mut DeviceFlusher {
        &mut self.flushers[number]
    }

    /// What a writer to this page does next; `None` if it need not ask yet.
    #[inline]
    pub fn check(&mut self, now: Instant, submitter: SubmitterId, page: u64) -> Option<Verdict> {
        if self.balance.is_due(submitter) { Some(self.check_now(now, submitter, page)) } else { None }
    }

    #[inline(never)]
    fn check_now(&mut self, now: Instant, submitter: SubmitterId, page: u64) -> Verdict {
        let task = DirtyingTask { submitter, is_real_time: self.is_real_time };
        let device = self.device_of(page);
        let answer = self.balance.check(now, task, device);
        if answer.wakes_flusher {
            self.flushers[device.0].queue.wants_background();
            self.wake_flusher(device.0);
        }
        answer.verdict
    }

    /// It is time to look for old files.
    pub fn wants_aged(&mut self, dirty: &PageRuns) {
        for number in 0..self.flushers.len() {
            let all = match self.flushers.len() {
                1 => dirty.len(),
                _ => dirty.within(&self.pages_of(number)),
            };
            let queue = &mut self.flushers[number].queue;
            queue.wants_aged(all);
            // The flusher is awake now, and asks once more whether too much is dirty.
            queue.wants_background();
            self.wake_flusher(number);
        }
    }

    fn pages_of(&self, number: usize) -> Pages {
        let end = self.flushers.get(number + 1).map_or(u64::MAX, |next| next.first);
        self.flushers[number].first..end
    }

    fn turn_to(&mut self, number: usize, task: FlusherTask) {
        self.flushers[number].task = task;
        self.any_writes = self.flushers.iter().any(|flusher| flusher.task == FlusherTask::Writes);
    }

    /// There may be something to write.
    fn wake_flusher(&mut self, number: usize) {
        let DeviceFlusher { queue, task, .. } = &self.flushers[number];
        if *task == FlusherTask::Idle && queue.has_work() {
            self.turn_to(number, FlusherTask::Writes);
        }
    }

    /// Whether it has something to do at once.
    pub fn writes(&self, number: usize) -> bool {
        self.flushers[number].task == FlusherTask::Writes
    }

    /// There is nothing left to write.
    pub fn flusher_rests(&mut self, number: usize) {
        if self.writes(number) {
            self.turn_to(number, FlusherTask::Idle);
        }
    }

    fn flusher_sleeps(&mut self, number: usize, sleeps: bool) {
        let next = match (self.flushers[number].task, sleeps) {
            (FlusherTask::Stopped, _) => FlusherTask::Stopped,
            (_, true) => FlusherTask::Sleeps,
            (FlusherTask::Sleeps, false) => FlusherTask::Writes,
            (other, false) => other,
        };
        self.turn_to(number, next);
    }

    /// Whether too much is dirty for this device.
    pub fn is_over_background(&mut self, now: Instant, number: usize) -> bool {
        self.balance.wants_background(now, DeviceIndex(number))
    }

    pub fn chunk(&self, number: usize) -> u64 {
        self.balance.chunk(DeviceIndex(number))
    }

    pub fn wrote_chunk(&mut self, now: Instant, number: usize) {
        self.balance.wrote_chunk(now, DeviceIndex(number));
    }
}
