//! The monitoring window: its read latencies, and the verdict at its end.
//!
//! **In the kernel** `wb_timer_fn`, `latency_exceeded`, `rwb_arm_timer`.

#![doc(alias = "wb_timer_fn")]
#![doc(alias = "latency_exceeded")]
#![doc(alias = "rwb_arm_timer")]
#![doc(alias = "unknown_cnt")]

use crate::time::{Instant, Jiffies, Span, Tick};

/// What a window told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowVerdict {
    /// Reads were fast enough.
    Ok,
    /// Nothing.
    Unknown,
    /// There were only writes.
    OnlyWrites,
    /// Reads took too long.
    Exceeded,
}

/// The window that runs, and what it counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The length of the one that was last begun.
    length: Span,
    /// The tick at which it ends.
    end: Option<Tick>,
    reads: u64,
    fastest_read: Span,
    writes: u64,
}

/// Without a step: a tenth of a second.
const LENGTH: Span = Span::from_ms(100);

/// Fewer writes in a window say nothing about what they do to reads.
const FEWEST_WRITES: u64 = 3;

impl Window {
    pub(super) fn length(&self) -> Span {
        self.length
    }

    pub(super) fn end(&self) -> Option<Tick> {
        self.end
    }

    /// Scaled down, windows are shorter.
    pub(super) fn begin(&mut self, step: i32, now: Tick, hz: u32) {
        self.length = match step {
            1.. => Span::from_ns((LENGTH.as_ns() << 4) / ((step.unsigned_abs() as u64 + 1) << 8).isqrt()),
            _ => LENGTH,
        };
        let ticks = Jiffies::new(hz).tick(Instant::ZERO + self.length);
        self.end = Some(now + ticks);
    }

    /// A request has ended; nothing is counted while no window runs.
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

    /// It has ended. `age`: of the read that the driver has; `busy`: are writes under way, or waited a submitter for
    /// memory?
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
