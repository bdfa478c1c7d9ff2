//! BFQ's clocks, nanoseconds and the kernel's tick, and its timeouts, which are in ticks.
//!
//! **Rule** A timeout of `n` ms is `n · HZ / 1000` ticks, rounded up.
//! **Origin** docs/behaviour/elevators-6.1.md#b0.
//! **In the kernel** `bfq_timeout`, `jiffies`, `ktime_get_ns`.

use crate::elevator::Cx;
use crate::explain::Reason;
use crate::request::{Request, RequestId};
use crate::time::{Instant, Jiffies};

/// A time in the kernel's ticks; signed, so that it can lie long before the clock began.
pub(crate) type Jiffy = i64;

/// So long ago that every timeout has passed since.
pub(crate) const LONG_AGO: Jiffy = i64::MIN / 4;

/// One call of the contract: its context, and the time by both clocks.
pub(crate) struct Call<'a> {
    pub(crate) cx: Cx<'a>,
    /// Nanoseconds.
    pub(crate) ns: u64,
    /// Ticks.
    pub(crate) now: Jiffy,
}

impl Call<'_> {
    pub(crate) fn rq(&self, id: RequestId) -> &Request {
        self.cx.rq(id)
    }

    #[inline(always)]
    pub(crate) fn explain(&mut self, reason: Reason) {
        self.cx.explain(reason);
    }

    /// A copy for a rare call that is compiled separately: its argument has to be in memory, so that the caller's own
    /// context can stay in registers.
    #[inline(always)]
    pub(crate) fn apart(&mut self) -> Call<'_> {
        Call { cx: self.cx.apart(), ns: self.ns, now: self.now }
    }
}

/// The current tick, cached: most calls fall into the same tick as the call before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickCache {
    jiffies: Jiffies,
    tick: Jiffy,
    from: Instant,
    until: Instant,
}

impl TickCache {
    pub(crate) fn new(hz: u32) -> TickCache {
        TickCache { jiffies: Jiffies::new(hz), tick: 0, from: Instant::ZERO, until: Instant::ZERO }
    }

    #[inline(always)]
    pub(crate) fn tick(&mut self, now: Instant) -> Jiffy {
        if !(self.from..self.until).contains(&now) {
            self.move_on(now);
        }
        self.tick
    }

    #[inline(never)]
    fn move_on(&mut self, now: Instant) {
        let tick = self.jiffies.tick(now);
        (self.from, self.until) = (self.jiffies.instant(tick), self.jiffies.instant(tick + 1));
        self.tick = tick as Jiffy;
    }

    /// The tick of the last call.
    pub(crate) fn latest(&self) -> Jiffy {
        self.tick
    }

    pub(crate) fn jiffies(&self) -> Jiffies {
        self.jiffies
    }
}

/// Timeouts \[ticks\].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// One second.
    pub(crate) second: Jiffy,
    /// A queue served for longer than this is no longer merged.
    pub(crate) merging: Jiffy,
    /// The interval within which the idle class is served at least once.
    pub(crate) idle_class: Jiffy,
    /// How long soft real-time raising lasts without being renewed.
    pub(crate) soft_real_time: Jiffy,
    /// A queue idle for longer than this begins something new; also how long the think time of a queue is not judged
    /// after a split.
    pub(crate) new_start: Jiffy,
    /// A queue idle for longer than this leaves its burst.
    pub(crate) burst_forgotten: Jiffy,
    /// The least time between two raises of write-back.
    pub(crate) write_back: Jiffy,
    /// Queues created within this time belong to one burst, or are likely to cooperate.
    pub(crate) burst: Jiffy,
    /// Queues created within this time of each other may be stably merged.
    pub(crate) stable: Jiffy,
    /// A queue split more recently than this does not join a burst; also the least time between two samples of
    /// injection.
    pub(crate) just_split: Jiffy,
    /// A think time that becomes short within this time of the last decrease does not reset injection.
    pub(crate) injection_settles: Jiffy,
    /// Injection is reset after this time.
    pub(crate) injection_forgotten: Jiffy,
    /// Interactive raising on the reference disk: rotating, other.
    pub(crate) interactive: [Jiffy; 2],
    /// The bounds of interactive raising.
    pub(crate) interactive_bounds: [Jiffy; 2],
}

impl Timeouts {
    pub(crate) fn new(hz: u32) -> Timeouts {
        let hz = Jiffy::from(hz);
        let ms = |ms: Jiffy| (ms * hz + 999) / 1000;
        Timeouts {
            second: hz,
            merging: hz / 10,
            idle_class: hz / 5,
            soft_real_time: ms(300),
            new_start: ms(2000),
            burst_forgotten: ms(10_000),
            write_back: ms(500),
            burst: ms(180),
            stable: ms(600),
            just_split: ms(10),
            injection_settles: ms(100),
            injection_forgotten: ms(1000),
            interactive: [ms(7000), ms(2500)],
            interactive_bounds: [ms(3000), ms(25_000)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_the_same_whether_remembered_or_not() {
        let mut clock = TickCache::new(300);
        for ns in [0, 1, 3_333_333, 3_333_334, 10_000_000, 9_999_999] {
            assert_eq!(clock.tick(Instant::from_ns(ns)), Jiffies::new(300).tick(Instant::from_ns(ns)) as Jiffy);
        }
        assert_eq!(clock.latest(), 2);
    }
}
