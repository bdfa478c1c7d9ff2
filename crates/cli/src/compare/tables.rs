//! The two tables of a comparison: what the jobs saw, and what the disk did.

use blksched_measure::{Cell, Column, Quantity, Table, Work};

use super::measured::{JobMeasure, Measured, WorkMeasure};

/// One row per scheduler, job and direction; `timed`: with how long each job ran.
pub(super) fn jobs(measured: &[Measured], timed: bool) -> Table {
    let asks = asks_for_priorities(measured);
    let mut columns = vec![
        Column::words("elevator", "elevator"),
        Column::words("job", "job"),
        Column::words("direction", "dir"),
        Column::numbers("bw", "bw", Quantity::Bandwidth),
        Column::numbers("iops", "iops", Quantity::Iops),
        Column::numbers("clat_mean", "clat mean", Quantity::Time),
        Column::numbers("clat_p50", "p50", Quantity::Time),
        Column::numbers("clat_p99", "p99", Quantity::Time),
        Column::numbers("clat_p99.9", "p99.9", Quantity::Time),
        Column::numbers("clat_max", "max", Quantity::Time),
        Column::numbers("asked", "asked", Quantity::Fraction),
        Column::numbers("given", "given", Quantity::Fraction),
    ];
    if timed {
        columns.insert(3, Column::numbers("ran", "ran", Quantity::Time));
    }
    if asks {
        columns.push(Column::numbers("due", "due", Quantity::Fraction));
        columns.insert(2, Column::words("prio", "prio, weight"));
    }
    let mut table = Table::new("", columns);
    for (nth, elevator) in measured.iter().enumerate() {
        below_a_line(&mut table, measured, nth);
        let mut label = elevator.label();
        for job in &elevator.jobs {
            for (nth, (work, measure)) in job.work.iter().enumerate() {
                let mut cells = row(std::mem::take(&mut label), job, nth == 0, *work, measure);
                if timed {
                    cells.insert(3, if nth == 0 { job.ran.into() } else { Cell::Text(String::new()) });
                }
                if asks {
                    let (priority, due) = if nth == 0 { shown(job) } else { blank() };
                    cells.insert(2, priority);
                    cells.push(due);
                }
                table.row(cells);
            }
        }
    }
    table
}

fn shown(job: &JobMeasure) -> (Cell, Cell) {
    job.priority.as_ref().map_or_else(blank, |(name, due)| (name.as_str().into(), (*due).into()))
}

fn blank() -> (Cell, Cell) {
    (Cell::Text(String::new()), Cell::Text(String::new()))
}

fn asks_for_priorities(measured: &[Measured]) -> bool {
    measured.iter().any(|elevator| elevator.misplaced.is_some())
}

/// A line before the first scheduler that no present kernel has, if those before are of present kernels.
pub(super) fn below_a_line(table: &mut Table, measured: &[Measured], nth: usize) {
    if nth > 0 && measured[nth - 1].is_present && !measured[nth].is_present {
        let mut cells = vec![Cell::Text(String::new()); table.columns.len()];
        cells[0] = "── historical".into();
        table.row(cells);
    }
}

fn row(label: String, job: &JobMeasure, first: bool, work: Work, measure: &WorkMeasure) -> Vec<Cell> {
    let name = match job.processes {
        1 => job.name.clone(),
        n => format!("{} ×{n}", job.name),
    };
    let [mean, p50, p99, p999, max] = measure.clat;
    let share = |share: blksched_measure::Spread| if first { share.into() } else { Cell::Text(String::new()) };
    vec![
        label.into(),
        name.into(),
        work.name().into(),
        measure.bandwidth.into(),
        measure.iops.into(),
        mean.into(),
        p50.into(),
        p99.into(),
        p999.into(),
        max.into(),
        share(job.asked),
        share(job.given),
    ]
}

/// One row per scheduler.
pub(super) fn disk(measured: &[Measured]) -> Table {
    let mut columns = vec![
        Column::words("elevator", "elevator"),
        Column::numbers("busy", "disk busy", Quantity::Fraction),
        Column::numbers("seeking", "seeking", Quantity::Fraction),
        Column::numbers("jain", "Jain's index of disk time given for asked", Quantity::Ratio),
    ];
    if asks_for_priorities(measured) {
        columns.push(Column::numbers("misplaced", "given to others than the priorities ask", Quantity::Fraction));
    }
    let mut table = Table::new("", columns);
    for (nth, elevator) in measured.iter().enumerate() {
        below_a_line(&mut table, measured, nth);
        let mut cells: Vec<Cell> =
            vec![elevator.label().into(), elevator.busy.into(), elevator.seeking.into(), elevator.jain.into()];
        cells.extend(elevator.misplaced.map(Cell::from));
        table.row(cells);
    }
    table
}
