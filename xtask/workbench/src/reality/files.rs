//! Job files on real file systems: the real fio on ext4 and xfs, on a loop device over a timed disk, and the same jobs
//! in the simulator.
//!
//! The disk keeps what is written in a sparse file, so its model is ours and its contents are real. A file system is
//! made fresh for each kind, `data1` to `data3` are laid out in it, and what a job makes is removed after its run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use blksched::Span;
use blksched_disks::DiskSpec;
use blksched_simulate::Surroundings;
use blksched_simulate::reality::{Bench, Cell, RealitySetting, Row, SYNC, Set, judge};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::HostKnobs;
use blksched_workloads::host::fs::{BlockMap, FsKind};

use super::chain::device;
use super::fio;
use super::groups::Groups;
use super::workers::Workers;
use super::{Job, load};
use crate::timed_disk::TimedDisk;
use crate::{Verdict, shell};

const SET: &str = "testdata/reality/6.18-files";
const JOBS: &str = "file-jobs";
/// Files that jobs find, and their lengths \[MiB\].
const DATA: [(&str, usize); 3] = [("data1", 256), ("data2", 128), ("data3", 64)];
/// What agrees \[part\].
const TOLERANCE: f64 = 0.2;

/// What is to be measured.
pub struct Wanted<'a> {
    pub kinds: &'a [String],
    pub jobs: &'a [String],
    pub schedulers: &'a [String],
    pub repeats: u32,
}

/// The target of write-back throttling by scheduler, as sysfs has it when the scheduler is chosen \[us\]: a loop device
/// of 6.18 keeps it under BFQ, too.
type Throttling = BTreeMap<String, u32>;

/// A mounted file system; unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn at(kind: FsKind, device: &Path, place: &Path) -> Result<Mounted> {
        fs::create_dir_all(place)?;
        // Some seconds after mounting the kernel would read all block groups' bitmaps, of ext2 and ext3 one by one.
        let options = if kind.is_ext() { "noatime,no_prefetch_block_bitmaps" } else { "noatime" };
        done(Command::new("mount").args(["-o", options]).arg(device).arg(place))?;
        Ok(Mounted(place.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = done(Command::new("umount").arg(&self.0)) {
            eprintln!("{} stays mounted: {error}", self.0.display());
        }
    }
}

fn done(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("running {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// # Errors
/// If a file system is not modelled or cannot be made, or a job cannot be run or predicted.
pub fn run(wanted: &Wanted<'_>) -> Result<Verdict> {
    let kinds = wanted.kinds.iter().map(|word| FsKind::named(word)).collect::<Result<Vec<_>, _>>()?;
    let folder = shell::root().join(SET);
    let set = load(&folder)?;
    let setting = &set.settings[0];
    let jobs = jobs(&folder.join(JOBS), wanted.jobs)?;
    let spec = setting.spec(0.0).map_err(anyhow::Error::msg)?;
    let target = shell::target().join(format!("xtask/files-{}", std::process::id()));
    fs::create_dir_all(&target)?;
    let mut good = true;
    for kind in kinds {
        let (measured, throttling) = measure(kind, (&set, setting, &spec), &jobs, wanted, &target)?;
        let predicted = predict(kind, (&set, setting), &jobs, wanted, &throttling)?;
        good &= report(kind, &measured, &predicted);
    }
    // What is still mounted cannot be removed.
    fs::remove_dir_all(&target).ok();
    Ok(Verdict::when(good))
}

fn jobs(folder: &Path, wanted: &[String]) -> Result<Vec<Job>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let name = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    files.retain(|file| wanted.is_empty() || wanted.iter().any(|start| name(file).starts_with(start)));
    files.iter().map(|file| Ok(Job { name: name(file), text: fs::read_to_string(file)? })).collect()
}

/// Makes the file system in the disk's contents, with the files that jobs find.
fn make(kind: FsKind, contents: &Path, sectors: u64, place: &Path) -> Result<()> {
    File::create(contents)?.set_len(sectors * 512)?;
    let force = if kind == FsKind::Xfs { "-f" } else { "-F" };
    done(Command::new(format!("mkfs.{kind}")).arg("-q").arg(force).arg(contents))?;
    fs::create_dir_all(place)?;
    done(Command::new("mount").args(["-o", "loop,noatime"]).arg(contents).arg(place))?;
    let mounted = Mounted(place.to_owned());
    for (name, mib) in DATA {
        let file = File::create(place.join(name))?;
        let mut writer = &file;
        for _ in 0..mib {
            std::io::Write::write_all(&mut writer, &[0x5a; 1 << 20])?;
        }
        file.sync_all()?;
    }
    drop(mounted);
    Ok(())
}

fn measure(
    kind: FsKind,
    (set, setting, spec): (&Set, &RealitySetting, &DiskSpec),
    jobs: &[Job],
    wanted: &Wanted<'_>,
    target: &Path,
) -> Result<(Vec<Row>, Throttling)> {
    let (contents, place) = (target.join(format!("{kind}.contents")), target.join(format!("{kind}.mnt")));
    let facts = spec.build(0).facts();
    make(kind, &contents, facts.sectors, &place)?;
    let file = File::options().read(true).write(true).open(&contents)?;
    let disk = TimedDisk::mount_over(spec, &target.join(format!("{kind}.disk")), Some(file))?;
    let (mut rows, mut workers, mut throttling) = (Vec::new(), Workers::default(), Throttling::new());
    for repeat in 0..wanted.repeats {
        for (job, scheduler) in jobs.iter().flat_map(|job| schedulers(wanted).map(move |scheduler| (job, scheduler))) {
            let device = device(&disk, set, setting, facts, (scheduler, &Default::default()))?;
            throttling.insert(scheduler.to_owned(), device.number_in("wbt_lat_usec")?);
            let mounted = Mounted::at(kind, device.path(), &place)?;
            let before = names(&place)?;
            // What is read is to come from the disk.
            fs::write("/proc/sys/vm/drop_caches", "3").context("dropping the page cache")?;
            look_up(kind, &place)?;
            let groups = Groups::make("files", &[])?;
            let text = in_folder(&fio::text(&kept_names(&job.text), Path::new("/dev/none"), &groups), &place);
            let file = target.join(format!("{}.fio", job.name));
            fs::write(&file, text)?;
            workers.hurry();
            let output = fio::run(&file)?;
            let own = (job.name.clone(), scheduler.to_owned());
            let at = Row { job: own.0, scheduler: own.1, repeat, ..Row::default() };
            rows.extend(fio::rows(&output, &at));
            rows.extend(fio::syncs(&output, &at));
            for name in names(&place)?.into_iter().filter(|name| !before.contains(name)) {
                fs::remove_file(place.join(name))?;
            }
            drop(mounted);
            eprintln!("{kind} {} {scheduler} {repeat}", job.name);
        }
    }
    drop(disk);
    Ok((rows, throttling))
}

fn schedulers<'a>(wanted: &'a Wanted<'_>) -> impl Iterator<Item = &'a str> {
    let usual = ["none", "mq-deadline", "kyber", "bfq"];
    let all = usual.into_iter().filter(|_| wanted.schedulers.is_empty());
    all.chain(wanted.schedulers.iter().map(String::as_str))
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// Has the inodes of a folder's files in memory, as predictions have them. Otherwise fio reads them before it starts a
/// job, and whether it did decides whether BFQ merges the jobs' queues: it compares them with the queue created last,
/// unless that is older than 600 ms. So are the indirect blocks of ext2 and ext3, one for each 4 MiB.
fn look_up(kind: FsKind, folder: &Path) -> Result<()> {
    for name in names(folder)? {
        let path = folder.join(&name);
        let found = fs::metadata(&path).with_context(|| format!("looking up {name}"))?;
        if kind.block_map() == BlockMap::Indirect && found.is_file() {
            // It asks for every block's place, and reads no data.
            done(Command::new("filefrag").arg(&path))?;
        }
    }
    // So long that it forgets ours, too.
    thread::sleep(Duration::from_secs(1));
    Ok(())
}

/// File names under another key, so that they are not taken for a device's.
fn kept_names(text: &str) -> String {
    text.replace("\nfilename=", "\n#filename=")
}

/// The job file in this folder, with its own file names.
fn in_folder(text: &str, place: &Path) -> String {
    text.replace("\n#filename=", "\nfilename=").replace("directory=/mnt\n", &format!("directory={}\n", place.display()))
}

fn predict(
    kind: FsKind,
    (set, setting): (&Set, &RealitySetting),
    jobs: &[Job],
    wanted: &Wanted<'_>,
    throttling: &Throttling,
) -> Result<Vec<Row>> {
    let mut bench = set.bench(setting, 0.0).map_err(anyhow::Error::msg)?;
    // fio runs as a real-time process there.
    bench.around.host = HostKnobs { real_time_writers: true, ..bench.around.host };
    let mut rows = Vec::new();
    for job in jobs {
        let file = JobFile::parse(&job.text, &job.name).map_err(|errors| anyhow!("{errors}"))?;
        let plan = file.plan_on(bench.disk.build(0).facts().sectors, kind).map_err(|errors| anyhow!("{errors}"))?;
        let plan = std::sync::Arc::new(plan);
        for scheduler in schedulers(wanted) {
            let wbt_latency = throttling.get(scheduler).map(|us| Span::from_us(u64::from(*us)));
            let bench = Bench { around: Surroundings { wbt_latency, ..bench.around }, ..bench.clone() };
            rows.extend(bench.predict_all(&plan, (&job.name, scheduler)).map_err(anyhow::Error::msg)?);
        }
    }
    Ok(rows)
}

/// Prints both, and the table by class. Good if nine of ten bandwidths are within 20 %.
fn report(kind: FsKind, measured: &[Row], predicted: &[Row]) -> bool {
    let (syncs, cells): (Vec<Cell>, Vec<Cell>) =
        Cell::pair(measured, predicted).into_iter().partition(|cell| cell.measured.dir == SYNC);
    for Cell { measured: real, predicted: ours } in cells.iter().chain(&syncs) {
        println!(
            "{kind} {:<22} {:<22} {:<12} {:>9.1} {:>9.1} KiB/s {:>9.2} {:>9.2} ms",
            real.job,
            format!("{} {}", real.process, real.dir),
            real.scheduler,
            real.bandwidth / 1024.0,
            ours.bandwidth / 1024.0,
            real.latency_us / 1e3,
            ours.latency_us / 1e3
        );
    }
    let near = |cell: &&Cell| (cell.predicted.latency_us / cell.measured.latency_us - 1.0).abs() <= TOLERANCE;
    let syncing: Vec<&str> = syncs.iter().map(|cell| cell.measured.job.as_str()).collect();
    let mut classes: BTreeMap<&str, Vec<Cell>> = BTreeMap::new();
    for cell in &cells {
        let class = if syncing.contains(&cell.measured.job.as_str()) { "with syncs" } else { "without syncs" };
        classes.entry(class).or_default().push(cell.clone());
    }
    println!("| class | bandwidth within 20 % | mean sync within 20 % | pairs of schedulers in the right direction |");
    println!("|---|---|---|---|");
    for (class, own) in &classes {
        let judged = judge(own);
        let sync = if *class == "with syncs" {
            format!("{} of {}", syncs.iter().filter(near).count(), syncs.len())
        } else {
            "–".to_owned()
        };
        let ((right, all), (pairs, agreed)) = (judged.within, judged.pairs);
        println!("| {kind} {class} | {right} of {all} | {sync} | {agreed} of {pairs} |");
    }
    let (right, all) = judge(&cells).within;
    10 * right >= 9 * all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_own_files_stay_its_own_in_the_folder() {
        let text = "[global]\ndirectory=/mnt\n[a]\nfilename=data1\n[b]\nsize=1m\n";
        let text = fio::text(&kept_names(text), Path::new("/dev/none"), &Groups::make("us", &[]).unwrap());
        let expected = "[global]\nprioclass=2\nprio=4\ndirectory=/x\n[a]\nfilename=data1\n[b]\nsize=1m\n";
        assert_eq!(in_folder(&text, Path::new("/x")), expected);
    }

    /// The jobs that are recorded, and no others, are those that can be run again.
    #[test]
    fn every_job_is_predicted_on_each() {
        let folder = shell::root().join(SET);
        let (set, jobs) = (load(&folder).unwrap(), jobs(&folder.join(JOBS), &["f8".to_owned()]).unwrap());
        let schedulers = ["none".to_owned()];
        let wanted = Wanted { kinds: &[], jobs: &[], schedulers: &schedulers, repeats: 1 };
        for kind in [FsKind::Ext4, FsKind::Ext3, FsKind::Ext2, FsKind::Xfs] {
            let rows = predict(kind, (&set, &set.settings[0]), &jobs, &wanted, &Throttling::new()).unwrap();
            assert!(rows.iter().any(|row| row.dir == SYNC) && rows.iter().any(|row| row.process == "reader"), "{kind}");
        }
    }
}
