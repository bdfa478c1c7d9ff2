//! A closed loop around one disk, for tests: `depth` commands in flight, the next one as soon as one ends.

#![allow(dead_code, reason = "each test file uses its own part")]

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, Span, SubmitterId};
use blksched_disks::{Activity, CommandOutcome, Disk, DiskSpec, Finished, HddSpec, Model, SsdSpec, load};

/// A preset with everything optional turned off: arm, platters and zones only, no overhead.
pub fn bare(preset: &str) -> DiskSpec {
    changed(preset, |hdd| {
        hdd.look_ahead = None;
        hdd.write_cache = None;
        hdd.ncq = None;
        hdd.overhead.command = Span::ZERO;
        hdd.overhead.queued = Span::ZERO;
    })
}

/// A preset with some of its switches changed.
pub fn changed(preset: &str, change: impl FnOnce(&mut HddSpec)) -> DiskSpec {
    let mut spec = load(preset).expect("a preset");
    change(spec.hdd_mut().expect("an hdd"));
    spec
}

/// An ssd preset with some of its switches changed.
pub fn changed_ssd(preset: &str, change: impl FnOnce(&mut SsdSpec)) -> DiskSpec {
    let mut spec = load(preset).expect("a preset");
    change(spec.ssd_mut().expect("an ssd"));
    spec
}

pub fn ssd(spec: &DiskSpec) -> &SsdSpec {
    match &spec.model {
        Model::Ssd(ssd) => ssd,
        other => panic!("{other:?} is not an SSD"),
    }
}

pub fn hdd(spec: &DiskSpec) -> &HddSpec {
    match &spec.model {
        Model::Hdd(hdd) => hdd,
        other => panic!("{other:?} is not a hard disk"),
    }
}

pub fn read(start: u64, sectors: u32) -> Command {
    let (rq, submitter) = (RequestId::from_index(0), SubmitterId(1));
    Command { rq, op: Op::Read, start: Sector(start), sectors, fua: false, submitter }
}

pub fn write(start: u64, sectors: u32) -> Command {
    Command { op: Op::Write, ..read(start, sectors) }
}

pub fn flush() -> Command {
    Command { op: Op::Flush, ..read(0, 0) }
}

pub fn numbered(rq: u32, command: Command) -> Command {
    Command { rq: RequestId::from_index(rq), ..command }
}

/// A small generator for test inputs (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * u128::from(limit)) >> 64) as u64
    }
}

pub fn pick<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// A command of any kind at this place, from one of three submitters; usually a read or a write.
pub fn any_command(start: u64, sectors: u32, random: &mut Random) -> Command {
    let command = match random.below(16) {
        0 => flush(),
        1 => Command { op: Op::Discard, ..read(start, sectors) },
        2 => Command { fua: true, ..write(start, sectors) },
        3..9 => write(start, sectors),
        _ => read(start, sectors),
    };
    Command { submitter: SubmitterId(random.below(3) as u32), ..command }
}

/// The results of a run.
pub struct Run {
    /// In order of completion, with the time at which each was started.
    pub done: Vec<(Instant, Finished)>,
    pub ended: Instant,
    pub bytes: u64,
    pub total: Activity,
}

impl Run {
    pub fn per_second(&self) -> f64 {
        self.done.len() as f64 / self.ended.as_secs_f64()
    }

    pub fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.ended.as_secs_f64()
    }

    pub fn mean_latency_ms(&self) -> f64 {
        self.latencies().map(|latency| latency.as_ms_f64()).sum::<f64>() / self.done.len() as f64
    }

    pub fn latencies(&self) -> impl Iterator<Item = Span> {
        self.done.iter().map(|(started, finished)| finished.at.since(*started))
    }
}

/// Runs `commands` in a closed loop at `depth`.
pub fn run(spec: &DiskSpec, seed: u64, depth: u32, commands: impl IntoIterator<Item = Command>) -> Run {
    let mut disk = spec.build(seed);
    run_on(&mut *disk, depth, commands)
}

/// The same on a disk that exists already.
pub fn run_on(disk: &mut dyn Disk, depth: u32, commands: impl IntoIterator<Item = Command>) -> Run {
    let mut commands = commands.into_iter();
    let mut free: Vec<u32> = (0..depth).rev().collect();
    let mut started = vec![Instant::ZERO; depth as usize];
    let mut run = Run { done: Vec::new(), ended: Instant::ZERO, bytes: 0, total: Activity::default() };
    loop {
        while let Some(&rq) = free.last()
            && let Some(command) = commands.next()
        {
            free.pop();
            started[rq as usize] = run.ended;
            run.bytes += u64::from(command.sectors) * 512;
            disk.start(run.ended, numbered(rq, command));
        }
        if disk.in_flight() == 0 {
            break;
        }
        run.ended = disk.next().expect("commands are in flight");
        while let Some(finished) = disk.finish(run.ended) {
            assert_eq!(finished.outcome, CommandOutcome::Ok);
            run.done.push((started[finished.rq.index()], finished));
            free.push(finished.rq.index() as u32);
        }
    }
    run.total = disk.ledger().total();
    run
}

/// The next completion, after any number of the disk's internal steps.
pub fn next_completion(disk: &mut dyn Disk) -> Finished {
    loop {
        let then = disk.next().expect("something is in flight");
        if let Some(finished) = disk.finish(then) {
            return finished;
        }
    }
}

/// Lets the disk do everything that it still wants to do by itself; returns when that ended.
pub fn settle(disk: &mut dyn Disk) -> Instant {
    let mut last = Instant::ZERO;
    while let Some(then) = disk.next() {
        assert_eq!(disk.finish(then), None);
        last = then;
    }
    last
}

/// Sends `count` commands at random times, never more than the disk accepts, and checks that each ends exactly once, no
/// earlier than it began and in order of time, and that the disk comes to rest. Returns the completions and the disk.
pub fn check_conservation(
    spec: &DiskSpec,
    case: u64,
    count: u32,
    random: &mut Random,
    mut command: impl FnMut(&mut Random) -> Command,
) -> (Vec<Finished>, Box<dyn Disk>) {
    let mut disk = spec.build(case);
    let facts = disk.facts();
    let (mut now, mut last, mut begun, mut done) = (Instant::ZERO, Instant::ZERO, Vec::new(), Vec::new());
    while begun.len() < count as usize || disk.in_flight() > 0 {
        if begun.len() < count as usize && disk.in_flight() < facts.depth && random.below(2) == 0 {
            disk.start(now, numbered(begun.len() as u32, command(random)));
            begun.push(now);
        } else if let Some(next) = disk.next() {
            // Sometimes the driver calls a little early, sometimes on time.
            now = if random.below(4) == 0 { now + next.since(now) / 2 } else { now.max(next) };
            while let Some(finished) = disk.finish(now) {
                assert!(finished.at <= now && finished.at >= last, "case {case}\n{spec:?}");
                let latency = finished.at.since(begun[finished.rq.index()]);
                assert!(finished.service.sum() <= latency, "case {case}: {finished:?} in {latency}\n{spec:?}");
                last = finished.at;
                done.push(finished);
            }
        } else {
            assert_eq!(disk.in_flight(), 0, "case {case}: stuck\n{spec:?}");
            now += Span::from_ms(random.below(20));
        }
    }
    let mut ended: Vec<usize> = done.iter().map(|finished| finished.rq.index()).collect();
    ended.sort_unstable();
    assert!(ended.iter().copied().eq(0..count as usize), "case {case}");
    settle(&mut *disk);
    let parts = disk.ledger().by_submitter().fold(Activity::default(), |mut sum, (_, activity)| {
        sum += activity;
        sum
    });
    assert_eq!(parts, disk.ledger().total(), "case {case}");
    (done, disk)
}
