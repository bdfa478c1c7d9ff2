//! A comparison as CSV: a row per scheduler, seed, job, direction and figure, in base units. docs/schema.md says more.

use std::fmt::Write;

use blksched_lab::Compared;
use blksched_lab::runs::values::{COLUMNS, each};

use crate::quoted::quoted;

pub(super) fn text(compared: &Compared) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    let Compared { stage, measured, first, .. } = compared;
    let run = format!("{},{}", quoted(&stage.workload.name), quoted(&stage.disk.name));
    each(measured, *first, &mut |of| {
        let (scheduler, settings) = (quoted(&of.scheduler.name), quoted(&of.scheduler.knobs.join(" ")));
        let (seed, job, processes, role) = (of.seed, quoted(&of.job.name), of.job.processes, of.job.role.0.name());
        let (what, figure, unit, value) = (of.what, of.figure, of.unit.unit(), of.value);
        let line = writeln!(
            text,
            "{run},{scheduler},{settings},{seed},{job},{processes},{role},{what},{figure},{unit},{value}"
        );
        line.expect("memory takes any text");
    });
    text
}
