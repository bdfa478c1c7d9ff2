//! A latency model: the predicted cost of a request of a kind, as a base and a slope.
//!
//! **Rule** A request of up to 4 KiB costs the base, each KiB beyond it the slope. The model is updated when 1.5 s have
//! passed, when there are 1024 samples, or at once while there is no prediction yet; the slowest 1 % are left out; the
//! sums are shrunk when they have become large.
//! **Origin** docs/behaviour/adios-3.1.md#a3, #a9, #a10.
//! **Costs when wrong** The four models put their samples into *one* set of accumulators: samples that one leaves there
//! count for the next, so a load of one kind trains all four. With four sets, the scheduler would never leave its
//! first-in first-out phase under reads alone.

use super::samples::{Buckets, SMALL, Sum, divide};
use super::tunables::AdiosTunables;
use crate::time::{Jiffies, Span, Tick};

/// A model is updated after this time at the latest.
const OLD: Span = Span::from_ms(1500);
/// A model is updated after this many samples.
const ENOUGH: u64 = 1024;
/// The part of the samples that counts \[%\].
const KEPT: u64 = 99;

/// Buckets of small and of large requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    small: Buckets,
    large: Buckets,
}

impl Samples {
    pub(super) fn clear(&mut self) {
        self.small.clear();
        self.large.clear();
    }
}

/// The model of one kind.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// \[ns\]; 0 while unknown.
    pub(super) base: u64,
    /// \[ns per KiB\].
    pub(super) slope: u64,
    small: Sum,
    large: Sum,
    updated: Tick,
    samples: Samples,
}

/// When sums shrink, and by how much.
#[derive(Clone, Copy, Debug)]
struct Shrink {
    at: u64,
    resist: u32,
}

impl Shrink {
    /// Shrinks both sums if the count has reached the threshold.
    fn apply(self, sum: &mut u64, count: &mut u64) {
        if *count >= self.at && *count >> self.resist > 0 {
            *sum -= *sum >> self.resist;
            *count -= *count >> self.resist;
        }
    }
}

impl Model {
    pub(super) fn new(now: Tick) -> Model {
        let (small, large) = (Sum::default(), Sum::default());
        Model { base: 0, slope: 0, small, large, updated: now, samples: Samples::default() }
    }

    /// Loads a model that a user has set. It counts as one sample, so a base of 0 is "1 sample of 0 ns" from then on.
    pub(super) fn load(&mut self, base: u64, slope: u64, now: Tick) {
        let small = Sum { latency: base, weight: 1, bytes: 0 };
        let large = Sum { latency: slope, weight: 0, bytes: 1024 };
        *self = Model { base, slope, small, large, updated: now, samples: Samples::default() };
    }

    /// The predicted cost of a request of this many bytes \[ns\].
    pub(super) fn predict(&self, bytes: u32) -> u64 {
        let beyond = u64::from(bytes.saturating_sub(SMALL)).div_ceil(1024);
        self.base.wrapping_add(self.slope.wrapping_mul(beyond))
    }

    /// Adds a sample. True if the model must be updated at once.
    pub(super) fn sample(&mut self, latency: u64, weight: u64, bytes: u32, predicted: u64) -> bool {
        if bytes <= SMALL {
            self.samples.small.add(latency, self.base.max(1), weight, 0);
            return self.base == 0;
        }
        if self.base > 0 && predicted > 0 {
            self.samples.large.add(latency, predicted, weight, u64::from(bytes));
        }
        false
    }

    /// Updates the model by the samples of this kind, and by those that other kinds left in `shared`.
    pub(super) fn renew(&mut self, shared: &mut Samples, now: Tick, jiffies: Jiffies, tunables: &AdiosTunables) {
        shared.small.take(&mut self.samples.small);
        shared.large.take(&mut self.samples.large);
        let elapsed = self.base == 0 || self.updated + jiffies.ticks(OLD) <= now;
        let small = self.take_small(&mut shared.small, elapsed, tunables);
        let large = self.take_large(&mut shared.large, elapsed, tunables);
        if small && self.small.weight > 0 {
            self.base = divide(self.small.latency, self.small.weight);
        }
        if large && self.large.bytes > 0 {
            self.slope = divide(self.large.latency, self.large.bytes.div_ceil(1024));
        }
        if small || large || elapsed {
            self.updated = now;
        }
    }

    /// Updates the base. True if there were samples of small requests.
    fn take_small(&mut self, shared: &mut Buckets, elapsed: bool, tunables: &AdiosTunables) -> bool {
        let weight = shared.weight();
        if weight == 0 || !(elapsed || weight >= ENOUGH) {
            return false;
        }
        let shrink =
            Shrink { at: u64::from(tunables.shrink_at_kreqs).wrapping_mul(1000), resist: tunables.shrink_resist };
        shrink.apply(&mut self.small.latency, &mut self.small.weight);
        let sum = shared.lowest(counted(weight, self.base == 0));
        shared.clear();
        self.small.latency = self.small.latency.wrapping_add(sum.latency);
        self.small.weight = self.small.weight.wrapping_add(sum.weight);
        sum.weight > 0
    }

    /// Updates the slope. True if there were samples of large requests.
    fn take_large(&mut self, shared: &mut Buckets, elapsed: bool, tunables: &AdiosTunables) -> bool {
        let weight = shared.weight();
        if weight == 0 || !(elapsed || weight >= ENOUGH || self.slope == 0) {
            return false;
        }
        let sum = shared.lowest(counted(weight, self.slope == 0));
        shared.clear();
        if sum.weight == 0 {
            return false;
        }
        let shrink = Shrink { at: u64::from(tunables.shrink_at_gbytes) << 30, resist: tunables.shrink_resist };
        shrink.apply(&mut self.large.latency, &mut self.large.bytes);
        // The base is subtracted only once from the whole sum, so the slope is almost the total latency per KiB.
        let beyond = if sum.latency > self.base { sum.latency - self.base } else { sum.latency };
        self.large.latency = self.large.latency.wrapping_add(beyond);
        self.large.bytes = self.large.bytes.wrapping_add(sum.bytes);
        true
    }
}

/// The number of samples that count, of this many.
fn counted(weight: u64, all: bool) -> u64 {
    if all { weight } else { weight.wrapping_mul(KEPT) / 100 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elevators::adios::tunables::V6_18;

    const TUNABLES: AdiosTunables = AdiosTunables::of(V6_18);
    const JIFFIES: Jiffies = Jiffies::new(250);

    #[test]
    fn a_request_costs_the_base_and_the_slope_for_each_kib_begun_beyond_4() {
        let mut model = Model::new(0);
        model.load(100, 7, 0);
        assert_eq!([512, 4096, 4608, 5120, 8192].map(|bytes| model.predict(bytes)), [100, 100, 107, 107, 128]);
    }

    #[test]
    fn the_first_small_sample_is_the_base_and_after_a_reset_it_is_halved() {
        let mut shared = Samples::default();
        let mut model = Model::new(0);
        assert!(model.sample(900, 1, 4096, 0));
        model.renew(&mut shared, 1, JIFFIES, &TUNABLES);
        assert_eq!(model.base, 900);
        model.load(0, 0, 1);
        model.sample(900, 1, 4096, 0);
        model.renew(&mut shared, 1, JIFFIES, &TUNABLES);
        assert_eq!(model.base, 450);
    }

    #[test]
    fn what_one_model_leaves_another_takes_for_its_own() {
        let mut shared = Samples::default();
        let (mut reads, mut writes) = (Model::new(0), Model::new(0));
        reads.load(1000, 0, 0);
        assert!(!reads.sample(3000, 1, 4096, 1000));
        reads.renew(&mut shared, 1, JIFFIES, &TUNABLES);
        writes.renew(&mut shared, 1, JIFFIES, &TUNABLES);
        assert_eq!((reads.base, writes.base), (1000, 3000));
    }
}
