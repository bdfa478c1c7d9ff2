//! DiskSim's parameters one by one on a drive that exists nowhere: what each means, by the response times that follow.
//!
//! The drive turns once in 10 ms, has 100 sectors on each of its two tracks per cylinder (0.1 ms each), reaches every
//! other cylinder in 3 ms, and carries a sector over the bus in 0.01 ms. What is not said costs nothing.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use blksched::author::RequestId;
use blksched::{Command, Op, Sector, Span, SubmitterId};
use blksched_disks::disksim::demerit::{MeasuredRequest, replay};
use blksched_disks::disksim::import;
use blksched_disks::{DiskSpec, parse};

const MODEL: &[(&str, &str)] =
    &[("Number of data surfaces", "2"), ("Number of cylinders", "1000"), ("Block count", "200000")];
const LAYOUT: &[(&str, &str)] =
    &[("LBN-to-PBN mapping scheme", "0"), ("Sparing scheme used", "0"), ("Rangesize for sparing", "1")];
const ZONE: &[(&str, &str)] = &[
    ("First cylinder number", "0"),
    ("Last cylinder number", "999"),
    ("Blocks per track", "100"),
    ("Offset of first block", "0.0"),
    ("Empty space at zone front", "0"),
    ("Skew for track switch", "20.0"),
    ("Skew for cylinder switch", "40.0"),
    ("Number of spares", "0"),
    ("slips", "[]"),
    ("defects", "[]"),
];
const MECHANICS: &[(&str, &str)] = &[
    ("Access time type", "trackSwitchPlusRotation"),
    ("Seek type", "constant"),
    ("Constant seek time", "3.0"),
    ("Add. write settling delay", "0.0"),
    ("Head switch time", "1.0"),
    ("Rotation speed (in rpms)", "6000"),
    ("Percent error in rpms", "0.0"),
];
const SPECS: &[(&str, &str)] = &[
    ("Model", "source drive.model"),
    ("Per-request overhead time", "0.0"),
    ("Time scale for overheads", "1.0"),
    ("Bulk sector transfer time", "0.01"),
    ("Allow almost read hits", "0"),
    ("Allow read hits on write data", "0"),
    ("Number of buffer segments", "4"),
    ("Maximum number of write segments", "1"),
    ("Segment size (in blks)", "256"),
    ("Use separate write segment", "0"),
    ("Low (write) water mark", "0.0"),
    ("High (read) water mark", "0.0"),
    ("Set watermark by reqsize", "1"),
    ("Enable caching in buffer", "1"),
    ("Buffer continuous read", "3"),
    ("Minimum read-ahead (blks)", "0"),
    ("Maximum read-ahead (blks)", "200"),
    ("Read-ahead over requested", "1"),
    ("Read-ahead on idle hit", "0"),
    ("Read any free blocks", "0"),
    ("Fast write level", "0"),
    ("Read hit over. after read", "0.0"),
    ("Read hit over. after write", "0.0"),
    ("Read miss over. after read", "0.0"),
    ("Read miss over. after write", "0.0"),
    ("Write hit over. after read", "0.0"),
    ("Write hit over. after write", "0.0"),
    ("Write miss over. after read", "0.0"),
    ("Write miss over. after write", "0.0"),
    ("Read completion overhead", "0.0"),
    ("Write completion overhead", "0.0"),
    ("Data preparation overhead", "0.0"),
    ("First reselect overhead", "0.0"),
    ("Minimum seek delay", "0.0"),
];

/// A block's parameters with some changed, left out (`-`), or added.
fn block(known: &[(&str, &str)], other: &[(&str, &str)]) -> String {
    let mut lines: Vec<(String, String)> =
        known.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    for (key, value) in other {
        match lines.iter_mut().find(|line| line.0 == *key) {
            Some(line) => line.1 = (*value).to_owned(),
            None => lines.push(((*key).to_owned(), (*value).to_owned())),
        }
    }
    let said = lines.iter().filter(|(_, value)| value != "-").map(|(key, value)| format!("{key} = {value}"));
    said.collect::<Vec<_>>().join(",\n")
}

/// Changes of the drive's files.
#[derive(Clone, Copy, Default)]
struct Otherwise<'a> {
    model: &'a [(&'a str, &'a str)],
    layout: &'a [(&'a str, &'a str)],
    zone: &'a [(&'a str, &'a str)],
    mechanics: &'a [(&'a str, &'a str)],
    specs: &'a [(&'a str, &'a str)],
}

/// The text of the imported file, or the error without its directory.
fn imported(other: Otherwise<'_>) -> Result<String, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("blksched-parameters-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    let zone = block(ZONE, other.zone);
    let layout =
        block(&[LAYOUT, &[("Zones", &format!("[ dm_layout_g1_zone {{\n{zone}\n}} ]"))]].concat(), other.layout);
    let mechanics = block(MECHANICS, other.mechanics);
    let blocks =
        format!("Layout Model = dm_layout_g1 {{\n{layout}\n}},\nMechanical Model = dm_mech_g1 {{\n{mechanics}\n}}");
    let model = format!("dm_disk drive {{\n{},\n{blocks}\n}}\n", block(MODEL, other.model));
    fs::write(folder.join("drive.model"), model).unwrap();
    fs::write(folder.join("drive.diskspecs"), format!("disksim_disk DRIVE {{\n{}\n}}\n", block(SPECS, other.specs)))
        .unwrap();
    let text = import(&folder.join("drive.model"));
    fs::remove_dir_all(&folder).unwrap();
    text.map_err(|error| error.to_string().replace(&folder.display().to_string(), ""))
}

fn drive(other: Otherwise<'_>) -> DiskSpec {
    let text = imported(other).unwrap_or_else(|error| panic!("{error}"));
    parse("drive.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn specs<'a>(specs: &'a [(&'a str, &'a str)]) -> DiskSpec {
    drive(Otherwise { specs, ..Otherwise::default() })
}

/// A command: op, sector, sectors, and the pause after it [ms].
type Asked = (char, u64, u32, f64);

/// The time of each [ms].
fn times(spec: &DiskSpec, asked: &[Asked]) -> Vec<f64> {
    let measured = |&(op, start, sectors, pause): &Asked| MeasuredRequest {
        command: Command {
            rq: RequestId::from_index(0),
            op: if op == 'r' { Op::Read } else { Op::Write },
            start: Sector(start),
            sectors,
            fua: false,
            submitter: SubmitterId(1),
        },
        response: Span::ZERO,
        think: Span::from_ns((pause * 1e6) as u64),
    };
    let asked: Vec<MeasuredRequest> = asked.iter().map(measured).collect();
    replay(spec, &asked, 1).unwrap().iter().map(|time| time.as_ms_f64()).collect()
}

fn last(spec: &DiskSpec, asked: &[Asked]) -> f64 {
    *times(spec, asked).last().unwrap()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.002, "{found} ms, not {expected} ms");
}

/// The mean of commands that miss, each after a distant one, at a thousand evenly spread angles: 8.805 ms for a seek,
/// half a revolution (from no wait to 9.99 ms), eight sectors, and the last of them over the bus.
fn mean(spec: &DiskSpec, (before, op): (char, char)) -> f64 {
    // Commands that miss end where their sectors do, whenever they began.
    let pair = |nth: u32| [(before, 150_000, 8, 30.0 + f64::from(nth) * 0.01), (op, 10, 8, 30.0)];
    let asked: Vec<Asked> = (0..1000).flat_map(pair).collect();
    let took = times(spec, &asked);
    took.chunks(2).map(|pair| pair[1]).sum::<f64>() / 1000.0
}

const MISS: f64 = 8.805;
/// Eight sectors over the bus.
const HIT: f64 = 0.08;

/// A read, and the next sectors when they have been read ahead.
const READ_AND_HIT: [Asked; 2] = [('r', 0, 8, 50.0), ('r', 8, 8, 50.0)];

#[test]
fn overheads_are_of_their_case_and_no_other() {
    near(mean(&specs(&[]), ('r', 'r')), MISS);
    near(last(&specs(&[]), &READ_AND_HIT), HIT);
    let cached = ("Fast write level", "2");
    for (key, case, base) in [
        ("Read miss over. after read", ('r', 'r'), MISS),
        ("Read miss over. after write", ('w', 'r'), MISS),
        ("Write miss over. after read", ('r', 'w'), MISS),
        ("Write miss over. after write", ('w', 'w'), MISS),
    ] {
        for other in [('r', 'r'), ('w', 'r'), ('r', 'w'), ('w', 'w')] {
            let expected = if other == case { base + 2.0 } else { base };
            // A write's data crosses the bus before the head is there.
            let found = mean(&specs(&[(key, "2.0")]), other);
            assert!((found - expected).abs() < 0.02, "{key}, {other:?}: {found} ms, not {expected}");
        }
    }
    let hit_after = |before: char| {
        [('r', 0, 8, 50.0), (before, 0, 1, 50.0), ('r', 400, 8, 50.0), (before, 150_000, 1, 50.0), ('r', 408, 8, 50.0)]
    };
    for (key, before) in [("Read hit over. after read", 'r'), ("Read hit over. after write", 'w')] {
        for other in ['r', 'w'] {
            let expected = if before == other { HIT + 2.0 } else { HIT };
            near(last(&specs(&[(key, "2.0")]), &hit_after(other)), expected);
        }
    }
    for (key, before) in [("Write hit over. after read", 'r'), ("Write hit over. after write", 'w')] {
        for other in ['r', 'w'] {
            let expected = if before == other { HIT + 2.0 } else { HIT };
            near(last(&specs(&[(key, "2.0"), cached]), &[(other, 0, 8, 50.0), ('w', 5_000, 8, 50.0)]), expected);
        }
    }
    near(last(&specs(&[("Read completion overhead", "2.0")]), &READ_AND_HIT), HIT + 2.0);
    near(last(&specs(&[("Write completion overhead", "2.0"), cached]), &[('w', 0, 8, 50.0)]), HIT + 2.0);
    near(last(&specs(&[("Per-request overhead time", "2.0")]), &READ_AND_HIT), HIT + 2.0);
    let scaled = [("Read hit over. after read", "2.0"), ("Time scale for overheads", "1.5")];
    near(last(&specs(&scaled), &READ_AND_HIT), HIT + 3.0);
    near(last(&specs(&[("Bulk sector transfer time", "0.05")]), &READ_AND_HIT), 8.0 * 0.05);
    // Between the medium and the bus; a hit has nothing to prepare. The bus begins after the first sector.
    for key in ["Data preparation overhead", "First reselect overhead"] {
        near(mean(&specs(&[(key, "2.0")]), ('r', 'r')), MISS - 0.01 - 0.7 + 2.0 + HIT);
        near(last(&specs(&[(key, "2.0")]), &READ_AND_HIT), HIT);
    }
}

#[test]
fn a_read_that_is_just_passing_is_a_hit_only_where_almost_hits_are_allowed() {
    // The next 100 sectors, two milliseconds after a read: the head is passing over them.
    let asked = [('r', 0, 8, 2.0), ('r', 8, 100, 50.0)];
    let of = |allowed: &str, hit: &str, miss: &str| {
        let overheads = [("Read hit over. after read", hit), ("Read miss over. after read", miss)];
        times(&specs(&[&[("Allow almost read hits", allowed)], &overheads[..]].concat()), &asked)[1]
    };
    // Nine sectors' time is left when it is decoded, unless that takes longer.
    let free = of("1", "0.0", "0.0");
    near(of("0", "0.0", "0.0"), free);
    assert!(of("0", "0.0", "20.0") > 20.0 && of("0", "20.0", "0.0") < 20.0);
    assert!(of("1", "20.0", "0.0") > 20.0 && of("1", "0.0", "20.0") < 20.0);
}

/// Whether each of these is in the buffer, after a read of sectors 0 to 7 and a pause.
fn hits(spec: &DiskSpec, at: &[u64]) -> Vec<bool> {
    let is_hit = |&start: &u64| {
        let took = last(spec, &[('r', 0, 8, 80.0), ('r', start, 1, 0.0)]);
        (took - 0.01).abs() < 0.001
    };
    at.iter().map(is_hit).collect()
}

#[test]
fn reading_ahead_goes_as_far_as_the_files_say() {
    // A track is 100 sectors, a cylinder 200, a segment 256.
    let at = [8, 99, 100, 199, 200, 207, 208, 263, 264];
    let far = |specs: &[(&str, &str)]| {
        let spec = self::specs(specs);
        hits(&spec, &at).iter().filter(|hit| **hit).count()
    };
    assert_eq!(far(&[("Buffer continuous read", "0")]), 0);
    assert_eq!(far(&[("Enable caching in buffer", "0")]), 0);
    let long = ("Maximum read-ahead (blks)", "256");
    assert_eq!(far(&[("Buffer continuous read", "1"), long]), 2, "to the track's end");
    assert_eq!(far(&[("Buffer continuous read", "2"), long]), 4, "to the cylinder's end");
    assert_eq!(far(&[("Buffer continuous read", "3"), long]), 8, "a segment");
    assert_eq!(far(&[]), 6, "200 behind the read's end");
    assert_eq!(far(&[("Read-ahead over requested", "0")]), 4, "200 from the read's beginning");
    assert_eq!(far(&[("Maximum read-ahead (blks)", "0")]), 0);
    // Dynamic: only after sequential reads, unless it counts from the end.
    let dynamic = ("Buffer continuous read", "4");
    assert_eq!(far(&[dynamic, long]), 8);
    assert_eq!(far(&[dynamic, long, ("Read-ahead over requested", "0")]), 0);
    let sequential = [dynamic, long, ("Read-ahead over requested", "0")];
    near(last(&specs(&sequential), &[('r', 0, 8, 0.0), ('r', 8, 8, 50.0), ('r', 16, 8, 0.0)]), HIT);
}

#[test]
fn a_least_read_ahead_keeps_other_commands_waiting() {
    let spec = |least: &str| specs(&[("Minimum read-ahead (blks)", least)]);
    // One cylinder further, at once: a seek and less than a revolution; or after 150 sectors and a change of heads.
    for (op, far) in [('r', 100_000), ('w', 100_000)] {
        let asked = [('r', 0, 8, 0.0), (op, far, 8, 0.0)];
        assert!(last(&spec("0"), &asked) < 3.0 + 10.0 + 1.0);
        let waited = last(&spec("150"), &asked);
        assert!(waited > 15.0 + 2.0 + 3.0 && waited < 15.0 + 2.0 + 3.0 + 11.0, "{waited}");
        // As far as it goes, and no further.
        let limit = last(&spec("9999"), &asked);
        assert!(limit > 20.0 + 3.0 && limit < 20.0 + 8.0 + 3.0 + 11.0, "{limit}");
        // Once that is read nothing waits.
        let later = [('r', 0, 8, 40.0), (op, far, 8, 0.0)];
        near(last(&spec("150"), &later), last(&spec("0"), &later));
    }
    // What is read ahead is transferred meanwhile.
    near(last(&spec("150"), &[('r', 0, 8, 5.0), ('r', 8, 8, 0.0)]), HIT);
}

#[test]
fn segments_are_as_many_and_as_long_as_the_files_say() {
    for (segments, apart, remembered) in [("1", "0", 1), ("2", "0", 2), ("4", "0", 4), ("4", "1", 3), ("16", "0", 16)] {
        let spec = specs(&[("Number of buffer segments", segments), ("Use separate write segment", apart)]);
        let streams = |count: u64| {
            let begin = (0..count).map(|nth| ('r', nth * 10_000, 8, 50.0));
            let asked: Vec<Asked> = begin.chain([('r', 8, 8, 0.0)]).collect();
            last(&spec, &asked)
        };
        near(streams(remembered), HIT);
        assert!(streams(remembered + 1) > 1.0, "{segments} segments");
    }
    // A segment that is shorter than the look-ahead keeps its end.
    let short = specs(&[("Segment size (in blks)", "32")]);
    assert_eq!(hits(&short, &[8, 207]), [false, true]);
}

#[test]
fn what_stays_in_the_buffer_is_what_the_files_say() {
    let written = [('w', 0, 8, 50.0), ('r', 0, 8, 0.0)];
    assert!(last(&specs(&[]), &written) > 1.0);
    near(last(&specs(&[("Allow read hits on write data", "1")]), &written), HIT);
    let again = [('r', 0, 8, 50.0), ('r', 0, 8, 0.0)];
    assert!(last(&specs(&[]), &again) > 1.0);
    near(last(&specs(&[("Read any free blocks", "1")]), &again), HIT);
    // A hit that uses a segment up restarts it, or not.
    let used_up = [('r', 0, 8, 50.0), ('r', 8, 190, 50.0), ('r', 300, 8, 0.0)];
    assert!(last(&specs(&[]), &used_up) > 1.0);
    near(last(&specs(&[("Read-ahead on idle hit", "1")]), &used_up), HIT);
}

#[test]
fn writes_end_in_the_buffer_if_it_is_for_them_and_has_room() {
    let writes = |places: u64| (0..places).map(|nth| ('w', nth * 20_000, 8, 0.0)).collect::<Vec<Asked>>();
    assert!(times(&specs(&[]), &writes(3)).iter().all(|took| *took > 0.5));
    for level in ["1", "2"] {
        for (segments, quick) in [("1", 1), ("3", 3)] {
            let spec = specs(&[("Fast write level", level), ("Maximum number of write segments", segments)]);
            let took = times(&spec, &writes(quick + 3));
            let first_slow = took.iter().position(|took| *took > 0.5).unwrap() as u64;
            // One is being written to the medium and has left its segment's room to the next.
            assert!((quick..=quick + 1).contains(&first_slow), "{segments} segments: {took:?}");
        }
    }
}

#[test]
fn water_marks_are_of_the_command_or_of_a_segment() {
    // A bus that is slower than the medium: 100 sectors take 10 ms under the head, and 20 ms on the bus.
    let read = |more: &[(&str, &str)]| {
        let spec = specs(&[&[("Bulk sector transfer time", "0.2")], more].concat());
        times(&spec, &[('r', 0, 1, 50.0), ('r', 100_000, 100, 50.0)])[1]
    };
    let base = read(&[]);
    near(read(&[("High (read) water mark", "0.5")]) - base, 5.0 - 0.1);
    near(read(&[("High (read) water mark", "1.0")]) - base, 10.0 - 0.1);
    let of_segment = ("Set watermark by reqsize", "0");
    near(read(&[of_segment, ("High (read) water mark", "0.125")]) - base, 3.2 - 0.1);
    near(read(&[of_segment, ("High (read) water mark", "1.0")]) - base, 10.0 - 0.1);
    // The medium waits for a write's data, half a millisecond for each sector: all eight of them, or seven.
    let write = |more: &[(&str, &str)]| {
        let spec = specs(&[&[("Bulk sector transfer time", "0.5")], more].concat());
        mean(&spec, ('r', 'w'))
    };
    let base = write(&[]);
    for (marks, wait) in [
        (&[("Low (write) water mark", "1.0")][..], 4.0),
        (&[("Low (write) water mark", "0.87")], 3.5),
        (&[of_segment, ("Low (write) water mark", "0.02734375")], 3.5),
        (&[of_segment, ("Low (write) water mark", "1.0")], 4.0),
    ] {
        let more = write(marks) - base;
        assert!((more - (wait - 3.0)).abs() < 0.02, "{marks:?}: {more} ms");
    }
}

#[test]
fn mechanics_cost_what_the_files_say() {
    let mechanics = |mechanics: &[(&str, &str)]| drive(Otherwise { mechanics, ..Otherwise::default() });
    near(mean(&mechanics(&[("Constant seek time", "4.5")]), ('r', 'r')), MISS + 1.5);
    near(mean(&mechanics(&[("Rotation speed (in rpms)", "12000")]), ('r', 'r')), 3.0 + 2.5 + 0.4 + 0.01 - 0.005);
    let settle = mechanics(&[("Add. write settling delay", "2.0")]);
    near(mean(&settle, ('r', 'r')), MISS);
    assert!((mean(&settle, ('r', 'w')) - MISS - 2.0).abs() < 0.02);
    near(mean(&specs(&[("Minimum seek delay", "4.5")]), ('r', 'r')), MISS + 1.5);
    // A head switch that is longer than any seek, for a read that has to wait for its angle in any case.
    let other_head = |spec: &DiskSpec| {
        let pair = |nth: u32| [('r', 0, 8, 30.0 + f64::from(nth) * 0.01), ('r', 150, 8, 30.0)];
        let no_ahead: Vec<Asked> = (0..1000).flat_map(pair).collect();
        times(spec, &no_ahead).chunks(2).map(|pair| pair[1]).sum::<f64>() / 1000.0
    };
    let of = |switch: &str| {
        let mechanics = [("Head switch time", switch)];
        let specs = [("Buffer continuous read", "0")];
        other_head(&drive(Otherwise { mechanics: &mechanics, specs: &specs, ..Otherwise::default() }))
    };
    near(of("9.0") - of("2.0"), 7.0);
}

/// The time of a whole range in one command [ms], without the way there.
fn span(spec: &DiskSpec, start: u64, sectors: u32) -> f64 {
    // Two commands that begin at the same place at the same angle.
    let from = |sectors: u32| times(spec, &[('r', 100_000, 1, 50.0), ('r', start, sectors, 0.0)])[1];
    from(sectors) - from(1) + 0.1
}

#[test]
fn skews_and_spares_lie_where_the_files_say() {
    let zone = |zone: &[(&str, &str)]| drive(Otherwise { zone, ..Otherwise::default() });
    let plain = zone(&[]);
    near(span(&plain, 0, 100), 10.0);
    near(span(&plain, 0, 200), 20.0 + 2.0);
    near(span(&plain, 0, 400), 40.0 + 2.0 + 4.0 + 2.0);
    let skewed = zone(&[("Skew for track switch", "30.0"), ("Skew for cylinder switch", "50.0")]);
    near(span(&skewed, 0, 400), 40.0 + 3.0 + 5.0 + 3.0);
    let turns = [("Skew units", "revolutions"), ("Skew for track switch", "0.3"), ("Skew for cylinder switch", "0.5")];
    near(span(&zone(&turns), 0, 400), 40.0 + 3.0 + 5.0 + 3.0);
    // A negative skew is the same as a positive one to the same angle.
    near(span(&zone(&[("Skew for track switch", "-70.0")]), 0, 200), 20.0 + 3.0);
    // Two slipped sectors, and ten spares at the end of each track.
    near(span(&zone(&[("slips", "[ 10, 20 ]")]), 0, 100), 10.0 + 2.0 + 0.2);
    let spares = |scheme: &str| {
        let zone = [("Number of spares", "10")];
        drive(Otherwise {
            layout: &[("Sparing scheme used", scheme)],
            zone: &zone,
            model: &[("Block count", "170000")],
            ..Otherwise::default()
        })
    };
    near(span(&spares("3"), 0, 180), 18.0 + 1.0 + 2.0);
    near(span(&spares("2"), 0, 380), 38.0 + 1.0 + 2.0 + 4.0 + 2.0);
    near(span(&spares("7"), 0, 400), 40.0 + 2.0 + 4.0 + 2.0);
    // The order of heads: a step to the next cylinder stays on its head.
    let heads =
        |order: &str| drive(Otherwise { layout: &[("LBN-to-PBN mapping scheme", order)], ..Otherwise::default() });
    for order in ["0", "1", "2"] {
        near(span(&heads(order), 0, 400), 40.0 + 2.0 + 4.0 + 2.0);
    }
}

/// The error about a changed drive.
fn complaint(other: Otherwise<'_>) -> String {
    imported(other).expect_err("this is no drive")
}

#[test]
fn what_is_not_understood_is_refused_with_place_word_expectation_and_the_nearest() {
    let specs = |key, value| complaint(Otherwise { specs: &[(key, value)], ..Otherwise::default() });
    let mechanics = |key, value| complaint(Otherwise { mechanics: &[(key, value)], ..Otherwise::default() });
    for (complaint, parts) in [
        (specs("Fast write level", "3"), &["/drive.diskspecs:22:20: `3`", "from 0 to 2"][..]),
        (specs("Buffer continuous read", "5"), &["`5` is not a value for `Buffer continuous read`", "from 0 to 4"]),
        (specs("Print stats", "yes"), &["`yes` is not a value for `Print stats`: expected a number"]),
        (specs("Allow almost read hits", "2"), &["from 0 to 1"]),
        (specs("High (read) water mark", "1.5"), &["`1.5`", "a number from 0 to 1"]),
        (specs("Segment size (in blks)", "12.5"), &["`12.5`", "a whole number"]),
        (specs("Read hit over. after read", "-1.0"), &["`-1.0`", "0 or more"]),
        (specs("Read hit over after read", "1.0"), &["unknown parameter", "did you mean `Read hit over. after read`"]),
        (specs("Scheduler", "disksim_ioq { }"), &["`disksim_ioq { … }`", "did you mean `disksim_ioqueue`"]),
        (specs("Model", "drive.model"), &["`drive.model` is not a value for `Model`", "`source FILE`"]),
        (mechanics("Access time type", "averageRotation"), &["`averageRotation`", "`trackSwitchPlusRotation`"]),
        (mechanics("Access time type", "trackSwitchPlusRotatoin"), &["did you mean `trackSwitchPlusRotation`"]),
        (mechanics("Rotation speed (in rpms)", "0"), &["from 1000 to 30000"]),
        (mechanics("Seek type", "linaer"), &["did you mean `linear`"]),
        (mechanics("Constant seek time", "600"), &["/drive.model:25:22: `600`", "up to 500"]),
        (mechanics("Head switch time", "600"), &["up to 500"]),
    ] {
        assert!(parts.iter().all(|part| complaint.contains(part)), "{complaint}\n{parts:?}");
        assert!(complaint.starts_with("/drive."), "{complaint}");
    }
    let unit = complaint(Otherwise { zone: &[("Skew units", "sector")], ..Otherwise::default() });
    assert!(unit.contains("`sectors` or `revolutions`") && unit.contains("did you mean `sectors`"), "{unit}");
    let two = complaint(Otherwise { model: &[("Block count", "1"), ("Block count ", "2")], ..Otherwise::default() });
    assert!(two.contains("`Block count` stands twice in this `dm_disk`"), "{two}");
    let comma = complaint(Otherwise { model: &[("Block count", "1 Number of cylinders = 9")], ..Otherwise::default() });
    assert!(comma.contains("expected `,` before the next parameter"), "{comma}");
    let block = complaint(Otherwise { model: &[("Layout Model", "source other.layout")], ..Otherwise::default() });
    assert!(block.contains("stands twice") || block.contains("other.layout"), "{block}");
}

#[test]
fn what_has_no_counterpart_or_is_not_there_is_said_in_the_files_head() {
    let head = |other: Otherwise<'_>| {
        let text = imported(other).unwrap();
        text.lines().filter(|line| line.starts_with("# Note: ")).collect::<Vec<_>>().join("\n")
    };
    let specs = |specs: &[(&str, &str)]| head(Otherwise { specs, ..Otherwise::default() });
    assert_eq!(head(Otherwise::default()), "");
    for (key, value, expected) in [
        ("Max queue length", "8", "`Max queue length = 8` is left out: this drive is given one command at a time"),
        ("Allow sneaky full read hits", "1", "`Allow sneaky full read hits = 1` is left out"),
        ("Preseeking level", "2", "`Preseeking level = 2` is left out: it says what several commands at a time do"),
        ("Extra write disconnect", "1", "`Extra write disconnect = 1` has no counterpart here and is left out"),
        (
            "Scheduler",
            "disksim_ioqueue { Read initiation delay = 0.5 }",
            "`Read initiation delay = 0.5` has no counter",
        ),
        ("Read hit over. after read", "-", "`Read hit over. after read` is not in the files: taken for 0"),
        ("Model", "source other.model", "`Model = source other.model` is not the file that was given"),
    ] {
        let found = specs(&[(key, value)]);
        assert!(found.contains(expected) && found.lines().count() == 1, "{found}");
    }
    // A single drive is the same whatever these are.
    let same = drive(Otherwise::default()).model;
    for key in ["Hold bus entire read xfer", "Never disconnect", "Combine seq writes", "Stop prefetch in sector"] {
        assert_eq!(self::specs(&[(key, "1")]).model, same);
    }
    // A head that reaches the next track later than its first sector does.
    let slow = [("Head switch time", "2.5"), ("Constant seek time", "4.5")];
    let slow = head(Otherwise { mechanics: &slow, ..Otherwise::default() });
    let found: Vec<&str> = slow.lines().collect();
    assert!(found.len() == 2 && found[0].contains("`Skew for cylinder switch` (4.00 ms) is shorter than"), "{slow}");
    assert!(found[1].contains("`Skew for track switch` (2.00 ms) is shorter than"), "{slow}");
    let inline = self::specs(&[("Model", "dm_disk drive { Block count = 1 }")]);
    assert_eq!(inline.model, same);
}

#[test]
fn whatever_a_number_is_the_drive_is_a_disk_of_ours_or_refused_with_a_place() {
    let values = ["0", "1", "2", "0.5", "-1", "7", "99", "1000", "1e5", "4194304", "1e9", "1e12", "1e300", "nan", "x"];
    type Put = for<'a> fn(&'a [(&'a str, &'a str)]) -> Otherwise<'a>;
    let blocks: [(&[(&str, &str)], Put); 5] = [
        (MODEL, |model| Otherwise { model, ..Otherwise::default() }),
        (LAYOUT, |layout| Otherwise { layout, ..Otherwise::default() }),
        (ZONE, |zone| Otherwise { zone, ..Otherwise::default() }),
        (MECHANICS, |mechanics| Otherwise { mechanics, ..Otherwise::default() }),
        (SPECS, |specs| Otherwise { specs, ..Otherwise::default() }),
    ];
    let mut refused = Vec::new();
    for (known, put) in blocks {
        for (key, _) in known {
            for value in values.into_iter().chain(["-"]) {
                match imported(put(&[(key, value)])) {
                    Err(error) => {
                        let place = error.splitn(4, ':').skip(1).take(2).all(|number| number.parse::<u32>().is_ok());
                        assert!(place && error.starts_with("/drive."), "{key} = {value}: {error}");
                    }
                    Ok(text) => match parse("drive.toml", &text) {
                        Ok(spec) => assert!(spec.build(1).facts().sectors > 0),
                        Err(error) => refused.push(format!("{key} = {value}: {error}")),
                    },
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
