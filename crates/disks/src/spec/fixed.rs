//! A disk whose every command costs the same: one time and one rate, or one each for reads and writes.

use blksched::{Op, Span};
use blksched_text::document::{Complaint, Section};

use super::reader::Quantities as _;
use super::units::{self, Rate};
use super::{keys, max_command};

pub(super) const KEYS: &[&str] = keys!["capacity", "max_command", "depth", "channels", "service", "rate"];

/// A disk with a constant service time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedSpec {
    /// Capacity \[512-byte sectors\].
    pub capacity_sectors: u64,
    /// Largest command \[512-byte sectors\].
    pub max_sectors: u32,
    /// The most commands at a time.
    pub depth: u32,
    /// Commands that make progress at the same time.
    pub channels: u32,
    /// The cost of a read.
    pub read: FixedCost,
    /// The cost of a write; a flush, a discard and zeroes cost its `service`.
    pub write: FixedCost,
}

/// The cost of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedCost {
    /// Its time, regardless of its length.
    pub service: Span,
    /// The rate of its data, per channel; `None` if data costs nothing.
    pub rate: Option<Rate>,
}

impl FixedSpec {
    /// The cost of commands of this kind.
    pub fn cost(&self, op: Op) -> &FixedCost {
        if op == Op::Read { &self.read } else { &self.write }
    }
}

impl FixedCost {
    /// The cost of this much data.
    pub(crate) fn transfer(&self, sectors: u32) -> Span {
        self.rate.map_or(Span::ZERO, |rate| rate.time_of(sectors.into()))
    }
}

pub(super) fn read(top: &Section<'_>) -> Result<FixedSpec, Complaint> {
    let [read, write] = each(top, "service", "a time from 0s to 10s, as in \"3ms\"", time)?;
    let rates = match top.has("rate") {
        true => each(top, "rate", "a rate from 100kB/s to 100GB/s, as in \"40MB/s\"", rate)?.map(Some),
        false => [None, None],
    };
    Ok(FixedSpec {
        capacity_sectors: top.capacity("capacity")?,
        max_sectors: max_command(top)?,
        depth: top.count_within("depth", 1..=65_536)?,
        channels: top.count_within("channels", 1..=1_024)?,
        read: FixedCost { service: read, rate: rates[0] },
        write: FixedCost { service: write, rate: rates[1] },
    })
}

fn time(text: &str) -> Option<Span> {
    text.parse().ok().filter(|time| (Span::ZERO..=Span::from_secs(10)).contains(time))
}

fn rate(text: &str) -> Option<Rate> {
    units::rate(text).filter(|rate| (100_000..=100_000_000_000).contains(&rate.bytes_per_s()))
}

/// One value for all, or a table with one for reads and one for writes.
fn each<T: Copy>(
    top: &Section<'_>,
    key: &'static str,
    expected: &str,
    read: fn(&str) -> Option<T>,
) -> Result<[T; 2], Complaint> {
    let either = format!("{expected}, or a table of two: {{ read = …, write = … }}");
    let is_table = top.needs(key, &either, |value| Some(value.is_table()))?.value;
    if !is_table {
        let one = top.needs(key, &either, |value| read(value.as_str()?))?.value;
        return Ok([one, one]);
    }
    let section = top.needs_section(key, &["read", "write"])?;
    let one = |key| Ok::<T, Complaint>(section.needs(key, expected, |value| read(value.as_str()?))?.value);
    Ok([one("read")?, one("write")?])
}
