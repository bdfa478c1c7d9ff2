//! Whether a queue was slow in its slice.
//!
//! **Rule** A slice of less than 1 ms is too short to judge except by its seeks; one of more than 20 ms was slow if it
//! transferred less than half of the greatest budget.
//! **Origin** docs/behaviour/elevators-6.1.md#b13, "Expire".
//! **In the kernel** `bfq_bfqq_is_slow`.

/// Slices shorter than this say nothing about speed \[µs\].
pub(crate) const SHORTEST_US: i64 = 1000;

/// The duration assumed for a slice too short to judge: on a rotating disk, on others \[ms\].
pub(crate) const SHORT_MS: [i64; 2] = [8, 2];

/// A longer slice is judged by its throughput rather than by whether the queue seeks \[µs\].
pub(crate) const LONG_US: i64 = 20_000;

/// The pace of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlicePace {
    pub(crate) is_slow: bool,
    pub(crate) ms: i64,
}

pub(crate) fn pace(us: i64, seeks: bool, below_half: bool, rotational: bool) -> SlicePace {
    // A single seek takes longer than such a slice, so the amount transferred says nothing, and a fixed duration
    // replaces the slice's own.
    if us < SHORTEST_US {
        return SlicePace { is_slow: seeks, ms: SHORT_MS[usize::from(!rotational)] };
    }
    SlicePace { is_slow: if us > LONG_US { below_half } else { seeks }, ms: us / 1000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_turn_is_slow_if_it_seeks_and_a_long_one_if_it_moved_little() {
        assert_eq!(pace(999, true, false, true), SlicePace { is_slow: true, ms: 8 });
        assert_eq!(pace(999, true, false, false), SlicePace { is_slow: true, ms: 2 });
        assert_eq!(pace(20_000, false, true, true), SlicePace { is_slow: false, ms: 20 });
        assert_eq!(pace(20_001, false, true, true), SlicePace { is_slow: true, ms: 20 });
        assert_eq!(pace(-5, false, true, true), SlicePace { is_slow: false, ms: 8 });
    }
}
