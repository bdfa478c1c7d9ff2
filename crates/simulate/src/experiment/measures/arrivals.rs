//! What reads find in the disk when they arrive: writes, and how long these take.

use blksched_measure::{Away, Found};

use super::Measure;
use super::argument::Argument;
use crate::experiment::outcome::Outcome;

/// How long ago the last read was done: less than 100 ms, 100 to 200 ms, longer; or any of these.
const AWAY: Argument = Argument::Word(&["briefly", "a_slice", "long", "any"]);
const OF_ALL: Argument = Argument::Word(&["mean", "max"]);

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        name: "found",
        arguments: &[AWAY, OF_ALL],
        unit: "requests",
        doc: "writes in the disk when a read arrived, by how long ago the last read was done: less than 100 ms \
              (`briefly`), 100 to 200 ms, longer",
        values: |outcome, words| vec![over(outcome, words, |found| (found.writes.mean(), found.writes.max()))],
    },
    Measure {
        name: "drained",
        arguments: &[AWAY, OF_ALL],
        unit: "ms",
        doc: "how long until the last of these writes was done",
        values: |outcome, words| vec![over(outcome, words, |found| (found.drained.mean(), found.drained.max())) / 1e6],
    },
];

/// The mean or greatest over the reads that are meant; not a number if there were none.
fn over(outcome: &Outcome, words: &[String], of: impl Fn(&Found) -> (f64, u64)) -> f64 {
    let meant = |away: &Away| match words[0].as_str() {
        "briefly" => *away == Away::Briefly,
        "a_slice" => *away == Away::ForASlice,
        "long" => *away == Away::Long,
        _ => true,
    };
    let found: Vec<&Found> =
        Away::ALL.iter().filter(|away| meant(away)).map(|away| outcome.reasons.arrivals().found(*away)).collect();
    let reads: u64 = found.iter().map(|found| found.writes.count()).sum();
    match words[1].as_str() {
        _ if reads == 0 => f64::NAN,
        "mean" => found.iter().map(|f| of(f).0 * f.writes.count() as f64).sum::<f64>() / reads as f64,
        _ => found.iter().map(|f| of(f).1).max().unwrap_or(0) as f64,
    }
}
