//! The device's clock: how fast virtual time runs, and when the rate changes.
//!
//! **Rule** Slower while too many requests miss their latency or wait for slots; faster while none does and some group
//! is short. The longer one of these states lasts, the larger the step. Excess virtual time is taken back within the
//! next period.
//! **Origin** docs/behaviour/cgroup-io.md#k7, steps a and e to h, #k2 (class) and #k9.
//! **In the kernel** `ioc_adjust_base_vrate`, `ioc_refresh_vrate`, `vtime_base_rate`, `busy_level`, `ioc_start_period`.

use super::model::Class;
use super::qos::MILLION;
use super::state::PeriodLatencies;
use super::{Era, IoCost, Now, VTIME_PER_US};
use crate::request::{Dir, PerDir};
use crate::time::Instant;

/// Waiting for slots beyond this means too slow; the next constant, that slots are no bottleneck \[% of the period\].
const SLOTS_SHORT: u64 = 5;
const SLOTS_FREE: u64 = 3;
/// The part of the allowed misses that counts as few \[%\].
const FEW: u64 = 75;
const MOST_BUSY: i32 = 1000;
/// The time after which the class changes \[us\].
const CHANGE_AFTER: u64 = 10_000_000;
/// The rates at which an SSD counts as fast, or as slow again \[% of 100 % vrate\].
const FAST: u64 = 500;
const SLOW: u64 = 10;

/// What completed requests show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    /// How many of a million missed their target.
    missed: PerDir<u64>,
    /// The wait for slots \[% of the period\].
    slots: u64,
}

impl IoCost {
    /// The figures of the period's requests; the next period starts from zero.
    pub(super) fn observe(&mut self) -> Observed {
        let latencies = core::mem::take(&mut self.latencies);
        let missed = |dir: Dir| {
            let PeriodLatencies { requests, missed, .. } = latencies[dir];
            if requests == 0 { 0 } else { (missed * MILLION).div_ceil(requests) }
        };
        let waited = latencies.read.waited + latencies.write.waited;
        Observed { missed: PerDir::from_fn(missed), slots: 100 * waited / (self.period_us * 1000) }
    }

    /// Determines whether the device is busy or idle, and for how long; adjusts the rate.
    pub(super) fn adjust_rate(&mut self, observed: Observed, shortages: u32, lagging: u32) {
        let may_miss = self.qos.may_miss();
        let any = |limit: &dyn Fn(u64) -> u64| Dir::BOTH.iter().any(|&dir| observed.missed[dir] > limit(may_miss[dir]));
        let busy = &mut self.pace.busy;
        if observed.slots > SLOTS_SHORT || any(&|may| may) {
            *busy = (*busy).max(0) + 1;
        } else if observed.slots <= SLOTS_FREE && !any(&|may| may * FEW / 100) && shortages > 0 {
            *busy = (*busy).min(0) - i32::from(lagging == 0);
        } else {
            *busy = 0;
        }
        *busy = (*busy).clamp(-MOST_BUSY, MOST_BUSY);
        if self.pace.busy != 0 && !(self.pace.busy < 0 && lagging > 0) {
            self.pace.base = self.next_base();
            self.refresh_margins();
        }
    }

    fn next_base(&self) -> u64 {
        let (base, busy) = (self.pace.base, self.pace.busy);
        let least = (self.qos.min_ppm * VTIME_PER_US).div_ceil(MILLION);
        let most = match self.config.era {
            Era::V6_1 => self.qos.max_ppm * VTIME_PER_US / MILLION,
            Era::V6_12 => (self.qos.max_ppm * VTIME_PER_US).div_ceil(MILLION),
        };
        if base < least {
            return (base * 104 / 100).min(least);
        }
        if base > most {
            return (base * 96 / 100).max(most);
        }
        let step = match busy.unsigned_abs() {
            0..=3 => 0,
            4..=19 => 1,
            20..=35 => 2,
            36..=43 => 4,
            44..=51 => 8,
            _ => 16,
        };
        let percent = if busy > 0 { 100 - step } else { 100 + step };
        (base * percent).div_ceil(100).clamp(least.min(most), most)
    }

    /// An SSD that has run at five times its model's rate for long becomes a fast one, and vice versa.
    pub(super) fn check_class(&mut self, now: Now) {
        if self.config.model.is_some() || self.config.qos.is_some() {
            return;
        }
        let percent = 100 * self.pace.base / VTIME_PER_US;
        let since = |condition: bool, since: Option<u64>| condition.then(|| since.unwrap_or(now.us));
        self.pace.too_fast_since = since(percent >= FAST, self.pace.too_fast_since);
        self.pace.too_slow_since = since(percent <= SLOW, self.pace.too_slow_since);
        let long = |since: Option<u64>| since.is_some_and(|since| now.us - since >= CHANGE_AFTER);
        let next = match self.class {
            Class::Ssd if long(self.pace.too_fast_since) => Class::SsdFast,
            Class::SsdFast if long(self.pace.too_slow_since) => Class::Ssd,
            _ => return,
        };
        self.class = next;
        (self.pace.too_fast_since, self.pace.too_slow_since) = (None, None);
        self.pace.period_vtime = now.vnow;
        self.pace.period_us = now.us;
        self.pace.rate = VTIME_PER_US;
        // 6.1 resets the present rate only, and the next period begins at the old base rate again.
        if self.config.era >= Era::V6_12 {
            self.pace.base = VTIME_PER_US;
        }
        self.refresh_parameters();
    }

    /// Begins a period.
    pub(super) fn begin_period(&mut self, now: Instant) {
        let moment = self.now(now);
        (self.pace.period_us, self.pace.period_vtime) = (moment.us, moment.vnow);
        let jiffies = self.config.jiffies;
        let length = self.period_us * u64::from(jiffies.hz());
        self.period_ends = Some(jiffies.tick(now) + length.div_ceil(MILLION));
    }

    /// The rate of the new period: the base rate, and the compensation for the error.
    pub(super) fn refresh_rate(&mut self, now: Now) {
        let base = self.pace.base as i64;
        let left = (self.pace.period_us + self.period_us) as i64 - now.us as i64;
        if left > 0 {
            let correction = (-(self.pace.err / left)).clamp(-(base / 2), base);
            self.pace.err += correction * left;
            self.pace.rate = (base + correction) as u64;
        }
        let most = self.period_us as i64 * base;
        self.pace.err = self.pace.err.clamp(-most, most);
    }
}
