//! A drive as described by the three files, in our terms.

use std::path::Path;

use blksched::Span;

use super::fields::{Fields, ms};
use super::keys;
use super::syntax::{self, Block, File, Value};
use crate::{
    AfterHit, Begins, CaseOverheads, CommandOverheads, CountsFrom, Delivered, DiskError, LayoutSpec, LookAheadRules,
    Overwritten, Passing, Reach, Turn, Watermark, WrittenData, ZoneSpec,
};

use super::layout;
use super::seek;

/// The parsed files.
pub(super) struct DriveFiles<'t> {
    pub(super) model: File<'t>,
    pub(super) specs: File<'t>,
    /// What `Layout Model = source FILE` names.
    pub(super) layout: Option<File<'t>>,
    /// The file of seek times by its name in the model.
    pub(super) seek: &'t dyn Fn(&str) -> Result<seek::Points, DiskError>,
}

/// A drive.
pub(super) struct Drive {
    pub(super) name: String,
    pub(super) rpm: u32,
    pub(super) sectors: u64,
    pub(super) layout: LayoutSpec,
    pub(super) curve: Vec<(u32, Span)>,
    /// How the files describe it.
    pub(super) seek: &'static str,
    pub(super) head_switch: Span,
    pub(super) write_settle: Span,
    pub(super) overheads: CaseOverheads,
    /// A sector's time on the bus; zero if the files do not tell.
    pub(super) bus: Span,
    pub(super) read_watermark: Watermark,
    pub(super) write_watermark: Watermark,
    pub(super) segment_sectors: u64,
    /// `None` for no caching.
    pub(super) read_segments: u64,
    pub(super) rules: LookAheadRules,
    /// `None` if writes go to the medium.
    pub(super) write_segments: u64,
    /// What the files lack, or what has no effect.
    pub(super) notes: Vec<String>,
}

impl Drive {
    pub(super) fn read(files: &DriveFiles<'_>) -> Result<Drive, DiskError> {
        let mut notes = Vec::new();
        let block = the_only(&files.model)?;
        let model = Fields::of(&files.model, &block, keys::MODEL, &mut notes)?;
        let heads = match model.count("Number of data surfaces", 64)? {
            0 => return Err(model.wrong("Number of data surfaces", "a whole number from 1 to 64")),
            heads => heads as u32,
        };
        let mechanics =
            Fields::of(&files.model, model.block("Mechanical Model", "dm_mech_g1")?, keys::MECHANICS, &mut notes)?;
        let cylinders = layout::cylinders(&model)?;
        let (curve, seek) = seek::read(&mechanics, cylinders, files.seek)?;
        let (layout, sectors) = layout::read(&model, files.layout.as_ref(), heads, &curve, &mut notes)?;
        if mechanics.text("Access time type")? != TURNING {
            let expected = format!("`{TURNING}`: a disk whose platters turn");
            return Err(mechanics.wrong_but_near("Access time type", &expected, &[TURNING]));
        }
        let rpm = match mechanics.count("Rotation speed (in rpms)", 30_000)? {
            slow @ 0..1000 => {
                let expected = format!("a whole number from 1000 to 30000, not {slow}");
                return Err(mechanics.wrong("Rotation speed (in rpms)", &expected));
            }
            rpm => rpm as u32,
        };
        let head_switch = mechanics.ms("Head switch time")?;
        note_short_skews(&layout, rpm, (head_switch, curve[0].1), &mut notes);
        let specs_block = specs_of(files, &mut notes)?;
        let specs = Fields::of(&files.specs, &specs_block, keys::SPECS, &mut notes)?;
        specs.note_absent(keys::SPECS, &mut notes);
        queue(&specs, &mut notes)?;
        let minimum = specs.ms("Minimum seek delay")?;
        let curve = curve.into_iter().map(|(distance, time): (u32, Span)| (distance, time.max(minimum))).collect();
        let segment_sectors = specs.count_or_0("Segment size (in blks)", 4_194_304)?.max(8);
        let [read_watermark, write_watermark] = watermarks(&specs, segment_sectors)?;
        let (segments, write_segments) = segments(&specs)?;
        Ok(Drive {
            name: block.name.trim_end_matches("_model").to_owned(),
            rpm,
            sectors,
            layout,
            curve,
            seek,
            head_switch,
            write_settle: mechanics.ms("Add. write settling delay")?,
            overheads: overheads(&specs)?,
            bus: bus(&specs)?,
            read_watermark,
            write_watermark,
            segment_sectors,
            read_segments: segments,
            rules: rules(&specs, &mut notes)?,
            write_segments,
            notes,
        })
    }
}

/// The name of the option that makes a time an angle.
const TURNING: &str = "trackSwitchPlusRotation";

/// The file in which a model has its layout, if it is another.
pub(super) fn layout_file(model: &File<'_>) -> Result<Option<String>, DiskError> {
    let named = match the_only(model)?.entry("Layout Model").map(|entry| &entry.value) {
        Some(Value::Text(text)) => text.strip_prefix("source").map(|name| name.trim().trim_matches('"').to_owned()),
        _ => None,
    };
    Ok(named)
}

/// The only drive in a model's file.
fn the_only<'t>(file: &File<'t>) -> Result<Block<'t>, DiskError> {
    let mut blocks = syntax::parse(file, "dm_disk")?;
    match &blocks[1..] {
        [] => Ok(blocks.swap_remove(0)),
        [second, ..] => {
            let problem = format!("a second drive, `{}`: expected one `dm_disk` in a model's file", second.name);
            Err(file.invalid(second.at, problem, None))
        }
    }
}

/// Our disk's skew along the spiral is the time of the way to the next track, even if the file's is shorter.
fn note_short_skews(layout: &LayoutSpec, rpm: u32, (switch, step): (Span, Span), notes: &mut Vec<String>) {
    let ms = |turn: Turn| f64::from(turn.millionths()) * 0.06 / f64::from(rpm);
    let mut shortest = |key: &str, skew: fn(&ZoneSpec) -> Turn, needed: Span, what: &str| {
        let least = layout.zones.iter().map(skew).min().map_or(f64::INFINITY, ms);
        if least < needed.as_ms_f64() {
            notes.push(format!(
                "`{key}` ({least:.2} ms) is shorter than {what} ({:.2} ms): what goes on there is no revolution late",
                needed.as_ms_f64()
            ));
        }
    };
    shortest("Skew for cylinder switch", |zone| zone.cylinder_skew, step, "a seek to the next cylinder");
    if layout.heads > 1 {
        shortest("Skew for track switch", |zone| zone.track_skew, switch, "a change of heads");
    }
}

/// Notes settings of the drive's own queue that are not supported.
fn queue(specs: &Fields<'_, '_>, notes: &mut Vec<String>) -> Result<(), DiskError> {
    let depth = specs.count_or_0("Max queue length", 1_000_000)?;
    if depth > 1 {
        notes.push(format!("`Max queue length = {depth}` is left out: this drive is given one command at a time"));
    }
    if specs.block.entry("Scheduler").is_some() {
        Fields::of(specs.file, specs.block("Scheduler", "disksim_ioqueue")?, keys::SCHEDULER, notes)?;
    }
    Ok(())
}

/// The drive's own block: among several, the one whose model is this file.
fn specs_of<'t>(files: &DriveFiles<'t>, notes: &mut Vec<String>) -> Result<Block<'t>, DiskError> {
    let mut blocks = syntax::parse(&files.specs, "disksim_disk")?;
    let file = Path::new(files.model.name).file_name().unwrap_or_default().to_string_lossy();
    let is_ours = |block: &Block<'_>| {
        matches!(block.entry("Model").map(|entry| &entry.value), Some(Value::Text(text))
            if text.trim_start_matches("source").trim().trim_matches('"') == file)
    };
    let mut ours = (0..blocks.len()).filter(|&nth| is_ours(&blocks[nth]));
    match (ours.next(), ours.next()) {
        (Some(_), Some(second)) => {
            let problem = format!("`{}` has this model too: expected one drive that does", blocks[second].name);
            Err(files.specs.invalid(blocks[second].at, problem, None))
        }
        (Some(ours), None) => Ok(blocks.swap_remove(ours)),
        (None, _) if blocks.len() == 1 => {
            if let Some(Value::Text(text)) = blocks[0].entry("Model").map(|entry| &entry.value) {
                notes.push(format!("`Model = {text}` is not the file that was given, {file}, which counts"));
            }
            Ok(blocks.swap_remove(0))
        }
        (None, _) => {
            let names = blocks.iter().map(|block| block.name).collect::<Vec<_>>().join(", ");
            let problem = format!("none of {names} has `Model = source {file}`: expected one that does");
            Err(files.specs.invalid(blocks[0].at, problem, None))
        }
    }
}

/// A sector's time on the bus; zero if unknown.
fn bus(specs: &Fields<'_, '_>) -> Result<Span, DiskError> {
    let key = "Bulk sector transfer time";
    match specs.ms(key)?.as_ns() {
        ns @ (0 | 6..) => Ok(Span::from_ns(ns)),
        _ => Err(specs.wrong(key, "0, or 0.000006 (100 GB/s) and more")),
    }
}

fn overheads(specs: &Fields<'_, '_>) -> Result<CaseOverheads, DiskError> {
    let scale = match specs.number_or_0("Time scale for overheads")? {
        0.0 => 1.0,
        scale => scale,
    };
    let each = specs.number_or_0("Per-request overhead time")?;
    let most = Span::from_ms(100);
    let checked = |key: &str, time: Span| match time <= most {
        true => Ok(time),
        false => Err(specs.wrong(key, "one that makes 100 ms at most, with what all requests and the scale add")),
    };
    let scaled = |key: &str| checked(key, ms(specs.number_or_0(key)? * scale));
    let before = |what: &str, after: &str| {
        let key = format!("{what} over. after {after}");
        checked(&key, scaled(&key)? + ms(each))
    };
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
        read_prepare: checked(
            "First reselect overhead",
            scaled("Data preparation overhead")? + scaled("First reselect overhead")?,
        )?,
        read_end: scaled("Read completion overhead")?,
        write_end: scaled("Write completion overhead")?,
    })
}

/// Watermarks of reads and writes: of what a command asks for, or of a segment.
fn watermarks(specs: &Fields<'_, '_>, segment_sectors: u64) -> Result<[Watermark; 2], DiskError> {
    let by_command = specs.is_on("Set watermark by reqsize")?;
    let mark = |key: &str| {
        let part = specs.number_or_0(key)?;
        Ok::<_, DiskError>(match by_command || part == 0.0 {
            true => Watermark::Part((part * 100.0).round() as u32),
            false => Watermark::Sectors((part * segment_sectors as f64).ceil() as u64),
        })
    };
    Ok([mark("High (read) water mark")?, mark("Low (write) water mark")?])
}

/// More segments than this make no difference to a disk that gets one command at a time.
const MOST_SEGMENTS: u64 = 64;

/// Segments for reads and for writes.
fn segments(specs: &Fields<'_, '_>) -> Result<(u64, u64), DiskError> {
    let all = specs.count_or_0("Number of buffer segments", 10_000)?.clamp(1, MOST_SEGMENTS);
    let caching = specs.is_on("Enable caching in buffer")?;
    let apart = u64::from(specs.is_on("Use separate write segment")?);
    let write = match specs.is_on("Fast write level")? {
        true => specs.count_or_0("Maximum number of write segments", 10_000)?.clamp(1, MOST_SEGMENTS),
        false => 0,
    };
    Ok((if caching { (all - apart.min(all - 1)).max(1) } else { 0 }, write))
}

fn rules(specs: &Fields<'_, '_>, notes: &mut Vec<String>) -> Result<LookAheadRules, DiskError> {
    let over_requested = specs.is_on("Read-ahead over requested")?;
    let most = specs.count_or_0("Maximum read-ahead (blks)", 4_194_304)?;
    let mode = specs.count_or_0("Buffer continuous read", 4)?;
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
        counts: if over_requested { CountsFrom::Beyond } else { CountsFrom::Whole },
        delivered: if specs.is_on("Read any free blocks")? { Delivered::Kept } else { Delivered::Dropped },
        written: if on_written { WrittenData::Kept } else { WrittenData::Forgotten },
        hit: if specs.is_on("Read-ahead on idle hit")? { AfterHit::Continues } else { AfterHit::Rests },
        overwritten: Overwritten::Dropped,
        passing: if specs.is_on("Allow almost read hits")? { Passing::Hit } else { Passing::Miss },
        least_sectors: if mode == 0 { 0 } else { specs.count_or_0("Minimum read-ahead (blks)", 4_194_304)? },
    })
}

/// The numbers of a list.
pub(super) fn numbers(fields: &Fields<'_, '_>, key: &str) -> Result<Vec<u64>, DiskError> {
    let number = |(value, at): &(Value<'_>, usize)| match value {
        Value::Text(text) if text.parse::<u64>().is_ok() => Ok(text.parse().unwrap_or(0)),
        _ => Err(fields.file.invalid(*at, format!("`{key}` lists something that is not a whole number"), None)),
    };
    // Missing lists are empty.
    if fields.block.entry(key).is_none() {
        return Ok(Vec::new());
    }
    fields.list(key)?.iter().map(number).collect()
}
