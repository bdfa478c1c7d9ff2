//! How fast each task may dirty memory, since 3.1: the control law of `balance_dirty_pages`.
//!
//! **Rule** below half way between the background limit and the limit (*freerun*) everybody writes at the speed of
//! memory. Above, each device has a rate, and a task may dirty memory at that rate times a factor that falls from 2 to
//! 0 as dirty memory approaches its limit ([`position`]). A task that is ahead of its rate sleeps, at most 200 ms at a
//! time ([`pause`]); at the limit it sleeps until memory is below it. The rate follows what the device writes
//! ([`rate`]); a device that nobody knows yet is taken to write 100 MiB/s. Of several devices each has a share of the
//! limit, which follows what each of them wrote ([`share`]).
//! **Origin** recordings of Linux 6.18 (`balance_dirty_pages`, `bdi_dirty_ratelimit`): each formula was computed for
//! each recorded event, and a test does it again (`recorded.rs`). The files say how many agreed.
//!
//! In the kernel: `mm/page-writeback.c`; a device here is its `bdi_writeback`, what a task owes is in `task_struct`.

mod pause;
mod position;
mod rate;
#[cfg(test)]
mod recorded;
mod share;
mod ticks;

use std::collections::BTreeMap;

use blksched::{Instant, SubmitterId};

use pause::TaskDebt;
use position::{Depth, Position};
use rate::{DeviceRate, Setting};
use share::Shares;
pub use ticks::Ticks;

/// The limits of all memory \[pages\], and what else holds for every device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceLimits {
    /// More than this is written in the background.
    pub background: u64,
    /// Tasks sleep here.
    pub limit: u64,
    /// The tick by which tasks sleep.
    pub ticks: Ticks,
    /// A task looks at its debt at the latest after a part of the limit that is the smaller, the more processors dirty
    /// memory at the same time.
    pub processors: u32,
}

/// The limits of one device: its files in `/sys/class/bdi`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceLimits {
    /// `max_bytes`: the most that may be dirty for this device \[pages\].
    pub most: Option<u64>,
    /// `strict_limit`: the device's own part of the limits counts even if memory as a whole is below them.
    pub is_strict: bool,
}

/// A device by its number, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceIndex(pub usize);

/// A task that dirties memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyingTask {
    /// Who it is.
    pub submitter: SubmitterId,
    /// It runs under `SCHED_FIFO` or `SCHED_RR`, which raises both limits for it.
    pub is_real_time: bool,
}

/// What a task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Goes,
    /// It sleeps until then, and goes on.
    Sleeps(Instant),
    /// It sleeps until then and asks again: memory is at its limit.
    AsksAgain(Instant),
}

/// What a task is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it does next.
    pub verdict: Verdict,
    /// Whether the flusher is to begin to write in the background, if it is not writing.
    pub wakes_flusher: bool,
}

/// What one device has dirty, and its rate.
#[derive(Clone, Debug)]
struct BalancedDevice {
    limits: DeviceLimits,
    dirty: u64,
    writeback: u64,
    /// The most that both together have been.
    most: u64,
    rate: DeviceRate,
}

impl BalancedDevice {
    fn total(&self) -> u64 {
        self.dirty + self.writeback
    }
}

/// Dirty memory, its devices, and what its tasks owe.
///
/// ```
/// use blksched::{Instant, SubmitterId};
/// use blksched_workloads::host::{Balance, BalanceLimits, DeviceIndex, DeviceLimits, DirtyingTask, Ticks, Verdict};
///
/// let limits = BalanceLimits { background: 4096, limit: 8192, ticks: Ticks::per_second(250), processors: 2 };
/// let mut memory = Balance::new(limits, &[DeviceLimits::default()]);
/// let (disk, task) = (DeviceIndex(0), DirtyingTask { submitter: SubmitterId(1), is_real_time: false });
/// memory.dirtied(task.submitter, disk, 6000);
/// assert_eq!(memory.check(Instant::ZERO, task, disk).verdict, Verdict::Goes, "below half way between 4096 and 8192");
/// memory.dirtied(task.submitter, disk, 2500);
/// assert!(matches!(memory.check(Instant::ZERO, task, disk).verdict, Verdict::AsksAgain(_)), "above 8192");
/// ```
#[derive(Clone, Debug)]
pub struct Balance {
    limits: BalanceLimits,
    devices: Vec<BalancedDevice>,
    shares: Shares,
    tasks: BTreeMap<SubmitterId, TaskDebt>,
    most: u64,
}

impl Balance {
    /// Clean memory. As in Linux, a background limit that is not below the limit is set to half of it.
    ///
    /// # Panics
    /// Without any device.
    pub fn new(limits: BalanceLimits, devices: &[DeviceLimits]) -> Balance {
        assert!(!devices.is_empty(), "memory that belongs to no device");
        let background = if limits.background >= limits.limit { limits.limit / 2 } else { limits.background };
        let new = |&limits: &DeviceLimits| BalancedDevice {
            limits,
            dirty: 0,
            writeback: 0,
            most: 0,
            rate: DeviceRate::new(),
        };
        Balance {
            limits: BalanceLimits { background, ..limits },
            devices: devices.iter().map(new).collect(),
            shares: Shares::new(devices.len()),
            tasks: BTreeMap::new(),
            most: 0,
        }
    }

    /// The limits as given, with the background limit corrected.
    pub fn limits(&self) -> BalanceLimits {
        self.limits
    }

    /// This task made clean pages dirty.
    pub fn dirtied(&mut self, task: SubmitterId, at: DeviceIndex, pages: u64) {
        let device = &mut self.devices[at.0];
        device.dirty += pages;
        device.rate.dirtied(pages);
        let own = device.total();
        self.tasks.entry(task).or_default().dirtied(pages);
        if self.devices.len() == 1 {
            self.most = self.most.max(own);
        } else {
            let most = &mut self.devices[at.0].most;
            *most = own.max(*most);
            self.most = self.most.max(self.total());
        }
    }

    /// Dirty pages are on their way to the device.
    ///
    /// # Panics
    /// If this many are not dirty.
    pub fn submitted(&mut self, now: Instant, device: DeviceIndex, pages: u64) {
        let device = &mut self.devices[device.0];
        assert!(pages <= device.dirty, "{pages} pages written back of {} dirty ones", device.dirty);
        if device.writeback == 0 {
            device.rate.begins(self.limits.ticks.at(now), self.limits.ticks);
        }
        device.dirty -= pages;
        device.writeback += pages;
    }

    /// So many dirty pages are gone without having been written.
    ///
    /// # Panics
    /// If this many are not dirty.
    pub fn dropped(&mut self, device: DeviceIndex, pages: u64) {
        let device = &mut self.devices[device.0];
        assert!(pages <= device.dirty, "{pages} pages dropped of {} dirty ones", device.dirty);
        device.dirty -= pages;
    }

    /// They are there.
    ///
    /// # Panics
    /// If this many were not on their way.
    pub fn written(&mut self, now: Instant, device: DeviceIndex, pages: u64) {
        self.shares.wrote(now, device.0, pages);
        let device = &mut self.devices[device.0];
        assert!(pages <= device.writeback, "{pages} pages arrived of {} in flight", device.writeback);
        device.writeback -= pages;
        device.rate.written(pages);
    }

    /// Whether a task has dirtied so much since it last asked that it must ask before it dirties more.
    pub fn is_due(&self, task: SubmitterId) -> bool {
        self.tasks.get(&task).is_some_and(|debt| debt.is_due(self.ask_after()))
    }

    /// A task asks at the latest after this many pages: the limit's 32nd part, divided among the processors.
    fn ask_after(&self) -> u64 {
        (self.limits.limit / (32 * u64::from(self.limits.processors.max(1)))).max(16)
    }

    /// A task asks what to do, before it dirties more.
    pub fn check(&mut self, now: Instant, task: DirtyingTask, device: DeviceIndex) -> Answer {
        let (ticks, thresholds) = (self.limits.ticks, self.thresholds(task));
        let position = self.position(now, thresholds, device);
        let is_background = self.dirty() > thresholds.background;
        let debt = self.tasks.entry(task.submitter).or_default();
        if let Some(room) = position.room_below_freerun() {
            debt.forgive(ticks.at(now), room);
            return Answer { verdict: Verdict::Goes, wakes_flusher: is_background };
        }
        let own = &mut self.devices[device.0];
        let setting = Setting { position: &position, ratio: position.ratio() };
        own.rate.update(ticks.at(now), ticks, Some(&setting));
        let (rate, bandwidth) = (own.rate.rate(), own.rate.bandwidth());
        let allowed = (rate as f64 * setting.ratio) as u64;
        let longest = ticks.longest_pause(own.total(), bandwidth);
        let verdict = debt.verdict(now, ticks, &pause::Offer { rate, allowed, longest });
        Answer { verdict, wakes_flusher: true }
    }

    /// Whether dirty memory is to be written in the background for this device: memory as a whole has too much of it,
    /// or the device has more than its share.
    pub fn wants_background(&mut self, now: Instant, device: DeviceIndex) -> bool {
        let BalanceLimits { background, limit, .. } = self.limits;
        let share = self.device_limit(now, limit, device) * background / limit.max(1);
        self.dirty() > background || self.devices[device.0].dirty > share
    }

    /// How much of one file the flusher writes before it goes on to the next \[pages\]: what the device writes in half
    /// a second, but at most an eighth of the limit; and then up to a multiple of 4 MiB.
    ///
    /// Verified: 2048 pages at a limit of 8192, 1024 at 2048 and 4096, 5120 at 32768, 9216 at 65536; and seven values
    /// of a falling bandwidth under a limit that did not count.
    pub fn chunk(&self, device: DeviceIndex) -> u64 {
        const UNIT: u64 = 1024;
        let half = self.devices[device.0].rate.bandwidth() / 2;
        (half.min(self.limits.limit / 8) + UNIT) / UNIT * UNIT
    }

    /// The flusher has written a chunk: the estimate of the device's bandwidth is kept up to date.
    pub fn wrote_chunk(&mut self, now: Instant, device: DeviceIndex) {
        let ticks = self.limits.ticks;
        self.devices[device.0].rate.update(ticks.at(now), ticks, None);
    }

    /// Dirty and not being written yet, on all devices \[pages\].
    pub fn dirty(&self) -> u64 {
        self.devices.iter().map(|device| device.dirty).sum()
    }

    /// Dirty or being written, on all devices \[pages\].
    pub fn total(&self) -> u64 {
        self.devices.iter().map(BalancedDevice::total).sum()
    }

    /// The most that this has been \[pages\].
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The same for each device.
    pub fn most_of_devices(&self) -> impl Iterator<Item = u64> {
        self.devices.iter().map(|device| device.most)
    }

    /// The limits that hold for this task. A real-time task has a quarter more, and a 32nd of the limit beyond that.
    fn thresholds(&self, task: DirtyingTask) -> BalanceLimits {
        let BalanceLimits { background, limit, .. } = self.limits;
        let raised = |pages: u64| if task.is_real_time { pages + pages / 4 + limit / 32 } else { pages };
        BalanceLimits { background: raised(background), limit: raised(limit), ..self.limits }
    }

    fn position(&mut self, now: Instant, thresholds: BalanceLimits, device: DeviceIndex) -> Position {
        let BalanceLimits { background, limit, .. } = thresholds;
        let dirty = self.total();
        let share = self.device_limit(now, limit, device);
        let own = &self.devices[device.0];
        let bandwidth = own.rate.bandwidth();
        Position {
            memory: Depth { dirty, background, limit },
            device: Depth { dirty: own.total(), background: share * background / limit.max(1), limit: share },
            bandwidth,
            is_strict: own.limits.is_strict,
        }
    }

    /// This device's part of a limit: its share of what all devices wrote lately, but at least an eighth of what is
    /// left of the limit, so that a device can begin; at most its own `max_bytes`.
    ///
    /// Verified: 44 of the recorded events have the eighth to within two pages, none has less.
    fn device_limit(&mut self, now: Instant, limit: u64, device: DeviceIndex) -> u64 {
        let share = self.shares.of(now, device.0) * limit as f64;
        let least = limit.saturating_sub(self.total()) / 8;
        let most = self.devices[device.0].limits.most.unwrap_or(u64::MAX);
        (share as u64).max(least).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DeviceIndex = DeviceIndex(0);
    const STICK: DeviceIndex = DeviceIndex(1);

    fn limits() -> BalanceLimits {
        BalanceLimits { background: 4096, limit: 8192, ticks: Ticks::per_second(250), processors: 2 }
    }

    fn task(number: u32) -> DirtyingTask {
        DirtyingTask { submitter: SubmitterId(number), is_real_time: false }
    }

    #[test]
    fn a_device_with_a_limit_of_its_own_is_written_above_its_part_of_the_background_limit() {
        let large = BalanceLimits { background: 500_000, limit: 1_000_000, ..limits() };
        let mut memory = Balance::new(large, &[DeviceLimits { most: Some(8_192), is_strict: true }]);
        memory.dirtied(SubmitterId(1), DISK, 4_096);
        assert!(!memory.wants_background(Instant::ZERO, DISK));
        memory.dirtied(SubmitterId(1), DISK, 1);
        assert!(memory.wants_background(Instant::ZERO, DISK));
    }

    /// A stick that writes a hundredth of what the disk does has a hundredth of the limit.
    #[test]
    fn of_two_devices_the_slow_one_is_slowed_down_and_the_fast_one_is_not() {
        let mut memory = Balance::new(limits(), &[DeviceLimits::default(); 2]);
        for (device, pages) in [(DISK, 9_900), (STICK, 100)] {
            for _ in 0..pages / 100 {
                memory.dirtied(SubmitterId(9), device, 100);
                memory.submitted(Instant::ZERO, device, 100);
                memory.written(Instant::ZERO, device, 100);
            }
        }
        memory.dirtied(SubmitterId(1), DISK, 3_500);
        memory.dirtied(SubmitterId(2), STICK, 3_500);
        let factor = |memory: &mut Balance, device| memory.position(Instant::ZERO, limits(), device).ratio();
        let (fast, slow) = (factor(&mut memory, DISK), factor(&mut memory, STICK));
        assert!(fast > 1.0 && slow < 0.3, "{fast} {slow}");
        // More than its part of the background limit is written although memory as a whole is below it.
        let mut idle = Balance::new(limits(), &[DeviceLimits::default(); 2]);
        idle.dirtied(SubmitterId(2), STICK, 1_000);
        assert!(idle.wants_background(Instant::ZERO, STICK) && !idle.wants_background(Instant::ZERO, DISK));
    }

    #[test]
    fn a_real_time_task_has_a_quarter_and_a_32nd_more() {
        let memory = Balance::new(limits(), &[DeviceLimits::default()]);
        let raised = memory.thresholds(DirtyingTask { is_real_time: true, ..task(1) });
        assert_eq!((raised.background, raised.limit), (5_376, 10_496), "as recorded");
    }

    #[test]
    fn a_background_limit_above_the_limit_is_half_of_it() {
        let memory = Balance::new(BalanceLimits { background: 9_000, ..limits() }, &[DeviceLimits::default()]);
        assert_eq!(memory.limits().background, 4_096);
    }

    #[test]
    fn chunks_are_as_long_as_recorded() {
        let chunk = |limit| Balance::new(BalanceLimits { limit, ..limits() }, &[DeviceLimits::default()]).chunk(DISK);
        let chunks = [2_048, 4_096, 8_192, 32_768, 65_536, 1_176_782].map(chunk);
        assert_eq!(chunks, [1_024, 1_024, 2_048, 5_120, 9_216, 13_312]);
    }
}
