//! How many completions fell under each of fio's latency bounds.
//!
//! fio's manual: "250=0.04% means that 0.04% of the I/Os completed in under 250us. 500=64.11% means that 64.11% of the
//! I/Os required 250 to 499us".

/// fio's bounds \[ns\]: its nanosecond, microsecond and millisecond lists end to end. Beyond the last is `>=2000` ms.
pub const LATENCY_BOUNDS_NS: [u64; 31] = {
    const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let mut bounds = [2_000_000_000; 31];
    let (mut i, mut unit) = (0, 1);
    while i < 30 {
        bounds[i] = STEPS[i % 10] * unit;
        i += 1;
        if i % 10 == 0 {
            unit *= 1000;
        }
    }
    bounds
};

/// For each bit length, how many bounds the least number of that length has reached.
const PASSED: [u8; u64::BITS as usize + 1] = {
    let mut passed = [0; u64::BITS as usize + 1];
    let mut bits = 1;
    while bits <= u64::BITS as usize {
        while (passed[bits] as usize) < LATENCY_BOUNDS_NS.len()
            && LATENCY_BOUNDS_NS[passed[bits] as usize] <= 1 << (bits - 1)
        {
            passed[bits] += 1;
        }
        bits += 1;
    }
    passed
};

/// Counts of latencies below each bound and not below the one before; the last counts those beyond all bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyBuckets {
    counts: [u64; LATENCY_BOUNDS_NS.len() + 1],
}

impl LatencyBuckets {
    /// Counts a latency of `ns`.
    pub fn record(&mut self, ns: u64) {
        let passed = usize::from(PASSED[(u64::BITS - ns.leading_zeros()) as usize]);
        // There are at most two between a power of two and the next; added without a branch, which would be
        // unpredictable.
        let passes = |nth: usize| LATENCY_BOUNDS_NS.get(nth).is_some_and(|bound| *bound <= ns);
        self.counts[passed + usize::from(passes(passed)) + usize::from(passes(passed + 1))] += 1;
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &LatencyBuckets) {
        self.counts.iter_mut().zip(other.counts).for_each(|(ours, theirs)| *ours += theirs);
    }

    /// The counts by [`LATENCY_BOUNDS_NS`], and then of those beyond.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of latencies.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_rise_and_are_those_that_fio_prints() {
        assert!(LATENCY_BOUNDS_NS.is_sorted());
        assert_eq!(LATENCY_BOUNDS_NS[..3], [2, 4, 10]);
        assert_eq!(LATENCY_BOUNDS_NS[9..12], [1000, 2000, 4000]);
        assert_eq!(LATENCY_BOUNDS_NS[28..], [750_000_000, 1_000_000_000, 2_000_000_000]);
    }

    #[test]
    fn a_latency_is_in_the_step_that_all_bounds_say() {
        let near = LATENCY_BOUNDS_NS.into_iter().chain((0..64).map(|bit| 1 << bit));
        for ns in near.flat_map(|bound| [bound - 1, bound, bound + 1]).chain([u64::MAX]) {
            let mut buckets = LatencyBuckets::default();
            buckets.record(ns);
            let step = LATENCY_BOUNDS_NS.iter().filter(|&&bound| bound <= ns).count();
            assert_eq!(buckets.counts().iter().position(|&count| count == 1), Some(step), "{ns}");
        }
    }

    #[test]
    fn a_bound_belongs_to_the_step_above_it() {
        let mut buckets = LatencyBuckets::default();
        [0, 1, 2, 249_999, 250_000, 2_000_000_000, u64::MAX].into_iter().for_each(|ns| buckets.record(ns));
        let at = |ns: u64| buckets.counts()[LATENCY_BOUNDS_NS.iter().position(|&bound| bound == ns).unwrap()];
        assert_eq!((at(2), at(4), at(250_000), at(500_000)), (2, 1, 1, 1));
        assert_eq!((buckets.counts()[31], buckets.total()), (2, 7));
    }
}
