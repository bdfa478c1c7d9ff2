//! The formats that traces are written in.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io::{self, Write};
use std::path::Path;

use blksched::Op;
use blksched::author::Waiter;
use blksched_simulate::recording::{Stream, TraceIo};
use blksched_traces::blktrace::{Action, BlktraceEvent, Categories};
use blksched_workloads::replay;
use clap::ValueEnum;

#[cfg(feature = "parquet")]
use super::parquet::RowWriter;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// Columns, with a header of their names and units.
    Csv,
    /// fio's, version 3.
    Iolog,
    /// blktrace's binary format, which blkparse and btt read.
    Blktrace,
    /// The same columns as CSV's, packed with zstd.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl To {
    /// The format by a file's name.
    pub(super) fn by_name(path: &Path) -> Option<To> {
        let name = path.file_name()?.to_str()?;
        match () {
            () if name.ends_with(".csv") => Some(To::Csv),
            () if name.ends_with(".iolog") => Some(To::Iolog),
            #[cfg(feature = "parquet")]
            () if name.ends_with(".parquet") => Some(To::Parquet),
            () if name.contains(".blktrace.") || name.ends_with(".blktrace") => Some(To::Blktrace),
            () => None,
        }
    }
}

/// The names of an I/O's device and process.
pub(super) struct Whose {
    pub device: String,
    pub process: String,
}

impl Whose {
    pub fn of(io: &TraceIo, stream: &Stream) -> Whose {
        let process = stream.names().get(&io.event.pid).cloned();
        Whose { device: stream.device(io.event.device), process: process.unwrap_or_else(|| io.event.pid.to_string()) }
    }
}

/// The operation, in the words of the preset `blksched`.
pub(super) fn word(event: &replay::TraceEvent) -> &'static str {
    match event.op {
        Op::Read => "R",
        Op::Write if event.waiter == Waiter::Sync => "WS",
        Op::Write => "W",
        Op::WriteZeroes => "WZ",
        Op::Discard => "D",
        Op::Flush => "F",
    }
}

/// Writes I/Os, in the order of their submissions, in any format.
pub(super) enum TraceWriter<W: Write + Send> {
    Plain(Box<Plain<W>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<RowWriter<W>>),
}

impl<W: Write + Send> TraceWriter<W> {
    pub fn new(out: W, to: To) -> io::Result<TraceWriter<W>> {
        match to {
            #[cfg(feature = "parquet")]
            To::Parquet => Ok(TraceWriter::Parquet(Box::new(RowWriter::new(out)?))),
            To::Csv => TraceWriter::plain(out, Lines::Csv),
            To::Iolog => TraceWriter::plain(out, Lines::Iolog),
            To::Blktrace => TraceWriter::plain(out, Lines::Blktrace),
        }
    }

    fn plain(out: W, to: Lines) -> io::Result<TraceWriter<W>> {
        Ok(TraceWriter::Plain(Box::new(Plain::new(out, to)?)))
    }

    pub fn io(&mut self, io: &TraceIo, whose: &Whose) -> io::Result<()> {
        match self {
            TraceWriter::Plain(plain) => plain.io(io, whose),
            #[cfg(feature = "parquet")]
            TraceWriter::Parquet(rows) => rows.io(io, whose),
        }
    }

    pub fn finish(self) -> io::Result<()> {
        match self {
            TraceWriter::Plain(plain) => plain.finish(),
            #[cfg(feature = "parquet")]
            TraceWriter::Parquet(rows) => rows.finish(),
        }
    }
}

/// A format whose I/Os are written one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Csv,
    Iolog,
    Blktrace,
}

/// Writes I/Os one by one.
pub(super) struct Plain<W> {
    out: W,
    to: Lines,
    /// Completions still to come, by their time.
    coming: BinaryHeap<Reverse<(u64, u64)>>,
    /// Their events, by number.
    completions: std::collections::BTreeMap<u64, BlktraceEvent>,
    written: u64,
    named: BTreeSet<u32>,
    files: BTreeSet<String>,
    sequence: u32,
    /// The first I/O's time \[ns\].
    first: Option<u64>,
    /// The last one's time since then \[us\], for an iolog.
    last_us: u64,
}

/// The header of our own columns, which the preset `blksched` reads.
const CSV: &str = "time_ns,disk,process,op,offset_B,size_B,response_ns";

impl<W: Write> Plain<W> {
    fn new(mut out: W, to: Lines) -> io::Result<Plain<W>> {
        match to {
            Lines::Csv => writeln!(out, "{CSV}")?,
            Lines::Iolog => writeln!(out, "fio version 3 iolog")?,
            Lines::Blktrace => {}
        }
        Ok(Plain {
            out,
            to,
            coming: BinaryHeap::new(),
            completions: std::collections::BTreeMap::new(),
            written: 0,
            named: BTreeSet::new(),
            files: BTreeSet::new(),
            sequence: 0,
            first: None,
            last_us: 0,
        })
    }

    pub fn io(&mut self, io: &TraceIo, whose: &Whose) -> io::Result<()> {
        self.written += 1;
        match self.to {
            Lines::Csv => self.row(io, whose),
            Lines::Iolog => self.iolog(io, whose),
            Lines::Blktrace => self.events(io, whose),
        }
    }

    pub fn finish(mut self) -> io::Result<()> {
        if self.to == Lines::Blktrace {
            self.complete_until(u64::MAX)?;
        }
        if self.to == Lines::Iolog {
            for file in &self.files {
                writeln!(self.out, "{} {file} close", self.last_us)?;
            }
        }
        self.out.flush()
    }

    fn row(&mut self, io: &TraceIo, whose: &Whose) -> io::Result<()> {
        let (event, response) = (&io.event, io.response.map_or(String::new(), |ns| ns.to_string()));
        let word = word(event);
        let (offset, size) = (event.start * 512, u64::from(event.sectors) * 512);
        let plain = |name: &str| name.replace([',', '\n', '\r'], "_");
        let (disk, process) = (plain(&whose.device), plain(&whose.process));
        writeln!(self.out, "{},{disk},{process},{word},{offset},{size},{response}", event.time)
    }

    fn iolog(&mut self, io: &TraceIo, whose: &Whose) -> io::Result<()> {
        let event = &io.event;
        let first = *self.first.get_or_insert(event.time);
        // As fio 3.33 writes and replays it (tried).
        let at = event.time.saturating_sub(first) / 1000;
        self.last_us = self.last_us.max(at);
        let file = whose.device.replace(char::is_whitespace, "_");
        if self.files.insert(file.clone()) {
            writeln!(self.out, "{at} {file} add\n{at} {file} open")?;
        }
        let (offset, size) = (event.start * 512, u64::from(event.sectors) * 512);
        match event.op {
            Op::Read => writeln!(self.out, "{at} {file} read {offset} {size}"),
            // fio's format has no operation for writing zeroes.
            Op::Write | Op::WriteZeroes => writeln!(self.out, "{at} {file} write {offset} {size}"),
            Op::Discard => writeln!(self.out, "{at} {file} trim {offset} {size}"),
            Op::Flush => writeln!(self.out, "{at} {file} sync 0 0"),
        }
    }

    fn events(&mut self, io: &TraceIo, whose: &Whose) -> io::Result<()> {
        let event = &io.event;
        self.complete_until(event.time)?;
        if self.named.insert(event.pid) {
            BlktraceEvent::process(event.time, event.pid, &whose.process).write(&mut self.out)?;
        }
        let sync = if event.waiter == Waiter::Sync && event.op != Op::Read { Categories::SYNC } else { 0 };
        let meta = if event.hints.meta { Categories::META } else { 0 };
        let fua = if event.durability.fua { Categories::FUA } else { 0 };
        let flush = if event.durability.preflush { Categories::FLUSH } else { 0 };
        let kind = match event.op {
            Op::Read => Categories::READ,
            Op::Write | Op::WriteZeroes => Categories::WRITE | sync,
            Op::Discard => Categories::DISCARD,
            Op::Flush => Categories::WRITE | Categories::FLUSH | Categories::SYNC,
        };
        // A device without a number is called 8,0, 8,16, … like disks.
        let (major, minor) = if event.device.0 > 0xfff { (8, 16 * event.device.1) } else { event.device };
        self.sequence += 1;
        let queued = BlktraceEvent {
            sequence: self.sequence,
            time: event.time,
            sector: event.start,
            bytes: event.sectors * 512,
            action: Action::Queue,
            kind: Categories(kind | meta | fua | flush),
            pid: event.pid,
            device: major << 20 | minor,
            ..BlktraceEvent::default()
        };
        queued.write(&mut self.out)?;
        if let Some(took) = io.response {
            let time = event.time.saturating_add(took);
            self.coming.push(Reverse((time, self.written)));
            self.completions.insert(self.written, BlktraceEvent { time, action: Action::Complete, ..queued });
        }
        Ok(())
    }

    fn complete_until(&mut self, time: u64) -> io::Result<()> {
        while let Some(&Reverse((at, number))) = self.coming.peek()
            && at <= time
        {
            self.coming.pop();
            let mut event = self.completions.remove(&number).expect("it is coming");
            self.sequence += 1;
            event.sequence = self.sequence;
            event.write(&mut self.out)?;
        }
        Ok(())
    }
}
