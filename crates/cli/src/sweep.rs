//! `blksched sweep`: a plan of many runs, as Parquet; interrupted sweeps are resumed, and work is shared among
//! machines.

mod axis;
mod columns;
mod plan;
mod reader;
mod row;
mod runner;
mod shards;
mod store;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blksched::Catalogue;
use blksched_lab::scene::{Stage, Word};
use blksched_lab::{Files, Scene};
use blksched_text::{path_of_name, units};
use clap::Args;

use crate::failure::Failure;
use crate::input::{OnDisk, bytes_of, text_of, traces};
use crate::output;
use crate::progress::Progress;
pub(crate) use columns::SweepColumns;
use plan::SweepPlan;
pub(crate) use row::RunRows;
pub(crate) use runner::{digest_of, key_of};
use shards::Shard;
use store::Store;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArguments {
    /// The plan: a TOML file with loads, disks, schedulers, knobs, seeds (docs/sweep.md)
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// The folder for the Parquet files; runs that it already has are not repeated
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    /// Run only this part, the Ith of N of equal cost
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
    /// Check the plan, estimate the number of runs and their time, and run only a few pilots
    #[arg(long)]
    dry_run: bool,
    /// How much of the traces stays in memory, as in 4g; the rest lies in a temporary file ($TMPDIR or /var/tmp)
    /// [default: 128m]
    #[arg(long, value_name = "SIZE", value_parser = size_of_memory)]
    max_memory: Option<u64>,
    /// How many runs at a time [default: one per core]; the rows are the same with any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  blksched sweep plan.toml --dry-run
  blksched sweep plan.toml --out results
  blksched sweep plan.toml --out results --shard 3/16     on the third of sixteen machines
  duckdb -c \"SELECT scheduler, avg(clat_p99_ns)/1e6 AS ms FROM 'results/*.parquet' WHERE what = 'read' GROUP BY 1\"";

pub(crate) fn run(arguments: &SweepArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let plan = load(&arguments.plan, catalogue)?;
    if let Some(bytes) = arguments.max_memory {
        traces::at_most(bytes / TRACES_HELD);
    }
    for (nth, words) in plan.loads.iter().enumerate() {
        let group = nth as u64 * plan.disks.len() as u64;
        check_load(&plan.scene(group)).map_err(|why| within(&arguments.plan, words, why))?;
    }
    let shard = arguments.shard.unwrap_or(Shard::WHOLE);
    let whole = shard == Shard::WHOLE;
    let stretch = if whole { (0, plan.len()) } else { shards::stretch(&plan, &shards::costs(&plan), shard) };
    if arguments.dry_run {
        return Ok(output::print(&forecast(&plan, shard, stretch, threads(arguments))?)?);
    }
    let Some(folder) = &arguments.out else {
        return Err(Failure::Input("--out is missing: expected a folder for the rows".to_owned()));
    };
    let mut store = Store::open(folder, &shard.name(), SweepColumns::new(plan.knobs()))?;
    let interrupted = crate::interrupt::noticed();
    let before = store.take_keys();
    let progress = Progress::new((stretch.1 - stretch.0) as usize);
    let (made, skipped, failed) = (Cell::new(0_u64), Cell::new(0_u64), Cell::new(0_u64));
    let mut first = None;
    let took = |run: Option<RunRows>| {
        progress.step();
        let Some(run) = run else {
            skipped.set(skipped.get() + 1);
            return Ok(());
        };
        made.set(made.get() + 1);
        if let Some(why) = &run.error {
            failed.set(failed.get() + 1);
            first.get_or_insert_with(|| why.clone());
        }
        store.add(run)
    };
    let known = |key: u128| before.binary_search(&key).is_ok();
    let outcome = runner::run(&plan, stretch, threads(arguments), known, &interrupted, took);
    progress.finish();
    outcome?;
    store.finish()?;
    let (made, skipped, failed) = (made.get(), skipped.get(), failed.get());
    let mut text = format!("{made} new runs, {skipped} kept, in {}\n", folder.display());
    if made + skipped < stretch.1 - stretch.0 && interrupted.load(Ordering::Relaxed) {
        let left = stretch.1 - stretch.0 - made - skipped;
        text += &format!("interrupted: {left} runs are left; the same command resumes\n");
    }
    if let Some(why) = first {
        text += &format!("{failed} of them failed (column error); the first: {}\n", why.trim());
    }
    Ok(output::print(&text)?)
}

/// Checks job files, programs' parameters and names before anything runs; a trace's contents are checked later.
fn check_load(scene: &Scene) -> Result<(), Failure> {
    for name in &scene.jobs {
        match OnDisk.word(name, false) {
            Ok(Word::Trace(_)) => return Ok(()),
            // A file that exists but cannot be run is reported in its rows.
            Err(_) if path_of_name(name).is_file() => return Ok(()),
            other => drop(other?),
        }
    }
    Ok(Stage::load(scene, &OnDisk)?.is_alone_for(&[(true, "a sweep")])?)
}

/// Two loads are in memory at once: the previous one, being freed, and the next.
const TRACES_HELD: u64 = 2;

/// Parses `512m`, `4g`, `4GiB`.
fn size_of_memory(text: &str) -> Result<u64, String> {
    let bytes = units::number_or_letter(text).or_else(|| units::bytes(text));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "expected a size, as in 512m or 4g".to_owned())
}

/// How many runs a plan has, and how many of them each load has.
pub(crate) fn size(file: &str, text: &str) -> Result<(u64, u64), Failure> {
    let plan = SweepPlan::read(file, text, &Catalogue::builtin())?;
    Ok((plan.len(), plan.per_group() * plan.disks.len() as u64))
}

/// The rows of a stretch of a plan's runs, sorted.
pub(crate) fn stretch_of(
    file: &str,
    text: &str,
    (from, end): (u64, u64),
    threads: usize,
    stop: &AtomicBool,
) -> Result<(SweepColumns, Vec<RunRows>), Failure> {
    let plan = SweepPlan::read(file, text, &Catalogue::builtin())?;
    let mut runs = Vec::new();
    let stretch = (from, end.min(plan.len()));
    runner::run(
        &plan,
        stretch,
        threads.max(1),
        |_| false,
        stop,
        |run| {
            runs.extend(run);
            Ok(())
        },
    )?;
    runs.sort_by_cached_key(RunRows::place);
    Ok((SweepColumns::new(plan.knobs()), runs))
}

fn load(path: &Path, catalogue: &Catalogue) -> Result<SweepPlan, Failure> {
    let name = blksched_text::name_of_path(path.as_os_str());
    let text = text_of(&name, std::fs::File::open(path).and_then(bytes_of))?;
    SweepPlan::read(&name, &text, catalogue)
}

fn within(plan: &Path, words: &[String], why: Failure) -> Failure {
    match why {
        Failure::Input(text) => Failure::Input(format!("{}: load `{}`: {text}", plan.display(), words.join(" "))),
        other => other,
    }
}

fn threads(arguments: &SweepArguments) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    arguments.threads.map_or_else(cores, |threads| threads as usize)
}

/// How many groups are tried for a forecast.
const PILOTS: u64 = 3;

/// The number of runs, and an estimate of their time from a few pilots.
fn forecast(plan: &SweepPlan, shard: Shard, stretch: (u64, u64), threads: usize) -> Result<String, Failure> {
    let runs = stretch.1 - stretch.0;
    let mut text = format!(
        "{} runs: {} loads × {} disks × {} schedulers with their knobs × {} seeds\n",
        plan.len(),
        plan.loads.len(),
        plan.disks.len(),
        plan.settings(),
        plan.seeds()
    );
    if shard != Shard::WHOLE {
        text += &format!("{runs} of them are in shard {}/{}\n", shard.nth, shard.of);
    }
    let step = (runs / PILOTS).max(1);
    let tried = (0..PILOTS).map(|nth| stretch.0 + nth * step + step / 2).filter(|nth| *nth < stretch.1);
    let pilots: Vec<runner::Pilot> = tried.filter_map(|nth| runner::pilot(plan, nth)).collect();
    if !pilots.is_empty() {
        let mean = |pick: fn(&runner::Pilot) -> Duration| {
            pilots.iter().map(pick).sum::<Duration>().as_secs_f64() / pilots.len() as f64
        };
        let (laid_out, each) = (mean(|pilot| pilot.laid_out), mean(|pilot| pilot.ran));
        let groups = (stretch.1 - 1) / plan.per_group() - stretch.0 / plan.per_group() + 1;
        let all = groups as f64 * laid_out + each * runs as f64 / threads as f64;
        text += &format!(
            "about {} on {threads} threads: {:.2} ms a run, and {:.1} ms to prepare a load for a disk, \
             estimated from {} runs\n",
            clock(all),
            each * 1e3,
            laid_out * 1e3,
            pilots.len()
        );
    }
    Ok(text)
}

fn clock(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.1} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
