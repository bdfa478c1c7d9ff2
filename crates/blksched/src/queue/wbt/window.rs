//! The monitoring window: its read latencies, and the verdict at its end.
//!
//! **Origin** docs/behaviour/blk-wbt.md#3.
//! **In the kernel** `wb_timer_fn`, `latency_exceeded`, `rwb_arm_timer`, `unknown_cnt`, `cur_win_nsec`, `win_nsec`,
//! `min_lat_nsec`.

use crate::time::{Instant, Jiffies, Span, Tick};

/// The verdict of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum WindowVerdict {
    /// Reads were fast enough.
    Ok,
    /// There is no verdict.
    Unknown,
    /// There were only writes.
    OnlyWrites,
    /// Reads took too long.
    Exceeded,
}

/// The current window, and what was counted in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The length of the window begun last.
    length: Span,
    /// The tick at which it ends.
    end: Option<Tick>,
    reads: u64,
    fastest_read: Span,
    writes: u64,
}

/// The length at step 0 and below: a tenth of a second.
const LENGTH: Span = Span::from_ms(100);

/// With fewer writes than this, a window shows nothing about their effect on reads.
const FEWEST_WRITES: u64 = 3;

impl Window {
    pub(super) fn length(&self) -> Span {
        self.length
    }

    pub(super) fn end(&self) -> Option<Tick> {
        self.end
    }

    /// Begins a window. Scaled down, windows are shorter.
    pub(super) fn begin(&mut self, step: i32, now: Tick, hz: u32) {
        self.length = match step {
            1.. => Span::from_ns((LENGTH.as_ns() << 4) / ((step.unsigned_abs() as u64 + 1) << 8).isqrt()),
            _ => LENGTH,
        };
        let ticks = Jiffies::new(hz).tick(Instant::ZERO + self.length);
        self.end = Some(now + ticks);
    }

    /// Ends the window without a verdict; what was counted in it counts for the next one.
    pub(super) fn stop(&mut self) {
        self.end = None;
    }

    /// A request has ended; it is counted only during a window.
    pub(super) fn count(&mut self, is_read: bool, took: Span) {
        if self.end.is_none() {
            return;
        }
        if is_read {
            self.fastest_read = if self.reads == 0 { took } else { self.fastest_read.min(took) };
            self.reads += 1;
        } else {
            self.writes += 1;
        }
    }

    /// Ends the window. `age`: that of the read that the driver has; `busy`: whether writes are in flight or a
    /// submitter waited for memory.
    pub(super) fn judge(&mut self, age: Span, target: Span, busy: bool) -> WindowVerdict {
        let Window { length, reads, fastest_read, writes, .. } = *self;
        *self = Window { length, ..Window::default() };
        if age > length || (age > target && reads == 0) {
            WindowVerdict::Exceeded
        } else if reads < 1 || writes < FEWEST_WRITES {
            if writes > 0 || busy { WindowVerdict::OnlyWrites } else { WindowVerdict::Unknown }
        } else if fastest_read > target {
            WindowVerdict::Exceeded
        } else {
            WindowVerdict::Ok
        }
    }
}
