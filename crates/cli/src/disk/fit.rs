//! `blksched disk fit`: a model from the times of commands in a trace, or from benchmark results (`results.rs`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use blksched::{Instant, Op};
use blksched_disks::Attached;
use blksched_disks::probe::{TraceFit, Traced, fit_trace};
use blksched_traces::{blkparse, blktrace, tracefs, unpack};
use clap::Args;

use super::results;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FitArguments {
    /// Traces of one disk with dispatches and completions: blktrace's files, blkparse's text, or tracefs's with
    /// block_rq_issue and block_rq_complete. Or results of fio at several depths and numbers of processes: its JSON,
    /// folders of that (as bench-fio leaves them), or a table with the columns iodepth, numjobs, rw, dir, iops, p50_us,
    /// p99_us and p999_us. Or diskplorer's latency matrix: its JSON, or a table with the columns device, quantile,
    /// r_idx, w_idx, read_iops, write_bytes_per_s and latency_ms. gzip, zstd and bzip2 are unpacked
    #[arg(value_name = "TRACE|RESULTS", required = true)]
    traces: Vec<PathBuf>,
    /// The disk, if there are several: by its numbers in a trace, by its name (and /PATH) in a table
    #[arg(long, value_name = "MAJOR:MINOR|NAME")]
    device: Option<String>,
    /// How the drive of benchmark results is attached, nvme or sata [default: by the device's name in them]
    #[arg(long, value_name = "KIND", value_parser = attached)]
    attached: Option<Attached>,
    /// Write the disk's TOML here instead of printing it
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  blksched disk fit sda.blktrace.* --out my.toml
  blksched disk fit trace.txt --device 8:0
  blksched disk fit results/                        a folder of fio's JSON (`blksched disk grid --print`)
  blksched disk fit grids.csv --device intel-d3-s4610-480/sata300
  blksched disk fit my-nvme.json                    diskplorer's result: reads beside a sequential writer

From results at most 8 loads are used; the others judge the model, beside two predictions that need none: a line between
the loads used, and another drive's results on the same path. A model that does not beat them tells nothing new.
Only direct I/O of one size is fitted: SSDs behind SATA or NVMe, and random reads of hard disks.
A trace shows what its load asked for, and little else of the disk; `disk measure` shows more.";

/// The interfaces of the drives that results are fitted to.
fn attached(text: &str) -> Result<Attached, String> {
    match text {
        "nvme" => Ok(Attached::Nvme),
        "sata" => Ok(Attached::Sata),
        _ => Err("expected nvme or sata".to_owned()),
    }
}

/// The dispatch or the completion of a command.
struct CommandEvent {
    time: u64,
    device: (u32, u32),
    is_issue: bool,
    op: Op,
    start: u64,
    sectors: u32,
}

pub(super) fn run(arguments: &FitArguments) -> Result<(), Failure> {
    if let Some(found) = results::results(&arguments.traces)? {
        return write(arguments, &results::disk(&found, arguments.device.as_deref(), arguments.attached)?);
    }
    if arguments.attached.is_some() {
        let why = "--attached is for benchmark results: a trace's device says itself how it is driven";
        return Err(Failure::Input(why.to_owned()));
    }
    let fit = of_traces(&arguments.traces, arguments.device.as_deref())?;
    for unknown in &fit.unknown {
        crate::output::warn(&format!("the trace cannot tell {unknown}"));
    }
    if let Some(part) = &fit.held_back {
        let (real, ours) = (part.measured_mean / 1e6, part.predicted_mean / 1e6);
        let percent = 100.0 * part.relative();
        crate::output::warn(&format!(
            "held back: {}: mean {real:.3}ms, predicted {ours:.3}ms, demerit {percent:.0}%",
            part.name
        ));
    }
    write(arguments, &fit.toml)
}

/// The model that fits the commands of these traces, of the device that was asked for or the only one.
fn of_traces(traces: &[PathBuf], device_asked: Option<&str>) -> Result<TraceFit, Failure> {
    let mut events = Vec::new();
    for path in traces {
        read(path, &mut events)?;
    }
    events.sort_by_key(|event| (event.time, event.is_issue));
    let device = device(&events, device_asked)?;
    let commands = pairs(events.into_iter().filter(|event| event.device == device));
    let name = traces[0].display().to_string();
    fit_trace(&name, commands).map_err(|error| Failure::Input(format!("{name}: {error}")))
}

/// The model of a trace of one device, named as on a command line: all files of a blktrace run, without settings.
///
/// # Errors
/// Why there is none.
#[cfg(target_os = "linux")]
pub(crate) fn of_files(name: &str) -> Result<TraceFit, Failure> {
    use blksched_lab::scene::{PER_CPU, stem};
    let plain = if Path::new(name).exists() { name } else { name.split_once(':').map_or(name, |(name, _)| name) };
    let stem = stem(plain).unwrap_or(plain);
    let of_cpu = |cpu: usize| PathBuf::from(format!("{stem}{PER_CPU}{cpu}"));
    let mut traces: Vec<PathBuf> = (0..).map(of_cpu).take_while(|file| file.exists()).collect();
    if traces.is_empty() {
        traces.push(PathBuf::from(plain));
    }
    of_traces(&traces, None)
}

/// Writes the disk's file where it was asked for.
fn write(arguments: &FitArguments, toml: &str) -> Result<(), Failure> {
    match &arguments.out {
        None => Ok(output::print(toml)?),
        Some(path) => {
            std::fs::write(path, toml).map_err(|error| Failure::Outside(format!("{}: {error}", path.display())))
        }
    }
}

/// The device that was asked for, or the only one.
fn device(events: &[CommandEvent], asked: Option<&str>) -> Result<(u32, u32), Failure> {
    let mut counts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for event in events {
        *counts.entry(event.device).or_default() += 1;
    }
    let known: Vec<String> = counts.keys().map(|(major, minor)| format!("{major}:{minor}")).collect();
    match (asked, counts.keys().next()) {
        (None, Some(&only)) if counts.len() == 1 => Ok(only),
        (None, Some(_)) => Err(Failure::Input(format!("several disks: give --device, one of {}", known.join(", ")))),
        (_, None) => Err(Failure::Input("no dispatches or completions in it: expected `D` and `C`".to_owned())),
        (Some(asked), _) => {
            let found = counts.keys().zip(&known).find(|(_, name)| *name == asked).map(|(device, _)| *device);
            found.ok_or_else(|| Failure::Input(format!("no device {asked}: expected one of {}", known.join(", "))))
        }
    }
}

/// Pairs dispatches with their completions; a command that is dispatched again counts from then.
fn pairs(events: impl Iterator<Item = CommandEvent>) -> Vec<Traced> {
    let mut open: BTreeMap<(u64, bool), (u64, u32)> = BTreeMap::new();
    let mut done = Vec::new();
    for event in events {
        let key = (event.start, event.op == Op::Write);
        if event.is_issue {
            open.insert(key, (event.time, event.sectors));
        } else if let Some((issued, sectors)) = open.remove(&key) {
            let (issued, completed) = (Instant::from_ns(issued), Instant::from_ns(event.time));
            done.push(Traced { op: event.op, start: event.start, sectors, issued, completed });
        }
    }
    done
}

/// Reads a file in the format that its beginning shows.
fn read(path: &Path, events: &mut Vec<CommandEvent>) -> Result<(), Failure> {
    let named = |error: String| Failure::Input(format!("{}: {error}", path.display()));
    let open = || -> Result<Box<dyn BufRead + Send>, Failure> {
        File::open(path).and_then(unpack::unpacked).map_err(|error| named(error.to_string()))
    };
    let mut beginning = Vec::new();
    open()?.take(64 << 10).read_to_end(&mut beginning).map_err(|error| named(error.to_string()))?;
    if blktrace::is_trace(&beginning) {
        let all = blktrace::read(open()?).map_err(|error| named(error.to_string()))?;
        events.extend(all.iter().filter_map(of_blktrace));
        return Ok(());
    }
    let text = String::from_utf8_lossy(&beginning);
    if text.lines().any(tracefs::is_event) {
        let all = tracefs::read(open()?, path).map_err(|error| Failure::Input(error.to_string()))?;
        events.extend(all.iter().filter_map(of_tracefs));
    } else if text.lines().any(blkparse::is_event) {
        let all = blkparse::read(open()?, path).map_err(|error| Failure::Input(error.to_string()))?;
        events.extend(all.iter().filter_map(of_blkparse));
    } else {
        let expected = "expected blktrace's file, blkparse's text or tracefs's text";
        return Err(named(format!("no trace with dispatches: {expected}")));
    }
    Ok(())
}

fn of_blktrace(event: &blktrace::BlktraceEvent) -> Option<CommandEvent> {
    let is_issue = match event.action {
        blktrace::Action::Issue => true,
        blktrace::Action::Complete => false,
        _ => return None,
    };
    let op = if event.kind.0 & blktrace::Categories::WRITE != 0 { Op::Write } else { Op::Read };
    let plain = event.kind.0 & blktrace::Categories::DISCARD == 0 && event.bytes > 0;
    let device = (event.device >> 20, event.device & 0xf_ffff);
    let (start, sectors) = (event.sector, event.bytes / 512);
    plain.then_some(CommandEvent { time: event.time, device, is_issue, op, start, sectors })
}

/// The operation among the letters: `R` or `W`, without `D`.
fn op_of(rwbs: &str) -> Option<Op> {
    match (rwbs.contains('D'), rwbs.contains('W'), rwbs.contains('R')) {
        (false, true, _) => Some(Op::Write),
        (false, _, true) => Some(Op::Read),
        _ => None,
    }
}

fn of_tracefs(line: &tracefs::TracefsLine) -> Option<CommandEvent> {
    let is_issue = match line.event {
        tracefs::TracefsEvent::Issue => true,
        tracefs::TracefsEvent::Complete => false,
        _ => return None,
    };
    let (op, time) = (op_of(&line.rwbs)?, line.time_us * 1_000);
    (line.sectors > 0).then_some(CommandEvent {
        time,
        device: line.device,
        is_issue,
        op,
        start: line.sector,
        sectors: line.sectors,
    })
}

fn of_blkparse(line: &blkparse::Line) -> Option<CommandEvent> {
    let is_issue = match line.action.as_str() {
        "D" => true,
        "C" => false,
        _ => return None,
    };
    let (start, sectors) = line.place().filter(|(_, sectors)| *sectors > 0)?;
    Some(CommandEvent { time: line.time, device: line.device, is_issue, op: op_of(&line.rwbs)?, start, sectors })
}
