//! `blksched explain`: where each I/O's time went, and who waited for whom.

mod arguments;
mod explained;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "serve")]
mod server;
mod text;
mod watch;

use std::collections::BTreeSet;

use blksched::{Catalogue, Instant, SubmitterId};
use blksched_lab::scene::{Stage, notes_on, unthrottled};
use blksched_lab::why::names::Names;
use blksched_measure::Reasons;
use blksched_simulate::story::{StoriesAsked, Storyteller};

use crate::failure::Failure;
use crate::input::in_turn;
use crate::output;
#[cfg(feature = "pictures")]
use crate::report;
pub(crate) use arguments::ExplainArguments;
use explained::Explained;
pub(crate) use watch::{Outputs, watch};

pub(crate) fn run(arguments: &ExplainArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    #[cfg(feature = "serve")]
    if let Some(file) = server::recording(&arguments.scene.jobs) {
        return recorded(arguments, file, catalogue);
    }
    let single = [(arguments.outputs.any(), "--perfetto or --blktrace"), (arguments.pictures.any(), "--report")];
    in_turn(&arguments.scene.scene(), &single, arguments.json, |stage| simulated(arguments, stage, catalogue))
}

/// Explains a simulated run on one disk.
fn simulated(arguments: &ExplainArguments, stage: Stage, catalogue: &Catalogue) -> Result<(), Failure> {
    let scene = &arguments.scene.scene();
    let contender = stage.one_contender(arguments.elevator.as_ref(), scene, catalogue)?;
    let mut notes: Vec<String> = notes_on(std::slice::from_ref(&contender)).chain(stage.notes()).collect();
    notes.extend(unthrottled(std::slice::from_ref(&contender), scene.wbt_lat_usec));
    let names = Names::of(&stage.plan);
    let asked = asked(arguments, &names)?;
    if arguments.scene.parse_only {
        return Ok(output::print(&output::notes(&notes))?);
    }
    let limit = stage.length_once(scene, &contender)?.limit;
    let trial = stage.trial(scene, &contender, limit);
    let (findings, teller) = watch(&trial, &names, &arguments.outputs, asked, Reasons::new())?;
    notes.extend(stage.gave_up(findings.jobs.iter().map(|job| job.trouble.gave_up)));
    notes.extend(nothing_found(arguments, &teller));
    let explained = Explained {
        arguments,
        workload: stage.workload.name.clone(),
        scheduler: contender.name.clone(),
        disk: Some(stage.disk.name.clone()),
        elapsed: findings.elapsed,
        names,
        plan: Some(&stage.plan),
        teller: &teller,
        notes,
    };
    #[cfg(feature = "pictures")]
    if arguments.pictures.any() {
        let summary = text::summary(&explained);
        let (told, json) = ((summary.0, &summary.1), json::text(&explained));
        let of = (&stage, scene, &contender);
        let written = report::explained(&arguments.pictures, of, &trial, told, json)?;
        output::print(&output::notes(&written))?;
    }
    print(&explained)
}

/// Explains a server's recording.
#[cfg(feature = "serve")]
fn recorded(arguments: &ExplainArguments, file: &str, catalogue: &Catalogue) -> Result<(), Failure> {
    if let Some(option) = server::superfluous(arguments) {
        let why = "a server's recording is explained as it was made: nothing is simulated";
        return Err(Failure::Input(format!("{option}: {why}; expected {file} without it")));
    }
    let (log, names) = server::read(file)?;
    let asked = asked(arguments, &names)?;
    let (recorded, teller) = server::explain(file, &log, &names, &arguments.outputs, asked, catalogue)?;
    let explained = Explained {
        arguments,
        workload: file.to_owned(),
        scheduler: recorded.elevator,
        disk: None,
        elapsed: recorded.end.since(Instant::ZERO),
        names,
        plan: None,
        teller: &teller,
        notes: nothing_found(arguments, &teller).into_iter().collect(),
    };
    #[cfg(feature = "pictures")]
    if arguments.pictures.any() {
        let summary = text::summary(&explained);
        let (told, json) = ((summary.0, &summary.1), json::text(&explained));
        let of = (file, &log, &explained.names);
        let written = report::recorded(&arguments.pictures, of, told, json, catalogue)?;
        output::print(&output::notes(&written))?;
    }
    print(&explained)
}

/// Writes the rows that were asked for, and prints the text.
fn print(explained: &Explained<'_>) -> Result<(), Failure> {
    #[cfg(feature = "parquet")]
    if let Some(place) = explained.arguments.rows.place()? {
        parquet::write(&place, explained)?;
    }
    let text = if explained.arguments.json { json::text(explained) } else { text::text(explained) };
    Ok(output::print(&text)?)
}

/// How many I/Os to show for one moment, unless the user gives a number.
const AT_A_MOMENT: usize = 20;

fn asked(arguments: &ExplainArguments, names: &Names) -> Result<StoriesAsked, Failure> {
    let by: Result<BTreeSet<SubmitterId>, Failure> = match &arguments.process {
        Some(process) => names.find(process).map_err(|why| Failure::Input(format!("--process {process}: {why}"))),
        None => Ok(BTreeSet::new()),
    };
    let usual = match (arguments.blame, arguments.at) {
        (true, _) => 0,
        (_, Some(_)) => AT_A_MOMENT,
        _ => 5,
    };
    let slowest = arguments.slowest.map_or(usual, |slowest| slowest as usize);
    let at = arguments.at.map(|at| Instant::ZERO + at);
    Ok(StoriesAsked { slowest, nth: arguments.request, at, by: by? })
}

/// Why there is no I/O to show; `None` if there is one.
fn nothing_found(arguments: &ExplainArguments, teller: &Storyteller) -> Option<String> {
    let total: u64 = teller.blame().totals().map(|(_, total)| total.ios).sum();
    match (teller.matched(), arguments.request, arguments.at) {
        (1.., ..) => None,
        (0, Some(nth), _) => {
            Some(format!("I/O {nth} did not end in this run; they are numbered from 1 to about {total}"))
        }
        (0, None, Some(at)) => Some(format!("no I/O was in flight at {at}")),
        (0, None, None) => Some("no I/O ended in this run; --time makes it longer".to_owned()),
    }
}
