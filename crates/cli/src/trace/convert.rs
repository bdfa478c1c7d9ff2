//! `trace convert`, `trace cut`, `trace anonymise`: a trace, or a part of it, written in another form.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use blksched_lab::scene::Trace;
use blksched_simulate::recording::{Info, Ios, TraceIo};

use super::arguments::ConvertArguments;
use super::write::{To, TraceWriter, Whose};
use crate::failure::Failure;
use crate::input::{OnDisk, traces};

/// What happens to a trace on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// Only a part of it is kept.
    Part,
    /// Names are replaced, and addresses and time begin at 0.
    Anonymous,
}

pub(super) fn run(arguments: &ConvertArguments, change: Change) -> Result<(), Failure> {
    let ConvertArguments { trace: text, out, to, force } = arguments;
    let trace = traces::parse(text).map_err(Failure::Input)?;
    let to = match to.or_else(|| To::by_name(out)) {
        Some(to) => to,
        None => {
            let name = out.display();
            return Err(Failure::Input(format!(
                "{name}: the extension does not tell the format: expected --to csv, iolog, blktrace or parquet"
            )));
        }
    };
    if change == Change::Part && !trace.is_filtered(&OnDisk)? {
        let why = "nothing to cut: expected device=, process=, from=, to= or op= after the name, as in";
        return Err(Failure::Input(format!("{text}: {why} {}:from=10s,to=20s", trace.name())));
    }
    if out.exists() && !force {
        return Err(Failure::Input(format!("{}: already exists; --force overwrites it", out.display())));
    }
    let bases = if change == Change::Anonymous { Some(Bases::of(&trace)?) } else { None };
    let (stream, rest) = trace.stream(&OnDisk)?;
    if !rest.is_empty() {
        return Err(Failure::Input(format!("{text}: `{rest}` is for replays, and nothing is replayed here")));
    }
    if !stream.format().has_place() {
        let title = stream.format().title();
        let why = stream.format().notes().join("; ");
        return Err(Failure::Input(format!("{}: {title} cannot be converted: {why}", trace.name())));
    }
    let mut ios = Ios::of(stream);
    // Written beside it and renamed, so that nothing half-written ever has OUT's name.
    let half = Half::beside(out);
    let outside = |error: std::io::Error| Failure::Outside(format!("{}: {error}", out.display()));
    let file = File::create(&half.0).map_err(outside)?;
    let mut writer = TraceWriter::new(BufWriter::new(file), to).map_err(outside)?;
    let mut written: u64 = 0;
    while let Some(mut io) = ios.io().map_err(Failure::Input)? {
        let mut whose = Whose::of(&io, ios.stream());
        if let Some(bases) = &bases {
            bases.hide(&mut io, &mut whose);
        }
        writer.io(&io, &whose).map_err(outside)?;
        written += 1;
    }
    if written == 0 {
        return Err(Failure::Input(format!("{text}: no I/O is left, so nothing is written")));
    }
    writer.finish().map_err(outside)?;
    crate::half::becomes(&half.0, out).map_err(outside)?;
    crate::output::warn(&format!("{}: {written} I/Os", out.display()));
    Ok(())
}

/// A file that is removed unless it was renamed.
struct Half(PathBuf);

impl Half {
    fn beside(out: &Path) -> Half {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(format!(".half-{}", std::process::id()));
        Half(out.with_file_name(name))
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        drop(fs::remove_file(&self.0));
    }
}

/// Where each device's addresses begin and where time begins, and the number of each device and process.
struct Bases {
    devices: BTreeMap<(u32, u32), (u32, u64)>,
    processes: BTreeMap<u32, u32>,
    first: u64,
}

impl Bases {
    fn of(trace: &Trace) -> Result<Bases, Failure> {
        let (mut stream, _) = trace.stream(&OnDisk)?;
        let info = Info::of(&mut stream).map_err(Failure::Input)?;
        let devices = info.devices().into_iter().zip(1..);
        let devices = devices.map(|((device, share), number)| (device, (number, share.begin)));
        let processes = info.processes().into_keys().zip(1..);
        Ok(Bases { devices: devices.collect(), processes: processes.collect(), first: info.first().unwrap_or(0) })
    }

    fn hide(&self, io: &mut TraceIo, whose: &mut Whose) {
        let (number, begin) = self.devices.get(&io.event.device).copied().unwrap_or_default();
        let process = self.processes.get(&io.event.pid).copied().unwrap_or_default();
        io.event.start -= begin;
        io.event.time = io.event.time.saturating_sub(self.first);
        io.event.pid = process;
        // Disks are numbered in order of appearance: sda, sdb, …
        io.event.device = (8, 16 * (number - 1));
        *whose = Whose { device: format!("d{number}"), process: format!("p{process}") };
    }
}
