//! The writes in the disk when reads arrive, and how long these take.

use blksched_measure::{Away, Found};

use super::argument::Argument;
use super::{Measure, Needs};
use crate::experiment::outcome::RunOutcome;

/// How long ago the last read completed: less than 100 ms, 100 to 200 ms, longer; or any of these.
const AWAY: Argument = Argument::Word(&["briefly", "a_slice", "long", "any"]);
const OF_ALL: Argument = Argument::Word(&["mean", "max"]);

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        name: "found",
        needs: Needs::Reasons,
        arguments: &[AWAY, OF_ALL],
        unit: "requests",
        doc: "writes in the disk when a read arrived, by how long ago the last read was done: less than 100 ms \
              (`briefly`), 100 to 200 ms, longer",
        values: |outcome, words| over(outcome, words, |found| (found.writes.mean(), found.writes.max() as f64)),
    },
    Measure {
        name: "drained",
        needs: Needs::Reasons,
        arguments: &[AWAY, OF_ALL],
        unit: "ms",
        doc: "how long until the last of these writes was done",
        values: |outcome, words| {
            over(outcome, words, |found| (found.drained.mean() / 1e6, found.drained.max() as f64 / 1e6))
        },
    },
];

/// The mean or the greatest value over the selected reads; no value if there were none.
fn over(outcome: &RunOutcome, words: &[String], of: impl Fn(&Found) -> (f64, f64)) -> Vec<f64> {
    let meant = |away: &Away| match words[0].as_str() {
        "briefly" => *away == Away::Briefly,
        "a_slice" => *away == Away::ForASlice,
        "long" => *away == Away::Long,
        _ => true,
    };
    let all = Away::ALL.into_iter().filter(meant).map(|away| outcome.reasons.arrivals().found(away));
    let found: Vec<&Found> = all.filter(|found| found.writes.count() > 0).collect();
    let reads: u64 = found.iter().map(|found| found.writes.count()).sum();
    match words[1].as_str() {
        _ if reads == 0 => Vec::new(),
        "mean" => vec![found.iter().map(|f| of(f).0 * f.writes.count() as f64).sum::<f64>() / reads as f64],
        _ => vec![found.iter().map(|f| of(f).1).fold(0.0, f64::max)],
    }
}
