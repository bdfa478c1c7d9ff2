//! blktrace's binary format: one file per CPU, one event behind the other, each 48 bytes and a payload.
//!
//! Layout and codes: MEMORY of the format that blktrace writes and blkparse reads, checked event by event against
//! blkparse's own text of a recorded trace. Both byte orders are read; the machine's little-endian order is written.

use std::io::{self, BufRead, BufReader, Read, Write};

/// Upper three bytes of the magic number; the lowest is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// Bytes of an event before its payload.
const HEADER: usize = 48;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlktraceEvent {
    /// Its number on its CPU, from 1; 0 for notes.
    pub sequence: u32,
    /// When \[ns\], on a clock that starts anywhere.
    pub time: u64,
    /// First sector.
    pub sector: u64,
    /// Length \[bytes\].
    pub bytes: u32,
    /// What happened.
    pub action: Action,
    /// Of what kind of I/O.
    pub kind: Categories,
    /// The process.
    pub pid: u32,
    /// The device, as the kernel numbers it: major << 20 | minor.
    pub device: u32,
    /// On which CPU.
    pub cpu: u32,
    /// 0, or the error of a completion.
    pub error: u16,
    /// What else is told: a process's name, a message, a number.
    pub payload: Vec<u8>,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// A bio was submitted (`Q`).
    #[default]
    Queue,
    /// It joined a request behind (`M`) …
    BackMerge,
    /// … or before it (`F`).
    FrontMerge,
    /// It has a request (`G`).
    GetRequest,
    /// It sleeps for one (`S`).
    SleepRequest,
    /// The device handed it back (`R`).
    Requeue,
    /// The device has it (`D`).
    Issue,
    /// It is done (`C`).
    Complete,
    /// The queue was plugged (`P`) …
    Plug,
    /// … and unplugged (`U`) …
    Unplug,
    /// … by its timer (`UT`).
    UnplugTimer,
    /// The elevator has it (`I`).
    Insert,
    /// It was split (`X`).
    Split,
    /// It was mapped to another device (`A`).
    Remap,
    /// Not about an I/O: a process's name, the time, a message (`m`).
    Note(u16),
    /// Another code, kept as it is.
    Other(u16),
}

/// Codes, and the category bit that belongs to each.
const ACTIONS: [(Action, u16, u16, &str); 14] = [
    (Action::Queue, 1, Categories::QUEUE, "Q"),
    (Action::BackMerge, 2, Categories::QUEUE, "M"),
    (Action::FrontMerge, 3, Categories::QUEUE, "F"),
    (Action::GetRequest, 4, Categories::QUEUE, "G"),
    (Action::SleepRequest, 5, Categories::QUEUE, "S"),
    (Action::Requeue, 6, Categories::REQUEUE, "R"),
    (Action::Issue, 7, Categories::ISSUE, "D"),
    (Action::Complete, 8, Categories::COMPLETE, "C"),
    (Action::Plug, 9, Categories::QUEUE, "P"),
    (Action::Unplug, 10, Categories::QUEUE, "U"),
    (Action::UnplugTimer, 11, Categories::QUEUE, "UT"),
    (Action::Insert, 12, Categories::QUEUE, "I"),
    (Action::Split, 13, 0, "X"),
    (Action::Remap, 15, Categories::QUEUE, "A"),
];

/// The plain actions, each at its code: readers ask for every event.
const BY_CODE: [Option<Action>; 16] = {
    let (mut by_code, mut row) = ([None; 16], 0);
    while row < ACTIONS.len() {
        by_code[ACTIONS[row].1 as usize] = Some(ACTIONS[row].0);
        row += 1;
    }
    by_code
};

impl Action {
    /// blkparse's letter.
    pub fn letter(self) -> &'static str {
        match self {
            Action::Note(_) => "m",
            Action::Other(_) => "?",
            action => Action::row(action).3,
        }
    }

    fn row(action: Action) -> &'static (Action, u16, u16, &'static str) {
        ACTIONS.iter().find(|row| row.0 == action).expect("every plain action has a row")
    }

    fn of(code: u16, kind: Categories) -> Action {
        if kind.0 & Categories::NOTIFY != 0 {
            return Action::Note(code);
        }
        BY_CODE.get(usize::from(code)).copied().flatten().unwrap_or(Action::Other(code))
    }

    /// Its code and the category bits it brings.
    fn code(self) -> (u16, u16) {
        match self {
            Action::Note(code) => (code, Categories::NOTIFY),
            Action::Other(code) => (code, 0),
            action => (Action::row(action).1, Action::row(action).2),
        }
    }
}

/// Category bits: what kind of I/O an event is about, and what kind of event it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Categories(pub u16);

impl Categories {
    /// Disk to memory.
    pub const READ: u16 = 1 << 0;
    /// Memory to disk.
    pub const WRITE: u16 = 1 << 1;
    /// A flush, or a write behind one.
    pub const FLUSH: u16 = 1 << 2;
    /// Synchronous: a process waits.
    pub const SYNC: u16 = 1 << 3;
    const QUEUE: u16 = 1 << 4;
    const REQUEUE: u16 = 1 << 5;
    const ISSUE: u16 = 1 << 6;
    const COMPLETE: u16 = 1 << 7;
    const NOTIFY: u16 = 1 << 10;
    /// Read ahead of need.
    pub const AHEAD: u16 = 1 << 11;
    /// Metadata.
    pub const META: u16 = 1 << 12;
    /// A discard.
    pub const DISCARD: u16 = 1 << 13;
    /// Stable when it completes.
    pub const FUA: u16 = 1 << 15;

    /// blkparse's letters (`WS`, `FWFSM`, `N` for none).
    pub fn letters(self) -> String {
        let has = |bit| self.0 & bit != 0;
        let mut text = String::new();
        if has(Categories::FLUSH) {
            text.push('F');
        }
        text.push(match () {
            () if has(Categories::DISCARD) => 'D',
            () if has(Categories::WRITE) => 'W',
            () if has(Categories::READ) => 'R',
            () => 'N',
        });
        let flags =
            [(Categories::FUA, 'F'), (Categories::AHEAD, 'A'), (Categories::SYNC, 'S'), (Categories::META, 'M')];
        text.extend(flags.into_iter().filter(|&(bit, _)| has(bit)).map(|(_, letter)| letter));
        text
    }
}

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BlktraceError {
    /// The file itself.
    #[error("event {event}: {source}")]
    Io {
        /// Which event, from 1.
        event: usize,
        /// What the system said.
        source: io::Error,
    },
    /// These bytes begin no event.
    #[error(
        "event {event}: {found:#010x} is not a blktrace magic number: expected {MAGIC:#010x} and version {VERSION}"
    )]
    Magic {
        /// Which event, from 1.
        event: usize,
        /// What stands there instead.
        found: u32,
    },
}

/// Do these bytes begin a trace?
pub fn is_trace(bytes: &[u8]) -> bool {
    let magic = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    [magic, magic.swap_bytes()].into_iter().any(|magic| magic & 0xffff_ff00 == MAGIC)
}

/// Read a whole trace. One that ends inside an event (its writer was killed) is read up to there.
///
/// # Errors
/// If `input` cannot be read, or something else than an event stands where one should.
pub fn read(input: impl Read) -> Result<Vec<BlktraceEvent>, BlktraceError> {
    events(BufReader::new(input)).collect()
}

/// The events of a trace, one after the other. One that ends inside an event is read up to there.
pub fn events<I: BufRead>(input: I) -> Events<I> {
    Events { input, read: 0, ended: false }
}

/// Reads events; after an error there is nothing more.
pub struct Events<I> {
    input: I,
    read: usize,
    ended: bool,
}

impl<I: BufRead> Events<I> {
    /// The next event, in place of the one before, whose memory is used again; false at the end.
    ///
    /// # Errors
    /// If the input cannot be read, or something else than an event stands where one should.
    pub fn next_into(&mut self, event: &mut BlktraceEvent) -> Result<bool, BlktraceError> {
        let read = !self.ended && self.read_into(event).inspect_err(|_| self.ended = true)?;
        self.ended = !read;
        Ok(read)
    }

    /// Some events more; false at the end. Each whose action is `wanted` is handed over with its payload, which it does
    /// not hold itself; the others are passed over, which costs little.
    ///
    /// # Errors
    /// As [`Events::next_into`], behind what was handed over.
    pub fn several(
        &mut self,
        wanted: impl Fn(Action) -> bool,
        mut take: impl FnMut(&BlktraceEvent, &[u8]),
    ) -> Result<bool, BlktraceError> {
        let (mut event, mut at, mut taken, mut damage) = (BlktraceEvent::default(), 0, 0, None);
        let buffer = if self.ended { &[][..] } else { self.input.fill_buf().unwrap_or_default() };
        while let Some(header) = buffer.get(at..).and_then(|rest| rest.first_chunk::<HEADER>()) {
            let Some(order) = order_of(header) else {
                damage = Some(BlktraceError::Magic { event: self.read + 1, found: magic_of(header) });
                break;
            };
            let end = at + HEADER + length_of(header, order);
            if end > buffer.len() {
                break;
            }
            if wanted(action_of(header, order)) {
                decode(header, order, &mut event);
                take(&event, &buffer[at + HEADER..end]);
                taken += 1;
            }
            at = end;
            self.read += 1;
            if taken == AT_ONCE {
                break;
            }
        }
        self.input.consume(at);
        match damage {
            Some(damage) => {
                self.ended = true;
                Err(damage)
            }
            None if at > 0 => Ok(true),
            None => self.one(wanted, take, event),
        }
    }

    /// The next one, which does not lie in the buffer as a whole.
    fn one(
        &mut self,
        wanted: impl Fn(Action) -> bool,
        mut take: impl FnMut(&BlktraceEvent, &[u8]),
        mut event: BlktraceEvent,
    ) -> Result<bool, BlktraceError> {
        let read = self.next_into(&mut event)?;
        if read && wanted(event.action) {
            let payload = core::mem::take(&mut event.payload);
            take(&event, &payload);
        }
        Ok(read)
    }

    fn read_into(&mut self, into: &mut BlktraceEvent) -> Result<bool, BlktraceError> {
        let event = self.read + 1;
        let failed = |source| BlktraceError::Io { event, source };
        let mut header = [0; HEADER];
        let ahead = self.input.fill_buf().ok().and_then(|buffer| buffer.first_chunk::<HEADER>());
        if let Some(bytes) = ahead {
            header = *bytes;
            self.input.consume(HEADER);
        } else if !filled(&mut self.input, &mut header).map_err(failed)? {
            return Ok(false);
        }
        let found = || BlktraceError::Magic { event, found: magic_of(&header) };
        let order = order_of(&header).ok_or_else(found)?;
        decode(&header, order, into);
        into.payload.resize(length_of(&header, order), 0);
        if !into.payload.is_empty() && !filled(&mut self.input, &mut into.payload).map_err(failed)? {
            return Ok(false);
        }
        self.read += 1;
        Ok(true)
    }
}

impl<I: BufRead> Iterator for Events<I> {
    type Item = Result<BlktraceEvent, BlktraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut event = BlktraceEvent::default();
        self.next_into(&mut event).map(|read| read.then_some(event)).transpose()
    }
}

/// True if the buffer could be filled; false at the end of the input.
fn filled(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// In which order a number's bytes stand.
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

/// `None`: these bytes begin no event.
#[inline]
fn order_of(header: &[u8; HEADER]) -> Option<ByteOrder> {
    const SWAPPED: u32 = (MAGIC | VERSION).swap_bytes();
    match magic_of(header) {
        magic if magic == MAGIC | VERSION => Some(ByteOrder::Little),
        SWAPPED => Some(ByteOrder::Big),
        _ => None,
    }
}

/// How many are handed over at once at most.
const AT_ONCE: usize = 64;

#[inline]
fn long<const LITTLE: bool>(header: &[u8; HEADER], at: usize) -> u64 {
    let bytes = bytes_at(header, at);
    if LITTLE { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
}

#[inline]
fn word<const LITTLE: bool>(header: &[u8; HEADER], at: usize) -> u32 {
    let bytes = bytes_at(header, at);
    if LITTLE { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
}

#[inline]
fn short<const LITTLE: bool>(header: &[u8; HEADER], at: usize) -> u16 {
    let bytes = bytes_at(header, at);
    if LITTLE { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
}

#[inline]
fn action_of(header: &[u8; HEADER], order: ByteOrder) -> Action {
    let action = if order == ByteOrder::Little { word::<true>(header, 28) } else { word::<false>(header, 28) };
    Action::of(action as u16, Categories((action >> 16) as u16))
}

/// Of its payload.
#[inline]
fn length_of(header: &[u8; HEADER], order: ByteOrder) -> usize {
    usize::from(if order == ByteOrder::Little { short::<true>(header, 46) } else { short::<false>(header, 46) })
}

/// The event of these bytes, without its payload.
#[inline]
fn decode(header: &[u8; HEADER], order: ByteOrder, event: &mut BlktraceEvent) {
    match order {
        ByteOrder::Little => decode_as::<true>(header, event),
        ByteOrder::Big => decode_as::<false>(header, event),
    }
}

#[inline]
fn decode_as<const LITTLE: bool>(header: &[u8; HEADER], event: &mut BlktraceEvent) {
    let action = word::<LITTLE>(header, 28);
    event.kind = Categories((action >> 16) as u16);
    event.action = Action::of(action as u16, event.kind);
    event.sequence = word::<LITTLE>(header, 4);
    event.time = long::<LITTLE>(header, 8);
    event.sector = long::<LITTLE>(header, 16);
    event.bytes = word::<LITTLE>(header, 24);
    event.pid = word::<LITTLE>(header, 32);
    event.device = word::<LITTLE>(header, 36);
    event.cpu = word::<LITTLE>(header, 40);
    event.error = short::<LITTLE>(header, 44);
    event.payload.clear();
}

impl BlktraceEvent {
    /// Append it to a trace. The action's own category bit is added to its kind.
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

    /// The note by which a trace tells a process's name.
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
        // Whatever moves no data is of no kind to blkparse.
        let kind = if event.bytes > 0 { kind.letters() } else { "N".to_owned() };
        let letter = action.letter();
        format!("{major},{minor} {cpu} {sequence} {seconds}.{ns:09} {pid} {letter} {kind}{place}")
    }

    /// The same words of a line of blkparse's; `None` for its summary.
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
        // Equal moments on two CPUs have no order.
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

    /// Whatever pieces it is read in, and in both byte orders: what is wanted, with what it brings.
    #[test]
    fn several_at_once_are_the_same_events() {
        let file = include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0");
        let wanted = |action| matches!(action, Action::Queue | Action::Unplug | Action::Note(_));
        let all = read(&file[..]).unwrap();
        let fifth: usize = all[..5].iter().map(|event| HEADER + event.payload.len()).sum();
        let expected: Vec<BlktraceEvent> = all.into_iter().filter(|event| wanted(event.action)).collect();
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
