//! `blksched simulate`: one workload under one scheduler, in depth: what the jobs saw, what requests waited for, what
//! the disk did.

mod fio_output;
mod logs;
mod report;

use blksched::Catalogue;

use crate::args::{OutputFormat, SimulateArguments};
use crate::failure::Failure;
use crate::input::{Stage, contenders};
use crate::output;

pub(crate) fn run(arguments: &SimulateArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let scene = &arguments.scene;
    let mut contenders = contenders("--elevator", std::slice::from_ref(&arguments.elevator), &scene.set, catalogue)?;
    let contender = contenders.remove(0);
    let stage = Stage::load(scene)?;
    let mut notes: String = stage.notes().iter().map(|note| format!("note: {note}\n")).collect();
    if scene.parse_only {
        return Ok(output::print(&notes)?);
    }
    let trial = stage.trial(scene, contender.choice.clone(), contender.knobs.clone());
    let findings = trial.simulate().map_err(Failure::input)?;
    // What was measured is told even if its logs cannot be written.
    let (logs, unwritten) = match logs::write(&stage.plan, &findings) {
        Ok(notes) => (notes, Ok(())),
        Err(failure) => (Vec::new(), Err(failure)),
    };
    for note in logs.into_iter().chain(stage.gave_up(&findings)) {
        notes += &format!("note: {note}\n");
    }
    let text = match arguments.output_format {
        OutputFormat::Normal => report::text(&contender, &stage, scene, &findings) + &notes,
        OutputFormat::Json => fio_output::text(&stage, &findings),
    };
    output::print(&text)?;
    unwritten
}
