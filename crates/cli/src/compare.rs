//! `blksched compare`: one workload, many schedulers; what differs by more than the spread, and why.

mod action;
mod json;
mod measured;
mod memory;
mod memory_table;
mod spread;
mod tables;
mod udev;
mod verdict;

use blksched::Catalogue;
use blksched_simulate::{Findings, Grid};

use crate::args::{CompareArguments, Emit};
use crate::failure::Failure;
use crate::input::{Contender, Stage, contenders};
use crate::output::{self, Look};
use crate::progress::Progress;
use action::Action;
use measured::Measured;

pub(crate) fn run(arguments: &CompareArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let scene = &arguments.scene;
    let elevators = if arguments.elevators.is_empty() { usual(catalogue) } else { arguments.elevators.clone() };
    let contenders = contenders("--elevators", &elevators, &scene.set, catalogue)?;
    let (stage, no_logs) = Stage::load(scene)?.without_logs();
    if scene.parse_only {
        return Ok(output::print(&printed(&stage.notes()))?);
    }
    let runs = measure(arguments, &stage, &contenders)?;
    let of = |(contender, runs): (&Contender, &Vec<Findings>)| Measured::of(contender, &stage.plan, runs);
    let measured: Vec<Measured> = contenders.iter().zip(&runs).map(of).collect();
    let action = action::choose(&measured, arguments.goal);
    let mut sentences = verdict::sentences(&measured);
    sentences.extend(action::priorities(&measured));
    sentences.extend(action.as_ref().filter(|_| measured.len() > 1).map(Action::sentence));
    let mut notes = notes(arguments, &stage, &measured);
    notes.extend(contenders.iter().zip(&runs).flat_map(|(contender, runs)| gave_up(contender, &stage, runs)));
    notes.extend(no_logs);
    if arguments.json {
        return Ok(output::print(&json::text(arguments, &stage, &measured, &sentences, action.as_ref(), notes))?);
    }
    if let (Some(Emit::Udev), Some(action)) = (arguments.emit, &action) {
        let rotational = stage.disk.build(scene.seed).facts().rotational;
        return Ok(output::print(&udev::rules(&heading(arguments, &stage), &sentences, action, rotational))?);
    }
    let look = if arguments.markdown { Look::Markdown } else { Look::Text };
    let mut text = output::paragraph(&heading(arguments, &stage)) + "\n";
    for table in [tables::jobs(&measured, stage.plan.has_programs()), tables::disk(&measured)]
        .into_iter()
        .chain(memory_table::table(&measured))
    {
        text += &output::render(&table, look);
        text += "\n";
    }
    text += &sentences.iter().map(|sentence| output::paragraph(sentence)).collect::<String>();
    if action.is_some_and(|action| action.chosen.is_some()) {
        text += "With --emit udev this becomes a rule for your system.\n";
    }
    text += &printed(&notes);
    Ok(output::print(&text)?)
}

fn printed(notes: &[String]) -> String {
    notes.iter().map(|note| output::paragraph(&format!("note: {note}"))).collect()
}

/// What is compared unless somebody says otherwise: what a present kernel offers, then what was worth knowing before.
/// (Only those that the catalogue has.)
fn usual(catalogue: &Catalogue) -> Vec<String> {
    let is_known = |name: &&str| catalogue.entries().iter().any(|entry| entry.name == *name);
    USUAL.into_iter().filter(is_known).map(str::to_owned).collect()
}

const USUAL: [&str; 6] = ["none", "mq-deadline", "kyber", "bfq", "deadline", "cfq"];

/// Every contender with every seed.
fn measure(
    arguments: &CompareArguments,
    stage: &Stage,
    contenders: &[Contender],
) -> Result<Vec<Vec<Findings>>, Failure> {
    let scene = &arguments.scene;
    let trial = |contender: &Contender| stage.trial(scene, contender.choice.clone(), contender.knobs.clone());
    let seeds = (0..u64::from(arguments.seeds)).map(|nth| scene.seed.wrapping_add(nth)).collect();
    let grid = Grid::new(contenders.iter().map(trial).collect(), seeds);
    let progress = Progress::new(grid.len());
    let threads = arguments.threads.map_or(0, |threads| threads as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::Outside(error.to_string()))?;
    let results = pool.install(|| grid.run(|| progress.step()));
    progress.finish();
    results.map_err(Failure::input)
}

/// Which jobs ended before their time under an elevator, each once.
fn gave_up(contender: &Contender, stage: &Stage, runs: &[Findings]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for line in runs.iter().flat_map(|run| stage.gave_up(run)).map(|line| format!("{}: {line}", contender.name)) {
        if !told.contains(&line) {
            told.push(line);
        }
    }
    told
}

/// What was run, and under which defaults.
fn heading(arguments: &CompareArguments, stage: &Stage) -> String {
    let scene = &arguments.scene;
    let seeds = match arguments.seeds {
        1 => format!("seed {}", scene.seed),
        n => format!("{n} seeds from {}", scene.seed),
    };
    format!(
        "{} on {}, {seeds}; each run ends after {} of simulated time or when its jobs do",
        stage.workload.name, stage.disk.name, scene.time
    )
}

/// What a user should know about this comparison.
fn notes(arguments: &CompareArguments, stage: &Stage, measured: &[Measured]) -> Vec<String> {
    let mut notes = stage.notes();
    let time = arguments.scene.time;
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
    notes
}
