//! A run as fio itself would print it with `--output-format=json`.

use blksched_measure::JobRecord;
use blksched_measure::fio_json::Output;
use blksched_simulate::Findings;

use crate::input::Stage;

/// One job per row of the report, as `group_reporting` asks.
pub(super) fn text(stage: &Stage, findings: &Findings) -> String {
    let shown = |row: &u32| stage.plan.jobs.iter().any(|job| job.row == *row && job.report.shown);
    let rows = (0..stage.plan.rows()).filter(shown).map(|row| {
        let mut members = stage.plan.jobs.iter().zip(&findings.jobs).filter(|(job, _)| job.row == row);
        let (job, first) = members.next().expect("a row has a process");
        let mut record: JobRecord = first.record.clone();
        members.for_each(|(_, other)| record.merge(&other.record));
        // fio leaves out what has no value (tried).
        let options = job.options.iter().filter(|(_, value)| !value.is_empty()).cloned().collect();
        (record, options)
    });
    let rows: Vec<_> = rows.collect();
    let globals = stage.file.global_options().iter().filter(|(_, value)| !value.is_empty()).cloned().collect();
    Output::new(globals, &rows, Vec::new()).print()
}
