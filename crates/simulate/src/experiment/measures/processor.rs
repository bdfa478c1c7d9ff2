//! Measures of the host's processors; none where I/O costs them nothing.

use super::{Measure, Needs};
use crate::cpu::CpuReport;
use crate::experiment::outcome::RunOutcome;

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        name: "processor_time",
        needs: Needs::Processes,
        arguments: &[],
        unit: "s",
        doc: "how long all processors worked for I/O, waits for locks included",
        values: |outcome, _| of(outcome, |cpu| cpu.busy.as_secs_f64()),
    },
    Measure {
        name: "lock_waits",
        needs: Needs::Processes,
        arguments: &[],
        unit: "%",
        doc: "the part of that time that waited for the scheduler's lock; none where nothing worked",
        values: |outcome, _| of(outcome, CpuReport::lock_waits_percent),
    },
];

fn of(outcome: &RunOutcome, value: impl Fn(&CpuReport) -> f64) -> Vec<f64> {
    outcome.cpu.iter().map(value).collect()
}
