//! A drive's look-ahead: how far, after which reads, and which data is kept in a segment.

use blksched_text::document::{Complaint, Section};

use super::reader::Quantities as _;

/// The modes of a look-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookAheadRules {
    /// Where it ends at the latest.
    pub reach: Reach,
    /// After which reads it begins.
    pub begins: Begins,
    /// How much it reads at most \[512-byte sectors\].
    pub most_sectors: u64,
    /// Where that count begins.
    pub counts: CountsFrom,
    /// What happens to data that the host has received.
    pub delivered: Delivered,
    /// Whether written data can be read from the buffer once it is on the medium.
    pub written: WrittenData,
    /// What a hit does after the look-ahead has stopped.
    pub hit: AfterHit,
    /// What a write does to a segment that it overlaps.
    pub overwritten: Overwritten,
    /// The cost of a read of what the head is just reading ahead.
    pub passing: Passing,
    /// How much is read ahead before another command gets the head, if the look-ahead goes that far \[512-byte
    /// sectors\].
    pub least_sectors: u64,
}

/// Where a look-ahead ends at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// When the segment is full.
    Segment,
    /// At the end of the cylinder.
    Cylinder,
    /// At the end of the track.
    Track,
}

/// After which reads a look-ahead begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// Any.
    Always,
    /// A read that continues the previous one.
    Sequential,
}

/// Where [`LookAheadRules::most_sectors`] begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountsFrom {
    /// From the read's end.
    Beyond,
    /// From its beginning.
    Whole,
}

/// What happens to data that the host has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It stays until it is overwritten.
    Kept,
    /// It no longer counts as a hit.
    Dropped,
}

/// Whether written data can be read from the buffer once it is on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenData {
    /// No.
    Forgotten,
    /// It has a segment.
    Kept,
}

/// What a hit does after the look-ahead has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterHit {
    /// It continues if half of the segment has been used up.
    Continues,
    /// Nothing.
    Rests,
}

/// What a write does to a segment that it overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwritten {
    /// What is before the write stays.
    Trimmed,
    /// Nothing stays.
    Dropped,
}

/// The cost of a read of what the head is just reading ahead, where overheads differ by case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// A hit's overhead.
    Hit,
    /// A miss's.
    Miss,
}

impl LookAheadRules {
    /// The default.
    pub const fn usual(segment_sectors: u64) -> LookAheadRules {
        LookAheadRules {
            reach: Reach::Segment,
            begins: Begins::Always,
            most_sectors: segment_sectors,
            counts: CountsFrom::Beyond,
            delivered: Delivered::Kept,
            written: WrittenData::Forgotten,
            hit: AfterHit::Continues,
            overwritten: Overwritten::Trimmed,
            passing: Passing::Hit,
            least_sectors: 0,
        }
    }
}

pub(super) const KEYS: &[&str] = &[
    "state",
    "segment",
    "segments",
    "hold",
    "reach",
    "begins",
    "most",
    "counts",
    "delivered",
    "written",
    "hit",
    "overwritten",
    "passing",
    "least",
];

pub(super) fn read(section: &Section<'_>, segment_sectors: u64) -> Result<LookAheadRules, Complaint> {
    let most = if section.has("most") { section.sectors("most", 0..=4_194_304)?.value } else { segment_sectors };
    Ok(LookAheadRules {
        reach: section
            .word_or("reach", &[("segment", Reach::Segment), ("cylinder", Reach::Cylinder), ("track", Reach::Track)])?,
        begins: section.word_or("begins", &[("always", Begins::Always), ("sequential", Begins::Sequential)])?,
        most_sectors: most,
        counts: section.word_or("counts", &[("beyond", CountsFrom::Beyond), ("whole", CountsFrom::Whole)])?,
        delivered: section.word_or("delivered", &[("kept", Delivered::Kept), ("dropped", Delivered::Dropped)])?,
        written: section.word_or("written", &[("forgotten", WrittenData::Forgotten), ("kept", WrittenData::Kept)])?,
        hit: section.word_or("hit", &[("continues", AfterHit::Continues), ("rests", AfterHit::Rests)])?,
        overwritten: section
            .word_or("overwritten", &[("trimmed", Overwritten::Trimmed), ("dropped", Overwritten::Dropped)])?,
        passing: section.word_or("passing", &[("hit", Passing::Hit), ("miss", Passing::Miss)])?,
        least_sectors: if section.has("least") { section.sectors("least", 0..=4_194_304)?.value } else { 0 },
    })
}
