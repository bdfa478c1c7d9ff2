//! The real fio: started, waited for, and read.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use blksched::Span;
use blksched_measure::Work;
use blksched_measure::fio_json::{FioResult, FioRow, FioSide};
use blksched_simulate::reality::{Row, SYNC};

use super::job::{JobPlace, ValidatedJob};
use crate::failure::Failure;

/// One run.
pub(super) struct FioRun<'a> {
    pub scheduler: &'a str,
    pub repeat: u32,
    pub runtime: Span,
    /// What fio makes before it measures \[bytes\].
    pub makes: u64,
    pub stop: &'a AtomicBool,
}

/// Becomes true when the user interrupts; changed settings are then restored.
pub(super) fn stop() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        let _ = signal_hook::flag::register(signal, flag.clone());
    }
    flag
}

/// The longest that fio may run beyond its runtime.
const GRACE: Duration = Duration::from_secs(120);
/// Files are made at least this fast \[bytes/s\]: a slow USB stick's pace.
const SLOWEST: u64 = 20_000_000;
const TICK: Duration = Duration::from_millis(50);

/// The rows of one fio run; `None` if it was interrupted.
pub(super) fn run(job: &ValidatedJob, place: JobPlace<'_>, run: &FioRun<'_>) -> Result<Vec<Row>, Failure> {
    let folder = std::env::temp_dir().join(format!("blksched-validate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| Failure::Outside(format!("{}: {error}", folder.display())))?;
    let file = folder.join(format!("{}.fio", job.name));
    // Its own files, where nothing else is, not even the job file if that is in the same folder.
    let own = match place {
        JobPlace::Folder(parent) => Some(format!("{parent}/blksched-validate-{}-files", std::process::id())),
        JobPlace::One(_) | JobPlace::Each(_) | JobPlace::AsNamed => None,
    };
    if let Some(own) = &own {
        std::fs::create_dir(own).map_err(|error| {
            let _ = std::fs::remove_dir_all(&folder);
            Failure::Outside(format!("{own}: {error}"))
        })?;
    }
    let place = own.as_deref().map_or(place, JobPlace::Folder);
    let outcome = job
        .text(place, run.runtime)
        .and_then(|text| std::fs::write(&file, text).map_err(|error| Failure::Outside(error.to_string())))
        // In a folder fio makes even what is only read.
        .and_then(|()| fio(&file, job.writes || own.is_some(), run));
    let _ = std::fs::remove_dir_all(&folder);
    if let Some(own) = &own {
        let _ = std::fs::remove_dir_all(own);
    }
    outcome.map(|output| output.map_or_else(Vec::new, |output| rows(&output, job, run)))
}

fn fio(file: &std::path::Path, writes: bool, run: &FioRun<'_>) -> Result<Option<FioResult>, Failure> {
    let mut command = Command::new("fio");
    command.arg("--output-format=json").args((!writes).then_some("--readonly")).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::Outside("fio is not installed (Debian package fio)".to_owned()),
        _ => Failure::Outside(format!("fio: {error}")),
    };
    let mut child = command.spawn().map_err(started)?;
    // Read at the same time, since a full pipe would block fio.
    let reader = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_string(&mut text));
            text
        })
    };
    let out = reader(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let errors = reader(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let ended = wait(&mut child, run);
    let (out, errors) = (out.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if run.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    if !ended {
        return Err(Failure::Outside(format!("fio did not end: {}", errors.trim())));
    }
    let wrong =
        |_| Failure::Outside(format!("fio failed: {}{}", errors.trim(), out.lines().next().unwrap_or_default()));
    let result = FioResult::read("fio", &out).map_err(wrong)?;
    match result.rows.iter().any(|row| row.error != 0) {
        true => Err(Failure::Outside(format!("fio: a job failed: {}", errors.trim()))),
        false => Ok(Some(result)),
    }
}

/// Waits for fio; true if it ended by itself.
fn wait(child: &mut Child, run: &FioRun<'_>) -> bool {
    let latest =
        Instant::now() + Duration::from_nanos(run.runtime.as_ns()) + GRACE + Duration::from_secs(run.makes / SLOWEST);
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if run.stop.load(Ordering::Relaxed) || Instant::now() > latest => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
            Ok(None) => std::thread::sleep(TICK),
            Err(_) => return false,
        }
    }
}

fn rows(output: &FioResult, job: &ValidatedJob, run: &FioRun<'_>) -> Vec<Row> {
    let of = |work: Work, word: &str| {
        let sides = output.rows.iter().filter_map(move |row| Some((row, row.side(work)?)));
        let us = |ns: Option<f64>| ns.unwrap_or(0.0) / 1e3;
        let row = |(row, side): (&FioRow, &FioSide)| Row {
            setting: String::new(),
            job: job.name.clone(),
            scheduler: run.scheduler.to_owned(),
            repeat: run.repeat,
            process: row.job.clone(),
            dir: word.to_owned(),
            ios: side.ios,
            bandwidth: side.bandwidth,
            latency_us: us(side.lat),
            p50_us: us(side.percentile(50.0)),
            p99_us: us(side.percentile(99.0)),
        };
        sides.map(row).collect::<Vec<_>>()
    };
    [of(Work::Read, "read"), of(Work::Write, "write"), of(Work::Sync, SYNC)].concat()
}
