//! Detects a trace's format from its contents; and the error for an unknown one.

use std::fmt::Write;

use blksched_traces::presets::{Preset, presets};
use blksched_traces::{blkparse, blktrace, tracefs, vscsi};

use super::events::Begins;

/// How many lines of a text are searched for events.
const LOOK_AT_LINES: usize = 1000;

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// blktrace's binary files, or blkparse's dump (`-d`).
    Blktrace,
    /// blkparse's text.
    Blkparse,
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
            Format::Blktrace => "blktrace".to_owned(),
            Format::Blkparse => "blkparse's text".to_owned(),
            Format::Tracefs(_) => "tracefs's text".to_owned(),
            Format::Vscsi(vscsi::Version::One) => "VMware vscsi, version 1".to_owned(),
            Format::Vscsi(vscsi::Version::Two) => "VMware vscsi, version 2".to_owned(),
            Format::Text(preset) => format!("{} ({})", preset.title, preset.described),
        }
    }

    /// What a reader should know about it.
    pub fn notes(&self) -> Vec<String> {
        let fallback = |event: &str, what: &str| {
            format!(
                "the trace has no block_bio_queue: submissions are taken from {event}, so I/Os that merged are \
                 one, and {what}"
            )
        };
        match self {
            Format::Tracefs(Begins::Insert) => vec![fallback("block_rq_insert", "waiting for a tag is not in it")],
            Format::Tracefs(Begins::Issue) => vec![fallback("block_rq_issue", "waiting before the disk is not in it")],
            Format::Text(preset) => preset.notes.clone(),
            _ => Vec::new(),
        }
    }

    /// Determines the format from a file's beginning; `whole` if that is all of it.
    pub fn of(beginning: &[u8], whole: bool) -> Option<Format> {
        if blktrace::is_trace(beginning) {
            return Some(Format::Blktrace);
        }
        let Some(text) = text(beginning, whole) else {
            return vscsi::Version::of(beginning).map(Format::Vscsi);
        };
        of_events(text).or_else(|| of_rows(text)).or_else(|| vscsi::Version::of(beginning).map(Format::Vscsi))
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
        () if blkparse::is_event(line) => Some(Format::Blkparse),
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
        found => found,
    }
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
    let own = ["blktrace", "blkparse", "tracefs", "vscsi"].map(str::to_owned);
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
        assert!(said.contains("tried: blktrace, blkparse, tracefs, vscsi, blksched, iolog2"), "{said}");
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
    fn a_text_of_tracefs_without_bios_begins_where_it_can() {
        let line = |event: &str, bytes: &str| format!("a-1 [001] d.... 1.000001: {event}: 8,0 R {bytes}() 8 + 8 [a]\n");
        let of = |text: String| Format::of(text.as_bytes(), true);
        let (insert, issue) = (line("block_rq_insert", "4096 "), line("block_rq_issue", "4096 "));
        assert_eq!(of(format!("{issue}{insert}")), Some(Format::Tracefs(Begins::Insert)));
        assert_eq!(of(issue), Some(Format::Tracefs(Begins::Issue)));
    }
}
