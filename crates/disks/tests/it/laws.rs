//! No disk forgets a command: whatever comes after it, each ends within the time that the model states, and a flush
//! within the time that draining takes.

use crate::support::*;
use blksched::{Command, Instant, Op, Span};
use blksched_disks::{Disk, DiskSpec, load, presets};

/// Every preset on which time passes, and arrays of those that turn.
fn disks() -> Vec<DiskSpec> {
    let arrays = [
        "raid0:2xhdd-7200",
        "raid1:2xhdd-7200",
        "raid5:3xhdd-7200",
        "raid5:3xhdd-7200,rebuild=10%,sync_speed_min=50000",
        "raid6:4xhdd-7200,failed=1",
        "raid10:4xsata-2009,rebuild=0%",
    ];
    let arrays = arrays.map(|array| load(array).unwrap());
    presets().into_iter().filter(|spec| spec.name != "null").chain(arrays).collect()
}

/// A read that comes again as soon as the one before has ended, for ever.
struct Readers<'a> {
    disk: &'a mut dyn Disk,
    next: Box<dyn FnMut() -> Command + 'a>,
    now: Instant,
    reads: u64,
}

/// The number that the readers' commands do not have.
const VICTIM: u32 = 100;

impl Readers<'_> {
    /// `depth` reads from now on.
    fn start(&mut self, depth: u32) {
        for rq in 0..depth {
            let read = (self.next)();
            self.disk.start(self.now, numbered(rq, read));
        }
    }

    /// Until the victim has ended, or not within `most`; the readers go on.
    fn until_victim_ends(&mut self, most: Span) -> Option<Span> {
        let begun = self.now;
        while self.now.since(begun) < most {
            self.now = self.disk.next().expect("reads are in flight");
            while let Some(finished) = self.disk.finish(self.now) {
                if finished.rq.index() == VICTIM as usize {
                    return Some(finished.at.since(begun));
                }
                self.reads += 1;
                let read = (self.next)();
                self.disk.start(self.now, numbered(finished.rq.index() as u32, read));
            }
        }
        None
    }
}

/// How long a command takes beside endless reads, at most as long as the model states, once `before` cached writes are
/// dirty.
fn beside_reads(spec: &DiskSpec, depth: u32, sequential: bool, before: u64, victim: Command) -> Option<Span> {
    let mut disk = spec.build(1);
    let sectors = disk.facts().sectors - 1_000_000;
    let dirty = run_on(&mut *disk, 1, (0..before).map(|n| write(n * 7_919_009 % sectors, 8))).ended;
    let (mut random, mut at) = (Random(9), 0u64);
    let next = move || {
        at = if sequential { (at + 256) % sectors } else { random.below(sectors) };
        read(at, if sequential { 256 } else { 8 })
    };
    let mut readers = Readers { disk: &mut *disk, next: Box::new(next), now: dirty, reads: 0 };
    readers.start(depth);
    readers.until_victim_ends(Span::from_ms(100));
    readers.disk.start(readers.now, numbered(VICTIM, victim));
    readers.until_victim_ends(spec.longest(victim.op, 256))
}

#[test]
fn a_flush_beside_a_reader_that_never_thinks_takes_the_time_of_draining() {
    for spec in disks().iter().filter(|spec| spec.depth() > 4) {
        for (depth, sequential) in [(1, false), (1, true), (3, false)] {
            let took = beside_reads(spec, depth, sequential, 50, flush());
            // 50 extents at one revolution and a half each, and what was in flight.
            assert!(took.is_some_and(|took| took < Span::from_ms(900)), "{} {depth} {sequential}: {took:?}", spec.name);
        }
    }
}

#[test]
fn a_write_beside_readers_that_never_think_ends() {
    for spec in disks().iter().filter(|spec| spec.depth() > 4) {
        // This many that a write cache of the presets is full.
        for (depth, sequential, before) in [(1, false, 1_024), (1, true, 1_024), (3, false, 1_024), (2, true, 0)] {
            let took = beside_reads(spec, depth, sequential, before, write(500_000, 8));
            let most = Span::from_secs(1);
            assert!(took.is_some_and(|took| took < most), "{} {depth} {sequential}: {took:?}", spec.name);
            let through = Command { fua: true, ..write(700_000, 8) };
            let took = beside_reads(spec, depth, sequential, before, through);
            assert!(took.is_some_and(|took| took < Span::from_secs(6)), "{} {depth} fua: {took:?}", spec.name);
        }
    }
}

#[test]
fn a_random_read_beside_a_stream_or_a_deep_writer_ends() {
    for spec in disks().iter().filter(|spec| spec.depth() > 8) {
        let took = beside_reads(spec, 4, true, 0, read(5_000_000, 8)).expect("ends");
        assert!(took < Span::from_secs(6), "{}: {took}", spec.name);
        let facts = spec.build(1).facts();
        let mut writes = (0..4_000u64).map(|n| write(n * 1024 % (facts.sectors - 1_000_000), 1024));
        let commands = (0..4_000u64).map(|n| match n % 40 {
            20 => read(n * 7_919_009 % (facts.sectors - 8), 8),
            _ => writes.next().expect("enough"),
        });
        let depth = facts.depth.min(31);
        let mut disk = spec.build(1);
        let run = run_on(&mut *disk, depth, commands);
        let longest = run.latencies().max().unwrap();
        let stated = spec.longest(Op::Read, 1024).max(spec.longest(Op::Write, 1024));
        assert!(longest < Span::from_secs(4) && longest <= stated, "{}: {longest}, {stated} stated", spec.name);
    }
}

#[test]
fn a_random_read_beside_a_stream_at_depth_one_waits_for_seconds_on_the_drive_that_starves_alone() {
    let wait = |name| beside_reads(&load(name).unwrap(), 1, true, 0, read(900_000_000, 8)).expect("ends");
    let (yields, starves) = (wait("hdd-7200"), wait("hdd-7200-starves"));
    assert!(yields < Span::from_ms(50), "{yields}");
    assert!(Span::from_secs(1) < starves && starves < Span::from_ms(4_200), "{starves}");
}

/// Reads per second of a reader at depth 1 that never thinks, beside cached writes at this many per second.
fn reads_beside(spec: &DiskSpec, writes_per_s: u64) -> f64 {
    let mut disk = spec.build(1);
    let sectors = disk.facts().sectors - 1_000_000;
    let (seconds, gap) = (10, Span::from_ns(1_000_000_000 / writes_per_s));
    let (mut now, mut due, mut random) = (Instant::ZERO, Instant::ZERO, Random(3));
    let (mut reads, mut written, mut writing) = (0u64, 0u64, false);
    disk.start(now, numbered(0, read(random.below(sectors), 8)));
    while now < Instant::ZERO + Span::from_secs(seconds) {
        if !writing && due <= now {
            disk.start(now, numbered(1, write(written * 256 % sectors, 256)));
            (writing, written, due) = (true, written + 1, due + gap);
        }
        let step = disk.next().expect("a read is in flight");
        now = if writing { step } else { step.min(due).max(now) };
        while let Some(finished) = disk.finish(now) {
            match finished.rq.index() {
                0 => {
                    reads += 1;
                    disk.start(now, numbered(0, read(random.below(sectors), 8)));
                }
                _ => writing = false,
            }
        }
    }
    reads as f64 / seconds as f64
}

#[test]
fn a_cached_writer_near_its_rate_costs_a_reader_little_more_than_a_slower_one() {
    for name in ["hdd-7200", "sata-2009"] {
        let spec = load(name).unwrap();
        let mut disk = spec.build(1);
        let alone = run_on(&mut *disk, 2, (0..4_000).map(|n| write(n * 256, 256)));
        let most = alone.per_second();
        let at = |part: f64| reads_beside(&spec, (most * part / 100.0) as u64);
        let reads = [10.0, 50.0, 80.0, 90.0, 99.0, 120.0].map(at);
        assert!(reads.windows(2).all(|pair| pair[1] > 0.5 * pair[0]), "{name}: {reads:?}");
        assert!(reads.iter().all(|&reads| reads > 20.0), "{name}: {reads:?}");
    }
}

#[test]
fn every_command_ends_within_the_stated_time_on_every_disk() {
    for spec in disks() {
        for case in 1..=3 {
            let mut random = Random(case * 77);
            let facts = spec.build(1).facts();
            let mut disk = spec.build(case);
            let commands = (0..600u64).map(|n| {
                let sectors = 8 * (1 + random.below(16) as u32);
                let start = if n % 3 == 0 { n * 128 } else { random.below(facts.sectors - 4_096) };
                any_command(start, sectors, &mut random)
            });
            let kinds: Vec<Command> = commands.collect();
            let run = run_on(&mut *disk, facts.depth.min(20), kinds);
            let longest =
                [Op::Read, Op::Write, Op::Flush, Op::Discard].map(|op| spec.longest(op, 128)).into_iter().min();
            let took = run.latencies().max();
            assert!(took <= longest, "{}: {took:?} {longest:?}", spec.name);
        }
    }
}
