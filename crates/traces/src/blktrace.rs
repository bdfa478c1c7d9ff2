//! blktrace's binary format: one file per CPU, a sequence of events, each of 48 bytes and a payload.
//!
//! Layout and codes: MEMORY of the format that blktrace writes and blkparse reads, checked event by event against
//! blkparse's own text of a recorded trace. Both byte orders are read; the machine's little-endian order is written.

mod action;

use std::io::{self, BufRead, BufReader, Read, Write};

pub use action::{Action, ActionSet, Categories};

/// The upper three bytes of the magic number; the lowest is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// The length of an event before its payload \[bytes\].
const HEADER: usize = 48;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlktraceEvent {
    /// Its number on its CPU, from 1; 0 for notes.
    pub sequence: u32,
    /// The time \[ns\], on a clock with an arbitrary origin.
    pub time: u64,
    /// First sector.
    pub sector: u64,
    /// Length \[bytes\].
    pub bytes: u32,
    /// The action.
    pub action: Action,
    /// The kind of I/O.
    pub kind: Categories,
    /// The process.
    pub pid: u32,
    /// The device, as the kernel numbers it: major << 20 | minor.
    pub device: u32,
    /// The CPU.
    pub cpu: u32,
    /// 0, or the error of a completion.
    pub error: u16,
    /// Further data: a process's name, a message, a number.
    pub payload: Vec<u8>,
}

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BlktraceError {
    /// The file could not be read.
    #[error("event {event}: {source}")]
    Io {
        /// The event's number, from 1.
        event: usize,
        /// The system's error.
        source: io::Error,
    },
    /// These bytes do not begin an event.
    #[error(
        "event {event}: {found:#010x} is not a blktrace magic number: expected {MAGIC:#010x} and version {VERSION}"
    )]
    Magic {
        /// The event's number, from 1.
        event: usize,
        /// The value found instead.
        found: u32,
    },
}

/// Whether these bytes begin a trace.
pub fn is_trace(bytes: &[u8]) -> bool {
    let magic = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    [magic, magic.swap_bytes()].into_iter().any(|magic| magic & 0xffff_ff00 == MAGIC)
}

/// Reads a whole trace. If it ends inside an event (its writer was killed), it is read up to there.
///
/// # Errors
/// If `input` cannot be read, or contains something else where an event is expected.
pub fn read(input: impl Read) -> Result<Vec<BlktraceEvent>, BlktraceError> {
    events(BufReader::new(input)).collect()
}

/// The events of a trace, one after the other. If it ends inside an event, it is read up to there.
pub fn events<I: BufRead>(input: I) -> Events<I> {
    Events { input, read: 0, ended: false, is_cut_off: false, out: Vec::new() }
}

/// Reads events; after an error there are no more.
pub struct Events<I> {
    input: I,
    read: usize,
    ended: bool,
    is_cut_off: bool,
    /// The event extracted last, as written.
    out: Vec<u8>,
}

impl<I: BufRead> Events<I> {
    /// Reads the next event into `event`, whose memory is reused; false at the end.
    ///
    /// # Errors
    /// If the input cannot be read, or contains something else where an event is expected.
    pub fn next_into(&mut self, event: &mut BlktraceEvent) -> Result<bool, BlktraceError> {
        if !self.take_out()? {
            return Ok(false);
        }
        self.read += 1;
        if let Some((header, behind)) = self.out.split_first_chunk()
            && let Some(order) = order_of(header)
        {
            let mut payload = core::mem::take(&mut event.payload);
            payload.clear();
            payload.extend_from_slice(behind);
            *event = BlktraceEvent { payload, ..decoded(header, order) };
        }
        Ok(true)
    }

    /// Reads some more events; false at the end. Each whose action is `wanted` is passed to `take` with its payload,
    /// which it does not contain itself; the others are skipped at little cost.
    ///
    /// # Errors
    /// As [`Events::next_into`], after the events passed on.
    #[inline]
    pub fn several(
        &mut self,
        wanted: ActionSet,
        mut take: impl FnMut(&BlktraceEvent, &[u8]),
    ) -> Result<bool, BlktraceError> {
        let buffer = if self.ended { &[][..] } else { self.input.fill_buf().unwrap_or_default() };
        let is_buffered = begins_with_event(buffer);
        if !is_buffered && !self.take_out()? {
            return Ok(false);
        }
        let source = if is_buffered { self.input.fill_buf().unwrap_or_default() } else { &self.out[..] };
        let passed = pass(source, wanted, &mut take);
        if is_buffered {
            self.input.consume(passed.bytes);
        }
        self.read += passed.events;
        Ok(true)
    }

    /// Whether the input ended inside an event, or inside a packed block.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Extracts the next event from the input, wherever its bytes are buffered; false at the end.
    fn take_out(&mut self) -> Result<bool, BlktraceError> {
        let read = !self.ended && self.take_whole().inspect_err(|_| self.ended = true)?;
        self.ended = !read;
        Ok(read)
    }

    fn take_whole(&mut self) -> Result<bool, BlktraceError> {
        let event = self.read + 1;
        let failed = |source| BlktraceError::Io { event, source };
        let mut header = [0; HEADER];
        match filled(&mut self.input, &mut header).map_err(failed)? {
            Filled::Whole => {}
            part => {
                self.is_cut_off = part == Filled::InPart;
                return Ok(false);
            }
        }
        let order = order_of(&header).ok_or(BlktraceError::Magic { event, found: magic_of(&header) })?;
        self.out.clear();
        self.out.extend_from_slice(&header);
        self.out.resize(HEADER + length_of(&header, order), 0);
        let whole = filled(&mut self.input, &mut self.out[HEADER..]).map_err(failed)? == Filled::Whole;
        self.is_cut_off = !whole;
        Ok(whole)
    }
}

/// The part of a buffer that was processed.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    events: usize,
    bytes: usize,
}

/// Whether the buffer begins with a whole event.
fn begins_with_event(buffer: &[u8]) -> bool {
    let header = buffer.first_chunk();
    let length = |header| order_of(header).map(|order| HEADER + length_of(header, order));
    header.and_then(length).is_some_and(|length| length <= buffer.len())
}

/// Processes the events that are completely in `buffer`, up to the [`AT_ONCE`]th wanted one.
#[inline]
fn pass(buffer: &[u8], wanted: ActionSet, take: &mut impl FnMut(&BlktraceEvent, &[u8])) -> Passed {
    let (mut passed, mut rest, mut taken) = (Passed::default(), buffer, 0);
    while let Some((header, behind)) = rest.split_first_chunk::<HEADER>() {
        let Some(order) = order_of(header) else { break };
        let Some((payload, next)) = behind.split_at_checked(length_of(header, order)) else { break };
        rest = next;
        passed.events += 1;
        if wanted.has_bits(word(header, 28, order)) {
            // Called in one place only, so that it is inlined into this loop.
            take(&decoded(header, order), payload);
            taken += 1;
            if taken == AT_ONCE {
                break;
            }
        }
    }
    Passed { bytes: buffer.len() - rest.len(), ..passed }
}

impl<I: BufRead> Iterator for Events<I> {
    type Item = Result<BlktraceEvent, BlktraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut event = BlktraceEvent::default();
        self.next_into(&mut event).map(|read| read.then_some(event)).transpose()
    }
}

/// How much of a buffer the input could fill before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    Whole,
    /// It ended inside, or a packed block did.
    InPart,
    Nothing,
}

/// Reads as much as the buffer holds.
pub(crate) fn filled(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<Filled> {
    let mut at = 0;
    while at < buffer.len() {
        match input.read(&mut buffer[at..]) {
            Ok(0) => return Ok(if at == 0 { Filled::Nothing } else { Filled::InPart }),
            Ok(read) => at += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Filled::InPart),
            Err(error) => return Err(error),
        }
    }
    Ok(Filled::Whole)
}

/// The order of a number's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

/// The bytes at a place of a header; all places are constants.
fn bytes_at<const N: usize>(header: &[u8; HEADER], at: usize) -> [u8; N] {
    header[at..].first_chunk().copied().unwrap_or([0; N])
}

fn magic_of(header: &[u8; HEADER]) -> u32 {
    u32::from_le_bytes(bytes_at(header, 0))
}

/// The byte order of an event; `None` if these bytes do not begin one.
#[inline]
fn order_of(header: &[u8; HEADER]) -> Option<ByteOrder> {
    const SWAPPED: u32 = (MAGIC | VERSION).swap_bytes();
    match magic_of(header) {
        magic if magic == MAGIC | VERSION => Some(ByteOrder::Little),
        SWAPPED => Some(ByteOrder::Big),
        _ => None,
    }
}

/// The greatest number of events passed on at once.
const AT_ONCE: usize = 64;

#[inline]
fn long(header: &[u8; HEADER], at: usize, order: ByteOrder) -> u64 {
    let number = u64::from_le_bytes(bytes_at(header, at));
    if order == ByteOrder::Little { number } else { number.swap_bytes() }
}

#[inline]
fn word(header: &[u8; HEADER], at: usize, order: ByteOrder) -> u32 {
    let number = u32::from_le_bytes(bytes_at(header, at));
    if order == ByteOrder::Little { number } else { number.swap_bytes() }
}

#[inline]
fn short(header: &[u8; HEADER], at: usize, order: ByteOrder) -> u16 {
    let number = u16::from_le_bytes(bytes_at(header, at));
    if order == ByteOrder::Little { number } else { number.swap_bytes() }
}

/// The length of an event's payload.
#[inline]
fn length_of(header: &[u8; HEADER], order: ByteOrder) -> usize {
    usize::from(short(header, 46, order))
}

/// The device that a bio was mapped from, major and minor, and its sector there: of the payload of a
/// [`Remap`](Action::Remap), which is big-endian in every trace: MEMORY of the format, checked against no recording.
pub fn mapped_from(payload: &[u8]) -> Option<((u32, u32), u64)> {
    let device = u32::from_be_bytes(*payload.first_chunk()?);
    let sector = u64::from_be_bytes(*payload.get(8..)?.first_chunk()?);
    Some(((device >> 20, device & 0xf_ffff), sector))
}

/// The event of these bytes, without its payload.
#[inline]
fn decoded(header: &[u8; HEADER], order: ByteOrder) -> BlktraceEvent {
    let action = word(header, 28, order);
    let kind = Categories((action >> 16) as u16);
    BlktraceEvent {
        kind,
        action: Action::of(action as u16, kind),
        sequence: word(header, 4, order),
        time: long(header, 8, order),
        sector: long(header, 16, order),
        bytes: word(header, 24, order),
        pid: word(header, 32, order),
        device: word(header, 36, order),
        cpu: word(header, 40, order),
        error: short(header, 44, order),
        payload: Vec::new(),
    }
}

impl BlktraceEvent {
    /// Appends the event to a trace. The action's own category bit is added to its kind.
    ///
    /// # Errors
    /// If `out` does.
    ///
    /// # Panics
    /// If the payload is longer than 65,535 bytes.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let (code, category) = self.action.code();
        let length = u16::try_from(self.payload.len()).expect("a payload is short");
        let mut bytes = Vec::with_capacity(HEADER + self.payload.len());
        bytes.extend((MAGIC | VERSION).to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.sector.to_le_bytes());
        bytes.extend(self.bytes.to_le_bytes());
        bytes.extend((u32::from(self.kind.0 | category) << 16 | u32::from(code)).to_le_bytes());
        bytes.extend(self.pid.to_le_bytes());
        bytes.extend(self.device.to_le_bytes());
        bytes.extend(self.cpu.to_le_bytes());
        bytes.extend(self.error.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(&self.payload);
        out.write_all(&bytes)
    }

    /// The note that gives a process's name in a trace.
    pub fn process(time: u64, pid: u32, name: &str) -> BlktraceEvent {
        let mut payload: Vec<u8> = name.bytes().take(15).collect();
        payload.push(0);
        BlktraceEvent { time, pid, action: Action::Note(0), payload, ..BlktraceEvent::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `7,4 1 2 0.000035486 2145 G R 0 + 128` as blkparse prints an event: CPU, number, time, pid, action, kind, place.
    fn as_blkparse_prints(event: &BlktraceEvent, zero: u64) -> String {
        let since = event.time - zero;
        let (seconds, ns) = (since / 1_000_000_000, since % 1_000_000_000);
        let (major, minor) = (event.device >> 20, event.device & 0xf_ffff);
        let BlktraceEvent { cpu, sequence, pid, action, kind, sector, .. } = event;
        let place = if event.bytes > 0 { format!(" {sector} + {}", event.bytes / 512) } else { String::new() };
        // For blkparse, an event that moves no data has no kind.
        let kind = if event.bytes > 0 { kind.letters() } else { "N".to_owned() };
        let letter = action.letter();
        format!("{major},{minor} {cpu} {sequence} {seconds}.{ns:09} {pid} {letter} {kind}{place}")
    }

    /// The same words of a line of blkparse; `None` for its summary.
    fn words(line: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first().filter(|word| word.contains(',') && words.len() > 6)?;
        let place = if words.get(8) == Some(&"+") { 10 } else { 7 };
        Some(words[..place].join(" "))
    }

    #[test]
    fn a_real_trace_reads_as_blkparse_reads_it() {
        let files: [&[u8]; 2] = [
            include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0"),
            include_bytes!("../../../testdata/traces/mq-deadline.blktrace.1"),
        ];
        let events: Vec<BlktraceEvent> = files.into_iter().flat_map(|file| read(file).unwrap()).collect();
        let mut ours: Vec<&BlktraceEvent> =
            events.iter().filter(|event| !matches!(event.action, Action::Note(_))).collect();
        ours.sort_by_key(|event| event.time);
        let zero = ours[0].time;
        let mut ours: Vec<String> = ours.into_iter().map(|event| as_blkparse_prints(event, zero)).collect();
        let text = include_bytes!("../../../testdata/traces/mq-deadline.blkparse.txt.gz");
        let mut theirs = String::new();
        flate2::read::GzDecoder::new(&text[..]).read_to_string(&mut theirs).unwrap();
        let mut theirs: Vec<String> = theirs.lines().filter_map(words).collect();
        // Equal times on two CPUs have no order.
        ours.sort();
        theirs.sort();
        assert!(theirs.len() > 3000, "{} events", theirs.len());
        assert_eq!(ours, theirs);
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let file = include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0");
        let events = read(&file[..]).unwrap();
        let mut written = Vec::new();
        events.iter().for_each(|event| event.write(&mut written).unwrap());
        assert!(written == file);
    }

    /// Whatever pieces the input is read in, and in both byte orders: the wanted events with their payloads.
    #[test]
    fn several_at_once_are_the_same_events() {
        let file = include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0");
        let notes = [Action::Note(0), Action::Note(1), Action::Note(2)];
        let wanted = ActionSet::of(&[&[Action::Queue, Action::Unplug], &notes[..]].concat());
        let all = read(&file[..]).unwrap();
        let fifth: usize = all[..5].iter().map(|event| HEADER + event.payload.len()).sum();
        let expected: Vec<BlktraceEvent> = all
            .into_iter()
            .filter(|event| matches!(event.action, Action::Queue | Action::Unplug | Action::Note(_)))
            .collect();
        for buffer in [1, 47, 48, 100, 4096, 1 << 20] {
            let (mut reader, mut seen) = (events(BufReader::with_capacity(buffer, &file[..])), Vec::new());
            let mut take = |event: &BlktraceEvent, payload: &[u8]| {
                seen.push(BlktraceEvent { payload: payload.to_vec(), ..event.clone() })
            };
            while reader.several(wanted, &mut take).unwrap() {}
            assert!(seen == expected, "{buffer}");
        }
        let mut broken = file[..].to_vec();
        broken[fifth] = 0;
        let mut reader = events(&broken[..]);
        let mut ended = || loop {
            match reader.several(wanted, |_, _| ()) {
                Ok(true) => {}
                other => return other.map_err(|error| error.to_string()),
            }
        };
        assert!(ended().unwrap_err().contains("is not a blktrace magic number"));
        assert_eq!(ended(), Ok(false));
    }

    #[test]
    fn an_event_brings_its_own_category() {
        let event = BlktraceEvent {
            action: Action::Issue,
            kind: Categories(Categories::WRITE | Categories::SYNC),
            ..BlktraceEvent::default()
        };
        let mut bytes = Vec::new();
        event.write(&mut bytes).unwrap();
        let read = read(&bytes[..]).unwrap();
        assert_eq!(read[0].kind.0, Categories::WRITE | Categories::SYNC | Categories::ISSUE);
        assert_eq!(read[0].kind.letters(), "WS");
    }

    #[test]
    fn a_trace_is_good_up_to_where_its_writer_was_killed_and_garbage_is_told() {
        let mut bytes = Vec::new();
        BlktraceEvent::process(1, 7, "fio").write(&mut bytes).unwrap();
        BlktraceEvent { sector: 8, bytes: 4096, ..BlktraceEvent::default() }.write(&mut bytes).unwrap();
        assert_eq!(read(&bytes[..bytes.len() - 1]).unwrap().len(), 1);
        bytes[HEADER + 4] = 0;
        let error = read(&bytes[..]).unwrap_err().to_string();
        assert!(error.starts_with("event 2: 0x"), "{error}");
    }

    #[test]
    fn the_other_byte_order_is_read_too() {
        let mut bytes = Vec::new();
        BlktraceEvent { sector: 8, bytes: 4096, time: 5, ..BlktraceEvent::default() }.write(&mut bytes).unwrap();
        for (at, length) in
            [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4), (40, 4), (44, 2), (46, 2)]
        {
            bytes[at..at + length].reverse();
        }
        let event = &read(&bytes[..]).unwrap()[0];
        assert_eq!((event.sector, event.bytes, event.time, event.action), (8, 4096, 5, Action::Queue));
    }
}
