//! The two tables of a comparison: what the jobs saw, and what the disk did.

use blksched_measure::{Cell, Column, Quantity, Table, Work};

use super::measured::{JobMeasure, Measured, WorkMeasure};

/// One row per scheduler, job and direction.
pub(super) fn jobs(measured: &[Measured]) -> Table {
    let mut table = Table::new(
        "",
        vec![
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
        ],
    );
    for elevator in measured {
        let mut label = elevator.label();
        for job in &elevator.jobs {
            for (nth, (work, measure)) in job.work.iter().enumerate() {
                table.row(row(std::mem::take(&mut label), job, nth == 0, *work, measure));
            }
        }
    }
    table
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
    let mut table = Table::new(
        "",
        vec![
            Column::words("elevator", "elevator"),
            Column::numbers("busy", "disk busy", Quantity::Fraction),
            Column::numbers("seeking", "seeking", Quantity::Fraction),
            Column::numbers("jain", "Jain's index of disk time given for asked", Quantity::Ratio),
        ],
    );
    for elevator in measured {
        table.row([elevator.label().into(), elevator.busy.into(), elevator.seeking.into(), elevator.jain.into()]);
    }
    table
}
