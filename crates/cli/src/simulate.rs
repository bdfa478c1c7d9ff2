//! `blksched simulate`: one workload under one scheduler in detail: the jobs' results, the causes of waiting, the
//! disk's activity.

mod arguments;
mod decisions;
mod fio_output;
mod json;
mod logs;
mod report;

#[cfg(feature = "sweep")]
pub(crate) use decisions::began;

#[cfg(feature = "parquet")]
use std::sync::Arc;

use blksched::Catalogue;
#[cfg(feature = "parquet")]
use blksched_lab::runs::{measured::Measured, outcome::Outcome};
use blksched_lab::scene::{Stage, notes_on, notes_on_files, unthrottled};
use blksched_lab::why::names::Names;
use blksched_measure::Reasons;
use blksched_simulate::story::StoriesAsked;

#[cfg(feature = "parquet")]
use crate::compare::parquet::figures;
use crate::explain::watch;
use crate::failure::Failure;
use crate::input::in_turn;
use crate::output;
#[cfg(feature = "pictures")]
use crate::report as pictures;
use crate::scene::named;
pub(crate) use arguments::{OutputFormat, SimulateArguments};

pub(crate) fn run(arguments: &SimulateArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let single = [
        (arguments.outputs.any(), "--perfetto or --blktrace"),
        (arguments.pictures.any(), "--report"),
        (arguments.decisions.is_some(), "--decisions"),
    ];
    in_turn(&arguments.scene.scene(), &single, arguments.json, |stage| of(arguments, stage, catalogue))
}

/// Simulates the run on one disk.
fn of(arguments: &SimulateArguments, stage: Stage, catalogue: &Catalogue) -> Result<(), Failure> {
    let scene = &arguments.scene.scene();
    let stage = stage.under(&named(arguments.elevator.as_deref()), scene, catalogue)?;
    let contender = stage.one_contender(arguments.elevator.as_ref(), scene, catalogue)?;
    let files = notes_on_files(std::slice::from_ref(&contender), &stage.plan);
    let known =
        notes_on(std::slice::from_ref(&contender)).chain(files).chain(stage.notes()).chain(stage.cpu_notes(scene));
    let known = known.chain(unthrottled(std::slice::from_ref(&contender), scene.wbt_lat_usec));
    let mut notes: Vec<String> = known.collect();
    if arguments.scene.parse_only {
        return Ok(output::print(&output::notes(&notes))?);
    }
    let limit = stage.length_once(scene, &contender)?.limit;
    let trial = stage.trial(scene, &contender, limit);
    let reasons = || match arguments.decisions {
        Some(_) => Reasons::new().with_decisions(),
        None => Reasons::new(),
    };
    let findings = match (arguments.outputs.any(), &arguments.decisions) {
        (true, _) => watch(&trial, &Names::of(&stage.plan), &arguments.outputs, StoriesAsked::nothing(), reasons())?.0,
        (false, Some(_)) => trial.simulate_with_decisions().map_err(Failure::input)?,
        (false, None) => trial.simulate().map_err(Failure::input)?,
    };
    if let Some(file) = &arguments.decisions {
        decisions::write(file, &stage, &findings)?;
    }
    // The measurements are printed even if their logs cannot be written.
    let (logged, unwritten) = match logs::write(&stage.plan, &findings) {
        Ok(notes) => (notes, Ok(())),
        Err(failure) => (Vec::new(), Err(failure)),
    };
    notes.extend(logged.into_iter().chain(stage.gave_up(findings.jobs.iter().map(|job| job.trouble.gave_up))));
    #[cfg(feature = "pictures")]
    if arguments.pictures.any() {
        let told = json::text((&contender, &stage, scene), &trial, &findings, &notes);
        let measured = Arc::new(Measured::of(&contender, &stage.plan, &[Outcome::of(&stage.plan, &findings)]));
        notes.extend(pictures::simulated(&arguments.pictures, (&stage, scene, &contender), &trial, &measured, told)?);
    }
    #[cfg(feature = "parquet")]
    if let Some(place) = arguments.rows.place()? {
        let measured = Arc::new(Measured::of(&contender, &stage.plan, &[Outcome::of(&stage.plan, &findings)]));
        figures(&place, &stage, std::slice::from_ref(&measured), scene.seed)?;
        #[cfg(feature = "pictures")]
        if place.is_folder() {
            pictures::rows_of(&place, &trial, &contender.name, &Names::of(&stage.plan))?;
        }
    }
    let text = match arguments.output_format {
        _ if arguments.json => json::text((&contender, &stage, scene), &trial, &findings, &notes),
        OutputFormat::Normal => report::text(&trial, &contender, &stage, scene, &findings) + &output::notes(&notes),
        OutputFormat::Json => fio_output::text(&stage, &findings),
    };
    output::print(&text)?;
    unwritten
}
