//! Measures of the disk: vmstat's columns, utilisation, sizes of requests.

use blksched_measure::Cause;

use super::argument::{Argument, dir, window};
use super::{Measure, Needs};
use crate::experiment::outcome::RunOutcome;
use crate::experiment::timeline::Second;

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        name: "bi",
        needs: Needs::Seconds,
        arguments: &[Argument::Window],
        unit: "KiB/s",
        doc: "vmstat's bi: what was read per second in that interval of the run",
        values: |outcome, words| per_second(outcome, &words[0], |second| second.read / 2),
    },
    Measure {
        name: "bo",
        needs: Needs::Seconds,
        arguments: &[Argument::Window],
        unit: "KiB/s",
        doc: "vmstat's bo: what was written per second",
        values: |outcome, words| per_second(outcome, &words[0], |second| second.written / 2),
    },
    Measure {
        name: "irq",
        needs: Needs::Seconds,
        arguments: &[Argument::Window],
        unit: "1/s",
        doc: "vmstat's in without the timer's: requests completed per second",
        values: |outcome, words| per_second(outcome, &words[0], |second| second.interrupts),
    },
    Measure {
        name: "busy",
        needs: Needs::Reasons,
        arguments: &[],
        unit: "",
        doc: "the part of the run in which the disk had at least one request (0 to 1)",
        values: |outcome, _| vec![outcome.reasons.disk().busy_share()],
    },
    Measure {
        name: "idled",
        needs: Needs::Reasons,
        arguments: &[],
        unit: "s",
        doc: "how long the scheduler kept the disk idle on purpose",
        values: |outcome, _| {
            let disk = outcome.reasons.disk();
            let idle = Cause::all().filter(|cause| matches!(cause, Cause::Idle(_)));
            vec![idle.map(|cause| disk.on(cause).as_secs_f64()).sum()]
        },
    },
    Measure {
        name: "elapsed",
        needs: Needs::Processes,
        arguments: &[],
        unit: "s",
        doc: "how long the run lasted",
        values: |outcome, _| vec![outcome.elapsed.as_secs_f64()],
    },
    Measure {
        name: "requests",
        needs: Needs::Counts,
        arguments: &[Argument::Dir],
        unit: "",
        doc: "how many requests the disk was given",
        values: |outcome, words| vec![outcome.reasons.entered().sizes[dir(&words[0])].count() as f64],
    },
    Measure {
        name: "request_size",
        needs: Needs::Counts,
        arguments: &[Argument::Dir],
        unit: "KiB",
        doc: "the mean size of the requests that the disk was given",
        values: |outcome, words| vec![outcome.reasons.entered().sizes[dir(&words[0])].mean() / 2.0],
    },
];

fn per_second(outcome: &RunOutcome, word: &str, what: impl Fn(&Second) -> u64) -> Vec<f64> {
    let (from, to) = window(word).expect("arguments are checked");
    vec![outcome.timeline.mean(from, to, what)]
}
