//! The text of a tracefs instance with the `block` events: what a kernel's block layer did, line by line.
//!
//! Only `block_rq_insert`, `block_rq_issue`, `block_rq_complete`, `block_rq_merge`, `block_rq_requeue`,
//! `block_bio_queue`, `block_bio_remap` and `block_bio_complete` are understood; lines of other events are skipped.
//! Times are in microseconds. Kernels since 6.7 give a request's priority, earlier ones do not.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::path::Path;

use crate::elevator_transcript::ReadError;
use crate::lines::{self, Wrong};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracefsLine {
    /// The name of the process that was running, which is not always the one that submitted the I/O.
    pub task: String,
    /// Its process id.
    pub pid: u32,
    /// The CPU.
    pub cpu: u32,
    /// The context, as the kernel abbreviates it (`d..1.`).
    pub context: String,
    /// The time \[us\].
    pub time_us: u64,
    /// The event.
    pub event: TracefsEvent,
    /// The device, major and minor.
    pub device: (u32, u32),
    /// The kind of I/O, in blkparse's letters.
    pub rwbs: String,
    /// Length \[bytes\], if the event has it.
    pub bytes: Option<u32>,
    /// First sector.
    pub sector: u64,
    /// Length \[512-byte sectors\].
    pub sectors: u32,
    /// The request's priority, if this kernel gives it.
    pub priority: Option<Priority>,
    /// The device that a bio was mapped from, and its sector there.
    pub from: Option<((u32, u32), u64)>,
    /// The text in brackets at the end: a name, or a completion's error.
    pub last: String,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracefsEvent {
    /// A bio was submitted.
    BioQueue,
    /// A bio was mapped to this device: from a partition, or from a stacked device.
    Remap,
    /// A bio of a device without requests completed.
    BioComplete,
    /// A request was inserted into the elevator.
    Insert,
    /// A request was absorbed by another.
    Merge,
    /// A request was issued to the device.
    Issue,
    /// The device returned a request.
    Requeue,
    /// A request completed.
    Complete,
}

const EVENTS: [(TracefsEvent, &str); 8] = [
    (TracefsEvent::BioQueue, "block_bio_queue"),
    (TracefsEvent::Remap, "block_bio_remap"),
    (TracefsEvent::BioComplete, "block_bio_complete"),
    (TracefsEvent::Insert, "block_rq_insert"),
    (TracefsEvent::Merge, "block_rq_merge"),
    (TracefsEvent::Issue, "block_rq_issue"),
    (TracefsEvent::Requeue, "block_rq_requeue"),
    (TracefsEvent::Complete, "block_rq_complete"),
];

impl TracefsEvent {
    /// Its name in tracefs.
    pub fn name(self) -> &'static str {
        EVENTS.iter().find(|(event, _)| *event == self).expect("every event has a name").1
    }

    /// Whether it is about a bio, and not about a request.
    fn is_of_bio(self) -> bool {
        matches!(self, TracefsEvent::BioQueue | TracefsEvent::Remap | TracefsEvent::BioComplete)
    }

    /// Whether its line has the length in bytes.
    fn tells_bytes(self) -> bool {
        matches!(self, TracefsEvent::Insert | TracefsEvent::Merge | TracefsEvent::Issue)
    }
}

/// `be,0,4`: class, hint, level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// `none`, `rt`, `be` or `idle`.
    pub class: &'static str,
    /// The hint.
    pub hint: u32,
    /// The level, 0 to 7.
    pub level: u8,
}

const CLASSES: [&str; 4] = ["none", "rt", "be", "idle"];

impl fmt::Display for TracefsLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, us) = (self.time_us / 1_000_000, self.time_us % 1_000_000);
        write!(f, "{:>16}-{:<7} [{:03}] {} {seconds:>5}.{us:06}: ", self.task, self.pid, self.cpu, self.context)?;
        write!(f, "{}: {},{} {} ", self.event.name(), self.device.0, self.device.1, self.rwbs)?;
        if let Some(bytes) = self.bytes {
            write!(f, "{bytes} ")?;
        }
        if !self.event.is_of_bio() {
            write!(f, "() ")?;
        }
        write!(f, "{} + {} ", self.sector, self.sectors)?;
        if let Some(((major, minor), sector)) = self.from {
            return write!(f, "<- ({major},{minor}) {sector}");
        }
        if let Some(Priority { class, hint, level }) = self.priority {
            write!(f, "{class},{hint},{level} ")?;
        }
        write!(f, "[{}]", self.last)
    }
}

/// Whether this is a line of one of the known events.
pub fn is_event(text: &str) -> bool {
    matches!(parse(text), Ok(Some(_)))
}

/// Reads a trace; `path` is for errors.
///
/// # Errors
/// If `input` cannot be read, or a line of one of the known events is not as the kernel writes it.
pub fn read(input: impl BufRead, path: &Path) -> Result<Vec<TracefsLine>, ReadError> {
    events(input, path).collect()
}

/// The same, line by line. After an invalid line the iteration can continue.
pub fn events<'p>(
    input: impl BufRead + 'p,
    path: &'p Path,
) -> impl Iterator<Item = Result<TracefsLine, ReadError>> + 'p {
    lines::each(input, path, parse)
}

/// Writes lines as tracefs does.
///
/// # Errors
/// If `out` does.
pub fn write(lines: &[TracefsLine], mut out: impl Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Parses a line; `None` if it is a comment or of another event.
fn parse(text: &str) -> Result<Option<TracefsLine>, Wrong<'_>> {
    if text.starts_with('#') {
        return Ok(None);
    }
    let Some((name, event)) = EVENTS.iter().find_map(|(event, name)| {
        let at = text.find(&format!("{name}: "))?;
        Some((at, *event))
    }) else {
        return Ok(None);
    };
    let (before, after) = text.split_at(name);
    // perf writes `block:block_rq_issue`.
    let before = before.strip_suffix("block:").unwrap_or(before);
    let after = &after[event.name().len() + 2..];
    // A task's name may contain anything, so its end is searched from the right.
    let mut words = before.split_whitespace().rev();
    let time = words.next().unwrap_or_default();
    let mut context = words.next().unwrap_or_default();
    let is_cpu = |word: &str| word.starts_with('[') && word.ends_with(']');
    // perf, and trace-cmd before 3.0, do not write the context.
    let cpu = if is_cpu(context) { std::mem::take(&mut context) } else { words.next().unwrap_or_default() };
    let who = before[..before.rfind(cpu).unwrap_or(0)].trim();
    let (task, pid) = process(who).ok_or((who, "a task and its number, as in fio-21457"))?;
    let cpu = cpu.strip_prefix('[').and_then(|cpu| cpu.strip_suffix(']')).unwrap_or(cpu);
    let mut line = TracefsLine {
        task: task.to_owned(),
        pid,
        cpu: number(cpu, "a CPU's number in brackets")?,
        context: context.to_owned(),
        time_us: time_us(time).ok_or((time, "a time in seconds, as in 2682.962213:"))?,
        event,
        device: (0, 0),
        rwbs: String::new(),
        bytes: None,
        sector: 0,
        sectors: 0,
        priority: None,
        from: None,
        last: String::new(),
    };
    read_io(&mut line, after)?;
    Ok(Some(line))
}

/// A task and its number: `fio-21457` as tracefs writes it, with the group's number behind it (`record-tgid`, Android's
/// systrace: `fio-21457 (  21450)`), `fio 21457` or `fio 21450/21457` as perf does.
fn process(who: &str) -> Option<(&str, u32)> {
    let who = match who.strip_suffix(')').and_then(|who| who.rsplit_once('(')) {
        Some((task, group)) if !group.is_empty() && group.bytes().all(|byte| b" -0123456789".contains(&byte)) => {
            task.trim_end()
        }
        _ => who,
    };
    let numbered = |at: Option<(&'_ str, &'_ str)>| {
        at.and_then(|(task, pid)| Some((task.len(), pid.rsplit('/').next()?.parse().ok()?)))
    };
    let (end, pid) = numbered(who.rsplit_once('-')).or_else(|| numbered(who.rsplit_once(char::is_whitespace)))?;
    Some((who[..end].trim_end(), pid))
}

/// Parses `7,2 WS 4096 () 24704 + 8 be,0,4 [fio]`, as far as the event has it.
fn read_io<'t>(line: &mut TracefsLine, text: &'t str) -> Result<(), Wrong<'t>> {
    let is_mapped = line.event == TracefsEvent::Remap;
    let open = if is_mapped { Some(text.len()) } else { text.rfind('[') };
    let open = open.ok_or((text, "an event with a word in brackets at its end"))?;
    line.last = text.get(open + 1..).unwrap_or_default().trim_end().trim_end_matches(']').to_owned();
    let mut words = text[..open].split_whitespace();
    let mut next = || words.next().unwrap_or_default();
    let device = next();
    let (major, minor) = device.split_once(',').ok_or((device, "a device, as in 7,2"))?;
    line.device = (number(major, "a device's major number")?, number(minor, "a device's minor number")?);
    line.rwbs = next().to_owned();
    if line.event.tells_bytes() {
        line.bytes = Some(number(next(), "a length in bytes")?);
    }
    if !line.event.is_of_bio() {
        // A command of a tool, `(12 00 24)`, is not kept.
        let first = next();
        if !first.starts_with('(') {
            return Err((first, "the empty command ()"));
        }
        let mut last = first;
        while !last.ends_with(')') {
            last = next();
            if last.is_empty() {
                return Err((first, "a command in parentheses"));
            }
        }
    }
    line.sector = number(next(), "a sector")?;
    let plus = next();
    if plus != "+" {
        return Err((plus, "the + between sector and length"));
    }
    line.sectors = number(next(), "a length in sectors")?;
    if is_mapped {
        line.from = Some(mapped_from(words)?);
        return Ok(());
    }
    if let Some(word) = words.next() {
        line.priority = Some(priority(word).ok_or((word, "a priority, as in be,0,4"))?);
    }
    Ok(())
}

/// Parses `<- (9,0) 4936`.
fn mapped_from<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<((u32, u32), u64), Wrong<'t>> {
    let mut next = || words.next().unwrap_or_default();
    let arrow = next();
    if arrow != "<-" {
        return Err((arrow, "the arrow <- in front of the device that a bio was mapped from"));
    }
    let device = next();
    let numbers =
        device.strip_prefix('(').and_then(|word| word.strip_suffix(')')).and_then(|word| word.split_once(','));
    let (major, minor) = numbers.ok_or((device, "a device in parentheses, as in (9,0)"))?;
    let device = (number(major, "a device's major number")?, number(minor, "a device's minor number")?);
    Ok((device, number(next(), "a sector")?))
}

fn number<'t, T: std::str::FromStr>(word: &'t str, expected: &'static str) -> Result<T, Wrong<'t>> {
    word.parse().map_err(|_| (word, expected))
}

/// `2682.962213:`
fn time_us(word: &str) -> Option<u64> {
    let (seconds, us) = word.strip_suffix(':')?.split_once('.')?;
    // perf script --ns writes nine places.
    let fraction = [6, 9].contains(&us.len()) && us.bytes().all(|byte| byte.is_ascii_digit());
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000)?
        .checked_add(us[..6.min(us.len())].parse().ok().filter(|_| fraction)?)
}

/// `be,0,4`
fn priority(word: &str) -> Option<Priority> {
    let mut parts = word.split(',');
    let class = parts.next()?;
    let class = *CLASSES.iter().find(|known| **known == class)?;
    let (hint, level) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(Priority { class, hint, level })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn read_text(text: &str) -> Result<Vec<TracefsLine>, ReadError> {
        read(text.as_bytes(), Path::new("trace"))
    }

    #[test]
    fn a_real_trace_is_read_whole_and_written_as_it_was() {
        let packed = include_bytes!("../../../testdata/traces/tracefs-mq-deadline.txt.gz");
        let mut text = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        let lines = read_text(&text).unwrap();
        let count = |event| lines.iter().filter(|line| line.event == event).count();
        assert_eq!([count(TracefsEvent::Insert), count(TracefsEvent::Issue), count(TracefsEvent::Complete)], [4320; 3]);
        let mut written = Vec::new();
        write(&lines, &mut written).unwrap();
        let body: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        assert_eq!(String::from_utf8(written).unwrap(), body);
    }

    #[test]
    fn names_with_spaces_and_dashes_and_kernels_without_priorities_are_read() {
        let text = "  my-task 2-77  [000] ..s1.  12.000005: block_rq_complete: 8,0 R () 8 + 16 [-5]\n\
                    <idle>-0 [001] d.... 12.000006: sched_switch: whatever\n\
                    a-1 [001] d.... 12.000007: block_bio_queue: 8,0 WFS 100 + 8 [jbd2/sda-8]\n";
        let lines = read_text(text).unwrap();
        assert_eq!((lines[0].task.as_str(), lines[0].pid, lines[0].time_us), ("my-task 2", 77, 12_000_005));
        assert_eq!((lines[0].sector, lines[0].sectors, lines[0].last.as_str()), (8, 16, "-5"));
        assert_eq!((lines.len(), lines[1].rwbs.as_str(), lines[1].priority), (2, "WFS", None));
    }

    #[test]
    fn every_program_that_prints_these_events_is_understood() {
        let event = "block_rq_issue: 8,0 W 4096 () 123 + 8 [a b]";
        let forms = [
            format!("a b-40 [001] d..1. 1.000005: {event}"),
            format!("a b-40 [001] 1.000005: {}", event.replace(": ", ":      ")),
            format!("a b-40    (     39) [001] ..... 1.000005: {event}"),
            format!("a b-40    (-----) [001] .... 1.000005: {event}"),
            format!("           a b    40 [001]     1.000005:       block:{event}"),
            format!("a b 39/40 [001] 1.000005123: block:{event}"),
            format!("a b-40 [001] d..1. 1.000005: {}", event.replace("()", "(12 00 24)")),
        ];
        for form in forms {
            let read = read_text(&form).unwrap();
            let TracefsLine { task, pid, cpu, time_us, sector, sectors, last, .. } = &read[0];
            assert_eq!((task.as_str(), *pid, *cpu, *time_us), ("a b", 40, 1, 1_000_005), "{form}");
            assert_eq!((*sector, *sectors, last.as_str()), (123, 8, "a b"), "{form}");
            let mut again = Vec::new();
            write(&read, &mut again).unwrap();
            assert_eq!(read_text(&String::from_utf8(again).unwrap()).unwrap(), read, "{form}");
        }
        assert!(read_text("a-1 [000] d.... 1.000000: block_rq_issue: 8,0 N 36 (12 00 + 0 [a]\n").is_err());
    }

    #[test]
    fn a_bio_that_is_mapped_says_where_it_was_and_one_without_a_request_completes() {
        let text = "  fio-422 [000] .....    56.999712: block_bio_remap: 254,0 RS 30336 + 96 <- (9,0) 60672\n\
                    <idle>-0 [000] d.h1.    57.000001: block_bio_complete: 9,0 RS 60640 + 128 [0]\n";
        let lines = read_text(text).unwrap();
        assert_eq!((lines[0].device, lines[0].sector, lines[0].sectors), ((254, 0), 30336, 96));
        assert_eq!((lines[0].from, lines[1].from), (Some(((9, 0), 60672)), None));
        assert_eq!((lines[1].event, lines[1].device, lines[1].sectors), (TracefsEvent::BioComplete, (9, 0), 128));
        let mut written = Vec::new();
        write(&lines, &mut written).unwrap();
        assert_eq!(read(&written[..], Path::new("trace")).unwrap(), lines);
        let wrong = |from: &str, to: &str| read_text(&text.replace(from, to)).unwrap_err().to_string();
        assert!(
            wrong("(9,0) 6", "9,0 6").contains("`9,0` is not a device in parentheses"),
            "{}",
            wrong("(9,0) 6", "9,0 6")
        );
        assert!(wrong("<-", "->").contains("`->` is not the arrow <-"));
    }

    #[test]
    fn a_broken_line_is_named_by_line_column_and_word() {
        let good = "fio-1 [000] d.... 1.000000: block_rq_insert: 7,2 WS 4096 () 24704 + 8 be,0,4 [fio]\n";
        let wrong =
            |from: &str, to: &str| read_text(&format!("{good}{}", good.replace(from, to))).unwrap_err().to_string();
        assert!(
            wrong("24704", "2470x").starts_with("trace:2:61: `2470x` is not a sector"),
            "{}",
            wrong("24704", "2470x")
        );
        assert!(wrong("be,0,4", "bee,0,4").contains("`bee,0,4` is not a priority"));
        assert!(wrong("1.000000:", "1.00:").contains("`1.00:` is not a time"));
        assert!(wrong("7,2", "72").contains("`72` is not a device"));
    }
}
