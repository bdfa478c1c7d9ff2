//! Writeback throttling (blk-wbt): buffered writes are held back while reads take too long.
//!
//! **Rule** Writes for which no process waits are counted, and only a limited number may be in flight: few while reads
//! are near, more for a process that syncs, or after a writer had to wait for dirty memory. Ten times per second the
//! fastest read of the window is compared with a target; if it is too slow, all limits are halved, otherwise they grow
//! back. Reads and direct writes are never held.
//! **Origin** docs/behaviour/blk-wbt.md#2, recorded from 6.1.192 and
//! 6.12.117 (`wbt-6.1`, `wbt-6.12`). It is on for every disk, except under BFQ. It determines the outcome when a
//! buffered writer runs beside a reader.
//! **In the kernel** `wbt_wait`, `wbt_done`, `wb_timer_fn`, `rq_wb`, `wbt_lat_usec`, `rq_wait_inc_below`, `rq_wait`,
//! `rwb_enabled`, `rwb_wake_all`, `wbt_inflight_cb`, `wbt_wake_fn`, `scale_step`, `wb_recent_wait`, `close_io`.

#![doc(alias = "wbt_wait")]
#![doc(alias = "wbt_done")]

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::mq::{MqEra, Task};
pub use super::rq_qos::Throttled;
use crate::request::{RequestId, Table};
use crate::time::{Instant, Jiffies, Span, Tick};

mod kind;
mod limits;
mod policy;
mod window;

pub use kind::{Counter, Kind};
pub use limits::WriteLimits;
pub use window::WindowVerdict;

use kind::Asks;
use window::Window;

/// Why the throttle is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Switch {
    /// The state of every new disk.
    OnByDefault,
    /// A user set a target.
    OnByHand,
    /// The elevator switched it off (BFQ).
    OffByDefault,
    /// A user switched it off (6.12 and later).
    OffByHand,
}

/// Its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The kernel's version of it.
    pub era: MqEra,
    /// Ticks per second.
    pub hz: u32,
    /// The target latency of a read (`wbt_lat_usec`).
    pub target: Span,
    /// The number of requests that the device takes (without a budget, those that it was made with).
    pub queue_depth: u32,
    /// Whether the device acknowledges writes before they are stable.
    pub write_cache: bool,
    /// When it is switched on.
    pub born: Instant,
}

impl Config {
    /// The target of a disk that was not tuned: 75 ms if it is rotational, otherwise 2 ms.
    pub fn default_target(rotational: bool) -> Span {
        Span::from_ms(if rotational { 75 } else { 2 })
    }
}

/// What is kept for a request.
#[derive(Clone, Copy, Debug, Default)]
struct Tracked {
    counter: Option<Counter>,
    is_read: bool,
    /// It is a read that was known as one when it became a request: not while the throttle was off.
    is_known_read: bool,
    issued: Option<Instant>,
}

/// One counter and the tasks that wait for it.
#[derive(Clone, Debug, Default)]
struct WaitLine {
    inflight: u32,
    sleepers: VecDeque<(Task, Kind)>,
}

/// The throttle of one disk.
#[derive(Clone, Debug)]
pub struct Throttle {
    config: Config,
    switch: Switch,
    jiffies: Jiffies,
    step: i32,
    at_max: bool,
    limits: WriteLimits,
    lines: [WaitLine; Counter::ALL.len()],
    window: Window,
    /// The number of windows in a row without a verdict.
    unknown: u32,
    /// A read that the driver has, and since when.
    sync_issue: Option<(RequestId, Instant)>,
    /// When a read was last issued, and when one last completed; only their ticks matter.
    last_issue: Instant,
    last_comp: Instant,
    /// When a writer last slept because of dirty memory.
    dirty_wait: Tick,
    requests: Table<Tracked>,
}

impl Throttle {
    /// Enabled.
    pub fn new(config: Config) -> Throttle {
        let jiffies = Jiffies::new(config.hz);
        let born = jiffies.tick(config.born);
        let mut throttle = Throttle {
            config,
            switch: Switch::OnByDefault,
            jiffies,
            step: 0,
            at_max: false,
            limits: WriteLimits::default(),
            lines: Default::default(),
            window: Window::default(),
            unknown: 0,
            sync_issue: None,
            last_issue: config.born,
            last_comp: config.born,
            dirty_wait: born,
            requests: Table::new(),
        };
        throttle.count_limits();
        // Only a step up says so: at a depth of 1 the start is the greatest limit, too, and a step up is still made.
        throttle.at_max = false;
        throttle
    }

    /// A bio did not merge and needs a request: reads pass, writes if there is room.
    pub fn throttle(&mut self, now: Instant, task: Task, kind: Kind) -> Throttled {
        // Switched off, it does not even look: reads do not count as near afterwards, and no window begins.
        if !self.is_enabled() {
            return Throttled::Go;
        }
        if kind.is_read() {
            self.last_issue = now;
        }
        let Some(counter) = kind.counter(self.config.era) else { return Throttled::Go };
        let limit = self.limit(now, kind, Asks::Submitter);
        let line = &mut self.lines[counter as usize];
        // Behind a sleeper even if there is room: unlike tags, whose sleepers compete with every new task, this is
        // strictly first in, first out.
        if !line.sleepers.is_empty() || line.inflight >= limit {
            line.sleepers.push_back((task, kind));
            return Throttled::Sleep;
        }
        line.inflight += 1;
        self.watch(now);
        Throttled::Go
    }

    /// A woken task continues; its bio has been counted already.
    pub fn resumed(&mut self, now: Instant) {
        self.watch(now);
    }

    /// A bio that passed has become a request.
    pub fn track(&mut self, rq: RequestId, kind: Kind) {
        let counter = self.counts(kind);
        let is_read = kind.is_read();
        *self.requests.row(rq) =
            Tracked { counter, is_read, is_known_read: is_read && self.is_enabled(), issued: None };
    }

    /// It was absorbed by another.
    pub fn absorbed(&mut self, now: Instant, rq: RequestId, woke: &mut Vec<Task>) {
        let Tracked { counter, .. } = core::mem::take(self.requests.row(rq));
        if let Some(counter) = counter {
            self.uncount(now, counter, woke);
        }
    }

    /// The driver has it.
    pub fn issued(&mut self, now: Instant, rq: RequestId) {
        let enabled = self.is_enabled();
        let row = self.requests.row(rq);
        row.issued = Some(now);
        if row.is_known_read && enabled && self.sync_issue.is_none() {
            self.sync_issue = Some((rq, now));
        }
    }

    /// The driver returned it untried.
    pub fn requeued(&mut self, rq: RequestId) {
        self.requests.row(rq).issued = None;
        self.forget_sync_issue(rq);
    }

    /// It has ended; adds the tasks that are woken, in order.
    pub fn done(&mut self, now: Instant, rq: RequestId, woke: &mut Vec<Task>) {
        let Tracked { counter, is_read, is_known_read, issued } = core::mem::take(self.requests.row(rq));
        if let Some(issued) = issued {
            self.window.count(is_read, now.since(issued));
        }
        self.forget_sync_issue(rq);
        match counter {
            Some(counter) => self.uncount(now, counter, woke),
            None if is_known_read && self.is_enabled() => self.last_comp = now,
            None => {}
        }
    }

    /// When the window ends, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.window.end().map(|tick| self.jiffies.first(tick))
    }

    /// The same; `Instant::NEVER` if there is none.
    #[inline(always)]
    pub(super) fn due(&self) -> Instant {
        self.deadline().unwrap_or(Instant::NEVER)
    }

    /// The window has ended: the limits are adjusted, and another window may begin.
    pub fn elapse(&mut self, now: Instant, woke: &mut Vec<Task>) -> WindowVerdict {
        // Counted before the step, which may wake sleepers.
        let total: u32 = self.inflight().iter().sum();
        let age = self.sync_issue.map_or(Span::ZERO, |(_, since)| now.since(since));
        let busy = total > 0 || self.waited_for_memory(now);
        let verdict = self.window.judge(age, self.target(), busy);
        match verdict {
            WindowVerdict::Exceeded => self.down(Hard::Yes),
            WindowVerdict::Ok | WindowVerdict::OnlyWrites => self.up(now, woke),
            WindowVerdict::Unknown => self.drift_back(now, woke),
        }
        if self.step != 0 || total > 0 {
            self.arm(now);
        }
        verdict
    }

    /// A writer slept because of dirty memory.
    pub fn dirty_wait(&mut self, now: Instant) {
        self.dirty_wait = self.jiffies.tick(now);
    }

    /// Sets the target (`wbt_lat_usec`); 0 switches the throttle off.
    pub fn set_target(&mut self, now: Instant, target: Span, woke: &mut Vec<Task>) {
        self.config.target = target;
        self.switch = match (target.is_zero(), self.config.era) {
            (true, MqEra::Linux6_12) => Switch::OffByHand,
            _ => Switch::OnByHand,
        };
        self.reset(now, woke);
    }

    /// Sets the number of requests that the device takes.
    pub fn set_depth(&mut self, now: Instant, queue_depth: u32, woke: &mut Vec<Task>) {
        self.config.queue_depth = queue_depth;
        self.reset(now, woke);
    }

    /// An elevator that schedules writes itself becomes active: the window ends without a verdict. (Switched off by
    /// hand, windows go on.)
    pub fn disable_default(&mut self) {
        if self.switch == Switch::OnByDefault {
            self.switch = Switch::OffByDefault;
            self.window.stop();
        }
    }

    /// That elevator is no longer active.
    pub fn enable_default(&mut self) {
        if self.switch == Switch::OffByDefault {
            self.switch = Switch::OnByDefault;
        }
    }

    /// Why it is on or off.
    pub fn switch(&self) -> Switch {
        self.switch
    }

    /// Whether anything is throttled.
    pub fn is_enabled(&self) -> bool {
        let off = matches!(self.switch, Switch::OffByDefault | Switch::OffByHand);
        !off && (self.config.era != MqEra::Linux6_1 || self.limits.normal != 0)
    }

    /// The target latency of a read.
    pub fn target(&self) -> Span {
        if self.switch == Switch::OffByHand { Span::ZERO } else { self.config.target }
    }

    /// The limits in force, their step, and whether they are at their maximum.
    pub fn limits(&self) -> (i32, WriteLimits, bool) {
        (self.step, self.limits, self.at_max)
    }

    /// Counted bios, by counter.
    pub fn inflight(&self) -> [u32; Counter::ALL.len()] {
        Counter::ALL.map(|counter| self.lines[counter as usize].inflight)
    }

    /// The length of the window begun last, and the number of windows in a row without a verdict.
    pub fn window(&self) -> (Span, u32) {
        (self.window.length(), self.unknown)
    }

    /// Since when the driver has the read that is being watched.
    pub fn sync_issue(&self) -> Option<Instant> {
        self.sync_issue.map(|(_, since)| since)
    }
}

/// Whether a step down resets limits above the start at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hard {
    Yes,
    No,
}

impl Throttle {
    /// The counter of a bio of this kind, if it is counted now. A sleeper's bio that was counted before the throttle
    /// was switched off is not, and its count remains.
    fn counts(&self, kind: Kind) -> Option<Counter> {
        kind.counter(self.config.era).filter(|_| self.is_enabled())
    }

    fn limit(&self, now: Instant, kind: Kind, asks: Asks) -> u32 {
        let WriteLimits { max, normal, background } = self.limits;
        if self.config.era == MqEra::Linux6_1 && !self.is_enabled() {
            u32::MAX
        } else if kind.is_discard() {
            background
        } else if kind.is_urgent(self.config.era, asks) || self.waited_for_memory(now) {
            max
        // On a SATA disk this test decides, not the windows: a read of 10 to 20 ms never misses its default target of
        // 75 ms.
        } else if kind.is_background() || self.reads_are_near(now) {
            background
        } else {
            normal
        }
    }

    /// Whether a writer waited for memory within the last second.
    fn waited_for_memory(&self, now: Instant) -> bool {
        self.jiffies.tick(now) < self.dirty_wait + u64::from(self.jiffies.hz())
    }

    /// Whether a read was issued or completed within the last tenth of a second.
    fn reads_are_near(&self, now: Instant) -> bool {
        let near = u64::from(self.jiffies.hz() / 10);
        let last = self.jiffies.tick(self.last_issue.max(self.last_comp));
        self.jiffies.tick(now) < last + near
    }

    fn uncount(&mut self, now: Instant, counter: Counter, woke: &mut Vec<Task>) {
        let line = &mut self.lines[counter as usize];
        // A bio that passed while the throttle was off, and slept for a tag until it was on, was never counted. (A
        // kernel freezes the queue while it is switched, so that there is no such bio.)
        line.inflight = line.inflight.saturating_sub(1);
        if self.config.era == MqEra::Linux6_1 && !self.is_enabled() {
            // Switched off, 6.1 lets all sleepers go; in later kernels their limit is 0 unless they are urgent.
            return self.wake_all(now, woke);
        }
        let limit = match counter {
            Counter::Discard => self.limits.background,
            // A drive that acknowledges early is drained before it gets more.
            _ if self.config.write_cache && !self.waited_for_memory(now) => 0,
            _ => self.limits.normal,
        };
        let count = self.lines[counter as usize].inflight;
        if count == 0 || (count < limit && limit - count >= self.limits.background / 2) {
            self.wake(now, counter, woke);
        }
    }

    fn wake_all(&mut self, now: Instant, woke: &mut Vec<Task>) {
        Counter::ALL.into_iter().for_each(|counter| self.wake(now, counter, woke));
    }

    /// Wakes tasks from the head, as long as there is room; their bios are counted here.
    fn wake(&mut self, now: Instant, counter: Counter, woke: &mut Vec<Task>) {
        while let Some(&(task, kind)) = self.lines[counter as usize].sleepers.front() {
            let limit = self.limit(now, kind, Asks::Waker);
            let line = &mut self.lines[counter as usize];
            if line.inflight >= limit {
                break;
            }
            // Counted for the sleeper by its waker, so that no other bio can take its place before it runs.
            line.inflight += 1;
            line.sleepers.pop_front();
            woke.push(task);
        }
    }

    fn forget_sync_issue(&mut self, rq: RequestId) {
        if self.sync_issue.is_some_and(|(watched, _)| watched == rq) {
            self.sync_issue = None;
        }
    }

    /// A counted bio passed: begins a window if there is none.
    fn watch(&mut self, now: Instant) {
        if self.window.end().is_none() {
            self.arm(now);
        }
    }

    fn arm(&mut self, now: Instant) {
        self.window.begin(self.step, self.jiffies.tick(now), self.jiffies.hz());
    }

    fn up(&mut self, now: Instant, woke: &mut Vec<Task>) {
        if self.at_max {
            return;
        }
        self.step -= 1;
        self.at_max = self.count_limits();
        self.unknown = 0;
        self.wake_all(now, woke);
    }

    fn down(&mut self, hard: Hard) {
        if self.limits.max == 1 {
            return;
        }
        // Limits that have grown beyond the start return to it in one step.
        self.step = if hard == Hard::Yes && self.step < 0 { 0 } else { self.step + 1 };
        self.at_max = false;
        self.count_limits();
        self.unknown = 0;
    }

    /// A window gave no verdict; after five of them the limits return to the start, step by step.
    fn drift_back(&mut self, now: Instant, woke: &mut Vec<Task>) {
        self.unknown += 1;
        if self.unknown < 5 {
            return;
        }
        match self.step {
            1.. => self.up(now, woke),
            0 => {}
            _ => self.down(Hard::No),
        }
    }

    fn reset(&mut self, now: Instant, woke: &mut Vec<Task>) {
        self.step = 0;
        self.count_limits();
        self.at_max = false;
        self.wake_all(now, woke);
    }

    /// Recomputes the limits; returns true if they are at their maximum.
    fn count_limits(&mut self) -> bool {
        let (limits, at_max) = WriteLimits::at(self.step, self.config.queue_depth, self.target());
        self.limits = limits;
        at_max
    }
}
