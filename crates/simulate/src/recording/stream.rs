//! The events of a trace's files in order of time, in bounded memory.
//!
//! **Rule** Files are merged by time. Events out of order inside a file are sorted within [`WINDOW`] and up to
//! [`MOST_WAITING`] waiting events; an event that is later still gets the time of the event before it, and is counted.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use blksched::Span;
use blksched_traces::blktrace::ActionSet;
use blksched_traces::columns::RowReader;
use blksched_traces::groups::RecordedGroups;
use blksched_traces::machine::Machine;
use blksched_traces::{blkparse, blktrace, tracefs, unpack, vscsi};
use blksched_workloads::replay::{InFlightIos, KEPT_IN_MEMORY, TraceAction, TraceEvent};

use super::events::{
    Begins, DeviceNumber, NAMED, Names, Plugs, asked, of_blkparse, of_blktrace, of_row, of_tracefs, of_vscsi,
};
use super::filter::{Devices, Filter};
use super::format::{self, Format};
use super::order::{Counts, EventOrder, FileEvents, WaitingEvent};

/// How far a trace may run backward and still be put in order.
pub const WINDOW: Span = Span::from_secs(1);
/// The most events that wait to be put in order: about 100 bytes each.
pub const MOST_WAITING: usize = 1 << 20;
/// How much of a file is read to determine its format \[bytes\].
const BEGINNING: usize = 64 << 10;

/// What to do with a damaged line or record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Damage {
    /// Report an error.
    #[default]
    Refused,
    /// Skip and count it.
    Skipped,
}

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its format; `None` to determine it from the content.
    pub format: Option<Format>,
    /// The part of it that is wanted.
    pub filter: Filter,
    /// What to do with damaged lines.
    pub damage: Damage,
    /// How much of a recording of it stays in memory \[bytes\]; what is beyond lies in a temporary file.
    pub most_memory: u64,
}

impl Default for Reading {
    fn default() -> Reading {
        let (filter, damage) = (Filter::default(), Damage::default());
        Reading { format: None, filter, damage, most_memory: KEPT_IN_MEMORY }
    }
}

/// Irregularities found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Lines or records that were skipped.
    pub damaged: u64,
    /// Rows whose kind the trace leaves blank.
    pub without_kind: u64,
    /// Events that came too late for the window.
    pub late: u64,
    /// Events lost according to the trace.
    pub lost: u64,
    /// Files that end inside a line or inside a packed block.
    pub cut_off: u64,
}

/// A file of a trace, with its name for errors.
pub type Named = (String, Box<dyn Read + Send>);

type Input = Box<dyn BufRead + Send>;

/// A file that is being read.
struct StreamFile {
    name: String,
    kind: StreamKind,
    /// The latest time read; `None` at its end.
    reached: Option<u64>,
}

enum StreamKind {
    Blktrace(blktrace::Events<Input>, ActionSet, Begins),
    Lines(Input, Begins, Text, usize),
    Vscsi(vscsi::Records<Input>),
    Rows(Box<RowReader<Input>>),
}

/// Whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    On,
    Stop,
}

/// Which text of a kernel's events.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Text {
    Blkparse,
    BlkparseAs(Box<blkparse::Layout>),
    Tracefs,
}

/// The events of a trace.
pub struct Stream {
    files: Vec<StreamFile>,
    reading: Reading,
    order: EventOrder,
    /// Nothing can come before a waiting event that is not later than this.
    settled: Option<u64>,
    names: Names,
    groups: RecordedGroups,
    devices: BTreeMap<DeviceNumber, String>,
    keeps_all: bool,
    /// Of what is wanted, where not all is.
    in_flight: InFlightIos<()>,
    first: Option<u64>,
    last: u64,
    met: Met,
    format: Format,
    machine: Option<Machine>,
    /// Nothing that is wanted comes any more.
    is_over: bool,
}

impl Stream {
    /// The files of one trace: several if there is one per CPU. Each has a name, for errors.
    ///
    /// # Errors
    /// If one cannot be read, or is in no known format.
    pub fn open(files: Vec<Named>, reading: Reading) -> Result<Stream, String> {
        let (mut opened, mut shown, mut machine, mut begins) = (Vec::new(), None, None, None);
        for (name, file) in files {
            let opened_file = StreamFile::open(&name, file, reading.format.as_ref())?;
            let Some((kind, format, told, seen)) = opened_file else { continue };
            shown.get_or_insert(format);
            begins = begins.into_iter().chain(seen).min();
            machine = machine.or(told);
            opened.push(StreamFile { name, kind, reached: Some(0) });
        }
        let format: Format = shown.ok_or("the trace is empty")?;
        // A CPU on which only completions happened does not tell how I/Os begin.
        let format = match begins {
            Some(begins) => format.beginning_with(begins),
            None => format,
        };
        if let Some(all) = begins {
            for file in &mut opened {
                let file: &mut StreamFile = file;
                if let StreamKind::Blktrace(_, wanted, begins) = &mut file.kind {
                    (*wanted, *begins) = (asked(Plugs::Told, all), all);
                }
            }
        }
        Ok(Stream {
            order: EventOrder::of(opened.len()),
            files: opened,
            keeps_all: reading.filter.keeps_all(),
            reading,
            in_flight: InFlightIos::default(),
            settled: None,
            names: Names::new(),
            groups: RecordedGroups::default(),
            devices: BTreeMap::new(),
            first: None,
            last: 0,
            met: Met::default(),
            format,
            machine,
            is_over: false,
        })
    }

    /// The first file's format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The machine it was recorded on, if `blksched record` recorded it.
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }

    /// The irregularities found so far.
    pub fn met(&self) -> Met {
        let blank = self.files.iter().map(|file| match &file.kind {
            StreamKind::Rows(rows) => rows.without_kind,
            _ => 0,
        });
        Met { without_kind: blank.sum(), ..self.met }
    }

    /// Processes' names so far.
    pub fn names(&self) -> &BTreeMap<u32, String> {
        &self.names
    }

    /// The control groups told so far: they stand at a recording's end.
    pub fn groups(&self) -> &RecordedGroups {
        &self.groups
    }

    /// The name of a device.
    pub fn device(&self, device: DeviceNumber) -> String {
        name_of(&self.devices, device)
    }

    /// The same without plugs, for callers that do not need to know which I/Os were submitted together.
    pub fn without_plugs(mut self) -> Stream {
        for file in &mut self.files {
            if let StreamKind::Blktrace(_, wanted, begins) = &mut file.kind {
                *wanted = asked(Plugs::PassedOver, *begins);
            }
        }
        self
    }

    /// The next wanted event; `None` at the end.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged, and damage is refused.
    pub fn event(&mut self) -> Result<Option<TraceEvent>, String> {
        let mut next = None;
        self.until(|event| {
            next = Some(event.clone());
            Ok(Go::Stop)
        })?;
        Ok(next)
    }

    /// Whether it was opened for one device.
    pub fn is_of_one_device(&self) -> bool {
        matches!(self.reading.filter.device, Devices::One(_))
    }

    /// Calls `tell` for every wanted event, one after the other.
    ///
    /// # Errors
    /// As [`Stream::event`], and those of `tell`.
    pub fn each(&mut self, mut tell: impl FnMut(&TraceEvent) -> Result<(), String>) -> Result<(), String> {
        self.until(|event| tell(event).map(|()| Go::On))
    }

    #[inline]
    fn until(&mut self, mut tell: impl FnMut(&TraceEvent) -> Result<Go, String>) -> Result<(), String> {
        loop {
            if self.is_over {
                return Ok(());
            }
            if !self.is_ready() && self.read_on()? {
                continue;
            }
            let (mut told, mut went) = (0, Go::On);
            let run = self.order.run(self.settled);
            // A run is in order, so if the first of it is on time, all are.
            let plain = self.keeps_all && self.first.is_some();
            let is_plain = plain && run.first().is_some_and(|waiting| waiting.1.time >= self.last);
            let mut late;
            for WaitingEvent(_, event) in run {
                told += 1;
                let mut event = event;
                if is_plain {
                    self.last = event.time;
                } else {
                    let time = event.time.max(self.last);
                    let is_plug = matches!(event.what, TraceAction::Plug | TraceAction::Unplug);
                    if self.first.is_none() && !is_plug {
                        self.first = Some(time);
                    }
                    self.last = time;
                    if time > event.time {
                        self.met.late += 1;
                        late = TraceEvent { time, ..event.clone() };
                        event = &late;
                    }
                    let since = Span::from_ns(time - self.first.unwrap_or(time));
                    let filter = &self.reading.filter;
                    let is_named = || {
                        let process = self.names.get(&event.pid).map(String::as_str);
                        filter.keeps(event, since, &name_of(&self.devices, event.device), process)
                    };
                    let is_kept = self.keeps_all || (is_named() && is_of_what_came(&mut self.in_flight, event));
                    if !is_kept {
                        self.is_over = filter.is_over(since, self.in_flight.is_empty());
                        if self.is_over {
                            break;
                        }
                        continue;
                    }
                }
                // Called in one place, so that it is inlined into this loop.
                went = tell(event)?;
                if went == Go::Stop {
                    break;
                }
            }
            self.order.pop(told);
            if told == 0 || went == Go::Stop {
                return Ok(());
            }
        }
    }

    /// Whether nothing can come any more that is earlier than the earliest that waits.
    fn is_ready(&self) -> bool {
        let earliest = self.order.earliest();
        earliest.is_some() && (earliest <= self.settled || self.order.len() >= MOST_WAITING)
    }

    /// Reads some more records of the file that is furthest behind; of several, the first. False if all have ended.
    fn read_on(&mut self) -> Result<bool, String> {
        let behind = |at: &usize| self.files[*at].reached.map(|reached| (reached, *at));
        let Some((_, at)) = (0..self.files.len()).filter_map(|at| behind(&at)).min() else { return Ok(false) };
        let others = (0..self.files.len()).filter(|other| *other != at);
        let next = others.filter_map(|other| behind(&other)).min();
        loop {
            self.read_one(at)?;
            let Some(reached) = self.files[at].reached else { break };
            let behind = next.map_or(reached, |(next, _)| next.min(reached));
            self.settled = behind.checked_sub(WINDOW.as_ns());
            if self.is_ready() || next.is_some_and(|next| (reached, at) > next) {
                return Ok(true);
            }
        }
        // It has ended; nothing comes after the end of all files.
        self.settled = next.map_or(Some(u64::MAX), |(next, _)| next.checked_sub(WINDOW.as_ns()));
        Ok(true)
    }

    /// Reads one more record of a file.
    fn read_one(&mut self, at: usize) -> Result<(), String> {
        let file = &mut self.files[at];
        // A row's first event is its submission, and its completion is still to come.
        let counts = if matches!(file.kind, StreamKind::Blktrace(..)) { Counts::Every } else { Counts::First };
        let reached = file.reached.unwrap_or(0);
        let mut events = self.order.events_of(at, counts, reached);
        let read = file.read(&mut events, (&mut self.names, &mut self.groups), &mut self.devices);
        file.reached = Some(events.reached());
        drop(events);
        match (read, self.reading.damage) {
            (Ok(StreamStep::Read), _) => {}
            (Ok(StreamStep::Lost(events)), _) => self.met.lost += events,
            (Ok(StreamStep::Ended), _) => file.reached = None,
            (Ok(StreamStep::CutOff), _) => {
                self.met.cut_off += 1;
                file.reached = None;
            }
            (Err(StreamTrouble::Damage(_, whether)), Damage::Skipped) => {
                self.met.damaged += 1;
                if whether == GoesOn::No {
                    file.reached = None;
                }
            }
            (Err(StreamTrouble::Damage(why, _)), Damage::Refused) => return Err(why),
            (Err(StreamTrouble::Io(why)), _) => return Err(why),
        }
        Ok(())
    }
}

fn name_of(devices: &BTreeMap<DeviceNumber, String>, device: DeviceNumber) -> String {
    match devices.get(&device) {
        Some(name) => name.clone(),
        None if device.0 == NAMED => "disk".to_owned(),
        None => format!("{},{}", device.0, device.1),
    }
}

/// Comes with which events of a binary file count as submissions, if the file has any.
type Opened = (StreamKind, Format, Option<Machine>, Option<Begins>);

enum StreamStep {
    Read,
    Lost(u64),
    Ended,
    /// Its last line or its packing ends too early.
    CutOff,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GoesOn {
    Yes,
    No,
}

enum StreamTrouble {
    Io(String),
    Damage(String, GoesOn),
}

impl StreamFile {
    /// Opens a file: its format and its description of the machine; `None` if it is empty, like those of CPUs on which
    /// nothing happened.
    fn open(name: &str, file: Box<dyn Read + Send>, said: Option<&Format>) -> Result<Option<Opened>, String> {
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let mut rest = unpack::unpacked(file).map_err(failed)?;
        let mut beginning = Vec::new();
        rest.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning).map_err(failed)?;
        if beginning.is_empty() {
            return Ok(None);
        }
        let whole = beginning.len() < BEGINNING;
        let format = match said {
            Some(format) => format.clone(),
            None => Format::of(&beginning, whole).ok_or_else(|| format::unknown(name, &beginning, whole))?,
        };
        let seen = match &format {
            Format::Blktrace(_) => format::begins_in(&beginning),
            _ => None,
        };
        let format = match &format {
            Format::BlkparseAs(_, layout) => {
                let begins = format::begins_as(layout, &beginning);
                format.beginning_with(begins)
            }
            _ => format,
        };
        let machine = Machine::read(&String::from_utf8_lossy(&beginning));
        let input: Input = Box::new(Cursor::new(beginning).chain(rest));
        let kind = match &format {
            Format::Blktrace(begins) => {
                StreamKind::Blktrace(blktrace::events(input), asked(Plugs::Told, *begins), *begins)
            }
            Format::Blkparse(begins) => StreamKind::Lines(input, *begins, Text::Blkparse, 0),
            Format::BlkparseAs(begins, layout) => {
                StreamKind::Lines(input, *begins, Text::BlkparseAs(layout.clone()), 0)
            }
            Format::Tracefs(begins) => StreamKind::Lines(input, *begins, Text::Tracefs, 0),
            Format::Vscsi(version) => StreamKind::Vscsi(vscsi::Records::new(input, *version)),
            Format::Text(preset) => StreamKind::Rows(Box::new(RowReader::new(input, preset.spec.clone()))),
        };
        Ok(Some((kind, format, machine, seen)))
    }

    /// Reads one more line or record, and puts its events into `events`.
    fn read(
        &mut self,
        events: &mut FileEvents<'_>,
        (names, groups): (&mut Names, &mut RecordedGroups),
        devices: &mut BTreeMap<DeviceNumber, String>,
    ) -> Result<StreamStep, StreamTrouble> {
        let name = &self.name;
        match &mut self.kind {
            StreamKind::Blktrace(reader, wanted, begins) => loop {
                let begins = *begins;
                match reader.several(*wanted, |event, payload| of_blktrace(event, payload, begins, events, names)) {
                    Ok(false) if reader.is_cut_off() => return Ok(StreamStep::CutOff),
                    Ok(false) => return Ok(StreamStep::Ended),
                    Ok(true) => {}
                    Err(error @ blktrace::BlktraceError::Io { .. }) => {
                        return Err(StreamTrouble::Io(format!("{name}: {error}")));
                    }
                    Err(error) => return Err(StreamTrouble::Damage(format!("{name}: {error}"), GoesOn::No)),
                }
                if !events.is_empty() {
                    return Ok(StreamStep::Read);
                }
            },
            StreamKind::Lines(input, begins, text, line) => {
                read_line(name, input, (*begins, text), line, events, (names, groups))
            }
            StreamKind::Vscsi(records) => match records.next() {
                None if records.is_cut_off() => Ok(StreamStep::CutOff),
                None => Ok(StreamStep::Ended),
                Some(Ok(record)) => {
                    of_vscsi(&record, events);
                    Ok(StreamStep::Read)
                }
                Some(Err(error)) => Err(StreamTrouble::Io(format!("{name}: {error}"))),
            },
            StreamKind::Rows(rows) => match rows.row() {
                Err(error) if is_cut(&error) => Ok(StreamStep::CutOff),
                Err(error) => Err(StreamTrouble::Io(format!("{name}: {error}"))),
                Ok(_) if rows.is_cut_off() => Ok(StreamStep::CutOff),
                Ok(None) => Ok(StreamStep::Ended),
                Ok(Some(Err(error))) => Err(StreamTrouble::Damage(format!("{name}:{error}"), GoesOn::Yes)),
                Ok(Some(Ok(row))) => {
                    of_row(&row, events);
                    let (device, process) = (row.device as usize, row.process as usize);
                    let called = |name: &String| if name.is_empty() { "disk".to_owned() } else { name.clone() };
                    devices.entry((NAMED, row.device)).or_insert_with(|| called(&rows.devices()[device]));
                    names.entry(row.process + 1).or_insert_with(|| called(&rows.processes()[process]));
                    Ok(StreamStep::Read)
                }
            },
        }
    }
}

/// Reads one line of a kernel's text.
fn read_line(
    name: &str,
    input: &mut Input,
    kind: (Begins, &Text),
    line: &mut usize,
    events: &mut FileEvents<'_>,
    tasks: (&mut Names, &mut RecordedGroups),
) -> Result<StreamStep, StreamTrouble> {
    let mut text = Vec::new();
    // The kernel's lines are short; text without an end of line is damage, and must not fill the memory.
    match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text) {
        Ok(0) => return Ok(StreamStep::Ended),
        Ok(_) => {}
        Err(error) if is_cut(&error) => return Ok(StreamStep::CutOff),
        Err(error) => return Err(StreamTrouble::Io(format!("{name}: {error}"))),
    }
    *line += 1;
    // Half a number is a number, too: without its end no line is known to be whole.
    if text.last() != Some(&b'\n') && (text.len() as u64) < LONGEST_LINE {
        return Ok(StreamStep::CutOff);
    }
    events_in(name, &text, kind, *line, events, tasks)
}

/// Whether a packed file ends too early.
fn is_cut(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::UnexpectedEof
}

/// The kernel's lines are shorter \[bytes\].
const LONGEST_LINE: u64 = 1 << 16;

/// The events of one line.
fn events_in(
    name: &str,
    text: &[u8],
    kind: (Begins, &Text),
    line: usize,
    events: &mut FileEvents<'_>,
    (names, groups): (&mut Names, &mut RecordedGroups),
) -> Result<StreamStep, StreamTrouble> {
    let path = Path::new(name);
    let located = |error: String| {
        // A line is parsed alone, so it counts as the first.
        let told =
            error.strip_prefix(&format!("{name}:1:")).map_or(error.clone(), |rest| format!("{name}:{line}:{rest}"));
        StreamTrouble::Damage(told, GoesOn::Yes)
    };
    match kind.1 {
        Text::Blkparse => {
            for event in blkparse::events(text, path) {
                of_blkparse(&event.map_err(|error| located(error.to_string()))?, kind.0, events, names);
            }
        }
        Text::BlkparseAs(layout) => {
            for event in blkparse::events_of(text, path, layout) {
                of_blkparse(&event.map_err(|error| located(error.to_string()))?, kind.0, events, names);
            }
        }
        Text::Tracefs => {
            if let Some(lost) = lost(text) {
                return Ok(StreamStep::Lost(lost));
            }
            if text.starts_with(b"#") && groups.take(&String::from_utf8_lossy(text)) {
                return Ok(StreamStep::Read);
            }
            for event in tracefs::events(text, path) {
                of_tracefs(&event.map_err(|error| located(error.to_string()))?, kind.0, events, names);
            }
        }
    }
    Ok(StreamStep::Read)
}

/// Parses `CPU:1 [LOST 123 EVENTS]`.
fn lost(line: &[u8]) -> Option<u64> {
    let text = str::from_utf8(line).ok()?;
    let (_, behind) = text.split_once("[LOST ")?;
    behind.split_once(" EVENTS]")?.0.parse().ok()
}

/// Whether this is no completion, or that of an I/O that came through here.
fn is_of_what_came(in_flight: &mut InFlightIos<()>, event: &TraceEvent) -> bool {
    // Beyond this, it is not known of what a completion is.
    const MOST: usize = 1 << 20;
    match event.what {
        TraceAction::Queue if in_flight.len() < MOST => in_flight.add(event, ()),
        TraceAction::Complete if in_flight.len() < MOST => {
            let mut came = false;
            in_flight.complete(event, |()| came = true);
            return came;
        }
        _ => {}
    }
    true
}
