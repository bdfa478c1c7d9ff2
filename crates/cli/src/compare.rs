//! `blksched compare`: one workload, many schedulers; the significant differences, and their reasons.

mod action;
mod clones;
mod contrast;
mod cpu;
mod csv;
mod emit;
mod figure;
mod goal;
pub(crate) mod json;
#[cfg(feature = "sweep")]
mod judge;
mod matrix;
pub(crate) mod measured;
mod memory;
mod memory_table;
#[cfg(test)]
mod null;
pub(crate) mod outcome;
pub(crate) mod parquet;
mod recorded;
mod role;
mod runs;
pub(crate) mod sample;
mod sensitivity;
mod tables;
mod tune;
mod value;
mod values;
mod verdict;
mod why;

use blksched::Catalogue;
use blksched_measure::{Quantity, Table};
use blksched_simulate::{Length, Trial};

use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::input::{Contender, Stage, contenders, notes_on, notes_on_files, unthrottled};
use crate::output::{self, Look, Paint};
use crate::report::{self, Compared};
use crate::scene::Scene;
use crate::trust;
use crate::used;
use action::Action;
use contrast::Contrast;
pub(crate) use csv::quoted;
#[cfg(feature = "sweep")]
pub(crate) use judge::Judge;
pub(crate) use matrix::{MatrixArguments, run as matrix};
use measured::Measured;
use outcome::Outcome;
pub(crate) use role::Role;
use runs::Runs;
use sensitivity::Sensitivity;
pub(crate) use sensitivity::of_disk;

/// A finished comparison.
struct Comparison<'a> {
    arguments: &'a CompareArguments,
    stage: &'a Stage,
    length: Length,
    /// The first seed.
    first: u64,
    measured: &'a [Measured],
    contrasts: &'a [Vec<Contrast>],
    action: Option<&'a Action<'a>>,
    /// What each knob that a search changed is worth.
    worth: Option<Table>,
    /// The settings in force around each scheduler.
    used: Vec<(String, Trial)>,
    /// A trace's recorded figures beside the simulated ones.
    beside: Option<Table>,
    /// What the verdict depends on.
    sensitivity: Option<Sensitivity>,
    sentences: Vec<String>,
    notes: Vec<String>,
}

pub(crate) fn run(arguments: &CompareArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    if arguments.wide {
        output::be_wide();
    }
    let single =
        [(arguments.csv, "--csv"), (arguments.emit.is_some(), "--emit"), (arguments.pictures.any(), "--report")];
    Stage::in_turn(&arguments.scene, &single, arguments.json, |stage| of(arguments, stage, catalogue))
}

/// Runs the comparison on one disk.
fn of(arguments: &CompareArguments, stage: Stage, catalogue: &Catalogue) -> Result<(), Failure> {
    let scene = &arguments.scene;
    let (stage, no_logs) = stage.without_logs();
    if let (false, Some(two)) = (arguments.scene.parse_only, &arguments.why) {
        return why::run(arguments, &stage, two, catalogue);
    }
    let default = stage.kernel_default(scene);
    let elevators = elevators(arguments, catalogue, default, &stage);
    let mut contenders = contenders("--elevators", &elevators, &scene.set, catalogue)?;
    if scene.parse_only {
        return parsed(scene, &stage, &contenders);
    }
    let length = stage.settled(stage.length(scene, &contenders[0])?, scene, &contenders);
    let stage = stage.cut(length);
    let tuned = arguments.tune.as_ref().map(|name| tune::search(arguments, catalogue, &stage, name, length.limit));
    let tuned = tuned.transpose()?;
    let (mut first, mut seeds) = (scene.seed, arguments.seeds);
    if let Some(tuned) = &tuned {
        contenders.clone_from(&tuned.contenders);
        (first, seeds) = (first.wrapping_add(tune::HELD_BACK), seeds.max(tune::HELD_BACK_SEEDS));
    }
    let mut runs = Runs::new(arguments, &stage, &contenders, length.limit, first);
    let goal = runs.more(seeds, arguments.goal.as_deref())?;
    if arguments.until_sure {
        runs.until_sure(&goal)?;
    }
    let measured = runs.measured();
    let contrasts = contrast::contrasts(&measured, runs.looks);
    let worth = match (&tuned, measured.get(1)) {
        (Some(tuned), Some(best)) => tuned.worth(arguments, &stage, best, &goal, length.limit)?,
        _ => None,
    };
    let unranked = stage.workload.unranked.as_ref().map(|why| format!("No ranking: the trace {why}."));
    let action = action::choose(&measured, &contrasts, goal.clone(), runs.looks).filter(|_| unranked.is_none());
    let (beside, wrong) = recorded::judge(&stage, &runs.done[0], &contenders[0].name, action.as_ref());
    let action = action.filter(|_| wrong.is_none());
    let sensitivity = sensitivity::below(&runs, &measured, &goal, action.as_ref())?;
    let mut sentences = sentences(&measured, &contrasts, unranked, action.as_ref());
    sentences.extend(wrong);
    let found = action.as_ref().is_some_and(|action| action.chosen().is_some());
    sentences.extend(tuned.iter().map(|tuned| tuned.sentence(found)));
    sentences.extend(sensitivity.as_ref().map(Sensitivity::sentence));
    let mut notes = notes(arguments, &stage, &measured, length);
    notes.extend(runs.notes());
    notes.extend(contenders.iter().zip(&runs.done).flat_map(|(contender, runs)| gave_up(contender, &stage, runs)));
    notes.extend(no_logs);
    notes.extend(notes_around(scene, &stage, &contenders, &measured));
    let used = contenders.iter().map(|one| (one.name.clone(), stage.trial(scene, one, length.limit))).collect();
    let (measured, contrasts, action) = (&measured[..], &contrasts[..], action.as_ref());
    let comparison = Comparison {
        arguments,
        stage: &stage,
        length,
        first,
        measured,
        contrasts,
        action,
        worth,
        used,
        beside,
        sensitivity,
        sentences,
        notes,
    };
    finish(comparison, &contenders)
}

/// Writes and prints everything that was asked for.
fn finish(mut comparison: Comparison<'_>, contenders: &[Contender]) -> Result<(), Failure> {
    let written = pictures(&comparison, contenders)?;
    comparison.notes.extend(written);
    if let Some(place) = comparison.arguments.rows.place()? {
        parquet::figures(&place, comparison.stage, comparison.measured, comparison.first)?;
        parquet::contrasts(&place, comparison.measured, comparison.contrasts)?;
    }
    print(&comparison)
}

/// Writes the report and the picture that were asked for.
fn pictures(comparison: &Comparison<'_>, contenders: &[Contender]) -> Result<Vec<String>, Failure> {
    let Comparison { arguments, stage, length, first, measured, sentences, notes, action, .. } = comparison;
    if !arguments.pictures.any() {
        return Ok(Vec::new());
    }
    let of = Compared {
        stage,
        scene: &arguments.scene,
        contenders,
        measured,
        heading: heading(comparison),
        proposed: action.and_then(|action| action.chosen()).map(|chosen| chosen.scheduler.name.clone()),
        used: used::line(&comparison.used, arguments.scene.host.cpu_name()),
        sentences,
        tables: comparison.worth.iter().chain(&comparison.beside).cloned().collect(),
        notes,
        json: json::text(comparison),
        csv: csv::text(comparison),
        first: *first,
        limit: length.limit,
    };
    report::compared(&arguments.pictures, &of)
}

/// The schedulers' specifications: the one whose knobs are searched, those named, or the usual ones.
fn elevators(arguments: &CompareArguments, catalogue: &Catalogue, default: &str, stage: &Stage) -> Vec<String> {
    match &arguments.tune {
        Some(name) => vec![name.clone()],
        None if arguments.elevators.is_empty() => {
            let mut names = usual(catalogue, default);
            let is_known = |name: &String| catalogue.parse(name).is_ok();
            names.splice(1..1, matrix::by_groups(&stage.plan).into_iter().filter(is_known));
            names
        }
        None => arguments.elevators.clone(),
    }
}

/// The verdict: what differs, and what to do; or why nothing can be ranked.
fn sentences(
    measured: &[Measured],
    contrasts: &[Vec<Contrast>],
    unranked: Option<String>,
    action: Option<&Action<'_>>,
) -> Vec<String> {
    let mut sentences = match unranked {
        Some(why) => vec![why],
        None => verdict::sentences(measured, contrasts),
    };
    sentences.extend(action::priorities(measured));
    sentences.extend(action.iter().filter(|_| measured.len() > 1).flat_map(|action| action.sentences()));
    sentences
}

/// With `--parse-only`: prints what is known without a run.
fn parsed(scene: &Scene, stage: &Stage, contenders: &[Contender]) -> Result<(), Failure> {
    let deaf = unthrottled(contenders, scene.wbt_lat_usec);
    let files = notes_on_files(contenders, &stage.plan);
    let notes: Vec<String> = notes_on(contenders).chain(files).chain(stage.notes()).chain(deaf).collect();
    Ok(output::print(&output::notes(&notes))?)
}

/// What a user should know about the settings around the schedulers.
fn notes_around(scene: &Scene, stage: &Stage, contenders: &[Contender], measured: &[Measured]) -> Vec<String> {
    let mut notes = stage.cpu_notes(scene);
    notes.extend(cpu::note(measured, scene.host.cpu_name()));
    notes.extend(of_no_cost(contenders, scene));
    notes.extend(notes_on(contenders));
    notes.extend(unthrottled(contenders, scene.wbt_lat_usec));
    notes.extend(notes_on_files(contenders, &stage.plan));
    notes
}

fn print(comparison: &Comparison<'_>) -> Result<(), Failure> {
    let Comparison { arguments, stage, measured, sentences, action, .. } = comparison;
    if output::is_kept() {
        let tables = tables::all(measured, stage.plan.has_programs(), arguments.wide);
        let html = tables.iter().chain(&comparison.worth).map(Table::html).collect();
        output::keep(json::text(comparison), html);
    }
    let text = match (arguments.json, arguments.csv, arguments.emit, action) {
        (true, ..) => json::text(comparison),
        (_, true, ..) => csv::text(comparison),
        (_, _, Some(what), Some(action)) => {
            let target = emit::EmitTarget::of(arguments, stage)?;
            emit::text(what, &heading(comparison), sentences, action, &target)
        }
        _ => {
            let look = if arguments.markdown { Look::Markdown } else { Look::Text };
            let used = used::line(&comparison.used, arguments.scene.host.cpu_name());
            let mut text = output::paragraph(&heading(comparison)) + &output::paragraph(&used) + "\n";
            let tables = tables::all(measured, stage.plan.has_programs(), arguments.wide);
            let hangs = comparison.sensitivity.as_ref().filter(|_| arguments.sensitivity).map(|it| it.table(None));
            for table in tables.iter().chain(&comparison.worth).chain(&comparison.beside).chain(&hangs) {
                text += &output::render(table, look);
                text += "\n";
            }
            text += &sentences.iter().map(|sentence| painted(sentence)).collect::<String>();
            if action.is_some_and(|action| action.chosen().is_some()) {
                text += "With --emit udev, tuned or sysfs this becomes a change to your system, and its undo.\n";
            }
            let truth = blksched_disks::sheet::truth(&stage.disk).sentence();
            text += &output::paragraph(&format!("Disk {}: {truth}.", stage.disk.name));
            let trust = trust::sentences(&stage.disk_name, &stage.disk).join(" ");
            text + &output::notes(&comparison.notes) + &output::paragraph(&trust)
        }
    };
    Ok(output::print(&text)?)
}

/// A sentence of the verdict; the recommendation is highlighted.
fn painted(sentence: &str) -> String {
    let text = output::paragraph(sentence);
    match sentence.split(' ').next() {
        Some("Use") => output::paint(&text, Paint::Green),
        Some("Not") => output::paint(&text, Paint::Yellow),
        Some("Keep" | "Nothing" | "One") => output::paint(&text, Paint::Bold),
        _ => text,
    }
}

/// The schedulers to compare by default: those that a present kernel offers, its default for such a disk first, then
/// historical ones. (Only those in the catalogue.)
fn usual(catalogue: &Catalogue, default: &str) -> Vec<String> {
    let is_known = |name: &&str| catalogue.entries().iter().any(|entry| entry.name == *name);
    let others = USUAL.into_iter().filter(|name| *name != default);
    std::iter::once(default).chain(others).filter(is_known).map(str::to_owned).collect()
}

const USUAL: [&str; 6] = ["none", "mq-deadline", "kyber", "bfq", "deadline", "cfq"];

/// The jobs that ended early under an elevator, each once.
fn gave_up(contender: &Contender, stage: &Stage, runs: &[Outcome]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for line in runs
        .iter()
        .flat_map(|run| stage.gave_up(run.jobs.iter().map(|job| job.gave_up)))
        .map(|line| format!("{}: {line}", contender.name))
    {
        if !told.contains(&line) {
            told.push(line);
        }
    }
    told
}

/// A note about the schedulers whose processor cost is unknown.
fn of_no_cost(contenders: &[Contender], scene: &Scene) -> Option<String> {
    let preset = scene.host.cpu.as_ref()?;
    let is_mq = |one: &&Contender| one.choice.build().slots.era().is_some();
    let names = |wanted: &dyn Fn(&&Contender) -> bool| -> Vec<&str> {
        contenders.iter().filter(wanted).map(|one| one.name.as_str()).collect()
    };
    let free = names(&|one| !is_mq(one));
    let unknown = names(&|one| is_mq(one) && preset.costs.known(one.choice.entry.name).is_none());
    let mut parts = Vec::new();
    if !unknown.is_empty() {
        parts.push(format!(
            "what {} costs the processor was not measured: mq-deadline's stands for it",
            unknown.join(", ")
        ));
    }
    if !free.is_empty() && free.len() < contenders.len() {
        parts.push(format!(
            "I/O costs no processor time under {}: the cost is not known for kernels before blk-mq",
            free.join(", ")
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What was run, and with which defaults.
fn heading(comparison: &Comparison<'_>) -> String {
    let Comparison { stage, length, first, measured, .. } = comparison;
    let seeds = measured[0].jain.values().len();
    let seeds = if seeds == 1 { format!("seed {first}") } else { format!("{seeds} seeds from {first}") };
    let limit = length.limit;
    let (phases, warm_up) = (stage.plan.phases(), length.warm_up_of_phase(&stage.plan));
    let phases = match phases {
        1 => String::new(),
        _ => format!(" in {phases} phases of at most {} each", limit / u64::from(phases)),
    };
    let counts = if stage.plan.jobs.iter().any(|job| job.report.ramp == warm_up) {
        format!(", the first {} of which are warm-up", Quantity::Time.show(warm_up.as_ns() as f64))
    } else {
        String::new()
    };
    format!(
        "{} on {}, {seeds}; runs of at most {limit} of simulated time{phases}{counts}",
        stage.workload.name, stage.disk.name
    )
}

/// What a user should know about this comparison.
fn notes(arguments: &CompareArguments, stage: &Stage, measured: &[Measured], length: Length) -> Vec<String> {
    let mut notes = stage.notes();
    let time = length.limit;
    let mut idle: Vec<&str> = Vec::new();
    for job in measured.iter().flat_map(|elevator| &elevator.jobs).filter(|job| job.work.is_empty()) {
        if !idle.contains(&job.name.as_str()) {
            idle.push(&job.name);
        }
    }
    if !idle.is_empty() {
        notes.push(format!("did nothing in {time}: {}; --time makes the runs longer", idle.join(", ")));
    } else if measured.iter().any(|m| !m.finished) && measured.iter().any(|m| m.finished) {
        notes.push(format!("some runs were cut off after {time}; --time makes them longer"));
    }
    if arguments.goal.is_none() && measured.iter().any(|m| m.misplaced.is_some()) {
        notes
            .push("--goal priorities asks which schedulers keep the priorities; this verdict goes by roles".to_owned());
    }
    notes
}
