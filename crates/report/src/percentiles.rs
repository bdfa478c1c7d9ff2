//! Latency by percentile, up to as many nines as the number of I/Os supports.

use serde_json::{Value, json};

use crate::recorded::{RecordedRun, Way};

/// Steps between two nines.
const STEPS: u32 = 20;
/// p99.99 is four nines.
const NINES: u32 = 4;

/// One curve: a job's I/Os of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// An index of the run's jobs.
    pub(crate) job: u32,
    pub(crate) way: Way,
    pub(crate) ios: usize,
    /// At 0, 1/20, 2/20, … nines \[ns\]; it ends where fewer than one I/O is slower.
    pub(crate) ns: Vec<u64>,
}

/// The curves of a run.
pub(crate) fn curves(run: &RecordedRun) -> Vec<Curve> {
    let mut all: Vec<((u32, Way), Vec<u64>)> = Vec::new();
    for io in &run.ios {
        let key = (run.jobs_of.get(io.process as usize).copied().unwrap_or(0), io.way);
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some((_, latencies)) => latencies.push(io.latency_ns),
            None => all.push((key, vec![io.latency_ns])),
        }
    }
    all.sort_by_key(|(key, _)| *key);
    let curve = |((job, way), mut latencies): ((u32, Way), Vec<u64>)| {
        latencies.sort_unstable();
        let ns = (0..=NINES * STEPS).map_while(|step| at(&latencies, f64::from(step) / f64::from(STEPS)));
        Curve { job, way, ios: latencies.len(), ns: ns.collect() }
    };
    all.into_iter().map(curve).collect()
}

/// The value that all but one in 10^`nines` do not exceed; `None` if there are too few for it.
fn at(sorted: &[u64], nines: f64) -> Option<u64> {
    let slower = sorted.len() as f64 * 10_f64.powf(-nines);
    if slower < 1.0 - 1e-9 {
        return None;
    }
    let place = (sorted.len() as f64 - slower).ceil() as usize;
    sorted.get(place.min(sorted.len() - 1)).copied()
}

pub(crate) fn json(run: &RecordedRun) -> Vec<Value> {
    let one = |curve: &Curve| {
        let Curve { job, way, ios, ns } = curve;
        json!({ "job": job, "way": *way as u8, "ios": ios, "ns": ns, "steps": STEPS })
    };
    curves(run).iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_as_far_as_there_are_ios_for_it() {
        let sorted: Vec<u64> = (1..=1000).collect();
        assert_eq!(at(&sorted, 0.0), Some(1));
        assert_eq!(at(&sorted, 1.0), Some(901));
        assert_eq!(at(&sorted, 3.0), Some(1000));
        assert_eq!(at(&sorted, 3.05), None);
        assert_eq!(at(&[], 0.0), None);
    }
}
