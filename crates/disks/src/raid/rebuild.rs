//! **What for**: filling a replaced member during the load.
//!
//! **Rule**: starting at its current position, it handles two windows of 128 KiB at a time: the rest of their stripes
//! is read, then the new member is written. While the array has other work, or had some within half a second, the goal
//! is `sync_speed_min`, otherwise `sync_speed_max`: no window begins before the one before it has taken its time at
//! that speed. Speeds are per member. Disks that are too busy make it slower than the goal. Data before the first
//! window in flight can be read from the new member.
//!
//! **Origin**: the speeds as md(4) has `speed_limit_min` and `speed_limit_max`. 128 KiB: MEMORY, what md says in the
//! kernel's log when a rebuild begins. FIT: two windows, so that reading and writing overlap; half a second: these
//! determine the speed of a rebuild on idle disks, and how soon it is at full speed again after a load.

use blksched::{Instant, Span};

/// The size of a window of each member \[512-byte sectors\].
const WINDOW: u64 = 256;
/// How long after the last command of the load the array still counts as busy.
const QUIET: Span = Span::from_ms(500);

/// A window in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RebuildWindow {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Commands that have not ended.
    pub(super) left: u32,
    pub(super) writes: bool,
}

/// The rebuilding of one member.
#[derive(Clone, Debug)]
pub(super) struct Rebuild {
    pub(super) member: u32,
    /// The first sector that has not been in a window.
    next: u64,
    end: u64,
    /// The time of a window at either goal.
    slow: Span,
    fast: Span,
    begun: Option<Instant>,
    /// Since when a place is free.
    free: Instant,
    /// When the load's last command ended.
    idle_since: Option<Instant>,
    pub(super) windows: [Option<RebuildWindow>; 2],
}

impl Rebuild {
    /// Speeds are in KiB/s.
    pub(super) fn new(member: u32, from: u64, end: u64, (min, max): (u32, u32)) -> Rebuild {
        let window = |speed: u32| Span::from_ns(WINDOW * 512 * 1_000_000_000 / (u64::from(speed) * 1_024));
        let (slow, fast) = (window(min), window(max.max(min)));
        let (begun, idle_since, windows) = (None, None, [None; 2]);
        Rebuild { member, next: from, end, slow, fast, begun, free: Instant::ZERO, idle_since, windows }
    }

    /// The load's last command has ended.
    pub(super) fn is_left_alone(&mut self, at: Instant) {
        self.idle_since = Some(at);
    }

    /// When the next window may begin.
    pub(super) fn next(&self, busy: bool) -> Option<Instant> {
        if self.next >= self.end || self.windows.iter().all(Option::is_some) {
            return None;
        }
        let Some(begun) = self.begun else { return Some(self.free) };
        let slow = begun + self.slow;
        let quiet = self.idle_since.map_or(Instant::ZERO, |since| since + QUIET);
        let goal = if busy { slow } else { slow.min(quiet.max(begun + self.fast)) };
        Some(goal.max(self.free))
    }

    /// Begins the next window: its place, and its content.
    pub(super) fn begin(&mut self, at: Instant) -> (usize, RebuildWindow) {
        let place = self.windows.iter().position(Option::is_none).expect("asked for when there is one");
        let start = self.next;
        self.next = (start / WINDOW * WINDOW + WINDOW).min(self.end);
        self.begun = Some(at);
        let window = RebuildWindow { start, end: self.next, left: 0, writes: false };
        self.windows[place] = Some(window);
        (place, window)
    }

    /// A window is complete.
    pub(super) fn ended(&mut self, at: Instant, place: usize) {
        self.windows[place] = None;
        self.free = at;
    }

    /// The new member can be read up to here.
    pub(super) fn done(&self) -> u64 {
        self.windows.iter().flatten().map(|window| window.start).min().unwrap_or(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goal_is_the_slow_one_beside_a_load_and_until_half_a_second_behind_it() {
        let mut rebuild = Rebuild::new(2, 0, 10_000, (1_000, 128_000));
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        assert_eq!(rebuild.next(true), Some(Instant::ZERO));
        rebuild.begin(at(10));
        assert_eq!((rebuild.next(false), rebuild.next(true)), (Some(at(11)), Some(at(138))));
        rebuild.is_left_alone(at(0));
        assert_eq!(rebuild.next(false), Some(at(138)), "the slow goal comes before the quiet");
        let mut slower = Rebuild::new(2, 0, 10_000, (100, 128_000));
        slower.begin(at(10));
        slower.is_left_alone(at(20));
        assert_eq!((slower.next(true), slower.next(false)), (Some(at(1_290)), Some(at(520))));
    }

    #[test]
    fn what_is_before_the_first_window_in_flight_can_be_read() {
        let mut rebuild = Rebuild::new(0, 100, 600, (1_000, 2_000));
        let (first, window) = rebuild.begin(Instant::ZERO);
        assert_eq!((window.start, window.end, rebuild.done()), (100, 256, 100));
        let (second, window) = rebuild.begin(Instant::ZERO);
        assert_eq!((window.start, window.end, rebuild.next(false)), (256, 512, None));
        rebuild.ended(Instant::ZERO, second);
        assert_eq!(rebuild.done(), 100);
        rebuild.ended(Instant::ZERO, first);
        assert_eq!(rebuild.done(), 512);
        let (last, window) = rebuild.begin(Instant::ZERO);
        assert_eq!(window.end, 600);
        rebuild.ended(Instant::ZERO, last);
        assert_eq!((rebuild.done(), rebuild.next(false)), (600, None));
    }
}
