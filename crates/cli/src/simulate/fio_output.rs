//! A run as fio itself would print it with `--output-format=json`.

use blksched_measure::fio_json::Output;
use blksched_simulate::Findings;

use blksched_lab::scene::Stage;

/// One job per row of the report, as with `group_reporting`.
pub(super) fn text(stage: &Stage, findings: &Findings) -> String {
    let shown = |row: &u32| stage.plan.jobs.iter().any(|job| job.row == *row && job.report.shown);
    // fio leaves out options without a value (tried).
    let said = |options: &[(String, String)]| options.iter().filter(|(_, value)| !value.is_empty()).cloned().collect();
    let rows = (0..stage.plan.rows()).filter(shown).map(|row| {
        let members = stage.plan.members(row);
        (findings.merged(&members), said(&stage.plan.jobs[members[0]].options))
    });
    let rows: Vec<_> = rows.collect();
    let globals = stage.workload.file.as_ref().map_or_else(Default::default, |file| said(file.global_options()));
    Output::new(globals, &rows, Vec::new()).print()
}
