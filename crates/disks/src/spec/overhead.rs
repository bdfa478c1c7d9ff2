//! The overhead of a disk's electronics per command: hits and misses, reads and writes, after a read and after a write.

use blksched::Span;
use blksched_text::document::{Complaint, Section};

use super::hdd::OverheadSpec;
use super::reader::Quantities as _;
use super::units;

/// Overheads by the kind that a command turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseOverheads {
    /// If the previous command was a read.
    pub after_read: CommandOverheads,
    /// If it was a write.
    pub after_write: CommandOverheads,
    /// Between the medium and the bus, for a read that missed.
    pub read_prepare: Span,
    /// After a read's data.
    pub read_end: Span,
    /// After a write's data.
    pub write_end: Span,
}

/// Before anything else happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandOverheads {
    /// A read of what is in the buffer.
    pub read_hit: Span,
    /// Any other read.
    pub read_miss: Span,
    /// A write that ends in the buffer.
    pub write_hit: Span,
    /// Any other write.
    pub write_miss: Span,
}

impl CommandOverheads {
    const fn all(span: Span) -> CommandOverheads {
        CommandOverheads { read_hit: span, read_miss: span, write_hit: span, write_miss: span }
    }

    /// The longest.
    pub fn longest(&self) -> Span {
        self.read_hit.max(self.read_miss).max(self.write_hit).max(self.write_miss)
    }
}

/// How much of a command's data must have arrived before it proceeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// For a read: in the buffer, before the interface transfers any.
    pub read: Watermark,
    /// For a write: in the buffer, before the medium takes any.
    pub write: Watermark,
}

/// The required part of a command's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watermark {
    /// A part of it \[%\].
    Part(u32),
    /// This much, or all if the command has less \[512-byte sectors\].
    Sectors(u64),
}

impl Watermark {
    /// The required number of sectors, rounded up.
    pub fn of(self, sectors: u32) -> u32 {
        match self {
            Watermark::Part(percent) => (u64::from(sectors) * u64::from(percent)).div_ceil(100) as u32,
            Watermark::Sectors(mark) => mark.min(sectors.into()) as u32,
        }
    }

    /// The required part of a time `all` for this many sectors.
    pub fn part_of(self, all: Span, sectors: u32) -> Span {
        match self {
            Watermark::Part(percent) => Span::from_ns(all.as_ns() * u64::from(percent) / 100),
            Watermark::Sectors(_) => all * u64::from(self.of(sectors)) / u64::from(sectors.max(1)),
        }
    }
}

impl Default for Watermark {
    fn default() -> Watermark {
        Watermark::Part(0)
    }
}

pub(super) const KEYS: &[&str] =
    &["command", "queued", "after_read", "after_write", "read_prepare", "read_end", "write_end"];
const CASES: &[&str] = &["read_hit", "read_miss", "write_hit", "write_miss"];
const MOST: Span = Span::from_ms(100);

pub(super) fn read(section: &Section<'_>) -> Result<OverheadSpec, Complaint> {
    let command = section.span("command", Span::ZERO..=MOST)?.value;
    let queued = section.span("queued", Span::ZERO..=MOST)?;
    if queued.value > command {
        let problem = "`queued` is more than `command`: queueing can only hide overhead".to_owned();
        return Err(section.complain(&queued.at, problem));
    }
    Ok(OverheadSpec { command, queued: queued.value, cases: cases(section, command)? })
}

fn cases(section: &Section<'_>, command: Span) -> Result<Option<CaseOverheads>, Complaint> {
    if !KEYS[2..].iter().any(|key| section.has(key)) {
        return Ok(None);
    }
    let after = |name| match section.section(name, CASES)? {
        None => Ok(CommandOverheads::all(command)),
        Some(table) => Ok(CommandOverheads {
            read_hit: table.span_or("read_hit", Span::ZERO..=MOST, command)?,
            read_miss: table.span_or("read_miss", Span::ZERO..=MOST, command)?,
            write_hit: table.span_or("write_hit", Span::ZERO..=MOST, command)?,
            write_miss: table.span_or("write_miss", Span::ZERO..=MOST, command)?,
        }),
    };
    Ok(Some(CaseOverheads {
        after_read: after("after_read")?,
        after_write: after("after_write")?,
        read_prepare: section.span_or("read_prepare", Span::ZERO..=MOST, Span::ZERO)?,
        read_end: section.span_or("read_end", Span::ZERO..=MOST, Span::ZERO)?,
        write_end: section.span_or("write_end", Span::ZERO..=MOST, Span::ZERO)?,
    }))
}

pub(super) fn watermarks(section: &Section<'_>) -> Result<Watermarks, Complaint> {
    let mark = |key| {
        let Some(text) = section.text(key)? else { return Ok(Watermark::default()) };
        if text.value.trim_end().ends_with('%') {
            return Ok(Watermark::Part(section.percent(key, 0..=100)?));
        }
        let expected = "a part of the command, as in \"50%\", or an amount of data, as in \"32KiB\"";
        let sectors = units::sectors(&text.value).filter(|sectors| *sectors <= 4_194_304);
        let problem =
            || section.complain(&text.at, format!("\"{}\" is not a watermark: expected {expected}", text.value));
        Ok(Watermark::Sectors(sectors.ok_or_else(problem)?))
    };
    Ok(Watermarks { read: mark("read_watermark")?, write: mark("write_watermark")? })
}
