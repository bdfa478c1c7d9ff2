//! `live-kernel`: the running kernel's schedulers compared with ours, on a loop device over a slow file.
//!
//! fio writes and reads through the loop device while a tracefs instance of our own records what the block layer
//! inserts, issues and completes; our elevator is then given the same inserts and completions, and every issue is
//! compared. It needs root, loop devices, FUSE, tracefs, and fio; if anything is missing it is named, and nothing is
//! changed.
//!
//! Under random writes mq-deadline must agree on 199 of 200 issues, not counting differences that the trace cannot
//! show, and so must Kyber. The other scenes depend on more data that the trace does not show, so their agreement is
//! only reported.

mod slow_file;
mod tracing;

use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use blksched::{Catalogue, Choice};
use blksched_conformance::live::{Agreement, RecordedSurroundings, compare};
use blksched_traces::tracefs::{self, TracefsEvent, TracefsLine};

use crate::Verdict;
use crate::loop_device::LoopDevice;
use crate::shell;
use slow_file::SlowFile;
use tracing::Tracing;

/// Whether the decisions depend only on what the trace shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Everything,
    /// They also depend on this, which it does not show.
    Not(&'static str),
}

/// One recording.
struct Scene {
    scheduler: &'static str,
    load: &'static str,
    /// The jobs, after [`GLOBAL`].
    jobs: &'static str,
    shown: Shown,
}

const SCENES: [Scene; 5] = [
    Scene { scheduler: "mq-deadline", load: "random writes", jobs: WRITES, shown: Shown::Everything },
    Scene {
        scheduler: "mq-deadline",
        load: "reads and writes",
        jobs: BOTH,
        shown: Shown::Not("when the requests that wait for a tag were taken"),
    },
    Scene {
        scheduler: "mq-deadline",
        load: "two priority classes",
        jobs: CLASSES,
        shown: Shown::Not("how often the queue was run in vain while the higher class had something in flight"),
    },
    Scene { scheduler: "kyber", load: "reads and writes", jobs: BOTH, shown: Shown::Everything },
    Scene {
        scheduler: "bfq",
        load: "two priority classes",
        jobs: CLASSES,
        shown: Shown::Not("nanoseconds, processes' histories, and which queue a process shares"),
    },
];

/// On one CPU, so that there is one order of inserts.
const GLOBAL: &str = "\
[global]
direct=1
ioengine=libaio
bs=4k
time_based
runtime=6
cpus_allowed=0
thread
";

const WRITES: &str = "\
[writer]
rw=randwrite
iodepth=512
";

/// Each in its own part of the disk, so that a sector identifies a request.
const BOTH: &str = "\
[writer]
rw=randwrite
iodepth=192
size=96m
[reader]
rw=randread
iodepth=64
offset=96m
size=96m
";

const CLASSES: &str = "\
[writer]
rw=randwrite
iodepth=192
size=96m
[reader]
rw=randread
iodepth=64
offset=96m
size=96m
[urgent]
rw=randread
iodepth=8
offset=192m
size=64m
prioclass=1
prio=0
";

/// # Errors
/// If the machine cannot be restored.
pub fn run() -> Result<Verdict> {
    if let Some(missing) = missing() {
        println!("skipped: {missing}");
        return Ok(Verdict::Good);
    }
    let folder = shell::target().join("xtask/live-kernel");
    std::fs::create_dir_all(&folder)?;
    let file = SlowFile::mount(&folder.join("slow"))?;
    let device = LoopDevice::over(file.path())?;
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    println!("kernel {} on {}, {}", kernel.trim(), device.path().display(), slow_file::DESCRIPTION);
    let mut good = true;
    for scene in &SCENES {
        if !device.schedulers()?.iter().any(|known| known == scene.scheduler) {
            println!("{}: skipped, this kernel does not have it", scene.scheduler);
        } else if Catalogue::builtin().parse(scene.scheduler).is_err() {
            println!("{}: skipped, there is none here", scene.scheduler);
        } else {
            let lines = record(&device, scene, &folder)?;
            good &= report(&device, scene, &lines)?;
        }
    }
    Ok(Verdict::when(good))
}

/// What this machine lacks.
fn missing() -> Option<String> {
    let has = |path: &str| Path::new(path).exists();
    match () {
        () if !shell::is_root() => Some("only root can make a loop device and trace".to_owned()),
        () if !has("/dev/loop-control") => Some("no loop devices here (/dev/loop-control)".to_owned()),
        () if !has("/dev/fuse") => Some("no FUSE here (/dev/fuse)".to_owned()),
        () if shell::find_program("losetup").is_none() => Some("no losetup (Debian package mount)".to_owned()),
        () if shell::find_program("fio").is_none() => Some("no fio (Debian package fio)".to_owned()),
        () => tracing::missing(),
    }
}

/// Runs the jobs and reads what the kernel did.
fn record(device: &LoopDevice, scene: &Scene, folder: &Path) -> Result<Vec<TracefsLine>> {
    device.choose(scene.scheduler)?;
    let jobs = folder.join("jobs.fio");
    std::fs::write(&jobs, format!("{GLOBAL}{}", scene.jobs))?;
    let tracing = Tracing::begin(device.number()?)?;
    let filename = format!("--filename={}", device.path().display());
    let mut fio = Command::new("fio");
    fio.arg(filename).arg("--output=/dev/null").arg(&jobs);
    shell::attached(fio)?;
    let text = tracing.end()?;
    let path = folder.join(format!("{}, {}.trace.txt", scene.scheduler, scene.load));
    std::fs::write(&path, &text)?;
    Ok(tracefs::read(BufReader::new(text.as_bytes()), &path)?)
}

/// Our preset for the running kernel, or the nearest.
fn of_this_kernel(scheduler: &str) -> Result<Choice> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(Catalogue::builtin().of_running(scheduler, &release)?)
}

/// Compares, reports, and returns whether everything that must agree does.
fn report(device: &LoopDevice, scene: &Scene, lines: &[TracefsLine]) -> Result<bool> {
    let choice = of_this_kernel(scene.scheduler)?;
    let recorded = RecordedSurroundings {
        nr_requests: device.number_in("nr_requests")?,
        tags: device.tags()?,
        rotational: device.number_in("rotational")? == 1,
        knobs: knobs(device, &choice)?,
    };
    let found = compare(lines, &choice, &recorded)?;
    let Agreement { issued, agreed, caught_up, raced, held, unseen, ours } = &found;
    let ours_is = format!("{}@{}", choice.entry.name, choice.kernel());
    println!("{ours_is}, {}: {agreed} of {issued} issues agree, {caught_up} a moment later", scene.load);
    println!("  at most {} of the device's {} tags in use", most_in_flight(lines), recorded.tags);
    println!("  not shown by the trace: {raced} races of two CPUs, {held} held for a tag, {unseen} without an insert");
    if let Shown::Not(what) = scene.shown
        && !ours.is_empty()
    {
        println!("  {} differ; what may have decided them is not in the trace: {what}", ours.len());
        return Ok(true);
    }
    for difference in ours.iter().take(10) {
        println!("  event {}: the kernel issued {}, ours: {}", difference.line, difference.kernel, difference.ours);
    }
    println!("  {} differ without an explanation", ours.len());
    // A race that the rules above miss may remain: one issue in two hundred.
    Ok(200 * ours.len() <= *issued as usize && *agreed > 500)
}

/// The most requests that the device had at a time. If there are far fewer than its tags while others wait, the tags
/// were cut.
fn most_in_flight(lines: &[TracefsLine]) -> u32 {
    let flying = lines.iter().scan(0_u32, |flying, line| {
        *flying = match line.event {
            TracefsEvent::Issue => *flying + 1,
            TracefsEvent::Complete | TracefsEvent::Requeue => flying.saturating_sub(1),
            TracefsEvent::BioQueue
            | TracefsEvent::Remap
            | TracefsEvent::BioComplete
            | TracefsEvent::Insert
            | TracefsEvent::Merge => *flying,
        };
        Some(*flying)
    });
    flying.max().unwrap_or(0)
}

/// The knobs in sysfs.
fn knobs(device: &LoopDevice, choice: &Choice) -> Result<Vec<(String, i64)>> {
    let mut knobs = Vec::new();
    let elevator = choice.build().elevator;
    for knob in choice.entry.knobs {
        let Some(text) = device.knob(knob.name)? else { continue };
        // A kernel may have values that ours does not have; those are reported.
        match knob.parse(&text) {
            Ok(raw) if elevator.tunables().get(knob.name) != Some(raw) => knobs.push((knob.name.to_owned(), raw)),
            Ok(_) => {}
            Err(error) => println!("  {}: left at our default: {error}", knob.name),
        }
    }
    Ok(knobs)
}
