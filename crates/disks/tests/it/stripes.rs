//! The stripe cache and the rebuild: what is read and written, byte for byte, and how fast.

use crate::support::*;
use blksched::{Command, Instant, Op, Span};
use blksched_disks::{Disk, DiskSpec, Level, MirrorReads, Model, RaidSpec, RebuildSpec, load, parse};

const CHUNK: u64 = 128;
const PAGE: u64 = 8;
/// A member's rate, so that its busy time counts bytes: 1 ns for each.
const RATE: u64 = 1_000_000_000;

/// Members that take a nanosecond for each byte and no other time, one command after the other.
fn array(level: Level, members: usize, change: impl FnOnce(&mut RaidSpec)) -> DiskSpec {
    let member = "kind = \"fixed\"\ndescription = \"\"\ncapacity = \"20MB\"\nmax_command = \"1MiB\"\ndepth = 8\n\
                  channels = 1\nservice = \"0us\"\nrate = \"1GB/s\"\n";
    let members = vec![parse("member", member).unwrap(); members];
    let mut raid = RaidSpec {
        level,
        chunk_sectors: CHUNK,
        max_sectors: 65_536,
        depth: 64,
        reads: MirrorReads::Balanced,
        members,
        failed: 0,
        rebuild: None,
        stripe_cache_size: 256,
        preread_bypass_threshold: 1,
    };
    change(&mut raid);
    DiskSpec { name: "array".into(), model: Model::Raid(raid), ..load("null").unwrap() }
}

/// How many sectors the members moved.
fn moved(disk: &dyn Disk) -> u64 {
    disk.ledger().total().sum().as_ns() * RATE / 1_000_000_000 / 512
}

/// How many sectors the members move for these writes, at this depth.
fn moved_by(spec: &DiskSpec, depth: u32, commands: impl IntoIterator<Item = Command>) -> u64 {
    let mut disk = spec.build(1);
    run_on(&mut *disk, depth, commands);
    moved(&*disk)
}

#[test]
fn parts_of_a_stripe_that_come_at_one_moment_are_written_as_a_whole() {
    let chunks = |count: u64| (0..count).map(|chunk| write(chunk * CHUNK, CHUNK as u32));
    let spec = array(Level::Raid5, 5, |_| ());
    assert_eq!(moved_by(&spec, 4, chunks(4)), 5 * CHUNK);
    assert_eq!(moved_by(&array(Level::Raid6, 6, |_| ()), 4, chunks(4)), 6 * CHUNK);
    // Pages out of order form stripes as well.
    let pages = (0..4 * CHUNK / PAGE).rev().map(|page| write(page * PAGE, PAGE as u32));
    assert_eq!(moved_by(&spec, 64, pages), 5 * CHUNK);
    // One after the other: old data and parity, or the rest, are read.
    assert!(moved_by(&spec, 1, chunks(4)) > 8 * CHUNK);
}

#[test]
fn a_page_that_the_cache_still_holds_is_not_read_again_and_one_that_had_to_make_room_is() {
    let write_twice = |entries: u32, between: u64| {
        let spec = array(Level::Raid5, 5, |raid| raid.stripe_cache_size = entries);
        let others = (1..=between).map(|stripe| write(stripe * 4 * CHUNK, PAGE as u32));
        let again = moved_by(&spec, 1, [write(0, 8)].into_iter().chain(others.clone()).chain([write(0, 8)]));
        again - moved_by(&spec, 1, [write(0, 8)].into_iter().chain(others))
    };
    assert_eq!(write_twice(17, 16), 2 * PAGE, "data and parity are written, nothing is read");
    assert_eq!(write_twice(17, 17), 4 * PAGE);
    assert_eq!(write_twice(256, 17), 2 * PAGE);
}

#[test]
fn a_write_of_more_than_the_cache_holds_ends_and_reads_nothing() {
    for (level, members) in [(Level::Raid5, 5), (Level::Raid6, 6)] {
        let spec = array(level, members, |raid| raid.stripe_cache_size = 17);
        let sectors = 4 * CHUNK * 16;
        let redundant = sectors * members as u64 / 4;
        // Where it is full, stripes are begun in parts: some of those need reads.
        let moved = moved_by(&spec, 1, [write(0, sectors as u32)]);
        assert!(moved >= redundant && moved < 2 * redundant, "{level:?}: {moved} of {redundant}");
        let large = array(level, members, |raid| raid.stripe_cache_size = 4_096);
        assert_eq!(moved_by(&large, 1, [write(0, sectors as u32)]), redundant);
    }
}

#[test]
fn whatever_is_written_every_byte_of_it_and_its_parity_is_written_once() {
    for case in 1..=60u64 {
        let mut random = Random(case);
        let (level, parity) = if case % 2 == 0 { (Level::Raid5, 1) } else { (Level::Raid6, 2) };
        let spec = array(level, 6, |raid| raid.stripe_cache_size = pick(&mut random, &[17, 64, 2_000]));
        // Scattered pages: nothing is shared.
        let stripes = 6 + random.below(40);
        let writes: Vec<Command> = (0..stripes).map(|stripe| write(stripe * (6 - parity) * CHUNK, 8)).collect();
        let modify = 2 * (1 + parity) * PAGE;
        let reconstruct = (6 - parity - 1) * PAGE + (1 + parity) * PAGE;
        let moved = moved_by(&spec, 1 + random.below(40) as u32, writes);
        assert_eq!(moved, stripes * modify.min(reconstruct), "case {case}");
    }
}

/// The mean latency of writes of a page each, beside a stream of whole stripes, and the stream's rate.
fn beside_a_stream(threshold: u32) -> (f64, f64) {
    let spec = array(Level::Raid5, 5, |raid| {
        raid.preread_bypass_threshold = threshold;
        raid.stripe_cache_size = 1_024;
    });
    let mut disk = spec.build(1);
    let stripe = 4 * CHUNK;
    let (mut now, mut streamed, mut small) = (Instant::ZERO, 0u64, Vec::new());
    let mut begun = now;
    for rq in 0..4 {
        disk.start(now, numbered(rq, write(rq as u64 * stripe, stripe as u32)));
    }
    disk.start(now, numbered(9, write(30_000 * 4 + 256, 8)));
    while streamed < 120 {
        now = disk.next().expect("the stream goes on");
        while let Some(finished) = disk.finish(now) {
            let rq = finished.rq.index() as u32;
            if rq == 9 {
                small.push(finished.at.since(begun).as_secs_f64());
                begun = now;
                disk.start(now, numbered(9, write(30_000 * 4 + small.len() as u64 * 4 * CHUNK, 8)));
            } else {
                streamed += 1;
                disk.start(now, numbered(rq, write((4 + streamed) * stripe, stripe as u32)));
            }
        }
    }
    let mean = small.iter().sum::<f64>() / small.len().max(1) as f64;
    (if small.is_empty() { f64::INFINITY } else { mean }, streamed as f64 / now.as_secs_f64())
}

#[test]
fn a_page_that_needs_reading_waits_until_so_many_have_gone_past_it_or_for_ever() {
    let ([(one, _), (many, _), (never, fastest)], (_, slowest)) =
        ([1, 256, 0].map(beside_a_stream), beside_a_stream(1));
    assert!(one < many && many < never, "{one} {many} {never}");
    assert!(never.is_infinite() && fastest > slowest, "{fastest} {slowest}");
}

/// Megabytes per second.
fn write_rate(name: &str, depth: u32, sectors: u32, place: impl FnMut(u64) -> u64) -> f64 {
    let commands = if sectors > 8 { 3_000 } else { 6_000 };
    run(&load(name).unwrap(), 1, depth, (0..commands).map(place).map(|start| write(start, sectors))).mb_per_s()
}

#[test]
fn sequential_and_small_random_writes_are_what_textbooks_say() {
    // Chen, Lee, Gibson, Katz, Patterson, RAID: High-Performance, Reliable Secondary Storage, ACM Computing Surveys 26
    // (1994), throughput against RAID 0 with as many disks: large writes of RAID 5 (G-1)/G, small writes 1/4.
    let stream = |name| write_rate(name, 16, 1_024, |nth| nth * 1_024);
    let (one, striped) = (stream("raid0:2xhdd-7200-ideal") / 2.0, stream("raid0:4xhdd-7200-ideal"));
    let large = stream("raid5:4xhdd-7200-ideal");
    assert!((striped / one / 4.0 - 1.0).abs() < 0.1, "{striped} {one}");
    assert!((large / striped / 0.75 - 1.0).abs() < 0.1, "{large} of {striped}");
    let small = |level| {
        let members = vec![bare("hdd-7200-ideal"); 4];
        let spec = array(level, 4, |raid| (raid.members, raid.chunk_sectors) = (members, 1_024));
        let mut random = Random(7);
        run(&spec, 1, 64, (0..6_000).map(|_| write(random.below(300_000_000) * 8, 8))).per_second()
    };
    let part = small(Level::Raid5) / small(Level::Raid0);
    assert!((part / 0.25 - 1.0).abs() < 0.1, "{part}");
}

fn rebuilding(level: Level, members: usize, percent: u32, speeds: (u32, u32)) -> DiskSpec {
    array(level, members, |raid| {
        raid.rebuild = Some(RebuildSpec { percent, sync_speed_min: speeds.0, sync_speed_max: speeds.1 });
    })
}

#[test]
fn a_rebuild_reads_what_is_left_of_every_stripe_and_writes_the_new_member_once() {
    let one = 39_062 / CHUNK * CHUNK;
    for (level, members, percent, reads) in [
        (Level::Raid5, 5, 0, 4),
        (Level::Raid6, 6, 0, 4),
        (Level::Raid10, 4, 0, 1),
        (Level::Raid5, 3, 50, 2),
        (Level::Raid1, 2, 0, 1),
    ] {
        let one = if level == Level::Raid1 { 39_062 } else { one };
        let from = one / 100 * percent as u64 / PAGE * PAGE;
        let mut disk = rebuilding(level, members, percent, (1_000, 100_000_000)).build(1);
        settle(&mut *disk);
        assert_eq!(moved(&*disk), (reads + 1) * (one - from), "{level:?}");
    }
}

#[test]
fn a_rebuild_has_the_greater_speed_alone_and_the_lesser_beside_a_load() {
    let seconds = |spec: &DiskSpec| settle(&mut *spec.build(1)).as_secs_f64();
    let kib = (39_062 / CHUNK * CHUNK) as f64 / 2.0;
    let alone = seconds(&rebuilding(Level::Raid5, 3, 0, (1_000, 10_000)));
    assert!((kib / alone / 10_000.0 - 1.0).abs() < 0.02, "{}", kib / alone);
    let mut disk = rebuilding(Level::Raid5, 3, 0, (1_000, 10_000)).build(1);
    let (mut now, mut moved_by_load) = (Instant::ZERO, 0);
    disk.start(now, numbered(0, read(0, 8)));
    while now < Instant::ZERO + Span::from_secs(10) {
        now = disk.next().unwrap();
        while disk.finish(now).is_some() {
            moved_by_load += 8;
            // A pause of a millisecond makes no difference.
            now += Span::from_ms(1);
            disk.start(now, numbered(0, read(0, 8)));
        }
    }
    let speed = (moved(&*disk) - moved_by_load) as f64 / 2.0 / 3.0 / now.as_secs_f64();
    assert!((speed / 1_000.0 - 1.0).abs() < 0.03, "{speed}");
}

#[test]
fn a_read_behind_the_mark_is_worked_out_and_before_it_or_after_the_end_read() {
    let spec = rebuilding(Level::Raid5, 3, 50, (1, 1));
    // Every read of 64 pages spread over the array; a third of the chunks is on the new member.
    let cost = |disk: &mut dyn Disk, low: u64, high: u64| {
        let before = moved(disk);
        run_on(disk, 1, (0..60).map(|nth| read((low + (high - low) * nth / 60) / CHUNK * CHUNK, 8)));
        (moved(disk) - before) / 8
    };
    let sectors = spec.build(1).facts().sectors;
    let mut disk = spec.build(1);
    let rebuilt = 3 * 256 * 2;
    assert!(cost(&mut *disk, 0, sectors / 2 - 1_000) <= 60 + rebuilt / 8);
    assert!(cost(&mut *disk, sectors / 2 + 1_000, sectors) > 70);
    let fast = rebuilding(Level::Raid5, 3, 50, (1, 100_000_000));
    let mut disk = fast.build(1);
    settle(&mut *disk);
    assert_eq!(cost(&mut *disk, sectors / 2 + 1_000, sectors), 60);
}

#[test]
fn any_array_being_rebuilt_does_everything_that_it_is_asked() {
    let levels = [(Level::Raid1, 2), (Level::Raid5, 3), (Level::Raid6, 5), (Level::Raid10, 4)];
    for case in 1..=60u64 {
        let mut random = Random(case * 0x9e37_79b9);
        let (level, members) = pick(&mut random, &levels);
        let mut spec =
            rebuilding(level, members, random.below(100) as u32, (1 + random.below(100_000) as u32, 200_000));
        let Model::Raid(raid) = &mut spec.model else { panic!("a raid") };
        raid.stripe_cache_size = pick(&mut random, &[17, 256]);
        raid.preread_bypass_threshold = pick(&mut random, &[0, 1, 5]);
        raid.failed = u32::from(level == Level::Raid6 && random.below(2) == 0);
        let sectors = spec.build(1).facts().sectors;
        check_conservation(&spec, case, 150, &mut random, |random| {
            let length = 1 + random.below(400);
            let start = if random.below(3) == 0 { random.below(2_000) } else { random.below(sectors - length) };
            any_command(start, length as u32, random)
        });
    }
}

#[test]
fn a_small_write_costs_less_when_it_finds_its_stripe_whole() {
    // The operation does not matter to the cache: zeroes are pages too.
    let zeroes = |start| Command { op: Op::WriteZeroes, ..write(start, CHUNK as u32) };
    let spec = array(Level::Raid5, 5, |_| ());
    assert_eq!(moved_by(&spec, 4, (0..4).map(|chunk| zeroes(chunk * CHUNK))), 5 * CHUNK);
}
