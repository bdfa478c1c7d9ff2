//! The pieces that fio's JSON is made of: latencies, percentiles, steps in percent, disks.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::histogram::Histogram;
use crate::moments::Moments;

/// An object whose keys keep their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs<T>(pub Vec<(String, T)>);

impl<T> Pairs<T> {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Parts of a hundred by steps \[%\].
pub type Steps = Pairs<f64>;

/// `counts` in percent of `total`, under `keys`. A count above 0 shows as at least `least`, as observed of fio: 0.1 for
/// depths, 0.01 for latencies.
pub(super) fn steps(keys: impl IntoIterator<Item = String>, counts: &[u64], total: u64, least: f64) -> Steps {
    let percent = |count: u64| match count {
        0 => 0.0,
        count => (100.0 * count as f64 / total as f64).max(least),
    };
    Pairs(keys.into_iter().zip(counts).map(|(key, &count)| (key, percent(count))).collect())
}

/// A summary of one kind of latency \[ns\].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct LatencySummary {
    /// Least.
    pub min: u64,
    /// Greatest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation (n − 1).
    pub stddev: f64,
    /// How many.
    #[serde(rename = "N")]
    pub n: u64,
}

impl From<&Moments> for LatencySummary {
    fn from(m: &Moments) -> LatencySummary {
        LatencySummary { min: m.min(), max: m.max(), mean: m.mean(), stddev: m.stddev(), n: m.count() }
    }
}

/// A kind of latency with its percentiles \[ns\].
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Percentiled {
    /// The summary.
    #[serde(flatten)]
    pub latency: LatencySummary,
    /// Left out if there was no I/O, or no percentiles are asked for.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub percentile: Pairs<u64>,
}

impl Percentiled {
    /// These moments, with these percentiles of the histogram, if there is one.
    pub(super) fn new(moments: &Moments, histogram: Option<&Histogram>, percents: &[f64]) -> Percentiled {
        let of = |histogram: &Histogram| {
            percents.iter().map(|&p| (format!("{p:.6}"), histogram.percentile(p).as_ns())).collect()
        };
        let histogram = histogram.filter(|histogram| !histogram.is_empty());
        Percentiled { latency: moments.into(), percentile: Pairs(histogram.map_or_else(Vec::new, of)) }
    }
}

/// What the disk itself did.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct DiskUtil {
    /// Its name.
    pub name: String,
    /// Requests read.
    pub read_ios: u64,
    /// Requests written.
    pub write_ios: u64,
    /// Merges of reads.
    pub read_merges: u64,
    /// Merges of writes.
    pub write_merges: u64,
    /// Time that reads took, summed over requests \[ms\].
    pub read_ticks: u64,
    /// Time that writes took, summed over requests \[ms\].
    pub write_ticks: u64,
    /// Both together \[ms\].
    pub in_queue: u64,
    /// How much of the time it was busy \[%\].
    pub util: f64,
}
