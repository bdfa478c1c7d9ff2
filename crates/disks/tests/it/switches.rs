//! Every combination of switches keeps the promises: each command ends once, in order, and the disk comes to rest.

use crate::support::*;
use blksched::{Command, Instant, Span};
use blksched_disks::{
    AfterHit, Begins, CacheOrder, CountsFrom, Delivered, DestageSpec, FlushMode, HddSpec, LookAheadRules,
    LookAheadSpec, NcqSpec, Overwritten, Passing, QueueOrder, Reach, Watermark, WriteCacheSpec, WrittenData,
};

fn switch_at_random(hdd: &mut HddSpec, random: &mut Random) {
    hdd.zones.count = pick(random, &[1, 3, 16]);
    hdd.geometry.heads = pick(random, &[1, 2, 5]);
    hdd.overhead.queued = pick(random, &[Span::ZERO, Span::from_us(20), Span::from_us(300)]);
    let segment_sectors = pick(random, &[8, 64, 1_024, 100_000]);
    let hold_sectors = pick(random, &[0, 8, segment_sectors]);
    let rules = LookAheadRules {
        reach: pick(random, &[Reach::Segment, Reach::Track, Reach::Cylinder]),
        begins: pick(random, &[Begins::Always, Begins::Sequential]),
        most_sectors: pick(random, &[0, 64, segment_sectors]),
        counts: pick(random, &[CountsFrom::Beyond, CountsFrom::Whole]),
        delivered: pick(random, &[Delivered::Kept, Delivered::Dropped]),
        written: pick(random, &[WrittenData::Forgotten, WrittenData::Kept]),
        hit: pick(random, &[AfterHit::Continues, AfterHit::Rests]),
        overwritten: pick(random, &[Overwritten::Trimmed, Overwritten::Dropped]),
        passing: pick(random, &[Passing::Hit, Passing::Miss]),
        least_sectors: pick(random, &[0, 8, 5_000]),
    };
    let marks = [Watermark::Part(0), Watermark::Part(100), Watermark::Sectors(1), Watermark::Sectors(10_000)];
    (hdd.watermarks.read, hdd.watermarks.write) = (pick(random, &marks), pick(random, &marks));
    let look_ahead = LookAheadSpec { segment_sectors, segments: pick(random, &[1, 2, 16]), hold_sectors, rules };
    hdd.look_ahead = pick(random, &[None, Some(look_ahead), Some(look_ahead)]);
    let write_cache = WriteCacheSpec {
        order: pick(random, &[CacheOrder::Fifo, CacheOrder::Position]),
        size_sectors: pick(random, &[8, 64, 300, 4_096]),
        extents: pick(random, &[1, 2, 100]),
        extent_sectors: pick(random, &[8, 40, u64::MAX]),
        chunk_sectors: pick(random, &[1, 16, 128]),
        reach: pick(random, &[1, 3, 200]),
        destage: DestageSpec {
            idle: pick(random, &[Span::ZERO, Span::from_us(300), Span::from_ms(10)]),
            dirty_limit: pick(random, &[Span::ZERO, Span::from_ms(100), Span::from_secs(3600)]),
            share_percent: pick(random, &[1, 30, 99]),
            turn: pick(random, &[Span::from_ms(1), Span::from_ms(50)]),
        },
        flush: pick(random, &[FlushMode::Alone, FlushMode::Queued]),
    };
    hdd.write_cache = pick(random, &[None, Some(write_cache), Some(write_cache)]);
    let ncq = NcqSpec {
        depth: pick(random, &[1, 2, 31, 100]),
        order: pick(random, &[QueueOrder::Arrival, QueueOrder::Positioning, QueueOrder::Seek]),
        ahead: pick(random, &[0, 0, 1, 5]),
        age_limit: pick(random, &[Span::from_ms(1), Span::from_ms(50), Span::from_secs(3600)]),
        sequential_limit: pick(random, &[Span::ZERO, Span::from_ms(1)]),
        sequential_wait: pick(random, &[Span::ZERO, Span::from_us(100), Span::from_ms(5)]),
    };
    hdd.ncq = pick(random, &[None, Some(ncq), Some(ncq)]);
}

/// Commands crowded into a small area, or at both ends of the disk, so that they overlap and follow each other.
fn crowded(capacity: u64, random: &mut Random) -> Command {
    let sectors = 1 + random.below(256) as u32;
    let near = random.below(3_000);
    let start = if random.below(4) == 0 { capacity - u64::from(sectors) - near } else { near };
    any_command(start, sectors, random)
}

#[test]
fn any_combination_of_switches_ends_every_command_once_in_order_and_comes_to_rest() {
    for case in 1..=300 {
        let mut random = Random(case * 0x9e37_79b9);
        let spec = changed("ide-2002", |hdd| switch_at_random(hdd, &mut random));
        let mut disk = spec.build(case);
        let facts = disk.facts();
        let (mut now, mut started, mut begun, mut ended) = (Instant::ZERO, 0u32, Vec::new(), Vec::new());
        while started < 200 || disk.in_flight() > 0 {
            let idle = started < 200 && disk.in_flight() < facts.depth && random.below(2) == 0;
            if idle {
                let command = numbered(started, crowded(facts.sectors, &mut random));
                begun.push((now, command.op));
                disk.start(now, command);
                started += 1;
            } else if let Some(next) = disk.next() {
                assert!(next >= now, "case {case}: {next} was before {now}");
                // Sometimes the driver calls a little early, sometimes on time.
                now = if random.below(4) == 0 { now + next.since(now) / 2 } else { next };
                while let Some(finished) = disk.finish(now) {
                    assert!(finished.at <= now, "case {case}");
                    let (begun, op) = begun[finished.rq.index()];
                    let longest = spec.longest(op, 256);
                    assert!(finished.at.since(begun) <= longest, "case {case}: {op:?} longer than {longest}\n{spec:?}");
                    ended.push(finished.rq.index());
                }
            } else {
                assert_eq!(disk.in_flight(), 0, "case {case}: stuck\n{spec:?}");
                now += Span::from_ms(random.below(20));
            }
        }
        ended.sort_unstable();
        assert!(ended.iter().copied().eq(0..200), "case {case}");
        let rest = settle(&mut *disk).max(now);
        assert!(disk.ledger().total().mechanism() <= rest.since(Instant::ZERO) + Span::from_us(1), "case {case}");
    }
}
