//! `reality`: job files run by the real fio under each of the running kernel's schedulers, on disk models in real time,
//! and the same files in the simulator.
//!
//! A set's folder (`testdata/reality/6.18-live`) describes the disks and their tags; its jobs are beside it. Each disk
//! is a model behind FUSE in this process, with a loop device over it ([`chain`]). Before anything is measured, the
//! path is compared with the model alone ([`check`]); a run during which answers were late is repeated ([`work`]).
//! `--record` rewrites the set; without it a run reports, and passes if it meets the figures in [`judged`].

mod chain;
mod check;
mod files;
mod fio;
mod groups;
mod guest;
mod judged;
mod memory;
mod record;
mod trials;
mod work;
mod workers;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use blksched_simulate::reality::{Row, Set};

use crate::loop_device::LoopDevice;
use crate::timed_disk::{self, TimedDisk};
use crate::{Verdict, shell};
use work::{Found, Work};

const SET: &str = "testdata/reality/6.18-live";

const GUEST: &str = "testdata/reality/6.1-guest";

/// The arguments of the verb.
#[derive(clap::Args)]
pub struct Arguments {
    /// The set's directory [default: testdata/reality/6.18-live]
    #[arg(long)]
    set: Option<PathBuf>,
    /// In an emulated guest with an older kernel [set: testdata/reality/6.1-guest]
    #[arg(long, conflicts_with_all = ["at_a_time", "schedulers"])]
    guest: bool,
    /// With --guest: its disk is an export of `blksched serve` instead of a file behind FUSE
    #[arg(long, requires = "guest", conflicts_with = "record")]
    served: bool,
    /// Only disks whose name begins with this
    #[arg(long, default_value = "")]
    disk: String,
    /// Only jobs whose name begins with one of these, separated by commas
    #[arg(long, value_delimiter = ',')]
    jobs: Vec<String>,
    /// Only these schedulers
    #[arg(long, value_delimiter = ',')]
    schedulers: Vec<String>,
    /// How often to measure each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    repeats: u32,
    /// How many disks run at a time; on a small machine they disturb each other
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    at_a_time: u8,
    /// Write the measurements to the set's directory, with the kernel and the present results of the disks' models
    #[arg(long)]
    record: bool,
    /// Measure nothing: compare the predictions with the recorded set (needs no root)
    #[arg(long, conflicts_with_all = ["record", "guest", "at_a_time", "schedulers"])]
    recorded: bool,
    /// Measure nothing: count what these reports of trials (`blksched trial --share`) say of predictions
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["record", "guest", "recorded", "rows"])]
    trials: Vec<PathBuf>,
    /// Buffered writers to two disks with one memory [set: testdata/reality/6.18-memory]; changes the machine's dirty
    /// limits meanwhile
    #[arg(long, conflicts_with_all = ["guest", "trials", "rows", "set", "jobs", "schedulers", "at_a_time"])]
    memory: bool,
    /// Job files on these real file systems: ext4, xfs, ext3, ext2 [set: testdata/reality/6.18-files]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["memory", "guest", "trials", "rows", "set", "record", "recorded", "at_a_time"])]
    fs: Vec<String>,
    /// Only measure, and print the rows
    #[arg(long, conflicts_with = "record")]
    rows: bool,
}

/// A job file.
pub struct Job {
    pub name: String,
    pub text: String,
}

/// # Errors
/// If the set is wrong, or a device cannot be made or restored.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    if !arguments.trials.is_empty() {
        return trials::run(&arguments.trials).map(|()| Verdict::Good);
    }
    if let Some(missing) = missing().filter(|_| !arguments.recorded) {
        println!("skipped: {missing}");
        return Ok(Verdict::Good);
    }
    if !arguments.fs.is_empty() {
        let Arguments { fs: kinds, jobs, schedulers, repeats, .. } = arguments;
        return files::run(&files::Wanted { kinds, jobs, schedulers, repeats: *repeats });
    }
    if arguments.memory {
        return memory::run(arguments.repeats, arguments.record, arguments.recorded);
    }
    let usual = if arguments.guest { GUEST } else { SET };
    let folder = arguments.set.clone().unwrap_or_else(|| shell::root().join(usual));
    let mut set = load(&folder)?;
    set.settings.retain(|setting| setting.name.starts_with(&arguments.disk));
    let jobs = jobs(&folder.join(&set.jobs), &set, arguments)?;
    if arguments.recorded {
        let text = fs::read_to_string(folder.join("measured.tsv"))?;
        let rows = blksched_simulate::reality::read("measured.tsv", &text).map_err(anyhow::Error::msg)?;
        return judged::report(&set, &jobs, &rows.into_iter().filter(|row| has(&jobs, row)).collect::<Vec<_>>());
    }
    let target = shell::target().join(format!("xtask/reality-{}", std::process::id()));
    let all = match arguments.guest {
        true => in_guest(&mut set, &jobs, arguments, &target),
        false => here(&mut set, &jobs, arguments, &target),
    };
    // A directory that is still mounted cannot be removed.
    fs::remove_dir_all(&target).ok();
    let all = all?;
    all.refused.iter().for_each(|refused| println!("skipped: {refused}"));
    if arguments.rows {
        print!("{}", blksched_simulate::reality::write(&all.rows));
        return Ok(Verdict::Good);
    }
    if arguments.record {
        record::write(&folder, &set, &all.rows)?;
    }
    judged::report(&set, &jobs, &all.rows)
}

fn in_guest(set: &mut Set, jobs: &[Job], arguments: &Arguments, target: &Path) -> Result<Found> {
    if let Some(missing) = guest::missing() {
        return Ok(Found { refused: vec![missing], ..Found::default() });
    }
    let mut all = Found::default();
    for setting in set.settings.clone() {
        let how = guest::How { repeats: arguments.repeats, folder: target, served: arguments.served };
        let (kernel, found) = guest::run(set, &setting, jobs, &how)?;
        set.kernel = kernel;
        all.rows.extend(found.rows);
        all.refused.extend(found.refused);
    }
    Ok(all)
}

fn here(set: &mut Set, jobs: &[Job], arguments: &Arguments, target: &Path) -> Result<Found> {
    set.kernel = running()?;
    let schedulers = schedulers(set, target, arguments)?;
    let runs = set.settings.len() * jobs.len() * schedulers.len() * arguments.repeats as usize;
    let minutes = runs as f64 * 9.5 / 60.0 / f64::from(arguments.at_a_time);
    println!("Linux {}, {}: {runs} runs, some {minutes:.0} minutes", set.kernel, schedulers.join(", "));
    let mut all = Found::default();
    for setting in &set.settings {
        let (schedulers, at_a_time) = (&schedulers[..], arguments.at_a_time.into());
        let work = Work { set, setting, jobs, schedulers, repeats: arguments.repeats, at_a_time };
        let found = work.run(target)?;
        all.rows.extend(found.rows);
        all.refused.extend(found.refused);
    }
    Ok(all)
}

/// What this machine lacks.
fn missing() -> Option<String> {
    timed_disk::missing().or_else(|| match () {
        () if !Path::new("/dev/loop-control").exists() => Some("no loop devices here (/dev/loop-control)".to_owned()),
        () if shell::find_program("losetup").is_none() => Some("no losetup (Debian package mount)".to_owned()),
        () if shell::find_program("fio").is_none() => Some("no fio (Debian package fio)".to_owned()),
        () => None,
    })
}

fn load(folder: &Path) -> Result<Set> {
    let text = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let settings = text("settings.toml").map_err(anyhow::Error::msg)?;
    Set::parse(&settings, text).map_err(anyhow::Error::msg)
}

/// The first two numbers of the running kernel.
fn running() -> Result<String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let numbers: Vec<&str> = release.trim().split(['.', '-']).take(2).collect();
    Ok(numbers.join("."))
}

fn jobs(folder: &Path, set: &Set, arguments: &Arguments) -> Result<Vec<Job>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "fio"));
    files.sort();
    let mut jobs = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file)?;
        let asked = |jobs: &[String]| jobs.is_empty() || jobs.iter().any(|job| name.starts_with(job));
        let wanted = asked(&arguments.jobs) && asked(&set.only);
        match groups::missing().filter(|_| !fio::groups(&text).is_empty()) {
            Some(missing) if wanted => println!("skipped: {name}: {missing}"),
            None if wanted => jobs.push(Job { name, text }),
            _ => {}
        }
    }
    if jobs.is_empty() {
        bail!("no job file in {} has such a name", folder.display());
    }
    Ok(jobs)
}

/// The schedulers that this kernel offers for a loop device and that were asked for.
fn schedulers(set: &Set, folder: &Path, arguments: &Arguments) -> Result<Vec<String>> {
    let Some(setting) = set.settings.first() else { bail!("no disk of the set has such a name") };
    let spec = setting.spec(0.0).map_err(anyhow::Error::msg)?;
    let disk = TimedDisk::mount(&spec, &folder.join(format!("look-{}", std::process::id())))?;
    let mut offered = LoopDevice::over(disk.path())?.schedulers()?;
    if let Some(unknown) = arguments.schedulers.iter().find(|name| !offered.contains(name)) {
        bail!("--schedulers {unknown}: this kernel has {}", offered.join(", "));
    }
    offered.retain(|name| arguments.schedulers.is_empty() || arguments.schedulers.contains(name));
    offered.sort();
    Ok(offered)
}

fn has(jobs: &[Job], row: &Row) -> bool {
    jobs.iter().any(|job| job.name == row.job)
}

/// The rows of one setting.
fn of<'a>(rows: &'a [Row], setting: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.setting == setting)
}
