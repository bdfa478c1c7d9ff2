//! `blksched explain`: where each I/O's time went, and who waited for whom.

mod arguments;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "serve")]
mod server;
mod text;
mod watch;

use std::collections::BTreeSet;

use blksched::{Catalogue, Instant, SubmitterId};
use blksched_lab::Error;
use blksched_lab::scene::Stage;
use blksched_lab::why::names::Names;
use blksched_lab::why::{ExplainedRun, Explanation, Remedies};
use blksched_measure::Reasons;
use blksched_simulate::story::StoriesAsked;

use crate::failure::Failure;
use crate::input::{OnDisk, in_turn};
use crate::output;
#[cfg(feature = "pictures")]
use crate::report;
use crate::scene::named;
pub(crate) use arguments::ExplainArguments;
use text::Besides;
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
    let stage = stage.under(&named(arguments.elevator.as_deref()), scene, catalogue)?;
    let contender = stage.one_contender(arguments.elevator.as_ref(), scene, catalogue)?;
    let mut notes = Explanation::notes_before(&stage, scene, &contender);
    let names = Names::of(&stage.plan);
    let asked = asked(arguments, &names)?;
    if arguments.scene.parse_only {
        return Ok(output::print(&output::notes(&notes))?);
    }
    let limit = stage.length_once(scene, &contender)?.limit;
    let trial = stage.trial(scene, &contender, limit);
    let (findings, teller) = watch(&trial, &names, &arguments.outputs, asked, Reasons::new())?;
    notes.extend(stage.gave_up(findings.jobs.iter().map(|job| job.trouble.gave_up)));
    let run = ExplainedRun {
        workload: stage.workload.name.clone(),
        scheduler: contender.name.clone(),
        disk: Some(stage.on_what()),
        seed: trial.seed,
        elapsed: findings.elapsed,
        plan: Some(&stage.plan),
        notes,
    };
    let mut explanation = Explanation::of(run, &teller, &names).with_knob(&teller, &names, &trial)?;
    let remedies = match arguments.remedies {
        true => Remedies::tried(&stage, scene, &contender, &trial, &explanation.blame, &OnDisk)?,
        false => None,
    };
    explanation.notes.extend(about_remedies(arguments, &explanation, remedies.is_some()));
    #[cfg(feature = "pictures")]
    if arguments.pictures.any() {
        let summary = text::summary(&explanation, remedies.as_ref());
        let (told, json) = ((summary.0, &summary.1), json::text(&explanation, remedies.as_ref()));
        let of = (&stage, scene, &contender);
        let written = report::explained(&arguments.pictures, of, &trial, told, json)?;
        output::print(&output::notes(&written))?;
    }
    print(arguments, &explanation, remedies.as_ref())
}

/// That there are remedies to try, or none.
fn about_remedies(arguments: &ExplainArguments, explanation: &Explanation, any: bool) -> Option<String> {
    match (arguments.remedies, any) {
        (false, _) => {
            let said = "the file system's own writes had most of an I/O's time: --remedies tries what would make such \
                        syncs shorter";
            explanation.for_journal.then(|| said.to_owned())
        }
        (true, true) => None,
        (true, false) => {
            Some("--remedies: no job on a file system spends a fifth of its time in syncs, so nothing was tried".into())
        }
    }
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
    let run = ExplainedRun {
        workload: file.to_owned(),
        scheduler: recorded.elevator,
        disk: None,
        seed: arguments.scene.seed,
        elapsed: recorded.end.since(Instant::ZERO),
        plan: None,
        notes: Vec::new(),
    };
    let explanation = Explanation::of(run, &teller, &names);
    #[cfg(feature = "pictures")]
    if arguments.pictures.any() {
        let summary = text::summary(&explanation, None);
        let (told, json) = ((summary.0, &summary.1), json::text(&explanation, None));
        let of = (file, &log, &names);
        let written = report::recorded(&arguments.pictures, of, told, json, catalogue)?;
        output::print(&output::notes(&written))?;
    }
    print(arguments, &explanation, None)
}

/// Writes the rows that were asked for, and prints the text.
fn print(arguments: &ExplainArguments, explanation: &Explanation, remedies: Option<&Remedies>) -> Result<(), Failure> {
    #[cfg(feature = "parquet")]
    if let Some(place) = arguments.rows.place()? {
        parquet::write(&place, explanation)?;
    }
    let besides = match (arguments.request, arguments.at, arguments.blame) {
        (Some(_), ..) => Besides::Pieces,
        (None, Some(_), _) => Besides::Nothing,
        (None, None, true) => Besides::WholeBlame,
        (None, None, false) => Besides::Blame,
    };
    let text = match arguments.json {
        true => json::text(explanation, remedies),
        false => text::text(explanation, besides, remedies),
    };
    Ok(output::print(&text)?)
}

/// An explanation as the command line prints it: text and JSON.
#[cfg(feature = "sweep")]
pub(crate) fn rendered(explanation: &Explanation) -> (String, String) {
    (text::text(explanation, Besides::Blame, None), json::text(explanation, None))
}

/// How many I/Os to show for one moment, unless the user gives a number.
const AT_A_MOMENT: usize = 20;

fn asked(arguments: &ExplainArguments, names: &Names) -> Result<StoriesAsked, Failure> {
    let by: Result<BTreeSet<SubmitterId>, Error> = match &arguments.process {
        Some(process) => names.find(process).map_err(|why| why.within(format!("--process {process}")).into()),
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
