//! Look-ahead and write cache: what the buffer is good for, and what turning it off costs.

use crate::support::*;
use blksched::{Instant, Span};
use blksched_disks::{Activity, CacheOrder, DiskSpec};

const GAP: Span = Span::from_ms(3);

/// Reads `first`, waits, reads `second`; returns what the second did.
fn read_after(spec: &DiskSpec, first: (u64, u32), second: (u64, u32)) -> Activity {
    let mut disk = spec.build(1);
    let then = run_on(&mut *disk, 1, [read(first.0, first.1)]).ended + GAP;
    assert_eq!(disk.finish(then), None);
    disk.start(then, read(second.0, second.1));
    next_completion(&mut *disk).service
}

#[test]
fn a_look_ahead_hit_costs_no_positioning() {
    let spec = changed("ide-2002", |_| ());
    let hit = read_after(&spec, (1_000, 64), (1_064, 64));
    let exact =
        Activity { overhead: Span::from_us(300), interface: hdd(&spec).interface.time_of(64), ..Activity::default() };
    assert_eq!(hit, exact);
    let off = changed("ide-2002", |hdd| hdd.look_ahead = None);
    assert!(read_after(&off, (1_000, 64), (1_064, 64)).rotation > Span::from_ms(1));
}

#[test]
fn a_read_just_beyond_waits_for_the_head_and_no_more() {
    let spec = changed("ide-2002", |_| ());
    // 3.3 ms at 40 MB/s are about 256 sectors.
    let beyond = read_after(&spec, (1_000, 64), (1_064 + 300, 64));
    assert!(beyond.positioning().is_zero() && !beyond.transfer.is_zero(), "{beyond:?}");
    assert!(beyond.transfer < Span::from_ms(3), "{beyond:?}");
}

#[test]
fn a_slow_sequential_reader_waits_for_the_platters_once_and_never_again() {
    let positioned = |spec: &DiskSpec| {
        let mut disk = spec.build(1);
        let (mut now, mut count) = (Instant::ZERO, 0);
        for n in 0..2_000u64 {
            disk.start(now, read(n * 8, 8));
            let done = next_completion(&mut *disk);
            count += u32::from(!done.service.positioning().is_zero());
            now = done.at + Span::from_ms(1);
            assert_eq!(disk.finish(now), None);
        }
        count
    };
    // The look-ahead fills its segment, stops, and restarts in time, many times over.
    assert_eq!(positioned(&changed("ide-2002", |_| ())), 1);
    assert_eq!(positioned(&changed("ide-2002", |hdd| hdd.look_ahead = None)), 2_000);
}

#[test]
fn what_has_been_read_can_be_read_again_from_the_segment_and_a_write_spoils_it() {
    let spec = changed("ide-2002", |_| ());
    assert!(read_after(&spec, (1_000, 64), (1_000, 32)).positioning().is_zero());
    let mut disk = spec.build(1);
    let then = run_on(&mut *disk, 1, [read(1_000, 64), write(1_010, 4)]).ended + Span::from_ms(100);
    assert_eq!(disk.finish(then), None);
    disk.start(then, read(1_000, 64));
    assert!(next_completion(&mut *disk).service.rotation > Span::ZERO);
}

#[test]
fn as_many_streams_are_remembered_as_there_are_segments() {
    let hits = |segments: u32| {
        let spec = changed("sata-2009", |hdd| hdd.look_ahead.as_mut().unwrap().segments = segments).with_depth(1);
        let streams = (0..400u64).map(|n| read((n % 4) * 200_000_000 + n / 4 * 64, 64));
        let run = run(&spec, 1, 1, streams);
        run.done.iter().filter(|(_, done)| done.service.positioning().is_zero()).count()
    };
    // Without time between the commands nothing is read ahead: the fourth segment gains nothing by itself.
    assert_eq!(hits(4), hits(1));
    let paced = |segments: u32| {
        let spec = changed("sata-2009", |hdd| hdd.look_ahead.as_mut().unwrap().segments = segments);
        let mut disk = spec.build(1);
        let mut now = Instant::ZERO;
        let mut hits = 0;
        for n in 0..400u64 {
            disk.start(now, read((n % 4) * 200_000_000 + n / 4 * 64, 64));
            let done = next_completion(&mut *disk);
            hits += u32::from(done.service.positioning().is_zero());
            now = done.at + Span::from_ms(5);
            assert_eq!(disk.finish(now), None);
        }
        hits
    };
    assert!(paced(4) > 300 && paced(1) < 10, "{} {}", paced(4), paced(1));
}

#[test]
fn without_a_write_cache_each_sequential_write_at_depth_one_loses_a_revolution() {
    let off = changed("ide-2002", |hdd| hdd.write_cache = None);
    let revolution = hdd(&off).revolution();
    let writes = || (0..500).map(|n| write(n * 256, 256));
    let run_off = run(&off, 1, 1, writes());
    // Each takes its revolution and its transfer, minus the 0.3 ms in which the command arrives.
    let per_write = run_off.ended.as_secs_f64() / 500.0;
    let exact = revolution.as_secs_f64() + 131_072.0 / 40e6;
    assert!((per_write / exact - 1.0).abs() < 0.02, "{per_write} {exact}");
    let cached = run(&changed("ide-2002", |_| ()), 1, 1, writes());
    assert!((cached.mb_per_s() / 40.0 - 1.0).abs() < 0.05, "{}", cached.mb_per_s());
}

#[test]
fn a_cached_write_ends_after_its_interface_transfer_and_one_without_room_waits_for_the_drain() {
    let spec = changed("ide-2002", |_| ());
    let mut disk = spec.build(1);
    let room = hdd(&spec).write_cache.unwrap().size_sectors / 256;
    // Far apart, so that draining is slow.
    let writes = (0..room + 4).map(|n| write(n * 7_000_000, 256));
    let run = run_on(&mut *disk, 1, writes);
    let exact = Span::from_us(300) + hdd(&spec).interface.time_of(256);
    let latencies: Vec<Span> = run.latencies().collect();
    assert!(latencies[..room as usize].iter().all(|&latency| latency == exact));
    assert!(latencies[room as usize..].iter().any(|&latency| latency > exact * 2), "{latencies:?}");
}

#[test]
fn a_flush_ends_only_after_everything_is_on_the_platters() {
    let spec = changed("ide-2002", |_| ());
    let mut disk = spec.build(1);
    let scattered = || (0..10).map(|n| write((n * 7 % 10) * 9_000_000, 8));
    let written = run_on(&mut *disk, 1, scattered()).ended;
    disk.start(written, flush());
    let flushed = next_completion(&mut *disk).at;
    assert!(flushed.since(written) > Span::from_ms(20), "ten random writes take longer");
    assert_eq!(disk.next(), None, "nothing is left to be drained");
    let drained = disk.ledger().total();
    // Between two switches the outermost track is faster than its sustained rate, by the skews.
    let fastest = 10.0 * 4096.0 / (40e6 * 1.15);
    assert!(drained.transfer.as_secs_f64() >= fastest, "all ten went to the platters");
    // A second one has nothing to do.
    disk.start(flushed, flush());
    assert_eq!(next_completion(&mut *disk).at.since(flushed), hdd(&spec).overhead.command);
}

#[test]
fn a_flush_without_a_write_cache_costs_its_overhead_alone() {
    let spec = changed("ide-2002", |hdd| hdd.write_cache = None);
    assert_eq!(run(&spec, 1, 1, [write(0, 8), flush()]).latencies().last(), Some(hdd(&spec).overhead.command));
}

#[test]
fn a_write_behind_a_waiting_flush_waits_for_it() {
    let spec = changed("sata-2009", |_| ());
    let mut disk = spec.build(1);
    let written = run_on(&mut *disk, 1, [write(500_000_000, 8)]).ended;
    disk.start(written, numbered(0, flush()));
    disk.start(written, numbered(1, write(0, 8)));
    assert_eq!(next_completion(&mut *disk).rq.index(), 0);
    assert_eq!(next_completion(&mut *disk).rq.index(), 1);
}

#[test]
fn fua_waits_for_the_medium() {
    let spec = changed("sata-2009", |_| ());
    let mut fua = write(400_000_000, 8);
    fua.fua = true;
    let done = run(&spec, 1, 1, [fua]).done[0].1;
    assert!(done.service.seek > Span::ZERO && done.service.transfer > Span::ZERO);
    let cached = run(&spec, 1, 1, [write(400_000_000, 8)]).done[0].1;
    assert!(cached.service.mechanism().is_zero());
}

#[test]
fn draining_by_position_is_faster_than_in_order_of_arrival() {
    let rate = |order| {
        let spec = changed("sata-2009", |hdd| hdd.write_cache.as_mut().unwrap().order = order).with_depth(1);
        let mut random = Random(9);
        run(&spec, 1, 1, (0..3_000).map(|_| write(random.below(900_000_000), 8))).per_second()
    };
    let (fifo, position) = (rate(CacheOrder::Fifo), rate(CacheOrder::Position));
    assert!(position > 2.0 * fifo, "{position} {fifo}");
}

#[test]
fn sectors_written_twice_are_drained_once() {
    let spec = changed("sata-2009", |_| ());
    let mut disk = spec.build(1);
    let elsewhere = write(900_000_000, 8);
    let run = run_on(&mut *disk, 1, std::iter::once(elsewhere).chain((0..50).map(|_| write(1_000, 8))));
    assert!(run.ended.as_secs_f64() < 0.02);
    settle(&mut *disk);
    let one = hdd(&spec).zones.outer.time_of(8).as_secs_f64();
    let transfer = disk.ledger().total().transfer.as_secs_f64();
    assert!(transfer < 6.0 * one, "{transfer} {one}");
}

#[test]
fn a_read_of_dirty_sectors_comes_from_the_cache() {
    let spec = changed("sata-2009", |_| ()).with_depth(31);
    let mut disk = spec.build(1);
    // The first is being drained, and the second waits.
    let written = run_on(&mut *disk, 1, [write(900_000_000, 8), write(100_000_000, 64)]).ended;
    disk.start(written, read(100_000_008, 8));
    assert!(next_completion(&mut *disk).service.mechanism().is_zero());
}

#[test]
fn the_hold_lets_a_reader_finish_before_cached_writes_are_drained() {
    // A reader that takes one block after the other with 1 ms in between, and one distant write beside each.
    let reads_ms = |hold: u64| {
        let spec = changed("ide-2002", |hdd| hdd.look_ahead.as_mut().unwrap().hold_sectors = hold);
        let mut disk = spec.build(1);
        let (mut now, mut waited) = (Instant::ZERO, Span::ZERO);
        for n in 0..40u64 {
            disk.start(now, write(100_000_000 + n * 256, 256));
            now = next_completion(&mut *disk).at;
            disk.start(now, read(n * 32, 32));
            let done = next_completion(&mut *disk).at;
            waited += done.since(now);
            now = done + Span::from_ms(1);
            assert_eq!(disk.finish(now), None);
        }
        waited.as_ms_f64()
    };
    let (held, dropped) = (reads_ms(512), reads_ms(0));
    assert!(dropped > 2.0 * held, "{dropped} {held}");
}
