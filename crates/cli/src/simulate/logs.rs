//! The logs that a job file requests (`write_bw_log` and similar options), under fio's file names.
//!
//! Each is written under a temporary name and then renamed, so that no log is ever incomplete.

use std::fs;
use std::path::{Path, PathBuf};

use blksched_measure::LogKind;
use blksched_simulate::Findings;
use blksched_workloads::fio::LogNames;
use blksched_workloads::{JobPlan, Plan};

use crate::failure::Failure;
use crate::half;

/// Writes every log of a run; returns notes on those that were cut off.
pub(super) fn write(plan: &Plan, findings: &Findings) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    for (nth, (job, outcome)) in plan.jobs.iter().zip(&findings.jobs).enumerate() {
        if !job.report.logs.any() {
            continue;
        }
        for (kind, path) in names(job, nth) {
            let text = outcome.record.log.as_ref().map(|log| log.text(kind)).unwrap_or_default();
            replace(&path, &text)?;
        }
        let cut_off = outcome.record.log.as_ref().map_or(0, |log| log.cut_off());
        if cut_off > 0 {
            notes.push(format!("the logs of {} end early: {cut_off} I/Os did not fit", job.name));
        }
    }
    Ok(notes)
}

/// The logs of process number `nth`, and their paths.
fn names(job: &JobPlan, nth: usize) -> Vec<(LogKind, PathBuf)> {
    let logs = &job.report.logs;
    let prefix = |kind| match kind {
        LogKind::Bandwidth => logs.bw.as_ref(),
        LogKind::Iops => logs.iops.as_ref(),
        LogKind::Slat | LogKind::Clat | LogKind::Lat => logs.lat.as_ref(),
    };
    let name = |kind: LogKind| {
        let prefix = prefix(kind)?;
        let prefix = if prefix.is_empty() { &job.name } else { prefix };
        let number = match logs.names {
            LogNames::PerProcess => format!(".{}", nth + 1),
            LogNames::Shared => String::new(),
        };
        Some((kind, PathBuf::from(format!("{prefix}_{}{number}.log", kind.name()))))
    };
    LogKind::ALL.into_iter().filter_map(name).collect()
}

fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let beside = PathBuf::from(format!("{}.{}.tmp", path.display(), std::process::id()));
    let written = fs::write(&beside, text).and_then(|()| half::becomes(&beside, path));
    written.map_err(|error| {
        // An incomplete log is of no use.
        let _ = fs::remove_file(&beside);
        Failure::Outside(format!("{}: {error}", path.display()))
    })
}
