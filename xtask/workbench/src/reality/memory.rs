//! One memory above two disks: buffered writers of the real fio on two loop devices over timed disks, and the same jobs
//! in the simulator.
//!
//! **What it changes** `vm.dirty_bytes` and `vm.dirty_background_bytes` of the whole machine, and for a job that asks
//! the slow disk's files in `/sys/class/bdi`. All are put back. Whatever else writes meanwhile has its share of the
//! limits, too: the machine has to be quiet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use blksched::{Catalogue, Span};
use blksched_disks::DiskSpec;
use blksched_lab::scene::{HostSettings, Stage};
use blksched_lab::{Error, Files, Scene};
use blksched_simulate::reality::{Row, read, rows_of, write};

use super::Job;
use super::fio;
use super::groups::Groups;
use super::workers::Workers;
use crate::loop_device::LoopDevice;
use crate::timed_disk::TimedDisk;
use crate::{Verdict, shell};

const SET: &str = "testdata/reality/6.18-memory";
/// The set's disks, by the names that its jobs give them.
const DISKS: [(&str, &str); 2] = [("sda", "fast.toml"), ("sdb", "slow.toml")];
/// The machine's limits while a job runs \[bytes\]: small enough to be full after a second.
const DIRTY: [(&str, u64); 2] = [("dirty_bytes", 64 << 20), ("dirty_background_bytes", 32 << 20)];
/// Longer requests would be cut by the disks.
const MAX_SECTORS_KB: u32 = 128;
const TAGS: u32 = 64;
/// Which rates agree \[part\].
const TOLERANCE: f64 = 0.2;
/// Which latencies agree.
const FACTOR: f64 = 1.5;
/// Latencies below this are the processor's, not the memory's, and count as equal \[us\].
const PROCESSOR: f64 = 50.0;

/// Files of the kernel that hold other text for a while.
#[derive(Default)]
struct Borrowed(Vec<(PathBuf, String)>);

/// The file of the other half of a pair: a limit in bytes that is 0 is unused, and its ratio holds.
fn ratio_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy().replace("_bytes", "_ratio");
    file.with_file_name(name)
}

impl Borrowed {
    fn set(&mut self, file: PathBuf, text: &str) -> Result<()> {
        let before = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let is_unused = before.trim() == "0" && file.to_string_lossy().contains("/dirty_");
        let own = if is_unused { ratio_of(&file) } else { file.clone() };
        let before = fs::read_to_string(&own).with_context(|| format!("reading {}", own.display()))?;
        fs::write(&file, text).with_context(|| format!("writing {text} to {}", file.display()))?;
        self.0.push((own, before.trim().to_owned()));
        Ok(())
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        for (file, text) in self.0.iter().rev() {
            if let Err(error) = fs::write(file, text) {
                eprintln!("{}: {error}: it was {text}", file.display());
            }
        }
    }
}

/// # Errors
/// If a device cannot be made or set, or a job cannot be predicted.
pub fn run(repeats: u32, record: bool, recorded: bool) -> Result<Verdict> {
    let folder = shell::root().join(SET);
    let jobs = jobs(&folder)?;
    let rows = match recorded {
        true => read("measured.tsv", &fs::read_to_string(folder.join("measured.tsv"))?).map_err(anyhow::Error::msg)?,
        false => measure(&folder, &jobs, repeats)?,
    };
    if record {
        fs::write(folder.join("measured.tsv"), write(&rows))?;
    }
    let compared = compare(&folder, &jobs, &rows)?;
    let told = ["MiB/s", "mean us", "p99 us"];
    for Compared { what, is_free, figures } in &compared {
        let pace = if *is_free { "" } else { " (rate by its think time)" };
        println!("{what}{pace}");
        for (unit, Figure { measured, predicted, .. }) in told.into_iter().zip(figures) {
            let (least, mean, most) = measured;
            print!("    {unit:<7} {mean:>10.1} ({least:.1} to {most:.1})");
            println!(", predicted {predicted:>10.1}, {:>6.2}", predicted / mean);
        }
    }
    let (near, all) = near_rates(&compared);
    println!("{near} of {all} rates within {:.0} %", 100.0 * TOLERANCE);
    for (nth, what) in [(1, "mean latencies"), (2, "p99")] {
        let (near, all) = near_latencies(&compared, nth);
        println!("{near} of {all} {what} within a factor of {FACTOR}");
    }
    Ok(Verdict::when(10 * near >= 9 * all))
}

fn jobs(folder: &Path) -> Result<Vec<Job>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "fio"));
    files.sort();
    let job = |file: PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Job { name, text: fs::read_to_string(&file)? })
    };
    files.into_iter().map(job).collect()
}

/// What a job file asks of the host, in a comment.
fn asked(job: &Job) -> &str {
    job.text.lines().find_map(|line| line.strip_prefix("; host: ")).unwrap_or_default()
}

fn measure(folder: &Path, jobs: &[Job], repeats: u32) -> Result<Vec<Row>> {
    let target = shell::target().join(format!("xtask/memory-{}", std::process::id()));
    let timed: Vec<TimedDisk> = DISKS
        .iter()
        .map(|(name, file)| TimedDisk::mount(&load(folder, file)?, &target.join(name)))
        .collect::<Result<_>>()?;
    let (mut rows, mut workers) = (Vec::new(), Workers::default());
    for repeat in 0..repeats {
        for job in jobs {
            // New ones, as in the simulation: of a device that it knows the kernel thinks what it learned before.
            let devices: Vec<LoopDevice> = timed.iter().map(device).collect::<Result<_>>()?;
            let mut borrowed = Borrowed::default();
            for (name, bytes) in DIRTY {
                borrowed.set(Path::new("/proc/sys/vm").join(name), &bytes.to_string())?;
            }
            for setting in asked(job).split(',').filter(|setting| !setting.is_empty()) {
                let (name, value) = setting.split_once('=').context("NAME:SETTING=VALUE")?;
                let setting = name.strip_prefix("sdb:").context("only the slow disk has limits of its own")?;
                let number = fs::read_to_string(format!("/sys/block/{}/dev", short(&devices[1])))?;
                let bytes = value.strip_suffix('m').map(|mib| mib.parse::<u64>().map(|mib| mib << 20)).transpose()?;
                let value = bytes.map_or(value.to_owned(), |bytes| bytes.to_string());
                borrowed.set(Path::new("/sys/class/bdi").join(number.trim()).join(setting), &value)?;
            }
            let mut text = fio::text(&job.text, Path::new("/dev/DISK"), &Groups::make("memory", &[])?);
            for ((name, _), device) in DISKS.iter().zip(&devices) {
                // The job's own names were replaced by one: each section's comes back by its place in the text.
                text = restored(&text, &job.text, name, device.path());
            }
            let file = target.join(format!("{}.fio", job.name));
            fs::write(&file, text)?;
            workers.hurry();
            let output = fio::run(&file)?;
            fs::remove_file(&file)?;
            let place = Row {
                setting: "fast-and-slow".to_owned(),
                job: job.name.clone(),
                scheduler: "none".to_owned(),
                repeat,
                ..Row::default()
            };
            rows.extend(fio::rows(&output, &place));
            eprintln!("{} {repeat}", job.name);
        }
    }
    drop(timed);
    fs::remove_dir_all(&target).ok();
    Ok(rows)
}

/// The job with the device's path where the original has the disk's name.
fn restored(text: &str, original: &str, name: &str, device: &Path) -> String {
    let mut names = original.lines().filter(|line| line.starts_with("filename="));
    let line = |line: &str| match line.starts_with("filename=") {
        true if names.next() == Some(&format!("filename=/dev/{name}")) => format!("filename={}\n", device.display()),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn short(device: &LoopDevice) -> String {
    device.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn device(disk: &TimedDisk) -> Result<LoopDevice> {
    let device = LoopDevice::new_over(&disk.path())?;
    device.choose("none")?;
    device.set("nr_requests", &TAGS.to_string())?;
    device.set("max_sectors_kb", &MAX_SECTORS_KB.to_string())?;
    device.set("rotational", "0")?;
    device.set("write_cache", "write through")?;
    device.set("wbt_lat_usec", "0")?;
    Ok(device)
}

fn load(folder: &Path, file: &str) -> Result<DiskSpec> {
    Ok(blksched_disks::load(&folder.join(file).to_string_lossy())?)
}

/// The set's folder, in which disks are.
struct Folder<'a>(&'a Path);

impl Files for Folder<'_> {
    fn disk(&self, name: &str) -> Result<DiskSpec, Error> {
        blksched_disks::load(&self.0.join(name).to_string_lossy()).map_err(Error::Disk)
    }
}

/// What each process of a job writes, by the simulator.
fn predict(folder: &Path, job: &Job) -> Result<Vec<Row>> {
    let dirty = DIRTY.map(|(name, bytes)| format!("{name}={bytes}")).join(",");
    // fio runs as a real-time process there.
    let host = format!("memory=16g,{dirty},cpus=2,real_time_writers=1,{}", asked(job));
    let host = HostSettings::parse(&host, &|_| None).map_err(|error| anyhow!("{}", error.message))?;
    let disks = DISKS.map(|(name, file)| format!("{name}={file}")).join(",");
    let scene = Scene {
        host,
        depth: Some(TAGS),
        nr_requests: Some(TAGS),
        max_sectors_kb: Some(MAX_SECTORS_KB),
        wbt_lat_usec: Some(0),
        ..Scene::of_jobs(&job.name, &job.text, &disks)
    };
    let catalogue = Catalogue::builtin();
    // The scene's settings are about the first disk; the other one has its own behind the scheduler's name.
    let [(fast, _), (slow, _)] = DISKS;
    let slow = format!("{slow}=none:nr_requests={TAGS}:wbt_lat_usec=0:max_sectors_kb={MAX_SECTORS_KB}");
    let elevators = [format!("{fast}=none"), slow];
    let stage = Stage::load(&scene, &Folder(folder)).and_then(|stage| stage.under(&elevators, &scene, &catalogue));
    let stage = stage.map_err(|error| anyhow!("{error}"))?;
    let contender = stage.one_contender(None, &scene, &catalogue).map_err(|error| anyhow!("{error}"))?;
    let found = stage.trial(&scene, &contender, Span::from_secs(90)).simulate()?;
    let rows = rows_of(&stage.plan, &found, &Row::default());
    Ok(rows.into_iter().filter(|row| row.dir == "write").collect())
}

/// A process, and its rate \[MiB/s\], mean and p99 \[us\].
struct Compared {
    what: String,
    /// No think time decides its rate.
    is_free: bool,
    figures: [Figure; 3],
}

/// Over the repeats: the least, the mean and the most; and what is predicted.
struct Figure {
    measured: (f64, f64, f64),
    predicted: f64,
}

fn compare(folder: &Path, jobs: &[Job], rows: &[Row]) -> Result<Vec<Compared>> {
    let mut all = Vec::new();
    for job in jobs {
        for predicted in predict(folder, job)? {
            let process = &predicted.process;
            let own = rows.iter().filter(|row| row.job == job.name && row.process == *process && row.dir == "write");
            let own: Vec<&Row> = own.collect();
            if own.is_empty() {
                continue;
            }
            let figure = |of: &dyn Fn(&Row) -> f64| {
                let each = || own.iter().map(|row| of(row));
                let (least, most) = (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max));
                Figure { measured: (least, each().sum::<f64>() / own.len() as f64, most), predicted: of(&predicted) }
            };
            let rate = |row: &Row| row.bandwidth / f64::from(1 << 20);
            all.push(Compared {
                what: format!("{} {process}", job.name),
                is_free: !thinks(job, process),
                figures: [figure(&rate), figure(&|row| row.latency_us), figure(&|row| row.p99_us)],
            });
        }
    }
    Ok(all)
}

/// Whether a section of the job has a think time.
fn thinks(job: &Job, section: &str) -> bool {
    let own = job.text.lines().skip_while(|line| *line != format!("[{section}]")).skip(1);
    own.take_while(|line| !line.starts_with('[')).any(|line| line.starts_with("thinktime="))
}

/// How many rates are near, of how many that no think time decides.
fn near_rates(compared: &[Compared]) -> (usize, usize) {
    let near =
        |Compared { figures, .. }: &&Compared| (figures[0].predicted / figures[0].measured.1 - 1.0).abs() <= TOLERANCE;
    let free: Vec<&Compared> = compared.iter().filter(|compared| compared.is_free).collect();
    (free.iter().copied().filter(near).count(), free.len())
}

/// The same for a latency: 1 is the mean, 2 p99.
fn near_latencies(compared: &[Compared], nth: usize) -> (usize, usize) {
    let near = |Compared { figures, .. }: &&Compared| {
        let Figure { measured: (_, measured, _), predicted } = figures[nth];
        let ratio = predicted.max(PROCESSOR) / measured.max(PROCESSOR);
        (1.0 / FACTOR..=FACTOR).contains(&ratio)
    };
    (compared.iter().filter(near).count(), compared.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is recorded agrees as docs/stack.md says.
    #[test]
    fn recorded_rates_are_predicted_as_well_as_documented() {
        let folder = shell::root().join(SET);
        let jobs = jobs(&folder).unwrap();
        let rows = read("measured.tsv", &fs::read_to_string(folder.join("measured.tsv")).unwrap()).unwrap();
        let compared = compare(&folder, &jobs, &rows).unwrap();
        let docs = fs::read_to_string(shell::root().join("docs/stack.md")).unwrap();
        let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ");
        let (near, all) = near_rates(&compared);
        assert!(docs.contains(&format!("{near} of {all} rates within 20 %")), "{near} of {all} rates");
        for (nth, what) in [(1, "means"), (2, "p99")] {
            let (near, all) = near_latencies(&compared, nth);
            assert!(docs.contains(&format!("{near} of {all} {what} within a factor of 1.5")), "{near} of {all} {what}");
        }
    }

    #[test]
    fn each_section_has_its_own_device() {
        let job = "[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb\n";
        let text = fio::text(job, Path::new("/dev/DISK"), &Groups::make("us", &[]).unwrap());
        let text = restored(&text, job, "sda", Path::new("/dev/loop1"));
        let text = restored(&text, job, "sdb", Path::new("/dev/loop2"));
        assert_eq!(text, "[a]\nfilename=/dev/loop1\n[b]\nfilename=/dev/loop2\n");
    }
}
