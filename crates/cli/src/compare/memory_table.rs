//! The page cache in a table, and what an fsync waited for.

use std::sync::Arc;

use blksched_lab::runs::measured::{JobMeasure, Measured};
use blksched_measure::{Cell, Column, Quantity, Table, Work};
use blksched_workloads::host::WaitsFor;

use super::lines::below_a_line;

/// One row per scheduler; `None` if no I/O was buffered.
pub(super) fn table(measured: &[Arc<Measured>]) -> Option<Table> {
    let columns = vec![
        Column::words("elevator", "scheduler"),
        Column::numbers("hits", "read from memory", Quantity::Fraction),
        Column::numbers("read_ahead", "read ahead", Quantity::Bytes),
        Column::numbers("dirtied", "written to memory", Quantity::Bytes),
        Column::numbers("written", "of it to the disk", Quantity::Bytes),
        Column::numbers("throttled", "writers throttled", Quantity::Count),
        Column::numbers("room", "per write", Quantity::Time),
        Column::numbers("left", "left dirty", Quantity::Bytes),
    ];
    let mut table = Table::new("", columns);
    for (nth, elevator) in measured.iter().enumerate() {
        let memory = elevator.memory.as_ref()?;
        below_a_line(&mut table, measured, nth);
        table.row([
            elevator.label().into(),
            (&memory.hits).into(),
            (&memory.read_ahead).into(),
            (&memory.dirtied).into(),
            (&memory.written).into(),
            (&memory.throttled).into(),
            (&memory.room).into(),
            (&memory.left).into(),
        ]);
    }
    Some(table)
}

/// What an fsync waited for under each scheduler, the whole of it in the last column; `None` if there was none.
pub(super) fn syncs(measured: &[Arc<Measured>]) -> Option<Table> {
    let found: Vec<_> = measured.iter().filter_map(|one| one.memory.as_ref()?.syncs.as_ref()).collect();
    let is_shown = |nth: usize| found.iter().any(|syncs| syncs[nth].1.mean() > 0.0);
    let shown: Vec<usize> = (0..WaitsFor::OF_SYNC.len()).filter(|&nth| is_shown(nth)).collect();
    if shown.is_empty() {
        return None;
    }
    let part = |&nth: &usize| {
        let what = WaitsFor::OF_SYNC[nth];
        Column::numbers(sync_key(what), sync_name(what), Quantity::Time)
    };
    let columns = [Column::words("elevator", "scheduler")].into_iter().chain(shown.iter().map(part));
    let mut table = Table::new("", columns.chain([Column::numbers("sync", "fsync", Quantity::Time)]).collect());
    for (nth, elevator) in measured.iter().enumerate() {
        let Some(syncs) = elevator.memory.as_ref().and_then(|memory| memory.syncs.as_ref()) else { continue };
        below_a_line(&mut table, measured, nth);
        let whole: f64 = syncs.iter().map(|(_, sample)| sample.mean()).sum();
        let cells = shown.iter().map(|&nth| Cell::from(&syncs[nth].1));
        table.row([elevator.label().into()].into_iter().chain(cells).chain([whole.into()]));
    }
    table.note(format!(
        "what an fsync or fdatasync waited for, a mean over all calls{}: its data; a log write that is not its own, \
         because it needs a block of it or its own comes after; its log write; its commit block and the flushes around \
         it; another flush of the drive's cache",
        whose(measured)
    ));
    Some(table)
}

/// Whose calls are in the means, if jobs of several names sync: one's may be a thousand times as long as another's.
fn whose(measured: &[Arc<Measured>]) -> String {
    let syncs = |job: &&JobMeasure| job.work(Work::Sync).is_some();
    let all = measured.iter().map(|one| one.jobs.iter().filter(syncs).map(JobMeasure::label).collect::<Vec<_>>());
    let all = all.max_by_key(Vec::len).unwrap_or_default();
    let mut names: Vec<(&str, usize)> = Vec::new();
    for label in all.iter().map(AsRef::as_ref) {
        match names.iter_mut().find(|(name, _)| *name == label) {
            Some((_, count)) => *count += 1,
            None => names.push((label, 1)),
        }
    }
    if names.len() < 2 {
        return String::new();
    }
    let show = |&(name, count): &(&str, usize)| if count > 1 { format!("{name} ×{count}") } else { name.to_owned() };
    format!(
        " of {} together (`explain --process NAME` tells what the slowest of one job waited for)",
        names.iter().map(show).collect::<Vec<_>>().join(", ")
    )
}

/// The column of a part of an fsync.
fn sync_name(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::OthersLog => "another's log",
        WaitsFor::Log => "log",
        WaitsFor::Commit => "commit",
        WaitsFor::LogRoom => "room in the log",
        WaitsFor::Home => "metadata",
        WaitsFor::Flush => "flush",
        WaitsFor::Writing | WaitsFor::Pages | WaitsFor::Room => "data",
    }
}

/// The same as a key of JSON.
pub(super) fn sync_key(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::OthersLog => "fsync_others_log",
        WaitsFor::Log => "fsync_log",
        WaitsFor::Commit => "fsync_commit",
        WaitsFor::LogRoom => "fsync_log_room",
        WaitsFor::Home => "fsync_metadata",
        WaitsFor::Flush => "fsync_flush",
        WaitsFor::Writing | WaitsFor::Pages | WaitsFor::Room => "fsync_data",
    }
}
