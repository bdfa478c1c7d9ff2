//! Histograms of requests' latencies, as clients see them.

use blksched::Span;
use blksched_nbd::Command;

/// The upper bounds of the buckets except the last, which has none \[µs\].
pub const BOUNDS_US: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// The kinds of requests.
pub const KINDS: [&str; 3] = ["read", "write", "flush"];

/// The counts of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyCounts {
    /// How many ended within each bound and beyond the one before; the last beyond all bounds.
    pub counts: [u64; BOUNDS_US.len() + 1],
    /// The sum of their latencies.
    pub sum: Span,
}

/// All kinds, in the order of [`KINDS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies(pub [LatencyCounts; 3]);

impl Latencies {
    /// Records the latency of an answered request; zeroes and trims count as writes, questions not at all.
    pub fn record(&mut self, command: Command, took: Span) {
        let kind = match command {
            Command::Read | Command::Cache => 0,
            Command::Write(_) | Command::Trim(_) | Command::WriteZeroes { .. } => 1,
            Command::Flush => 2,
            Command::BlockStatus { .. } | Command::Disconnect | Command::Unknown(_) => return,
        };
        let LatencyCounts { counts, sum } = &mut self.0[kind];
        let us = took.as_ns().div_ceil(1000);
        counts[BOUNDS_US.iter().position(|&bound| us <= bound).unwrap_or(BOUNDS_US.len())] += 1;
        *sum += took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_falls_into_the_first_bucket_that_holds_it() {
        let mut latencies = Latencies::default();
        for us in [1, 100, 101, 20_000_000] {
            latencies.record(Command::Read, Span::from_us(us));
        }
        let LatencyCounts { counts, sum } = latencies.0[0];
        assert_eq!((counts[0], counts[1], counts[BOUNDS_US.len()]), (2, 1, 1));
        assert_eq!(sum, Span::from_us(20_000_202));
    }
}
