//! `blksched compare`: one workload, many schedulers; what differs by more than the spread, and why.

mod json;
mod measured;
mod tables;
mod verdict;

use blksched::Catalogue;
use blksched_simulate::Grid;

use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::input::{Contender, Stage, contenders};
use crate::output::{self, Look};
use crate::progress::Progress;
use measured::Measured;

pub(crate) fn run(arguments: &CompareArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let scene = &arguments.scene;
    let contenders = contenders(&arguments.elevators, &scene.set, catalogue)?;
    let stage = Stage::load(scene)?;
    if scene.parse_only {
        let notes: String = stage.notes().iter().map(|note| format!("note: {note}\n")).collect();
        return Ok(output::print(&notes)?);
    }
    let measured = measure(arguments, &stage, &contenders)?;
    let sentences = verdict::sentences(&measured);
    if arguments.json {
        return Ok(output::print(&json::text(arguments, &stage, &measured, &sentences))?);
    }
    let look = if arguments.markdown { Look::Markdown } else { Look::Text };
    let mut text = heading(arguments, &stage);
    for table in [tables::jobs(&measured), tables::disk(&measured)] {
        text += &output::render(&table, look);
        text += "\n";
    }
    text += &sentences.iter().map(|sentence| output::paragraph(sentence)).collect::<String>();
    text += &notes(arguments, &stage, &measured);
    Ok(output::print(&text)?)
}

/// Every contender with every seed.
fn measure(arguments: &CompareArguments, stage: &Stage, contenders: &[Contender]) -> Result<Vec<Measured>, Failure> {
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
    let results = results.map_err(Failure::input)?;
    Ok(contenders.iter().zip(&results).map(|(contender, runs)| Measured::of(contender, &stage.plan, runs)).collect())
}

/// What was run, and under which defaults.
fn heading(arguments: &CompareArguments, stage: &Stage) -> String {
    let scene = &arguments.scene;
    let seeds = match arguments.seeds {
        1 => format!("seed {}", scene.seed),
        n => format!("{n} seeds from {}", scene.seed),
    };
    format!(
        "{} on {}, {seeds}; each run ends after {} of simulated time or when its jobs do\n\n",
        stage.workload, stage.disk.name, scene.time
    )
}

fn notes(arguments: &CompareArguments, stage: &Stage, measured: &[Measured]) -> String {
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
    notes.iter().map(|note| format!("note: {note}\n")).collect()
}
