//! The tables of a comparison: the jobs' figures, and the disk's. There are at most eight columns; the rest only if
//! wide.

use std::sync::Arc;

use blksched_lab::runs::measured::{JobMeasure, Measured, WorkMeasure};
use blksched_measure::{Cell, Column, Quantity, Sample, Table, Work};

use super::lines::below_a_line;
use super::memory_table;

/// All tables of a comparison.
pub(super) fn all(measured: &[Arc<Measured>], timed: bool, wide: bool) -> Vec<Table> {
    let details = wide.then(|| details(measured));
    let tables = [jobs(measured, timed)].into_iter().chain(details).chain([disk(measured)]);
    tables.chain(memory_table::table(measured)).chain(memory_table::syncs(measured)).collect()
}

/// One row per scheduler, job and direction; with `timed`, the time that each job ran replaces its I/Os.
fn jobs(measured: &[Arc<Measured>], timed: bool) -> Table {
    let third = match timed {
        true => Column::numbers("ran", "ran", Quantity::Time),
        false => Column::numbers("ios", "I/Os", Quantity::Count),
    };
    let latencies = [("clat_mean", "mean"), ("clat_p99", "p99"), ("clat_max", "max")];
    let latencies = latencies.map(|(key, name)| Column::numbers(key, name, Quantity::Time));
    let columns = lead(measured).into_iter().chain([third, Column::numbers("rate", "rate", Quantity::Plain)]);
    let mut table = Table::new("", columns.chain(latencies).collect());
    each_work(measured, &mut table, |job, nth, work, measure| {
        let [mean, _, p99, _, max] = &measure.clat;
        let first = match (timed, nth) {
            (true, 0) => job.ran.as_ref().into(),
            (true, _) => Cell::Text(String::new()),
            (false, _) => Cell::Number(measure.ios.mean()),
        };
        vec![first, rate(work, measure), mean.into(), p99.into(), max.into()]
    });
    table.note(
        "rate: bytes a second, or syncs a second; mean, p99, max: completion latency as in fio, for a sync, the whole \
         fsync, fdatasync or flush; ±: standard deviation over the seeds; -: too few I/Os for it",
    );
    table
}

/// The leading columns, which [`each_work`] fills in.
fn lead(measured: &[Arc<Measured>]) -> Vec<Column> {
    let disk = has_several_disks(measured).then_some(("disk", "disk"));
    let keys = [("elevator", "scheduler"), ("job", "job")].into_iter().chain(disk).chain([("direction", "what")]);
    keys.map(|(key, name)| Column::words(key, name)).collect()
}

/// Whether disks have to be told apart.
fn has_several_disks(measured: &[Arc<Measured>]) -> bool {
    measured.iter().any(|one| one.disk.is_some())
}

/// Further details of each job, for `--wide`.
fn details(measured: &[Arc<Measured>]) -> Table {
    let mut columns = lead(measured);
    columns.extend([
        Column::numbers("iops", "IOPS", Quantity::Iops),
        Column::numbers("clat_p50", "p50", Quantity::Time),
        Column::numbers("clat_p99.9", "p99.9", Quantity::Time),
        Column::numbers("stall", "longest stall", Quantity::Time),
        Column::numbers("asked", "demand", Quantity::Fraction),
        Column::numbers("given", "service time share", Quantity::Fraction),
    ]);
    let asks = measured.iter().any(|elevator| elevator.misplaced.is_some());
    if asks {
        columns.push(Column::words("prio", "prio, weight"));
        columns.push(Column::numbers("due", "due", Quantity::Fraction));
    }
    let mut table = Table::new("", columns);
    each_work(measured, &mut table, |job, nth, _, measure| {
        let [_, p50, _, p999, _] = &measure.clat;
        let once = |sample: &Sample| if nth == 0 { sample.into() } else { Cell::Text(String::new()) };
        let mut cells = vec![(&measure.iops).into(), p50.into(), p999.into(), once(&job.stall)];
        cells.extend([once(&job.asked), once(&job.given)]);
        if asks {
            let (name, due) = match job.priority.as_ref().filter(|_| nth == 0) {
                Some((name, due)) => (Cell::from(name.as_str()), due.into()),
                None => (Cell::Text(String::new()), Cell::Text(String::new())),
            };
            cells.extend([name, due]);
        }
        cells
    });
    table.note(
        "longest stall: with something in flight and nothing completed; demand: the part of the run with something \
         queued or in flight; service time share: the part in which the disk's medium worked for it",
    );
    table
}

/// A row for each direction of each job of each scheduler, its first cells filled in.
fn each_work(
    measured: &[Arc<Measured>],
    table: &mut Table,
    cells: impl Fn(&JobMeasure, usize, Work, &WorkMeasure) -> Vec<Cell>,
) {
    let several = has_several_disks(measured);
    for (nth, elevator) in measured.iter().enumerate() {
        below_a_line(table, measured, nth);
        let mut label = elevator.label();
        for job in &elevator.jobs {
            let mut name = named(job);
            let mut disk = job.disk.clone().unwrap_or_default();
            let mut lead = |what: &str| {
                let mut lead = vec![std::mem::take(&mut label), std::mem::take(&mut name)];
                lead.extend(several.then(|| std::mem::take(&mut disk)));
                lead.push(what.to_owned());
                lead
            };
            if job.work.is_empty() {
                let lead = lead("nothing");
                let rest = vec![Cell::Missing; table.columns.len() - lead.len()];
                table.row(lead.into_iter().map(Cell::from).chain(rest));
            }
            for (nth, (work, measure)) in job.work.iter().enumerate() {
                table.row(lead(work.name()).into_iter().map(Cell::from).chain(cells(job, nth, *work, measure)));
            }
        }
    }
}

/// The job's name, with its priority where jobs have several.
fn named(job: &JobMeasure) -> String {
    match &job.priority {
        Some((priority, _)) => format!("{} ({priority})", job.label()),
        None => job.label(),
    }
}

fn rate(work: Work, measure: &WorkMeasure) -> Cell {
    let (sample, unit) = match work {
        Work::Sync => (&measure.iops, Quantity::Iops),
        _ => (&measure.bandwidth, Quantity::Bandwidth),
    };
    let spread = sample.spread();
    let text = if spread.stddev > 0.0 { unit.show_varying(spread.mean, spread.stddev) } else { unit.show(spread.mean) };
    Cell::Text(if work == Work::Sync { format!("{text}/s") } else { text })
}

/// One row per scheduler.
fn disk(measured: &[Arc<Measured>]) -> Table {
    let asks = measured.iter().any(|elevator| elevator.misplaced.is_some());
    let has_arm = measured.iter().any(|one| one.seeking.mean() > 0.0);
    let shares = measured.iter().any(|one| one.jain.mean().is_finite());
    let several = has_several_disks(measured);
    let beside = || measured.iter().flat_map(|one| &one.beside);
    let has_arm = has_arm || beside().any(|other| other.seeking.mean() > 0.0);
    let mut columns = vec![Column::words("elevator", "scheduler")];
    columns.extend(several.then(|| Column::words("disk", "disk")));
    columns.push(Column::numbers("busy", "utilisation", Quantity::Fraction));
    columns.extend(has_arm.then(|| Column::numbers("seeking", "seeking", Quantity::Fraction)));
    columns.extend(shares.then(|| Column::numbers("jain", "fairness", Quantity::Ratio)));
    if asks {
        columns.push(Column::numbers("misplaced", "against the priorities", Quantity::Fraction));
    }
    let mut table = Table::new("", columns);
    for (nth, elevator) in measured.iter().enumerate() {
        below_a_line(&mut table, measured, nth);
        let mut cells: Vec<Cell> = vec![elevator.label().into()];
        cells.extend(elevator.disk.as_deref().map(Cell::from));
        cells.push((&elevator.busy).into());
        cells.extend(has_arm.then(|| Cell::from(&elevator.seeking)));
        cells.extend(shares.then(|| Cell::from(&elevator.jain)));
        cells.extend(elevator.misplaced.as_ref().map(Cell::from));
        table.row(cells);
        for other in &elevator.beside {
            let mut cells: Vec<Cell> = vec!["".into(), other.disk.as_str().into(), (&other.busy).into()];
            cells.extend(has_arm.then(|| Cell::from(&other.seeking)));
            cells.resize(table.columns.len(), Cell::Text(String::new()));
            table.row(cells);
        }
    }
    let explained = [
        (true, "utilisation: iostat's %util"),
        (has_arm, "seeking: the part in which the arm moved"),
        (shares, "fairness: Jain's index of service time for demand, among jobs that wait for the disk side by side"),
        (asks, "against the priorities: the part of the disk's time that jobs received beyond their due"),
    ];
    let explained: Vec<&str> = explained.into_iter().filter(|(is_shown, _)| *is_shown).map(|(_, text)| text).collect();
    table.note(explained.join("; "));
    table
}
