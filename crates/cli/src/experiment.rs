//! `blksched experiment`: published tables beside ours, and why.

mod answered;
mod arguments;
mod csv;
mod json;
mod page;
mod vmstat;

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

use blksched::Catalogue;
use blksched_simulate::experiment::{Asked, BUILTINS, Experiment, RunOutcome};
use blksched_text::path_of_name;
use rayon::prelude::*;

use crate::failure::Failure;
use crate::input::{bytes_of, text_of, text_of_file};
use crate::output;
#[cfg(feature = "pictures")]
use crate::pictures::Pictures;
use crate::progress::Progress;
#[cfg(feature = "pictures")]
use crate::report;
use answered::Answered;
pub(crate) use arguments::{ExperimentArguments, Vmstat};

pub(crate) fn run(arguments: &ExperimentArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let mut experiments = chosen(arguments, catalogue)?;
    if let Some(seed) = arguments.seed {
        experiments.iter_mut().for_each(|experiment| experiment.first_seed = seed);
    }
    if experiments.is_empty() {
        return Ok(output::print(&page::list(&load_all(catalogue)?))?);
    }
    if arguments.parse_only {
        return Ok(());
    }
    let answered = simulate(arguments, experiments)?;
    #[cfg_attr(not(feature = "pictures"), expect(unused_mut, reason = "pictures add notes"))]
    let mut notes: Vec<String> = Vec::new();
    #[cfg(feature = "pictures")]
    if let Some(file) = &arguments.report {
        let pictures = Pictures { report: Some(file.clone()), ..Pictures::default() };
        let published = answered.iter().map(Answered::published).collect();
        notes = report::experiments(&pictures, published, json::text(&answered))?;
    }
    let broken: Vec<String> = answered.iter().flat_map(Answered::broken).collect();
    output::print(&match arguments {
        ExperimentArguments { json: true, .. } => json::text(&answered),
        ExperimentArguments { csv: true, .. } => csv::text(&answered),
        ExperimentArguments { vmstat, .. } => page::text(&answered, *vmstat) + &output::notes(&notes),
    })?;
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::Outside(format!("outside the claimed bounds: {}", broken.join("; "))))
}

/// The experiments that the command line names; none if it names none.
fn chosen(arguments: &ExperimentArguments, catalogue: &Catalogue) -> Result<Vec<Experiment>, Failure> {
    if arguments.all {
        return load_all(catalogue);
    }
    arguments.names.iter().map(|name| load(name, catalogue)).collect()
}

fn load_all(catalogue: &Catalogue) -> Result<Vec<Experiment>, Failure> {
    BUILTINS.iter().map(|builtin| builtin.load(catalogue).map_err(Failure::input)).collect()
}

/// A built-in experiment, or a file.
fn load(name: &str, catalogue: &Catalogue) -> Result<Experiment, Failure> {
    if let Some(builtin) = BUILTINS.iter().find(|builtin| builtin.name == name) {
        return builtin.load(catalogue).map_err(Failure::input);
    }
    let path = &*path_of_name(name);
    if !name.ends_with(".toml") && !path.exists() {
        let known: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        let near = blksched_text::nearest(name, known.iter().copied());
        let hint = near.map_or(String::new(), |near| format!("; the nearest experiment is `{near}`"));
        let known = known.join(", ");
        return Err(Failure::Input(format!("`{name}` is neither a file nor an experiment{hint} (known: {known})")));
    }
    let text = text_of(name, File::open(path).and_then(bytes_of))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = |file: &str| text_of_file(&folder.join(file));
    Experiment::parse(&title_of(path), name, &text, catalogue, &read).map_err(Failure::input)
}

/// The directory's name for `my/experiment.toml`, otherwise the file's own.
fn title_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).map(|folder| folder.to_string_lossy().into_owned());
    if stem == "experiment" { folder.unwrap_or(stem) } else { stem }
}

/// What to record of each of its runs: everything, if runs are shown second by second or with what requests waited for;
/// otherwise only what its rows need.
fn asked(arguments: &ExperimentArguments, experiment: &Experiment) -> Vec<Asked> {
    if arguments.vmstat == Vmstat::Running || arguments.json || arguments.wants_report() {
        return vec![Asked::everything(); experiment.runs.len()];
    }
    experiment.asked()
}

/// Runs every run of every experiment with every seed, on all cores.
fn simulate(arguments: &ExperimentArguments, experiments: Vec<Experiment>) -> Result<Vec<Answered>, Failure> {
    let seeds = |experiment: &Experiment| arguments.seeds.unwrap_or(experiment.seeds);
    let all: Vec<(usize, usize, u64)> = experiments
        .iter()
        .enumerate()
        .flat_map(|(nth, e)| e.simulations(seeds(e)).into_iter().map(move |(run, seed)| (nth, run, seed)))
        .collect();
    let asked: Vec<Vec<Asked>> = experiments.iter().map(|experiment| asked(arguments, experiment)).collect();
    let progress = Progress::new(all.len());
    let interrupted = crate::interrupt::noticed();
    let outcomes: Result<Vec<Option<RunOutcome>>, String> = all
        .par_iter()
        .map(|&(nth, run, seed)| {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let outcome = experiments[nth].runs[run].simulate_asked(seed, &asked[nth][run]);
            progress.step();
            outcome.map(Some).map_err(|error| format!("{}: {error}", experiments[nth].name))
        })
        .collect();
    progress.finish();
    let mut outcomes = outcomes.map_err(Failure::Input)?.into_iter();
    let answered = |experiment: Experiment| {
        let seeds = seeds(&experiment);
        let all: Vec<Option<RunOutcome>> = outcomes.by_ref().take(experiment.runs.len() * seeds as usize).collect();
        let outcomes: Option<Vec<RunOutcome>> = all.into_iter().collect();
        let Some(outcomes) = outcomes else {
            anstream::eprintln!("interrupted: {} was not run", experiment.name);
            return None;
        };
        Some(Answered { answer: experiment.answer(&outcomes), experiment, seeds, outcomes })
    };
    let answered: Vec<Answered> = experiments.into_iter().filter_map(answered).collect();
    if answered.is_empty() && interrupted.load(Ordering::Relaxed) {
        return Err(Failure::Outside("interrupted before any experiment had run".to_owned()));
    }
    Ok(answered)
}
