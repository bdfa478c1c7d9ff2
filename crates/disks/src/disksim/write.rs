//! A drive as our TOML.

use core::fmt::{self, Write};

use blksched::Span;

use super::drive::Drive;
use crate::spec::HEAD_ORDERS;
use crate::{
    AfterHit, Begins, CommandOverheads, CountsFrom, Delivered, HeadOrder, Overwritten, Passing, Reach, Turn, Watermark,
    WrittenData, ZoneSpec,
};

/// The default if the files do not describe the bus: asynchronous transfers on a narrow SCSI bus.
const ASYNCHRONOUS: u64 = 3_500_000;

pub(super) fn toml(file: &str, drive: &Drive) -> String {
    let mut text = String::new();
    head(&mut text, file, drive).and_then(|()| body(&mut text, drive)).expect("a string takes all text");
    text
}

fn head(text: &mut String, file: &str, drive: &Drive) -> fmt::Result {
    writeln!(text, "# {}: imported from DiskSim's {file}.model and {file}.diskspecs.", drive.name)?;
    writeln!(text, "# Seek type: {}.", drive.seek)?;
    writeln!(text, "# Every number is READ there but those that say otherwise.")?;
    for note in &drive.notes {
        writeln!(text, "# Note: {note}.")?;
    }
    writeln!(text, "kind = \"hdd\"")?;
    let gb = drive.sectors as f64 * 512.0 / 1e9;
    let name = drive.name.replace(['"', '\\', '\n', '\r', '\t'], "_");
    writeln!(text, "description = \"{name}: {gb:.1} GB, {} rpm, from DiskSim's files\"", drive.rpm)?;
    writeln!(text, "capacity = \"{}B\"", drive.sectors * 512)?;
    writeln!(text, "max_command = \"32MiB\"")?;
    writeln!(text, "speed = \"{}rpm\"", drive.rpm)
}

fn body(text: &mut String, drive: &Drive) -> fmt::Result {
    writeln!(text, "\n[geometry]\nheads = {}", drive.layout.heads)?;
    let order = drive.layout.order;
    if let Some((word, _)) = HEAD_ORDERS.iter().find(|known| known.1 == order && order != HeadOrder::Same) {
        writeln!(text, "head_order = \"{word}\"")?;
    }
    seek(text, drive)?;
    overheads(text, drive)?;
    writeln!(text, "\n[interface]")?;
    match drive.bus.as_ns() {
        0 => writeln!(
            text,
            "rate = \"{ASYNCHRONOUS}B/s\" # FIT: not in the files; an asynchronous narrow bus, seen on hp_c3323a"
        )?,
        ns => writeln!(text, "rate = \"{}B/s\"", 512_000_000_000 / ns)?,
    }
    for (key, mark) in [("read_watermark", drive.read_watermark), ("write_watermark", drive.write_watermark)] {
        match mark {
            Watermark::Part(percent) => writeln!(text, "{key} = \"{percent}%\"")?,
            Watermark::Sectors(sectors) => writeln!(text, "{key} = \"{}B\"", sectors * 512)?,
        }
    }
    look_ahead(text, drive)?;
    write_cache(text, drive)?;
    drive.layout.zones.iter().try_for_each(|one| zone(text, one))
}

fn seek(text: &mut String, drive: &Drive) -> fmt::Result {
    let (first, last) = (drive.curve[0].1, drive.curve[drive.curve.len() - 1].1);
    let third = drive.curve[drive.curve.partition_point(|point| point.0 * 3 < drive.curve[drive.curve.len() - 1].0)].1;
    let max = drive.curve.iter().map(|point| point.1).max().unwrap_or(last);
    writeln!(text, "\n[seek]")?;
    writeln!(text, "min = \"{}\"", exact(first.min(third)))?;
    writeln!(text, "average = \"{}\"", exact(third))?;
    writeln!(text, "max = \"{}\"", exact(max))?;
    writeln!(text, "head_switch = \"{}\"", exact(drive.head_switch))?;
    writeln!(text, "write_settle = \"{}\"", exact(drive.write_settle))?;
    writeln!(
        text,
        "acquire = \"{}\" # FIT: half of a one-cylinder seek, for every drive; see docs/disks.md",
        exact(first / 2)
    )?;
    writeln!(text, "curve = [")?;
    for (distance, time) in &drive.curve {
        writeln!(text, "  \"{distance}cyl {}\",", exact(*time))?;
    }
    writeln!(text, "]")
}

fn overheads(text: &mut String, drive: &Drive) -> fmt::Result {
    let cases = &drive.overheads;
    let command = cases.after_read.read_miss;
    writeln!(text, "\n[overhead]\ncommand = \"{}\"\nqueued = \"0s\"", exact(command))?;
    writeln!(text, "read_prepare = \"{}\"", exact(cases.read_prepare))?;
    writeln!(text, "read_end = \"{}\"", exact(cases.read_end))?;
    writeln!(text, "write_end = \"{}\"", exact(cases.write_end))?;
    for (after, costs) in [("after_read", &cases.after_read), ("after_write", &cases.after_write)] {
        let CommandOverheads { read_hit, read_miss, write_hit, write_miss } = costs;
        writeln!(text, "\n[overhead.{after}]")?;
        for (key, cost) in
            [("read_hit", read_hit), ("read_miss", read_miss), ("write_hit", write_hit), ("write_miss", write_miss)]
        {
            writeln!(text, "{key} = \"{}\"", exact(*cost))?;
        }
    }
    Ok(())
}

fn look_ahead(text: &mut String, drive: &Drive) -> fmt::Result {
    if drive.read_segments == 0 {
        return Ok(());
    }
    let rules = &drive.rules;
    writeln!(text, "\n[look_ahead]\nstate = \"on\"")?;
    writeln!(
        text,
        "segment = \"{}B\"\nsegments = {}\nhold = \"0B\"",
        drive.segment_sectors * 512,
        drive.read_segments
    )?;
    writeln!(text, "most = \"{}B\"", rules.most_sectors * 512)?;
    writeln!(text, "least = \"{}B\"", rules.least_sectors * 512)?;
    let words = [
        (
            "reach",
            match rules.reach {
                Reach::Segment => "segment",
                Reach::Cylinder => "cylinder",
                Reach::Track => "track",
            },
        ),
        ("begins", if rules.begins == Begins::Always { "always" } else { "sequential" }),
        ("counts", if rules.counts == CountsFrom::Beyond { "beyond" } else { "whole" }),
        ("delivered", if rules.delivered == Delivered::Kept { "kept" } else { "dropped" }),
        ("written", if rules.written == WrittenData::Kept { "kept" } else { "forgotten" }),
        ("hit", if rules.hit == AfterHit::Continues { "continues" } else { "rests" }),
        ("passing", if rules.passing == Passing::Hit { "hit" } else { "miss" }),
        ("overwritten", if rules.overwritten == Overwritten::Trimmed { "trimmed" } else { "dropped" }),
    ];
    words.iter().try_for_each(|(key, word)| writeln!(text, "{key} = \"{word}\""))
}

fn write_cache(text: &mut String, drive: &Drive) -> fmt::Result {
    if drive.write_segments == 0 {
        return Ok(());
    }
    let size = drive.segment_sectors * drive.write_segments * 512;
    writeln!(text, "\n[write_cache]\norder = \"fifo\"\nsize = \"{size}B\"\nextents = {}", drive.write_segments)?;
    writeln!(text, "chunk = \"{}B\"\nreach = 1\nflush = \"queued\"", drive.segment_sectors.min(65_536) * 512)
}

fn zone(text: &mut String, zone: &ZoneSpec) -> fmt::Result {
    writeln!(text, "\n[[zone]]\nfirst_cylinder = {}\nlast_cylinder = {}", zone.first_cylinder, zone.last_cylinder)?;
    writeln!(text, "sectors_per_track = {}", zone.per_track)?;
    for (key, skew) in [("track_skew", zone.track_skew), ("cylinder_skew", zone.cylinder_skew), ("offset", zone.offset)]
    {
        writeln!(text, "{key} = \"{}\"", turns(skew))?;
    }
    writeln!(
        text,
        "reserved = {}\nspare_group = {}\nspares = {}",
        zone.reserved_sectors, zone.group_sectors, zone.spare_sectors
    )?;
    writeln!(text, "slips = {:?}", zone.slips)
}

fn turns(turn: Turn) -> String {
    format!("0.{:06}rev", turn.millionths())
}

fn exact(span: Span) -> String {
    format!("{}ns", span.as_ns())
}
