//! `blksched experiment`: published tables beside ours, and why.

mod answered;
mod arguments;
mod closing;
mod csv;
mod json;
mod null;
mod page;
mod vmstat;

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

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
    if arguments.null {
        return null::run(arguments, &experiments, catalogue);
    }
    let mut pages = PageByPage::default();
    let answered = simulate(arguments, experiments, &mut pages)?;
    #[cfg_attr(not(feature = "pictures"), expect(unused_mut, reason = "pictures add notes"))]
    let mut notes: Vec<String> = Vec::new();
    #[cfg(feature = "pictures")]
    if let Some(file) = &arguments.report {
        let pictures = Pictures { report: Some(file.clone()), ..Pictures::default() };
        let published = answered.iter().map(Answered::published).collect();
        notes = report::experiments(&pictures, published, json::text(&answered))?;
    }
    let broken: Vec<String> = answered.iter().flat_map(Answered::broken).collect();
    match arguments {
        ExperimentArguments { json: true, .. } => output::print(&json::text(&answered))?,
        ExperimentArguments { csv: true, .. } => output::print(&csv::text(&answered))?,
        _ => pages.last(&(closing::text(arguments, &answered) + &output::notes(&notes)))?,
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::Outside(format!("outside the claimed bounds: {}", broken.join("; "))))
}

/// Pages as they come: into a pipe each at once, on a terminal together, since they go through a pager.
#[derive(Default)]
struct PageByPage {
    kept: String,
    printed: usize,
}

impl PageByPage {
    /// The next page. An empty line stands before each but the first.
    fn page(&mut self, text: &str) -> Result<(), Failure> {
        let gap = if self.printed == 0 { "" } else { "\n" };
        self.printed += 1;
        self.kept += gap;
        self.kept += text;
        if std::io::stdout().is_terminal() { Ok(()) } else { self.flush() }
    }

    /// What stands below all pages.
    fn last(&mut self, text: &str) -> Result<(), Failure> {
        self.kept += text;
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        Ok(output::print(&core::mem::take(&mut self.kept))?)
    }
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

/// Runs one experiment after the other, each with all its runs and seeds on all cores; prints each page as soon as it
/// is there.
fn simulate(
    arguments: &ExperimentArguments,
    experiments: Vec<Experiment>,
    pages: &mut PageByPage,
) -> Result<Vec<Answered>, Failure> {
    let seeds = |experiment: &Experiment| arguments.seeds.unwrap_or(experiment.seeds);
    let progress = Progress::new(experiments.iter().map(|e| e.runs.len() * seeds(e) as usize).sum());
    let interrupted = crate::interrupt::noticed();
    let mut answered = Vec::new();
    for experiment in experiments {
        let (asked, seeds, began) = (asked(arguments, &experiment), seeds(&experiment), Instant::now());
        let run = |run: usize, seed: u64| experiment.runs[run].simulate_asked(seed, &asked[run]);
        let Some(outcomes) = each(&experiment.simulations(seeds), &run, &progress, &interrupted)
            .map_err(|error| Failure::Input(format!("{}: {error}", experiment.name)))?
        else {
            output::warn(&format!("interrupted: {} was not run", experiment.name));
            continue;
        };
        let answer = experiment.answer(&outcomes);
        let one = Answered { answer, experiment, seeds, outcomes, took: began.elapsed() };
        if !arguments.json && !arguments.csv {
            progress.aside(|| pages.page(&page::text(&one, arguments.vmstat)))?;
        }
        answered.push(one);
    }
    progress.finish();
    if answered.is_empty() && interrupted.load(Ordering::Relaxed) {
        return Err(Failure::Outside("interrupted before any experiment had run".to_owned()));
    }
    Ok(answered)
}

/// The outcomes of these runs and seeds, on all cores; `None` if the user interrupted.
fn each(
    simulations: &[(usize, u64)],
    run: &(dyn Fn(usize, u64) -> Result<RunOutcome, String> + Sync),
    progress: &Progress,
    interrupted: &AtomicBool,
) -> Result<Option<Vec<RunOutcome>>, String> {
    let one = |&(nth, seed): &(usize, u64)| {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let outcome = run(nth, seed);
        progress.step();
        outcome.map(Some)
    };
    let outcomes: Result<Vec<Option<RunOutcome>>, String> = simulations.par_iter().map(one).collect();
    Ok(outcomes?.into_iter().collect())
}
