//! `blksched record`: records the requests to this machine's disks, in one file that `compare` reads.

mod groups;
pub(crate) mod machine;
mod script;
mod stacked;
pub(crate) mod tracefs;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use blksched::Span;
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::failure::Failure;
use crate::interrupt;
use crate::output;
use groups::SeenGroups;
pub(crate) use script::script;
use tracefs::Instance;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecordArguments {
    /// The disks, by their names in /sys/block
    #[arg(value_name = "DEVICE")]
    pub(crate) devices: Vec<String>,
    /// How long to record
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::trial::some_time)]
    pub(crate) time: Span,
    /// Stop when the trace has this many MiB, before it is packed
    #[arg(long, value_name = "MIB", default_value_t = MOST_MIB, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_size: u64,
    /// The buffer of each CPU in MiB: a larger one loses fewer events
    #[arg(long, value_name = "MIB", default_value_t = BUFFER_MIB)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) buffer: u32,
    /// The file to write; it must not exist
    #[arg(long, short, value_name = "FILE", default_value = "recorded.trace.gz")]
    pub(crate) out: PathBuf,
    /// Print the commands that do it, for a machine without blksched; nothing is recorded
    #[arg(long)]
    pub(crate) print: bool,
}

const EXAMPLES: &str = "\
Needs root, and changes nothing but an instance of its own in tracefs, which it removes at the end and on Ctrl-C (what
has been recorded by then is kept).

Examples:
  blksched record sda --time 60s
  blksched record sda nvme0n1 --out monday.trace.gz --max-size 4096
  blksched record sda --print > record.sh            the same by hand, on a machine without blksched
  blksched trace info recorded.trace.gz              then: can a verdict depend on it?
  blksched compare recorded.trace.gz                 then: its scheduler, depth and limits are the defaults";

/// The largest recording that is made unless another is asked for \[MiB\].
const MOST_MIB: u64 = 1024;
/// The buffer of each CPU unless another is asked for \[MiB\].
const BUFFER_MIB: u32 = 16;

impl RecordArguments {
    /// This disk for a minute, with the limits that hold if none are given.
    pub(crate) fn of(disk: &str) -> RecordArguments {
        RecordArguments {
            devices: vec![disk.to_owned()],
            time: Span::from_secs(60),
            max_size: MOST_MIB,
            buffer: BUFFER_MIB,
            out: PathBuf::from("recorded.trace.gz"),
            print: false,
        }
    }
}

/// How often the kernel's buffers are emptied.
const EVERY: Duration = Duration::from_millis(50);

/// Runs the verb.
pub(crate) fn run(arguments: &RecordArguments) -> Result<(), Failure> {
    if arguments.devices.is_empty() {
        let here = machine::disks(Path::new("/"));
        let here = if here.is_empty() { "none".to_owned() } else { here.join(", ") };
        return Err(Failure::Input(format!(
            "record: which disk? expected a name in /sys/block, as in `blksched record sda`; this machine has {here}"
        )));
    }
    if arguments.print {
        // The commands are for another machine, which has numbers, a kernel and settings of its own.
        return Ok(output::print(&script(arguments))?);
    }
    let mut machine = machine::read(Path::new("/"), &arguments.devices).map_err(Failure::Input)?;
    for device in machine.devices.values_mut() {
        let mounted = device.word("name").map(crate::trial::mounted_on).filter(|mounted| !mounted.is_empty());
        device.words.extend(mounted.map(|mounted| ("mounted".to_owned(), mounted.join(","))));
    }
    let out = &arguments.out;
    if out.exists() {
        return Err(Failure::Input(format!("{}: already exists: expected a new file's name", out.display())));
    }
    machine.mappings = machine.is_nested();
    let instance = Instance::open(arguments.buffer, &machine, &tracefs::events(&machine)).map_err(Failure::Outside)?;
    let half = out.with_extension(format!("half-{}", std::process::id()));
    let outside = |error: std::io::Error| Failure::Outside(format!("{}: {error}", half.display()));
    let mut file = GzEncoder::new(BufWriter::new(File::create(&half).map_err(outside)?), Compression::fast());
    let head = write!(file, "{machine}").map_err(outside);
    let mut seen = SeenGroups::new(&mut file);
    let recorded = head.and_then(|()| record(arguments, &instance, &mut seen));
    let recorded = recorded.and_then(|bytes| seen.finish().map(|()| bytes).map_err(outside));
    let lost = instance.lost();
    drop(instance);
    let bytes = match recorded {
        Ok(bytes) => bytes,
        Err(failure) => {
            drop(fs::remove_file(&half));
            return Err(failure);
        }
    };
    let finished = file.finish().and_then(|mut out| out.flush()).and_then(|()| fs::rename(&half, out));
    finished.map_err(outside)?;
    let lost = match lost {
        0 => "no event was lost".to_owned(),
        some => format!("{some} events were lost: record again with a larger --buffer"),
    };
    let mib = bytes as f64 / f64::from(1 << 20);
    output::warn(&format!("{}: {mib:.1} MiB of events; {lost}", out.display()));
    Ok(())
}

/// Records until the time is up, the trace has its maximal size, or the user presses Ctrl-C; returns the number of
/// bytes.
fn record(arguments: &RecordArguments, instance: &Instance, out: &mut impl Write) -> Result<u64, Failure> {
    let stop = interrupt::noticed();
    let mut pipe = instance.pipe().map_err(Failure::Outside)?;
    instance.turn(true).map_err(Failure::Outside)?;
    let end = Instant::now() + Duration::from_nanos(arguments.time.as_ns());
    let (most, mut bytes) = (arguments.max_size << 20, 0);
    while Instant::now() < end && bytes < most && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(EVERY.min(end.saturating_duration_since(Instant::now())));
        bytes += tracefs::drain(&mut pipe, out).map_err(Failure::Outside)?;
    }
    // What follows has its own first Ctrl-C.
    stop.store(false, Ordering::Relaxed);
    instance.turn(false).map_err(Failure::Outside)?;
    bytes += tracefs::drain(&mut pipe, out).map_err(Failure::Outside)?;
    if bytes >= most {
        output::warn(&format!("stopped after {} MiB (--max-size)", arguments.max_size));
    }
    Ok(bytes)
}
