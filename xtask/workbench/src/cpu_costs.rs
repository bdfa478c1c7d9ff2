//! `cpu-costs`: the processor cost of an I/O under each scheduler of the running kernel, as a preset of processors.
//!
//! A loop device over a file in memory (null_blk is a module that many kernels lack), fio on it, and the processor time
//! of fio and of the kernel's workers per I/O: never the wall clock, so a busy machine disturbs little. Each load is
//! repeated, and the minimum counts, since every disturbance adds; each cost has an interval from the repeats drawn
//! again, and a wide one refuses the preset. The cost of a scheduler is its difference from `none`. It needs root, fio
//! and loop devices; anything missing is named. It changes only the loop device.

mod fit;
mod load;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::Verdict;
use crate::loop_device::LoopDevice;
use crate::shell;
use fit::{Estimated, SCHEDULERS};
use load::{CALLS, LOADS, Measured};

/// The file under the loop device \[bytes\].
const SIZE: u64 = 256 << 20;

/// What this machine lacks for it.
fn missing() -> Option<String> {
    match () {
        () if !shell::is_root() => Some("only root can make a loop device and choose its scheduler".to_owned()),
        () if shell::find_program("fio").is_none() => Some("fio is not installed".to_owned()),
        () if shell::find_program("losetup").is_none() => Some("losetup is not installed".to_owned()),
        () if !Path::new("/dev/shm").is_dir() => Some("no memory file system at /dev/shm".to_owned()),
        () => None,
    }
}

/// A file in memory; removed when dropped.
struct MemoryFile(PathBuf);

impl MemoryFile {
    fn make() -> Result<MemoryFile> {
        let path = PathBuf::from(format!("/dev/shm/blksched-cpu-costs-{}", std::process::id()));
        let file = MemoryFile(path);
        // Written, so that reads copy data instead of finding holes.
        fs::write(&file.0, vec![1_u8; SIZE as usize]).with_context(|| format!("writing {}", file.0.display()))?;
        Ok(file)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Measures, and prints the preset; also writes it to `write`.
///
/// # Errors
/// If the device cannot be made or fio fails.
pub fn run(repeats: u32, write: Option<&Path>) -> Result<Verdict> {
    if let Some(missing) = missing() {
        println!("skipped: {missing}");
        return Ok(Verdict::Good);
    }
    let file = MemoryFile::make()?;
    let device = LoopDevice::over(file.0.clone())?;
    let offered = device.schedulers()?;
    if let Some(lacking) = SCHEDULERS.iter().find(|name| !offered.iter().any(|other| other == *name)) {
        println!("skipped: this kernel has no {lacking}");
        return Ok(Verdict::Good);
    }
    let mut all: Vec<Vec<Measured>> = Vec::new();
    for repeat in 1..=repeats {
        let scenes = LOADS.into_iter().flat_map(|load| SCHEDULERS.map(|scheduler| (load, scheduler)));
        let mut these = Vec::new();
        for (load, scheduler) in scenes.chain(CALLS.into_iter().map(|load| (load, "none"))) {
            device.choose(scheduler)?;
            let measured = load::measure(&device, &load, scheduler)?;
            println!("{repeat}/{repeats} {measured}");
            these.push(measured);
        }
        all.push(these);
    }
    let estimated = Estimated::of(&all)?;
    let preset = estimated.preset(&machine());
    println!("\n{preset}");
    let wide = estimated.wide();
    if !wide.is_empty() {
        println!("not measured with confidence (the machine is too busy, or --repeats too few):");
        wide.iter().for_each(|line| println!("  {line}"));
        return Ok(Verdict::Bad);
    }
    if let Some(path) = write {
        fs::write(path, &preset).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(Verdict::Good)
}

/// Kernel and processors, in the form of a preset.
fn machine() -> fit::Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let release = read("/proc/sys/kernel/osrelease").trim().to_owned();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name));
    fit::Machine {
        model: model.unwrap_or("unknown processor").trim().to_owned(),
        cpus: info.lines().filter(|line| line.starts_with("processor")).count(),
        release,
    }
}
