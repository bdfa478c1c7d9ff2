//! The device's peak rate: its sequential rate, estimated from dispatches and completions.
//!
//! **What for** The greatest budget is what the disk can move within `timeout_sync`, and interactive raising lasts as
//! long as an application's start takes on a disk of this speed.
//! **Rule** Intervals of at least 300 ms and 32 requests, closed at the first dispatch after 1 s, by a silence of more
//! than 100 ms, or if the device looks idle. An interval's rate counts if three of four requests were sequential or it
//! is higher than the estimate, and if it is below 20 sectors/µs. Its weight grows with its sequential part and its
//! length.
//! **Origin** docs/behaviour/elevators-6.1.md#b12; sectors/µs times 2¹⁶.
//! **In the kernel** `bfq_update_peak_rate`, `bfq_update_rate_reset`, `bfq_reset_rate_computation`, `peak_rate`.

pub(crate) const SHIFT: u32 = 16;

/// Reference rates: rotating, other \[sectors/µs · 2¹⁶\].
const REFERENCE: [u64; 2] = [14_000, 33_000];

const LEAST_SAMPLES: u64 = 32;

const LEAST_LENGTH_NS: u64 = 300_000_000;

const FULL_LENGTH_NS: u64 = 1_000_000_000;

/// A longer time without a dispatch ends the interval.
const SILENCE_NS: u64 = 100_000_000;

/// A request dispatched to an idle device counts as sequential only within this time of a completion.
const CLOSE_NS: u64 = 2_000_000;

const CLOSE_US: u32 = 2000;

/// At a lower rate than this, the device must have been idle \[sectors/µs · 2¹⁶\].
const LEAST_RATE: u64 = 64;

const MOST_RATE: u64 = 20 << SHIFT;

/// The interval being measured.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    samples: u64,
    in_order: u64,
    sectors: u64,
    largest: u64,
    first_ns: u64,
    length_ns: u64,
    last_dispatch_ns: u64,
}

/// The estimate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeakRate {
    rotational: bool,
    rate: u64,
    interval: Interval,
    pub(crate) last_completion_ns: Option<u64>,
}

/// A dispatch, as observed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatched {
    pub(crate) ns: u64,
    pub(crate) sectors: u64,
    pub(crate) seeks: bool,
    /// Whether the device had no other request.
    pub(crate) device_idle: bool,
}

impl PeakRate {
    pub(crate) fn new(rotational: bool) -> PeakRate {
        PeakRate::measured(rotational, REFERENCE[usize::from(!rotational)] * 2 / 3)
    }

    pub(crate) fn measured(rotational: bool, rate: u64) -> PeakRate {
        PeakRate { rotational, rate, interval: Interval::default(), last_completion_ns: None }
    }

    pub(crate) fn is_rotational(&self) -> bool {
        self.rotational
    }

    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    pub(crate) fn reference(&self) -> u64 {
        REFERENCE[usize::from(!self.rotational)]
    }

    /// The amount that it transfers in this time \[sectors\].
    pub(crate) fn sectors_in_ms(&self, ms: u64) -> i64 {
        ((self.rate * 1000 * ms) >> SHIFT) as i64
    }

    /// True if the estimate may have changed.
    #[inline(always)]
    pub(crate) fn dispatched(&mut self, at: Dispatched) -> bool {
        if self.interval.samples == 0 {
            self.begin(Some(at));
            return false;
        }
        if at.ns - self.interval.last_dispatch_ns > SILENCE_NS && at.device_idle {
            let changed = self.close(Some(at));
            self.interval.last_dispatch_ns = at.ns;
            return changed;
        }
        let prompt = self.last_completion_ns.is_some_and(|last| at.ns - last < CLOSE_NS);
        let interval = &mut self.interval;
        interval.samples += 1;
        interval.in_order += u64::from((!at.device_idle || prompt) && !at.seeks);
        interval.sectors += at.sectors;
        // Restarted every 32 samples, as in the kernel; no source says why.
        let anew = interval.samples.is_multiple_of(LEAST_SAMPLES);
        interval.largest = if anew { at.sectors } else { interval.largest.max(at.sectors) };
        interval.length_ns = at.ns - interval.first_ns;
        let changed = interval.length_ns >= FULL_LENGTH_NS && self.close(Some(at));
        self.interval.last_dispatch_ns = at.ns;
        changed
    }

    /// True if the estimate may have changed.
    pub(crate) fn completed(&mut self, ns: u64) -> bool {
        let us = self.last_completion_ns.map_or(u32::MAX / 4, |last| ((ns - last) / 1000) as u32);
        let idle = us > CLOSE_US && (self.interval.largest << SHIFT) / u64::from(us) < LEAST_RATE;
        let changed = idle && self.close(None);
        self.last_completion_ns = Some(ns);
        changed
    }

    #[inline(never)]
    fn begin(&mut self, first: Option<Dispatched>) {
        self.interval.samples = 0;
        if let Some(Dispatched { ns, sectors, .. }) = first {
            let length_ns = self.interval.length_ns;
            self.interval = Interval {
                samples: 1,
                in_order: 0,
                sectors,
                largest: sectors,
                first_ns: ns,
                length_ns,
                last_dispatch_ns: ns,
            };
        }
    }

    #[inline(never)]
    fn close(&mut self, first: Option<Dispatched>) -> bool {
        let new = self.interval.estimate(self.rate, self.last_completion_ns);
        self.begin(first);
        new.inspect(|&new| self.rate = new).is_some()
    }
}

impl Interval {
    /// The estimate after this interval, if it counts.
    fn estimate(&self, rate: u64, last_completion_ns: Option<u64>) -> Option<u64> {
        if self.samples < LEAST_SAMPLES || self.length_ns < LEAST_LENGTH_NS {
            return None;
        }
        let to_completion = last_completion_ns.unwrap_or(0).saturating_sub(self.first_ns);
        let length_ns = self.length_ns.max(to_completion);
        let seen = (self.sectors << SHIFT) / (length_ns / 1000);
        // Random requests say nothing about the peak rate, unless they were even faster than the estimate.
        if (self.in_order < 3 * self.samples / 4 && seen <= rate) || seen > MOST_RATE {
            return None;
        }
        let weight = 9 * self.in_order / self.samples;
        let weight = (weight * length_ns / FULL_LENGTH_NS).min(8);
        let parts = 10 - weight;
        // The product has 32 bits, as in the kernel.
        let new = u64::from((rate * (parts - 1)) as u32) / parts + seen / parts;
        Some(new.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(rate: &mut PeakRate, from_ms: u64, seeks: bool) {
        for n in 0..=200u64 {
            let ns = (from_ms + 5 * n) * 1_000_000;
            let sectors = 1000;
            rate.completed(ns);
            rate.dispatched(Dispatched { ns, sectors, seeks, device_idle: false });
        }
    }

    #[test]
    fn a_second_of_reading_in_order_moves_the_estimate_most_of_the_way() {
        let mut rate = PeakRate::new(true);
        assert_eq!(rate.rate(), 9333);
        stream(&mut rate, 1000, false);
        // 200 sectors per ms are 0.2 per µs: 13,107.
        assert!((11_000..=13_200).contains(&rate.rate()), "{}", rate.rate());
    }

    #[test]
    fn slow_seeks_say_nothing_about_the_peak() {
        let mut rate = PeakRate::measured(true, 14_000);
        stream(&mut rate, 1000, true);
        assert_eq!(rate.rate(), 14_000);
    }
}
