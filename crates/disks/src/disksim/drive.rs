//! What the three files say of a drive, in our terms.

use std::path::Path;

use blksched::Span;

use super::fields::{Fields, ms};
use super::keys;
use super::syntax::{self, Block, File, Value};
use crate::{
    AfterHit, Begins, CaseOverheads, CommandOverheads, Counts, Delivered, DiskError, LayoutSpec, LookAheadRules,
    Overwritten, Reach, Written,
};

use super::layout;
use super::seek;

/// The files, read.
pub(super) struct Files<'t> {
    pub(super) model: File<'t>,
    pub(super) specs: File<'t>,
    /// A file of seek times by the name that the model gives.
    pub(super) seek: &'t dyn Fn(&str) -> Result<seek::Points, DiskError>,
}

/// A drive.
pub(super) struct Drive {
    pub(super) name: String,
    pub(super) rpm: u32,
    pub(super) sectors: u64,
    pub(super) layout: LayoutSpec,
    pub(super) curve: Vec<(u32, Span)>,
    /// How the files say it.
    pub(super) seek: &'static str,
    pub(super) head_switch: Span,
    pub(super) write_settle: Span,
    pub(super) overheads: CaseOverheads,
    /// A sector over the bus; zero if the files do not say.
    pub(super) bus: Span,
    pub(super) read_watermark: u32,
    pub(super) write_watermark: u32,
    pub(super) segment_sectors: u64,
    /// None: no caching.
    pub(super) read_segments: u64,
    pub(super) rules: LookAheadRules,
    /// None: writes go to the medium.
    pub(super) write_segments: u64,
    /// What the files do not say, or say in vain.
    pub(super) notes: Vec<String>,
}

impl Drive {
    pub(super) fn read(files: &Files<'_>) -> Result<Drive, DiskError> {
        let mut notes = Vec::new();
        let block = syntax::parse(&files.model, "dm_disk")?.swap_remove(0);
        let model = Fields::of(&files.model, &block, keys::MODEL, &mut notes)?;
        let heads = match model.count("Number of data surfaces", 64)? {
            0 => return Err(model.wrong("Number of data surfaces", "a whole number from 1 to 64")),
            heads => heads as u32,
        };
        let mechanics = Fields::of(&files.model, model.block("Mechanical Model")?, keys::MECHANICS, &mut notes)?;
        let cylinders = layout::cylinders(&model)?;
        let (curve, seek) = seek::read(&mechanics, cylinders, files.seek)?;
        let (layout, sectors) = layout::read(&model, heads, &curve, &mut notes)?;
        if mechanics.text("Access time type")? != "trackSwitchPlusRotation" {
            return Err(mechanics.wrong("Access time type", "`trackSwitchPlusRotation`: a disk whose platters turn"));
        }
        let rpm = mechanics.count("Rotation speed (in rpms)", 30_000)? as u32;
        let specs_block = specs_of(files)?;
        let specs = Fields::of(&files.specs, &specs_block, keys::SPECS, &mut notes)?;
        let minimum = specs.ms("Minimum seek delay")?;
        let curve = curve.into_iter().map(|(distance, time): (u32, Span)| (distance, time.max(minimum))).collect();
        let [read_watermark, write_watermark] = watermarks(&specs, &mut notes)?;
        let (segments, write_segments) = segments(&specs)?;
        Ok(Drive {
            name: block.name.trim_end_matches("_model").to_owned(),
            rpm,
            sectors,
            layout,
            curve,
            seek,
            head_switch: mechanics.ms("Head switch time")?,
            write_settle: mechanics.ms("Add. write settling delay")?,
            overheads: overheads(&specs)?,
            bus: specs.ms("Bulk sector transfer time")?,
            read_watermark,
            write_watermark,
            segment_sectors: specs.count("Segment size (in blks)", 4_194_304)?.max(8),
            read_segments: segments,
            rules: rules(&specs, &mut notes)?,
            write_segments,
            notes,
        })
    }
}

/// The drive's own block: of several the one whose model is this file.
fn specs_of<'t>(files: &Files<'t>) -> Result<Block<'t>, DiskError> {
    let mut blocks = syntax::parse(&files.specs, "disksim_disk")?;
    let file = Path::new(files.model.name).file_name().unwrap_or_default().to_string_lossy();
    let is_ours = |block: &Block<'_>| {
        matches!(block.entry("Model").map(|entry| &entry.value), Some(Value::Text(text))
            if text.trim_start_matches("source").trim().trim_matches('"') == file)
    };
    match blocks.iter().position(is_ours) {
        Some(ours) => Ok(blocks.swap_remove(ours)),
        None if blocks.len() == 1 => Ok(blocks.swap_remove(0)),
        None => {
            let names = blocks.iter().map(|block| block.name).collect::<Vec<_>>().join(", ");
            let problem = format!("none of {names} has `Model = source {file}`: expected one that does");
            Err(files.specs.invalid(blocks[0].at, problem, None))
        }
    }
}

fn overheads(specs: &Fields<'_, '_>) -> Result<CaseOverheads, DiskError> {
    let scale = match specs.number_or_0("Time scale for overheads")? {
        0.0 => 1.0,
        scale => scale,
    };
    let each = specs.number_or_0("Per-request overhead time")?;
    let scaled = |key: &str| Ok::<_, DiskError>(ms(specs.number_or_0(key)? * scale));
    let before =
        |what: &str, after: &str| Ok::<_, DiskError>(scaled(&format!("{what} over. after {after}"))? + ms(each));
    let all = |after: &str| {
        Ok::<_, DiskError>(CommandOverheads {
            read_hit: before("Read hit", after)?,
            read_miss: before("Read miss", after)?,
            write_hit: before("Write hit", after)?,
            write_miss: before("Write miss", after)?,
        })
    };
    Ok(CaseOverheads {
        after_read: all("read")?,
        after_write: all("write")?,
        read_prepare: scaled("Data preparation overhead")? + scaled("First reselect overhead")?,
        read_end: scaled("Read completion overhead")?,
        write_end: scaled("Write completion overhead")?,
    })
}

/// Of reads and writes \[%\].
fn watermarks(specs: &Fields<'_, '_>, notes: &mut Vec<String>) -> Result<[u32; 2], DiskError> {
    let percent = |key: &str| Ok::<_, DiskError>((specs.number_or_0(key)? * 100.0).round().min(100.0) as u32);
    let marks = [percent("High (read) water mark")?, percent("Low (write) water mark")?];
    if !specs.is_on("Set watermark by reqsize")? && marks != [0, 0] {
        notes.push("water marks count from the command's size here, not from the segment's".to_owned());
    }
    Ok(marks)
}

/// More than a disk of ours remembers make no difference to one that is asked one command at a time.
const MOST_SEGMENTS: u64 = 64;

/// Segments for reads and for writes.
fn segments(specs: &Fields<'_, '_>) -> Result<(u64, u64), DiskError> {
    let all = specs.count("Number of buffer segments", 10_000)?.clamp(1, MOST_SEGMENTS);
    let caching = specs.is_on("Enable caching in buffer")?;
    let apart = u64::from(specs.is_on("Use separate write segment")?);
    let write = match specs.is_on("Fast write level")? {
        true => specs.count("Maximum number of write segments", 10_000)?.clamp(1, MOST_SEGMENTS),
        false => 0,
    };
    Ok((if caching { (all - apart.min(all - 1)).max(1) } else { 0 }, write))
}

fn rules(specs: &Fields<'_, '_>, notes: &mut Vec<String>) -> Result<LookAheadRules, DiskError> {
    let over_requested = specs.is_on("Read-ahead over requested")?;
    let most = specs.count("Maximum read-ahead (blks)", 4_194_304)?;
    let mode = specs.count("Buffer continuous read", 4)?;
    let (reach, begins) = match mode {
        1 => (Reach::Track, Begins::Always),
        2 => (Reach::Cylinder, Begins::Always),
        4 if !over_requested => (Reach::Segment, Begins::Sequential),
        _ => (Reach::Segment, Begins::Always),
    };
    if mode == 4 {
        let reading = if over_requested { "after any read" } else { "after sequential reads alone" };
        notes.push(format!("`Buffer continuous read = 4` (dynamic) is read as: {reading}"));
    }
    let on_written = specs.is_on("Allow read hits on write data")?;
    Ok(LookAheadRules {
        reach,
        begins,
        most_sectors: if mode == 0 { 0 } else { most },
        counts: if over_requested { Counts::Beyond } else { Counts::Whole },
        delivered: if specs.is_on("Read any free blocks")? { Delivered::Kept } else { Delivered::Dropped },
        written: if on_written { Written::Kept } else { Written::Forgotten },
        hit: if specs.is_on("Read-ahead on idle hit")? { AfterHit::Continues } else { AfterHit::Rests },
        overwritten: Overwritten::Dropped,
    })
}

/// A list's numbers.
pub(super) fn numbers(fields: &Fields<'_, '_>, key: &str) -> Result<Vec<u64>, DiskError> {
    let number = |(value, at): &(Value<'_>, usize)| match value {
        Value::Text(text) if text.parse::<u64>().is_ok() => Ok(text.parse().unwrap_or(0)),
        _ => Err(fields.file.invalid(*at, format!("`{key}` lists what is no whole number"), None)),
    };
    // Lists that are not there are empty.
    if fields.block.entry(key).is_none() {
        return Ok(Vec::new());
    }
    fields.list(key)?.iter().map(number).collect()
}
