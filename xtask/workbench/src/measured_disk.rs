//! `measured-disk`: the prober by the wall clock, on spinning disks, each as a file behind FUSE.
//!
//! The following must be within a tenth: rotation, the outer and the inner rate, the average and the longest seek, and
//! the resulting model's predictions of the held-back loads. The number of heads is printed; it is checked in virtual
//! time, like skews, the shortest seek, overheads and the buffer's size, because the path through FUSE adds a tenth of
//! a millisecond to a command, which the prober cannot distinguish from the drive's own time. A disk whose answers were
//! too late is skipped by name. The prober and the disk have priority over other processes: a busy machine notices
//! answers milliseconds late.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use blksched_disks::{DiskSpec, HddSpec, Model, load};

use crate::Verdict;
use crate::shell;
use crate::timed_disk::{Lateness, TimedDisk, missing};

/// The disks that are measured by default.
const TURNING: [&str; 3] = ["hdd-7200-ideal", "sata-2009", "ide-2002"];
/// The greatest deviation of a value.
const WITHIN: f64 = 0.10;
/// A greater mean delay is the machine's, not the disk's.
const LATE: Duration = Duration::from_micros(300);

/// Measures each of these disks, or the default ones.
///
/// # Errors
/// If a disk is unknown, or measuring it fails.
pub fn run(disks: &[String]) -> Result<Verdict> {
    if let Some(missing) = missing() {
        println!("skipped: {missing}");
        return Ok(Verdict::Good);
    }
    shell::attached(shell::cargo(&["build", "--quiet", "--release", "--package", "blksched-cli"]))?;
    let usual = TURNING.map(str::to_owned);
    let mut holds = true;
    for disk in if disks.is_empty() { &usual[..] } else { disks } {
        holds &= measured(disk)?;
    }
    Ok(Verdict::when(holds))
}

/// False if a value deviates too much.
fn measured(disk: &str) -> Result<bool> {
    let spec = load(disk).map_err(|error| anyhow!("{error}"))?;
    let folder = shell::target().join(format!("xtask/measured-disk-{}", std::process::id()));
    let out = folder.with_extension("toml");
    let mounted = TimedDisk::mount(&spec, &folder)?;
    let program = shell::target().join("release/blksched");
    let (path, quick) = (mounted.path(), ["--quick", "--out"]);
    let mut prober = Command::new("chrt");
    prober.args(["-f", "40"]).arg(program).args(["disk", "measure"]).arg(&path).args(quick).arg(&out);
    let status = prober.status()?;
    let late = mounted.late();
    drop(mounted);
    fs::remove_dir(&folder).ok();
    let mean = mean(late);
    println!("{disk}: {} commands, answers {:.0} us late on average", late.commands, mean.as_secs_f64() * 1e6);
    if mean > LATE {
        println!("{disk}: skipped: this machine is too busy to be a disk: later than {} us", LATE.as_micros());
        return Ok(true);
    }
    if !status.success() {
        bail!("measuring {disk} ended with {status}");
    }
    let found = load(&out.display().to_string()).map_err(|error| anyhow!("{error}"))?;
    fs::remove_file(&out).ok();
    let heads = [&spec, &found].map(heads);
    println!("{disk}: heads: {} measured, {} in the model (not held)", heads[1], heads[0]);
    Ok(compare(disk, &values(&spec)?, &values(&found)?) & predicts(disk, &found))
}

fn heads(spec: &DiskSpec) -> u32 {
    match &spec.model {
        Model::Hdd(hdd) => hdd.geometry.heads,
        _ => 0,
    }
}

/// Whether the measured model predicts what was held back, on average.
fn predicts(disk: &str, found: &DiskSpec) -> bool {
    let errors = || found.validated.iter().map(|part| f64::from(part.error_permille) / 1e3);
    let mean = errors().sum::<f64>() / errors().count().max(1) as f64;
    let holds = errors().count() > 0 && mean <= WITHIN;
    println!("{disk}: held back: {:.1} % off{}", mean * 100.0, if holds { "" } else { "  OFF" });
    holds
}

fn mean(late: Lateness) -> Duration {
    late.sum / u32::try_from(late.commands.max(1)).unwrap_or(u32::MAX)
}

/// Names and values.
fn values(spec: &DiskSpec) -> Result<[(&'static str, f64); 5]> {
    let Model::Hdd(HddSpec { rpm, zones, seek, .. }) = &spec.model else { bail!("{}: it does not turn", spec.name) };
    Ok([
        ("speed [rpm]", f64::from(*rpm)),
        ("outer rate [MB/s]", zones.outer.bytes_per_s() as f64 / 1e6),
        ("inner rate [MB/s]", zones.inner.bytes_per_s() as f64 / 1e6),
        ("average seek [ms]", seek.average.as_ns() as f64 / 1e6),
        ("longest seek [ms]", seek.max.as_ns() as f64 / 1e6),
    ])
}

fn compare(disk: &str, real: &[(&str, f64)], found: &[(&str, f64)]) -> bool {
    let mut holds = true;
    for ((name, real), (_, found)) in real.iter().zip(found) {
        let off = found / real - 1.0;
        let said = if off.abs() <= WITHIN { "" } else { "  OFF" };
        println!("{disk}: {name}: {found:.2} measured, {real:.2} in the model ({:+.1} %){said}", off * 100.0);
        holds &= off.abs() <= WITHIN;
    }
    holds
}
