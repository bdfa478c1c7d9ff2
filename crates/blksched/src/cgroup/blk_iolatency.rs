//! io.latency: a group that misses its target throttles its siblings with longer targets, or none.
//!
//! **Rule** Each group may have a limited number of bios in flight. Siblings share a *cookie*: a group that misses its
//! target lowers it, and a group that then submits with a different cookie than it last saw halves its depth (or raises
//! it by a sixteenth, if the cookie has risen). At a depth of one, tasks are also delayed.
//! **Origin** docs/behaviour/cgroup-io.md#l: read, not recorded.
//! **In the kernel** `blkcg_iolatency_throttle`, `iolatency_check_latencies`, `scale_change`,
//! `blkcg_iolatency_done_bio`, `blkiolatency_timer_fn`, `iolatency_set_min_lat_nsec`, `blkcg_use_delay`,
//! `iolat_acquire_inflight`.

#![doc(alias = "blkcg_iolatency_throttle")]
#![doc(alias = "iolatency_check_latencies")]

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::request::GroupId;
use crate::time::{Instant, Span};

mod cookie;
mod window;

use cookie::Cookie;
use window::{JudgedBy, Stat};

/// Cookies are checked again after this time, by a timer that sending arms.
const TIMER: Span = Span::from_secs(1);
/// A sufferer without an evaluation for this long is forgotten.
const FORGET_AFTER: Span = Span::from_secs(5);
/// The shortest time between two changes of a cookie.
const BETWEEN_CHANGES: Span = Span::from_ms(500);
/// A cookie rises only with at least this many samples.
const GOOD_SAMPLES: u64 = 5;

/// A task's number; the caller numbers them.
pub type Task = u32;

/// The result for a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Verdict {
    /// It continues.
    Go,
    /// Its task sleeps at one of its groups.
    Sleep,
}

/// Whether a bio may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Issuer {
    /// Like any bio.
    Own,
    /// Metadata and swap: counted, but never held.
    AsRoot,
}

/// One group.
#[derive(Clone, Debug, Default)]
struct LatencyGroup {
    parent: GroupId,
    target: Option<Span>,
    /// The number of bios that may be in flight; `None`: no limit.
    depth: Option<u32>,
    in_flight: u32,
    waiting: VecDeque<Task>,
    /// The parent's cookie as this group last saw it.
    seen: u32,
    window_from: Instant,
    window: Stat,
    since_change: Stat,
    /// The samples of its last window.
    samples: u64,
    /// How often its tasks were to be delayed when it was down to one bio; the delay itself is not modelled.
    use_delay: u32,
    children: Cookie,
}

/// io.latency on one device.
#[derive(Clone, Debug)]
pub struct IoLatency {
    kind: JudgedBy,
    nr_requests: u32,
    levels: Vec<LatencyGroup>,
    timer: Option<Instant>,
}

impl IoLatency {
    /// Without any group that has a target.
    pub fn new(rotational: bool, nr_requests: u32) -> IoLatency {
        let kind = if rotational { JudgedBy::Mean } else { JudgedBy::Missed };
        IoLatency { kind, nr_requests: nr_requests.max(1), levels: vec![LatencyGroup::default()], timer: None }
    }

    /// Creates a group.
    pub fn set_group(&mut self, id: GroupId, parent: GroupId) {
        if self.levels.len() <= id.0 as usize {
            self.levels.resize(id.0 as usize + 1, LatencyGroup::default());
        }
        let seen = self.levels[parent.0 as usize].children.value;
        let level = &mut self.levels[id.0 as usize];
        (level.parent, level.seen) = (parent, seen);
    }

    /// A group is removed: the tasks that wait in it continue.
    pub fn remove_group(&mut self, id: GroupId, woken: &mut Vec<Task>) {
        let Some(level) = self.levels.get_mut(id.0 as usize) else { return };
        let LatencyGroup { parent, samples, waiting, .. } = core::mem::take(level);
        woken.extend(waiting);
        self.levels[id.0 as usize].parent = parent;
        let cookie = &mut self.levels[parent.0 as usize].children;
        cookie.samples = cookie.samples.saturating_sub(samples);
        if cookie.sufferer.is_some_and(|(sufferer, _)| sufferer == id) {
            cookie.sufferer = None;
        }
    }

    /// Writes `io.latency`: a target, or none.
    pub fn set_target(&mut self, now: Instant, id: GroupId, target: Option<Span>) {
        let level = &mut self.levels[id.0 as usize];
        level.target = target;
        (level.window, level.since_change, level.window_from) = (Stat::default(), Stat::default(), now);
        let parent = level.parent;
        let cookie = &mut self.levels[parent.0 as usize].children;
        if cookie.sufferer.is_some_and(|(sufferer, _)| sufferer == id) {
            cookie.sufferer = None;
        }
    }

    /// The target of a group.
    pub fn target(&self, id: GroupId) -> Option<Span> {
        self.levels.get(id.0 as usize)?.target
    }

    /// The number of bios of a group that may be in flight.
    pub fn depth(&self, id: GroupId) -> Option<u32> {
        self.levels.get(id.0 as usize)?.depth
    }

    /// A bio of `group` that did not merge asks to continue; it is asked at each group up to the root. `from` is the
    /// first of them: its group, or, once its task is woken, the parent of the one at which it slept.
    pub fn throttle(&mut self, now: Instant, task: Task, from: GroupId, issuer: Issuer, woken: &mut Vec<Task>) -> Held {
        self.timer.get_or_insert(now + TIMER);
        let mut at = from;
        while at != GroupId::ROOT {
            self.check_cookie(at, woken);
            let level = &mut self.levels[at.0 as usize];
            let room = level.depth.is_none_or(|depth| level.in_flight < depth) && level.waiting.is_empty();
            // I/O on behalf of the root is counted but never waits.
            if !room && issuer == Issuer::Own {
                level.waiting.push_back(task);
                return Held { verdict: Verdict::Sleep, at };
            }
            level.in_flight += 1;
            at = level.parent;
        }
        Held { verdict: Verdict::Go, at }
    }

    /// The parent of a group, where a woken task continues.
    pub fn parent(&self, id: GroupId) -> GroupId {
        self.levels[id.0 as usize].parent
    }

    /// A bio has ended. A task that is woken already holds a place at that group.
    pub fn done(&mut self, now: Instant, group: GroupId, submitted: Instant, issuer: Issuer, woken: &mut Vec<Task>) {
        let mut at = group;
        while at != GroupId::ROOT {
            let level = &mut self.levels[at.0 as usize];
            level.in_flight = level.in_flight.saturating_sub(1);
            let parent = level.parent;
            self.wake(at, 1, woken);
            if let Some(target) = self.levels[at.0 as usize].target {
                self.record(now, at, target, now.since(submitted), issuer);
            }
            at = parent;
        }
    }

    fn record(&mut self, now: Instant, at: GroupId, target: Span, latency: Span, issuer: Issuer) {
        let level = &mut self.levels[at.0 as usize];
        // What a group that gives way sends as root would delay its tasks; it is no sample.
        if issuer != Issuer::AsRoot || level.depth.is_none() {
            level.window.add(latency, target);
        }
        if now.since(level.window_from) >= window::length(target) {
            level.window_from = now;
            let window = core::mem::take(&mut level.window);
            self.evaluate(now, at, target, window);
        }
    }

    /// Evaluates a window that has ended.
    fn evaluate(&mut self, now: Instant, at: GroupId, target: Span, window: Stat) {
        let (kind, q) = (self.kind, self.nr_requests);
        let parent = self.levels[at.0 as usize].parent;
        let before = core::mem::replace(&mut self.levels[at.0 as usize].samples, window.total);
        let cookie = &mut self.levels[parent.0 as usize].children;
        cookie.samples = cookie.samples.saturating_sub(before) + window.total;
        let ok = window.is_ok(kind, target);
        if ok && cookie.is_highest() {
            return;
        }
        let (changed, sufferer) = (cookie.changed, cookie.sufferer);
        self.levels[at.0 as usize].since_change.merge(window);
        if now.since(changed) < BETWEEN_CHANGES {
            return;
        }
        let since = self.levels[at.0 as usize].since_change;
        let cookie = &mut self.levels[parent.0 as usize].children;
        if ok && since.is_ok(kind, target) {
            // A few fast bios are no evidence.
            if since.total < GOOD_SAMPLES {
                return;
            }
            if sufferer.is_some_and(|(group, _)| group == at) {
                cookie.changed = now;
                cookie.up(q);
            }
        } else if sufferer.is_none_or(|(_, lat)| lat >= target) {
            cookie.changed = now;
            if sufferer.is_none_or(|(_, lat)| lat > target) {
                cookie.sufferer = Some((at, target));
            }
            cookie.down(q);
        }
        self.levels[at.0 as usize].since_change = Stat::default();
    }

    /// Checks whether the cookie has changed since this group last sent a bio.
    fn check_cookie(&mut self, at: GroupId, woken: &mut Vec<Task>) {
        let q = self.nr_requests;
        let cookie = self.levels[self.levels[at.0 as usize].parent.0 as usize].children;
        let level = &mut self.levels[at.0 as usize];
        let seen = core::mem::replace(&mut level.seen, cookie.value);
        if cookie.value == seen {
            return;
        }
        // Only groups with a longer target than the sufferer's, or none, give way, and of those only groups with more
        // than a twentieth of the samples.
        if cookie.value < seen && !cookie.throttles(level.target, level.samples) {
            return;
        }
        let depth = level.depth.unwrap_or(q).min(q);
        if cookie.is_highest() {
            (level.depth, level.use_delay) = (None, 0);
        } else if cookie.value < seen {
            level.use_delay += u32::from(level.depth == Some(1));
            level.depth = Some((depth / 2).max(1));
            return;
        // Delays that were added at a depth of 1 are removed first, one per rise.
        } else if level.depth == Some(1) && level.use_delay > 0 {
            level.use_delay -= 1;
            return;
        } else if let Some(depth) = level.depth.filter(|&depth| depth < q) {
            level.depth = Some(q.min(depth + (q / 16).max(1)));
        } else {
            return;
        }
        let all = level.waiting.len();
        self.wake(at, all, woken);
    }

    /// Wakes the first waiting tasks, as far as there is room; each takes its place at once.
    fn wake(&mut self, at: GroupId, most: usize, woken: &mut Vec<Task>) {
        let level = &mut self.levels[at.0 as usize];
        for _ in 0..most {
            if level.depth.is_some_and(|depth| level.in_flight >= depth) {
                return;
            }
            let Some(task) = level.waiting.pop_front() else { return };
            level.in_flight += 1;
            woken.push(task);
        }
    }

    /// When the timer fires.
    pub fn deadline(&self) -> Option<Instant> {
        self.timer
    }

    /// Handles the timer: cookies without a sufferer rise; a sufferer without evaluations is forgotten.
    pub fn elapse(&mut self, now: Instant) {
        self.timer = None;
        let q = self.nr_requests;
        for level in &mut self.levels {
            let cookie = &mut level.children;
            match cookie.sufferer {
                _ if cookie.is_highest() => {}
                None => cookie.up(q),
                Some(_) if now.since(cookie.changed) >= FORGET_AFTER => cookie.sufferer = None,
                Some(_) => {}
            }
        }
    }
}

/// The result for a bio, and the group that decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Whether it continues.
    pub verdict: Verdict,
    /// The group at which its task sleeps.
    pub at: GroupId,
}

#[cfg(test)]
mod tests;
