//! blkparse's text: one line per event, as `blkparse -i x` prints it in its usual layout.
//!
//! Layout: taken from the text that blkparse 1.3 printed for a recorded trace, which is read and written back
//! identically (except its summary).

mod layout;

use std::fmt;
use std::io::{self, BufRead, Write};
use std::path::Path;

use crate::elevator_transcript::ReadError;
use crate::lines::{self, Wrong};

pub use layout::Layout;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The device, major and minor.
    pub device: (u32, u32),
    /// The CPU.
    pub cpu: u32,
    /// Its number on its CPU.
    pub sequence: u32,
    /// The time \[ns\], from the trace's first event.
    pub time: u64,
    /// The process.
    pub pid: u32,
    /// What happened, as a letter or two: `Q`, `D`, `C`, `UT`.
    pub action: String,
    /// The kind of I/O: `WS`, `FWFSM`, `N` for none.
    pub rwbs: String,
    /// The rest of the line: position, length and process, or a message.
    pub rest: String,
}

impl Line {
    /// First sector and length \[512-byte sectors\], if the event has them.
    pub fn place(&self) -> Option<(u64, u32)> {
        let mut words = self.rest.split_whitespace();
        let sector = words.next()?.parse().ok()?;
        let sectors = if words.next() == Some("+") { words.next()?.parse().ok()? } else { 0 };
        Some((sector, sectors))
    }

    /// The device that a bio was mapped from (`A`), and its sector there.
    pub fn mapped_from(&self) -> Option<((u32, u32), u64)> {
        let (_, from) = self.rest.split_once("<- (")?;
        let (numbers, sector) = from.split_once(") ")?;
        Some((device(numbers)?, sector.split_whitespace().next()?.parse().ok()?))
    }

    /// The process's name; for a completion, its error.
    pub fn process(&self) -> Option<&str> {
        let open = self.rest.find('[')?;
        self.rest[open + 1..].rsplit_once(']').map(|(name, _)| name)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ns) = (self.time / 1_000_000_000, self.time % 1_000_000_000);
        let Line { device: (major, minor), cpu, sequence, pid, action, rwbs, rest, .. } = self;
        write!(f, "{major:>3},{minor:<3} {cpu:>2} {sequence:>8} {seconds:>5}.{ns:09} {pid:>5} {action:>2} {rwbs:>3}")?;
        write!(f, " {rest}")
    }
}

/// Whether `text` begins like an event.
pub fn is_event(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().and_then(device).is_some()
        && words.next().is_some_and(|cpu| cpu.parse::<u32>().is_ok())
        && words.nth(1).and_then(time).is_some()
}

/// Reads a trace; `path` is for errors. Lines that do not begin with a device, such as those of blkparse's summary, are
/// skipped.
///
/// # Errors
/// If `input` cannot be read, or an event is not as blkparse prints it.
pub fn read(input: impl BufRead, path: &Path) -> Result<Vec<Line>, ReadError> {
    events(input, path).collect()
}

/// The same, line by line. After an invalid line the iteration can continue.
pub fn events<'p>(input: impl BufRead + 'p, path: &'p Path) -> impl Iterator<Item = Result<Line, ReadError>> + 'p {
    lines::each(input, path, parse)
}

/// The lines that `blkparse -f` printed in this layout. After an invalid line the iteration can continue.
pub fn events_of<'p>(
    input: impl BufRead + 'p,
    path: &'p Path,
    layout: &'p Layout,
) -> impl Iterator<Item = Result<Line, ReadError>> + 'p {
    lines::each(input, path, |text| layout.line(text))
}

/// Writes lines as blkparse prints them.
///
/// # Errors
/// If `out` does.
pub fn write(lines: &[Line], mut out: impl Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn parse(text: &str) -> Result<Option<Line>, Wrong<'_>> {
    let mut left = text;
    let mut word = || {
        left = left.trim_start();
        let (word, rest) = left.split_at(left.find(char::is_whitespace).unwrap_or(left.len()));
        left = rest;
        word
    };
    let Some(device) = device(word()) else { return Ok(None) };
    let cpu = number(word(), "a CPU's number")?;
    let sequence = number(word(), "an event's number")?;
    let moment = word();
    let time = time(moment).ok_or((moment, "a time in seconds with nine places, as in 0.000035486"))?;
    let pid = number(word(), "a process number")?;
    let (action, rwbs) = (word().to_owned(), word().to_owned());
    if rwbs.is_empty() {
        return Err((text, "an event: device, CPU, number, time, process, action, kind"));
    }
    let rest = left.strip_prefix(' ').unwrap_or(left).to_owned();
    Ok(Some(Line { device, cpu, sequence, time, pid, action, rwbs, rest }))
}

fn number<'t, T: std::str::FromStr>(word: &'t str, expected: &'static str) -> Result<T, Wrong<'t>> {
    word.parse().map_err(|_| (word, expected))
}

/// `8,16`
fn device(word: &str) -> Option<(u32, u32)> {
    let (major, minor) = word.split_once(',')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `0.000035486`
fn time(word: &str) -> Option<u64> {
    let (seconds, ns) = word.split_once('.')?;
    let fraction = ns.len() == 9 && ns.bytes().all(|byte| byte.is_ascii_digit());
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns.parse().ok().filter(|_| fraction)?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn recorded() -> String {
        let packed = include_bytes!("../../../testdata/traces/mq-deadline.blkparse.txt.gz");
        let mut text = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_real_trace_is_read_whole_and_written_as_it_was() {
        let text = recorded();
        let lines = read(text.as_bytes(), Path::new("trace")).unwrap();
        let queued = lines.iter().filter(|line| line.action == "Q").count();
        assert!(queued > 500, "{queued}");
        let mut written = Vec::new();
        write(&lines, &mut written).unwrap();
        let events: String = text.lines().filter(|line| is_event(line)).map(|line| format!("{line}\n")).collect();
        assert_eq!(String::from_utf8(written).unwrap(), events);
    }

    #[test]
    fn place_and_process_stand_behind_the_kind() {
        let text = "  8,0    3       12     7.000000250   734  Q  WS 2048 + 16 [jbd2/sda1-8]\n  8,0    3       13     \
                    7.000000300   734  U   N [fio] 1\nCPU3 (sda):\n";
        let lines = read(text.as_bytes(), Path::new("t")).unwrap();
        assert_eq!((lines[0].place(), lines[0].process()), (Some((2048, 16)), Some("jbd2/sda1-8")));
        assert_eq!((lines[1].place(), lines[1].process(), lines[1].time), (None, Some("fio"), 7_000_000_300));
        let mapped = "  8,0    3       14     7.000000400   734  A  WS 4096 + 16 <- (9,0) 2048\n";
        let mapped = read(mapped.as_bytes(), Path::new("t")).unwrap();
        assert_eq!((mapped[0].place(), mapped[0].mapped_from()), (Some((4096, 16)), Some(((9, 0), 2048))));
        assert_eq!(lines[0].mapped_from(), None);
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn a_broken_line_is_named_by_line_column_and_word() {
        let good = "  8,0    3       12     7.000000250   734  Q  WS 2048 + 16 [fio]\n";
        let wrong = |from: &str, to: &str| {
            read(format!("{good}{}", good.replace(from, to)).as_bytes(), Path::new("t")).unwrap_err().to_string()
        };
        assert!(wrong("7.000000250", "7.25").starts_with("t:2:25: `7.25` is not a time"), "{}", wrong("7.0", "7,0"));
        assert!(wrong("734", "fio").contains("`fio` is not a process number"));
    }
}
