//! A run as fio itself would print it with `--output-format=json`.

use blksched_measure::JobRecord;
use blksched_measure::fio_json::Output;
use blksched_simulate::Findings;

use crate::input::Stage;

/// One job per row of the report, as `group_reporting` asks.
pub(super) fn text(stage: &Stage, findings: &Findings) -> String {
    let rows = (0..stage.plan.rows()).map(|row| {
        let mut members = stage.plan.jobs.iter().zip(&findings.jobs).filter(|(job, _)| job.row == row);
        let (job, first) = members.next().expect("a row has a process");
        let mut record: JobRecord = first.record.clone();
        members.for_each(|(_, other)| record.merge(&other.record));
        (record, job.options.clone())
    });
    let rows: Vec<_> = rows.collect();
    Output::new(stage.file.global_options().to_vec(), &rows, Vec::new()).print()
}
