//! Detects a trace's format from its contents; and the error for an unknown one.

use std::fmt::Write;
use std::path::Path;

use blksched_traces::blktrace::{Action, ActionSet};
use blksched_traces::machine::Machine;
use blksched_traces::presets::{Preset, presets};
use blksched_traces::snoop::RecordedSide;
use blksched_traces::{blkparse, blktrace, tracefs, vscsi};

use super::events::Begins;
use super::unlike;

/// How many lines of a text are searched for events.
const LOOK_AT_LINES: usize = 1000;

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// blktrace's binary files, or blkparse's dump (`-d`).
    Blktrace(Begins),
    /// blkparse's text, in its usual layout.
    Blkparse(Begins),
    /// blkparse's text in a layout of the user's (`-f`).
    BlkparseAs(Begins, Box<blkparse::Layout>),
    /// tracefs's text.
    Tracefs(Begins),
    /// VMware's vscsi traces.
    Vscsi(vscsi::Version),
    /// Lines described by a preset or a user.
    Text(Box<Preset>),
}

impl Format {
    /// Its name.
    pub fn title(&self) -> String {
        match self {
            Format::Blktrace(_) => "blktrace".to_owned(),
            Format::Blkparse(_) => "blkparse's text".to_owned(),
            Format::BlkparseAs(_, layout) => format!("blkparse's text (-f '{}')", layout.written()),
            Format::Tracefs(_) => "tracefs's text".to_owned(),
            Format::Vscsi(vscsi::Version::One) => "VMware vscsi, version 1".to_owned(),
            Format::Vscsi(vscsi::Version::Two) => "VMware vscsi, version 2".to_owned(),
            Format::Text(preset) => format!("{} ({})", preset.title, preset.described),
        }
    }

    /// What a reader should know about it.
    pub fn notes(&self) -> Vec<String> {
        let Some(begins) = self.begins() else {
            return match self {
                Format::Text(preset) => preset.notes.clone(),
                _ => Vec::new(),
            };
        };
        let names = if matches!(self, Format::Tracefs(_)) {
            ("block_bio_queue", "block_rq_insert", "block_rq_issue")
        } else {
            ("Q events", "I (insertions)", "D (issues)")
        };
        let fallback = |event: &str, what: &str| {
            let (queue, _, _) = names;
            format!(
                "the trace has no {queue}: submissions are taken from {event}, so I/Os that merged are one, and {what}"
            )
        };
        match begins {
            Begins::Queue => Vec::new(),
            Begins::Insert => vec![fallback(names.1, "waiting for a tag is not in it")],
            Begins::Issue => vec![fallback(names.2, "waiting before the disk is not in it")],
        }
    }

    /// Which events of a kernel count as submissions, if it has a kernel's events.
    pub fn begins(&self) -> Option<Begins> {
        match self {
            Format::Blktrace(begins)
            | Format::Blkparse(begins)
            | Format::BlkparseAs(begins, _)
            | Format::Tracefs(begins) => Some(*begins),
            Format::Vscsi(_) | Format::Text(_) => None,
        }
    }

    /// From where on its times count.
    pub fn side(&self) -> RecordedSide {
        match (self, self.begins()) {
            (Format::Text(preset), _) => preset.side,
            (_, Some(Begins::Insert)) => RecordedSide::Scheduler,
            (_, Some(Begins::Issue)) => RecordedSide::Disk,
            _ => RecordedSide::Submission,
        }
    }

    /// Whether it says what was read or written, and where.
    pub fn has_place(&self) -> bool {
        !matches!(self, Format::Text(preset) if !preset.has_place)
    }

    /// The same with this beginning, if it has a kernel's events.
    pub(super) fn beginning_with(self, begins: Begins) -> Format {
        match self {
            Format::Blktrace(_) => Format::Blktrace(begins),
            Format::Blkparse(_) => Format::Blkparse(begins),
            Format::BlkparseAs(_, layout) => Format::BlkparseAs(begins, layout),
            Format::Tracefs(_) => Format::Tracefs(begins),
            other => other,
        }
    }

    /// Determines the format from a file's beginning; `whole` if that is all of it.
    pub fn of(beginning: &[u8], whole: bool) -> Option<Format> {
        if blktrace::is_trace(beginning) {
            return Some(Format::Blktrace(begins_in(beginning).unwrap_or(Begins::Queue)));
        }
        let Some(text) = text(beginning, whole) else {
            return vscsi::Version::of(beginning).map(Format::Vscsi);
        };
        let of_snoop = || Preset::of_snoop(text).map(|preset| Format::Text(Box::new(preset)));
        of_events(text)
            .or_else(of_snoop)
            .or_else(|| of_rows(text))
            .or_else(|| vscsi::Version::of(beginning).map(Format::Vscsi))
    }
}

/// The beginning as text, up to its last complete line; `None` if it is not text.
fn text(beginning: &[u8], whole: bool) -> Option<&str> {
    let end = if whole { beginning.len() } else { beginning.iter().rposition(|&byte| byte == b'\n')? + 1 };
    str::from_utf8(&beginning[..end]).ok().filter(|text| !text.contains('\0'))
}

/// The formats of events.
fn of_events(text: &str) -> Option<Format> {
    let told = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let kind = |line: &str| match () {
        () if blkparse::is_event(line) => Some(Format::Blkparse(Begins::Queue)),
        () if tracefs::is_event(line) => Some(Format::Tracefs(Begins::Issue)),
        () => None,
    };
    match told.take(LOOK_AT_LINES).find_map(kind) {
        Some(Format::Tracefs(_)) => {
            let has = |name: &str| text.lines().any(|line| line.contains(name));
            Some(Format::Tracefs(match () {
                () if has("block_bio_queue: ") => Begins::Queue,
                () if has("block_rq_insert: ") => Begins::Insert,
                () => Begins::Issue,
            }))
        }
        Some(Format::Blkparse(_)) => {
            let lines = text.lines().take(LOOK_AT_LINES);
            let actions = lines.filter_map(|line| line.split_whitespace().nth(5));
            Some(Format::Blkparse(first_of(actions.filter_map(of_letter)).unwrap_or(Begins::Queue)))
        }
        // A disk that did nothing while it was recorded.
        None if Machine::read(text).is_some() => Some(Format::Tracefs(Begins::Queue)),
        found => found,
    }
}

/// The kind of events that counts as submissions, if these are there: the earliest in an I/O's life.
fn first_of(events: impl Iterator<Item = Begins>) -> Option<Begins> {
    events.min()
}

fn of_letter(letter: &str) -> Option<Begins> {
    BEGINS.into_iter().find(|begins| begins.letter() == letter)
}

const BEGINS: [Begins; 3] = [Begins::Queue, Begins::Insert, Begins::Issue];

/// Which events of a binary file's beginning count as submissions; `None` if it has none.
pub(super) fn begins_in(beginning: &[u8]) -> Option<Begins> {
    let mut found = Vec::new();
    let mut reader = blktrace::events(beginning);
    let all = ActionSet::of(&[Action::Queue, Action::Insert, Action::Issue]);
    let mut met = |event: &blktrace::BlktraceEvent, _: &[u8]| {
        found.extend(BEGINS.into_iter().find(|begins| begins.action() == event.action));
    };
    // The beginning may end inside a record.
    while matches!(reader.several(all, &mut met), Ok(true)) {}
    first_of(found.into_iter())
}

/// Which lines of a text in this layout count as submissions.
pub(super) fn begins_as(layout: &blkparse::Layout, beginning: &[u8]) -> Begins {
    let text = String::from_utf8_lossy(beginning);
    let lines = blkparse::events_of(text.as_bytes(), Path::new(""), layout).filter_map(Result::ok);
    first_of(lines.take(LOOK_AT_LINES).filter_map(|line| of_letter(&line.action))).unwrap_or(Begins::Queue)
}

/// The formats of rows with columns.
fn of_rows(text: &str) -> Option<Format> {
    let beginning: String = text.split_inclusive('\n').take(LOOK_AT_LINES).collect();
    let known = presets();
    // A damaged line is reported or skipped where it is: it does not make the format unknown.
    let whole = known.iter().find(|preset| preset.fits(&beginning).is_ok());
    let damaged = || {
        let few = known.iter().filter_map(|preset| Some((preset.fits_but_for(&beginning)?, preset)));
        few.min_by_key(|(damaged, _)| *damaged).map(|(_, preset)| preset)
    };
    let mut preset = whole.or_else(damaged)?.clone();
    preset.spec = preset.spec_for(&beginning);
    Some(Format::Text(Box::new(preset)))
}

/// Describes what is in a file of unknown format, and how to describe such a format.
pub fn unknown(name: &str, beginning: &[u8], whole: bool) -> String {
    let mut said = format!("{name}: no trace in a known format\n");
    if beginning.starts_with(b"PAR1") {
        said.push_str("  it is a Parquet file: `blksched trace convert` writes those, and reads CSV and blktrace");
        return said;
    }
    if let Some(members) = unlike::members(beginning) {
        let shown: Vec<&str> = members.iter().take(8).map(String::as_str).collect();
        let more = if members.len() > 8 { ", …" } else { "" };
        let _ = write!(
            said,
            "  it is a tar archive with {}{more}: unpack it (tar xf {name}) and name one of them",
            shown.join(", ")
        );
        return said;
    }
    if let Some((what, advice)) = text(beginning, whole).and_then(unlike::known) {
        let _ = write!(said, "  it is {what}: {advice}");
        return said;
    }
    let Some(text) = text(beginning, whole).filter(|text| !text.trim().is_empty()) else {
        let shown: Vec<String> = beginning.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let bytes = if shown.is_empty() { "nothing: the file is empty".to_owned() } else { shown.join(" ") };
        let _ = write!(said, "  it begins with {bytes}\n  tried: {}", names());
        return said;
    };
    said.push_str("  it begins with\n");
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in lines.iter().take(3) {
        let _ = writeln!(said, "    {}", line.chars().take(110).collect::<String>());
    }
    let _ = writeln!(said, "  tried: {}", names());
    let typical = lines.get(1).or(lines.first()).copied().unwrap_or_default();
    said.push_str("  Describe a line, and it is read. For the line above, put a name for each {-} that matters:\n");
    let _ = writeln!(said, "    '{name}:{}'", suggestion(typical));
    said.push_str(
        "  names: time@s|ms|us|100ns|ns, op (words) or op@r0w1|op@w0r1, offset@B|512B, size@B|512B, response@us, disk, \
         process;\n  op, offset and size are needed. `blksched trace formats` shows how the known ones are described.",
    );
    said
}

fn names() -> String {
    // A line holds about twelve.
    let own = ["blktrace", "blkparse", "tracefs", "perf script", "biosnoop", "vscsi"].map(str::to_owned);
    let all: Vec<String> = own.into_iter().chain(presets().into_iter().map(|preset| preset.name)).collect();
    all.chunks(12).map(|line| line.join(", ")).collect::<Vec<_>>().join(",\n  ")
}

/// A pattern with a placeholder for every number, or columns where separators are found.
fn suggestion(line: &str) -> String {
    for separator in [',', ';', '\t'] {
        let count = line.split(separator).count();
        if count >= 3 {
            let name = match separator {
                ',' => String::new(),
                '\t' => ",separator=tab".to_owned(),
                other => format!(",separator={other}"),
            };
            return format!("columns={}{name}", vec!["-"; count].join(","));
        }
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "._/:-".contains(c));
    if words.len() >= 3 && words.iter().all(plain) {
        return format!("columns={},separator=blanks", vec!["-"; words.len()].join(","));
    }
    format!("line=\"{}\"", with_places(line))
}

/// The line with `{-}` for each number, and for each word after a `=`.
fn with_places(line: &str) -> String {
    let (mut pattern, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next() {
        let behind_equals = pattern.ends_with('=');
        let taken = match first {
            '0'..='9' => rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len()),
            c if behind_equals && c.is_alphabetic() => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
            _ => 0,
        };
        if taken > 0 {
            pattern.push_str("{-}");
            rest = &rest[taken..];
        } else {
            pattern.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_shows_the_lines_and_a_description_to_fill_in() {
        let text = b"[757.388 ms] disk2 op=wr lba=523480 len=4096 took=6333us\n";
        let said = unknown("x.log", text, true);
        assert!(said.contains("[757.388 ms] disk2"), "{said}");
        assert!(said.contains("'x.log:line=\"[{-} ms] disk{-} op={-} lba={-} len={-} took={-}us\"'"), "{said}");
        assert!(
            said.contains("tried: blktrace, blkparse, tracefs, perf script, biosnoop, vscsi, blksched, iolog2"),
            "{said}"
        );
        assert!(unknown("x", b"a;1;2;R\n", true).contains("columns=-,-,-,-,separator=;"));
        assert!(unknown("x", b"1 2 R 4\n", true).contains("columns=-,-,-,-,separator=blanks"));
        assert!(unknown("x", b"", true).contains("the file is empty"));
        assert!(unknown("x", &[0, 159, 146, 150], true).contains("00 9f 92 96"));
    }

    #[test]
    fn a_job_file_is_no_trace() {
        for text in ["# a comment\n[global]\nrw=read\n", "[a]\nbs=4k\n", ""] {
            assert_eq!(Format::of(text.as_bytes(), true), None);
        }
    }

    #[test]
    fn a_recording_of_a_disk_that_did_nothing_is_one() {
        let text = b"# blksched record 1\n# kernel 6.12.3\n# device 8,0 name=sda\n";
        assert_eq!(Format::of(text, true), Some(Format::Tracefs(Begins::Queue)));
        assert_eq!(Format::of(b"# tracer: nop\n", true), None);
    }

    #[test]
    fn a_text_of_tracefs_without_bios_begins_where_it_can() {
        let line = |event: &str, bytes: &str| format!("a-1 [001] d.... 1.000001: {event}: 8,0 R {bytes}() 8 + 8 [a]\n");
        let of = |text: String| Format::of(text.as_bytes(), true);
        let (insert, issue) = (line("block_rq_insert", "4096 "), line("block_rq_issue", "4096 "));
        assert_eq!(of(format!("{issue}{insert}")), Some(Format::Tracefs(Begins::Insert)));
        assert_eq!(of(issue), Some(Format::Tracefs(Begins::Issue)));
    }
}
