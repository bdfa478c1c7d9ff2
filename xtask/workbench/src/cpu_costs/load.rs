//! One load on the loop device, and the processor time that it took.

use core::fmt;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::loop_device::LoopDevice;
use crate::shell;

/// Random reads of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load {
    pub name: &'static str,
    pub jobs: u32,
    pub depth: u32,
    /// The number of I/Os in one call; with more than two they plug.
    pub batch: u32,
    /// fio's options for the calls.
    pub calls: &'static [&'static str],
}

const AIO: &[&str] = &["--ioengine=libaio"];
/// Enough processes that no processor of a small machine sleeps: what it takes to wake one is another thing, and a
/// virtual machine's differs by a factor of three from one run to the next.
pub const ONE: Load = Load { name: "eight jobs, one at a time", jobs: 8, depth: 1, batch: 1, calls: AIO };
pub const DEEP: Load = Load { name: "32 deep", jobs: 1, depth: 32, ..ONE };
pub const BATCHES: Load = Load { name: "32 deep, 16 in a call", batch: 16, ..DEEP };
pub const TWO: Load = Load { name: "two jobs, 32 deep", jobs: 2, ..DEEP };
pub const LOADS: [Load; 4] = [ONE, DEEP, BATCHES, TWO];

pub const SYNC: Load = Load { name: "eight jobs, psync", calls: &["--ioengine=psync"], ..ONE };
pub const URING: Load = Load { name: "io_uring, 32 deep", calls: &["--ioengine=io_uring"], ..DEEP };
pub const FILES: Load =
    Load { name: "io_uring, registerfiles, 32 deep", calls: &["--ioengine=io_uring", "--registerfiles=1"], ..DEEP };
pub const BUFFERS: Load =
    Load { name: "io_uring, fixedbufs, 32 deep", calls: &["--ioengine=io_uring", "--fixedbufs=1"], ..DEEP };
pub const THREAD: Load =
    Load { name: "io_uring, sqthread_poll, 32 deep", calls: &["--ioengine=io_uring", "--sqthread_poll=1"], ..DEEP };
/// Other calls than libaio's, under `none` alone.
pub const CALLS: [Load; 5] = [SYNC, URING, FILES, BUFFERS, THREAD];

/// The length of each load \[s\].
const SECONDS: u32 = 2;

/// Processor time per I/O \[us\].
#[derive(Clone, Debug)]
pub struct Measured {
    pub load: Load,
    pub scheduler: String,
    pub ios: u64,
    /// fio's own, user and system.
    pub process: f64,
    /// The kernel's workers'.
    pub workers: f64,
    /// How often fio was switched out, per I/O.
    pub switches: f64,
}

impl Measured {
    pub fn total(&self) -> f64 {
        self.process + self.workers
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { load, scheduler, ios, process, workers, switches } = self;
        write!(
            f,
            "{:32} {scheduler:12} {ios:8} I/Os, {process:6.2} us of fio, {workers:6.2} us of workers",
            load.name
        )?;
        write!(f, ", {switches:4.2} switches each")
    }
}

/// Runs it once.
pub fn measure(device: &LoopDevice, load: &Load, scheduler: &str) -> Result<Measured> {
    let mut fio = Command::new("fio");
    fio.args(["--name=cpu-costs", "--rw=randread", "--bs=4k", "--direct=1", "--time_based"]);
    fio.args(load.calls);
    fio.args(["--norandommap", "--randrepeat=0", "--group_reporting", "--output-format=json"]);
    fio.arg(format!("--filename={}", device.path().display())).arg(format!("--runtime={SECONDS}"));
    fio.arg(format!("--numjobs={}", load.jobs)).arg(format!("--iodepth={}", load.depth));
    fio.arg(format!("--iodepth_batch_submit={}", load.batch));
    fio.arg(format!("--iodepth_batch_complete_min={}", load.batch));
    let before = worker_times();
    let done = shell::capture(fio)?;
    let after = worker_times();
    if !done.good {
        bail!("fio: {}", done.output.trim());
    }
    let json = done.output.find('{').map_or("", |at| &done.output[at..]);
    let report: Value = serde_json::from_str(json).context("fio's report")?;
    let job = &report["jobs"][0];
    let number = |value: &Value| value.as_f64().context("a number of fio's report");
    let ios = job["read"]["total_ios"].as_u64().filter(|ios| *ios > 0).context("fio did nothing")?;
    // The runtimes of a group's jobs are summed, and its percentages are of that sum.
    let runtime_us = number(&job["job_runtime"])? * 1e3;
    let process = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0 * runtime_us / ios as f64;
    let more = |(worker, ns): (&String, &u64)| ns.saturating_sub(before.get(worker).copied().unwrap_or(0));
    let workers = after.iter().map(more).sum::<u64>() as f64 / 1e3 / ios as f64;
    let switches = number(&job["ctx"])? / ios as f64;
    Ok(Measured { load: *load, scheduler: scheduler.to_owned(), ios, process, workers, switches })
}

/// Time that each of the kernel's workers has run \[ns\].
fn worker_times() -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(name) = fs::read_to_string(path.join("comm")) else { continue };
        if !["kworker", "ksoftirqd", "loop"].iter().any(|kind| name.starts_with(kind)) {
            continue;
        }
        // Time on a processor, time waiting for one, how often it ran.
        let ran = fs::read_to_string(path.join("schedstat")).ok();
        let ran = ran.and_then(|text| text.split_whitespace().next()?.parse().ok());
        times.extend(ran.map(|ns| (path.display().to_string(), ns)));
    }
    times
}
