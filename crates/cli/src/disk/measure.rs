//! `blksched disk measure`: a model of a real disk, with its error.

use std::fs;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use blksched::Span;
use blksched_disks::load;
use blksched_disks::probe::{Modelled, ProbeAccess, ProbeError, ProbeOutcome, ProbeProgress, Target, measure};
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::scene::some_time;

#[cfg(target_os = "linux")]
mod path;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MeasureArguments {
    /// A block device, a file (for trying out), or model:NAME for a model in virtual time
    #[arg(value_name = "PATH|model:DISK")]
    path: String,
    /// Write too, all over it: EVERYTHING ON IT IS LOST
    #[arg(long)]
    destroy: bool,
    /// Take two minutes instead of ten
    #[arg(long, conflicts_with = "time")]
    quick: bool,
    /// Take at most this long [default: 600s]
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    time: Option<Span>,
    /// Write the disk's TOML here instead of printing it
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The seed of the random places
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  blksched disk measure /dev/sdb --out my.toml             reads only: the write cache stays unknown
  blksched disk measure /dev/sdb --destroy --out my.toml   writes too; everything on it is lost
  blksched disk measure model:hdd-7200 --destroy           one of our own models, in virtual time
  blksched compare my.fio --disk my.toml

It reads past the page cache (O_DIRECT) and wants the disk for itself. Interrupted, it writes what it knows by then.
A model that is off by more than 25 % where it was tried is none: it is not printed, --out keeps it as FILE.rejected,
and the exit code is 1.";

pub(super) fn run(arguments: &MeasureArguments) -> Result<(), Failure> {
    let limit = arguments.time.unwrap_or(Span::from_secs(if arguments.quick { 120 } else { 600 }));
    let access = if arguments.destroy { ProbeAccess::Destroy } else { ProbeAccess::ReadOnly };
    let half = arguments.out.as_deref().map(Half::beside).transpose()?;
    let mut target = target(&arguments.path, access, arguments.seed)?;
    let how = match access {
        ProbeAccess::ReadOnly => "reads only, and is opened so that nothing can be written",
        ProbeAccess::Destroy => "reads and WRITES: everything on it is lost",
    };
    eprintln!("{}: {how}; {limit} at most", arguments.path);
    let interrupted = heard_interrupts()?;
    let mut watch = Watch::default();
    let outcome = measure(&mut *target, limit, arguments.seed, &mut |progress| {
        watch.show(progress);
        match interrupted.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    watch.clear();
    let outcome = outcome.map_err(|error| {
        let early = match error {
            ProbeError::Interrupted | ProbeError::TimeIsUp => ", before enough was known for a model: no file",
            ProbeError::Failed(_) | ProbeError::Unclear(_) => "",
        };
        Failure::Outside(format!("{}: {error}{early}", arguments.path))
    })?;
    report(&outcome);
    if let Some(error) = outcome.error().filter(|error| *error > TOO_FAR) {
        return Err(rejected(&outcome, error, half));
    }
    #[cfg(target_os = "linux")]
    keep(&arguments.path, &outcome);
    match half {
        None => Ok(output::print(&outcome.toml)?),
        Some(half) => half.becomes(&outcome.toml),
    }
}

/// A model that is no model is not given to anybody who would take it for one; what was measured for minutes is kept
/// under another name.
fn rejected(outcome: &ProbeOutcome, error: f64, half: Option<Half<'_>>) -> Failure {
    let kept = half.map(|half| half.is_rejected(&outcome.toml));
    let where_ = match kept {
        None => "not printed".to_owned(),
        Some(Ok(place)) => format!("kept as {}, for a look at it", place.display()),
        Some(Err(failure)) => return failure,
    };
    let error = 100.0 * error;
    Failure::Outside(format!("no model: off by {error:.0} % where {:.0} % is the most: {where_}", 100.0 * TOO_FAR))
}

/// Keeps the model of a disk of this machine for `advise`, if it is worth it.
#[cfg(target_os = "linux")]
fn keep(path: &str, outcome: &ProbeOutcome) {
    let is_far = outcome.error().is_none_or(|error| error > TOO_FAR);
    let name = path.strip_prefix("/dev/").filter(|name| Path::new("/sys/block").join(name).exists());
    let Some(file) = name.filter(|_| !is_far && outcome.stopped.is_none()).and_then(crate::state::measured) else {
        return;
    };
    let half = file.with_extension("half");
    // A name may be another disk's after a restart.
    let whose = name.and_then(crate::trial::predicted::identity_here).unwrap_or_default();
    let text = format!("# of {whose}\n{}", outcome.toml);
    let kept = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&half, text));
    match kept.and_then(|()| fs::rename(&half, &file)) {
        Ok(()) => eprintln!("kept as {} for `blksched advise {}`", file.display(), name.unwrap_or_default()),
        Err(error) => eprintln!("note: not kept for `blksched advise`: {}: {error}", file.display()),
    }
}

/// The file for the disk's TOML, written beside its place and renamed, so that nothing half-written ever has that name.
/// Writing is tried before the measurement, so that ten minutes are not lost on a directory without write permission.
struct Half<'a> {
    out: &'a Path,
    half: PathBuf,
}

impl<'a> Half<'a> {
    fn beside(out: &'a Path) -> Result<Half<'a>, Failure> {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(format!(".half-{}", std::process::id()));
        let half = Half { out, half: out.with_file_name(name) };
        if out.is_dir() {
            return Err(Failure::Input(format!("--out {}: is a directory: expected a file's name", out.display())));
        }
        // Removed again, since a second Ctrl-C ends the program at once.
        let tried = fs::write(&half.half, "").and_then(|()| fs::remove_file(&half.half));
        tried.map_err(|error| Failure::Outside(format!("--out {}: {error}", out.display())))?;
        Ok(half)
    }

    fn becomes(&self, text: &str) -> Result<(), Failure> {
        let written = fs::write(&self.half, text).and_then(|()| crate::half::becomes(&self.half, self.out));
        written.map_err(|error| Failure::Outside(format!("{}: {error}", self.out.display())))
    }
}

impl Half<'_> {
    /// The same beside its place, as `NAME.rejected`.
    fn is_rejected(&self, text: &str) -> Result<PathBuf, Failure> {
        let mut name = self.out.file_name().unwrap_or_default().to_owned();
        if crate::half::is_special(self.out) {
            return Err(Failure::Outside(format!("no model, and {} is no file to keep it beside", self.out.display())));
        }
        name.push(".rejected");
        let place = self.out.with_file_name(name);
        let written = fs::write(&self.half, text).and_then(|()| crate::half::becomes(&self.half, &place));
        written.map(|()| place).map_err(|error| Failure::Outside(format!("{}: {error}", self.out.display())))
    }
}

impl Drop for Half<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        fs::remove_file(&self.half).ok();
    }
}

/// A model with a greater mean error says little about its disk.
const TOO_FAR: f64 = 0.25;

/// Prints what does not belong in the file.
fn report(outcome: &ProbeOutcome) {
    if let Some(stopped) = &outcome.stopped {
        eprintln!("not all of it was measured: {stopped}; the file says what is missing");
    }
    for part in &outcome.held_back {
        eprintln!(
            "held back: {}: {:.3}ms measured, {:.3}ms predicted, demerit {:.1}%",
            part.name,
            part.measured_mean / 1e6,
            part.predicted_mean / 1e6,
            100.0 * part.relative()
        );
    }
    if let Some(error) = outcome.error() {
        eprintln!("the model's error, on average over what was held back: {:.1}%", 100.0 * error);
        match &outcome.stopped {
            _ if error <= TOO_FAR => {}
            Some(_) => eprintln!(
                "this is not a model of the disk yet: what was not reached has its class's values; allow more time"
            ),
            None => eprintln!(
                "this model does not match the disk: another program used disk or machine meanwhile (measure it at \
                 rest, or with priority over all others: chrt -f 40), or the disk behaves as no model here does"
            ),
        }
    }
    eprintln!("took {:.0}s", outcome.took.as_secs_f64());
}

/// Opens what the path names.
fn target(path: &str, access: ProbeAccess, seed: u64) -> Result<Box<dyn Target>, Failure> {
    if let Some(name) = path.strip_prefix("model:") {
        let disk = load(name).map_err(Failure::input)?;
        return Ok(Box::new(Modelled::new(&disk, seed, access)));
    }
    #[cfg(target_os = "linux")]
    return path::open(path, access).map(|target| Box::new(target) as Box<dyn Target>);
    #[cfg(not(target_os = "linux"))]
    Err(Failure::Input(format!("{path}: real disks are measured on Linux; model:DISK works here")))
}

/// Set by the first Ctrl-C, which does not end the program; the second does.
fn heard_interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let heard = Arc::new(AtomicBool::new(false));
    #[cfg(target_os = "linux")]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&heard))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&heard)))
            .map_err(|error| Failure::Outside(format!("listening for signals: {error}")))?;
    }
    Ok(heard)
}

/// A progress line on a terminal, refreshed at most ten times a second.
#[derive(Default)]
struct Watch {
    shown: Option<std::time::Instant>,
    stage: &'static str,
}

impl Watch {
    fn show(&mut self, progress: ProbeProgress) {
        let is_terminal = std::io::stderr().is_terminal();
        let recent = self.shown.is_some_and(|shown| shown.elapsed().as_millis() < 100);
        if recent || (!is_terminal && self.stage == progress.stage) {
            return;
        }
        self.shown = Some(std::time::Instant::now());
        self.stage = progress.stage;
        let (elapsed, limit) = (progress.elapsed.as_secs_f64(), progress.limit.as_secs_f64());
        let line = format!("{elapsed:.0}s of {limit:.0}s at most: {}", progress.stage);
        if is_terminal {
            eprint!("\r{line:<78}");
            let _ = std::io::stderr().flush();
        } else {
            eprintln!("{line}");
        }
    }

    fn clear(&self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r{:<78}\r", "");
        }
    }
}
