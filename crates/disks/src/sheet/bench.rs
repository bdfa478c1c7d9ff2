//! How each figure is measured: a closed loop around the bare disk, in virtual time.

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, Span, SubmitterId};

use super::{Figure, SEED};
use crate::{Disk, DiskSpec, Finished};

/// 4 KiB in sectors.
const PAGE: u32 = 8;
/// The command size of a sequential measurement: 128 KiB, as in disk benchmarks.
const STREAM: u32 = 256;
/// The amount of a sequential measurement: 128 MiB.
const STREAM_COMMANDS: u32 = 1024;
/// Enough random commands for a mean within 2 %.
const RANDOM_COMMANDS: u32 = 2000;
/// Random writes before the measured ones, to fill the write cache of a spinning disk.
const WARM_UP: u32 = 20_000;

/// One figure of `spec`, in the figure's unit.
pub(super) fn measure(spec: &DiskSpec, figure: Figure) -> f64 {
    let mut disk = spec.build(SEED);
    let disk = &mut *disk;
    let last = disk.facts().sectors - u64::from(STREAM * STREAM_COMMANDS);
    let places = Places::of(disk);
    match figure {
        Figure::SequentialRead => stream(disk, Op::Read, 0),
        Figure::SequentialReadMiddle => stream(disk, Op::Read, last / 2),
        Figure::SequentialReadInner => stream(disk, Op::Read, last),
        Figure::SequentialWrite => stream(disk, Op::Write, 0),
        Figure::RandomRead1 => random(disk, Op::Read, 1),
        Figure::RandomRead32 => random(disk, Op::Read, 32),
        Figure::RandomWrite1 => random(disk, Op::Write, 1),
        Figure::RandomWrite32 => random(disk, Op::Write, 32),
        Figure::DeepRead => deep_stream(disk, Op::Read),
        Figure::DeepWrite => deep_stream(disk, Op::Write),
        Figure::DeepSequentialRead => deep(disk, Op::Read, sequential()),
        Figure::DeepSequentialWrite => deep(disk, Op::Write, sequential()),
        Figure::DeepRandomRead => deep(disk, Op::Read, random_places(places)),
        Figure::DeepRandomWrite => deep(disk, Op::Write, random_places(places)),
        Figure::AverageSeek => mean_part(disk, |finished| finished.service.seek),
        Figure::AverageRotation => mean_part(disk, |finished| finished.service.rotation),
        Figure::CachedWrite => {
            let mut places = Places::of(disk);
            spaced(disk, Span::from_ms(100), || command(Op::Write, places.next(), PAGE))
        }
        Figure::ReadAheadHit => {
            let mut next = 0;
            spaced(disk, Span::from_ms(50), || {
                next += u64::from(STREAM / 2);
                command(Op::Read, next, STREAM / 2)
            })
        }
    }
}

/// The rate of a stream from `start` on \[bytes/s\]. Writes count only after as much again for each medium has filled
/// the write caches.
fn stream(disk: &mut dyn Disk, op: Op, start: u64) -> f64 {
    let sectors = STREAM.min(disk.facts().max_sectors);
    // Each member of an array has a cache of its own.
    let caches = if disk.facts().rotational { disk.parts().max(1) } else { 1 };
    let warm_up = if op == Op::Write { STREAM_COMMANDS * caches } else { 0 };
    let places = (0..warm_up + STREAM_COMMANDS).map(|nth| start + u64::from(nth) * u64::from(sectors));
    let depth = disk.facts().depth.min(32);
    let run = closed_loop(disk, depth, places.map(|place| command(op, place, sectors)), warm_up as usize);
    f64::from(STREAM_COMMANDS) * f64::from(sectors) * 512.0 / run.seconds
}

/// Bytes per second of 1 MiB commands, 16 in flight.
fn deep_stream(disk: &mut dyn Disk, op: Op) -> f64 {
    const COUNT: u32 = 320;
    const WARM_UP: usize = 64;
    let sectors = 2048.min(disk.facts().max_sectors);
    let depth = disk.facts().depth.min(16);
    let places = (0..COUNT).map(|nth| command(op, u64::from(nth) * u64::from(sectors), sectors));
    let run = closed_loop(disk, depth, places, WARM_UP);
    f64::from(COUNT - WARM_UP as u32) * f64::from(sectors) * 512.0 / run.seconds
}

/// The rate of 4 KiB commands at `places`, 256 in flight [1/s]; the first half of them only fills buffers.
fn deep(disk: &mut dyn Disk, op: Op, places: impl Iterator<Item = u64>) -> f64 {
    const COUNT: usize = 20_000;
    let depth = disk.facts().depth.min(256);
    let commands = places.take(COUNT).map(|place| command(op, place, PAGE));
    let run = closed_loop(disk, depth, commands, COUNT / 2);
    (COUNT / 2) as f64 / run.seconds
}

fn sequential() -> impl Iterator<Item = u64> {
    (0..).map(|nth| nth * u64::from(PAGE))
}

fn random_places(mut places: Places) -> impl Iterator<Item = u64> {
    core::iter::from_fn(move || Some(places.next()))
}

/// Commands per second at random places.
fn random(disk: &mut dyn Disk, op: Op, depth: u32) -> f64 {
    let depth = disk.facts().depth.min(depth);
    let warm_up = if op == Op::Write && disk.facts().rotational { WARM_UP } else { 0 };
    let mut places = Places::of(disk);
    let commands = (0..warm_up + RANDOM_COMMANDS).map(|_| command(op, places.next(), PAGE));
    f64::from(RANDOM_COMMANDS) / closed_loop(disk, depth, commands, warm_up as usize).seconds
}

/// The mean of one part of a random read \[ns\].
fn mean_part(disk: &mut dyn Disk, part: fn(&Finished) -> Span) -> f64 {
    let mut places = Places::of(disk);
    let commands = (0..RANDOM_COMMANDS).map(|_| command(Op::Read, places.next(), PAGE));
    let run = closed_loop(disk, 1, commands, 0);
    run.done.iter().map(|finished| part(finished).as_ns() as f64).sum::<f64>() / f64::from(RANDOM_COMMANDS)
}

/// The mean latency \[ns\] of single commands, each `apart` from the end of the one before; the first does not count.
fn spaced(disk: &mut dyn Disk, apart: Span, mut next: impl FnMut() -> Command) -> f64 {
    const COUNT: u32 = 50;
    let (mut now, mut sum) = (Instant::ZERO, Span::ZERO);
    for nth in 0..=COUNT {
        disk.start(now, next());
        let finished = completion(disk);
        if nth > 0 {
            sum += finished.at.since(now);
        }
        now = finished.at + apart;
        while let Some(step) = disk.next().filter(|&step| step <= now) {
            disk.finish(step);
        }
    }
    sum.as_ns() as f64 / f64::from(COUNT)
}

/// The results of a closed loop, without warm-up.
struct BenchRun {
    seconds: f64,
    done: Vec<Finished>,
}

/// Keeps `depth` commands in flight until there are no more; the first `warm_up` completions do not count.
fn closed_loop(
    disk: &mut dyn Disk,
    depth: u32,
    commands: impl IntoIterator<Item = Command>,
    warm_up: usize,
) -> BenchRun {
    let mut commands = commands.into_iter();
    let mut free: Vec<u32> = (0..depth).rev().collect();
    let (mut now, mut begun, mut done) = (Instant::ZERO, Instant::ZERO, Vec::new());
    loop {
        while let Some(&slot) = free.last()
            && let Some(command) = commands.next()
        {
            free.pop();
            disk.start(now, Command { rq: RequestId::from_index(slot), ..command });
        }
        if disk.in_flight() == 0 {
            return BenchRun { seconds: now.since(begun).as_secs_f64(), done: done.split_off(warm_up) };
        }
        let finished = completion(disk);
        now = finished.at;
        free.push(finished.rq.index() as u32);
        done.push(finished);
        if done.len() == warm_up {
            begun = now;
        }
    }
}

/// The next completion, after any number of the disk's internal steps.
fn completion(disk: &mut dyn Disk) -> Finished {
    loop {
        let then = disk.next().expect("a command is in flight");
        if let Some(finished) = disk.finish(then) {
            return finished;
        }
    }
}

fn command(op: Op, start: u64, sectors: u32) -> Command {
    let (rq, submitter) = (RequestId::from_index(0), SubmitterId(1));
    Command { rq, op, start: Sector(start), sectors, fua: false, submitter }
}

/// Random places on the whole disk (xorshift64*), aligned to 4 KiB.
struct Places {
    state: u64,
    pages: u64,
}

impl Places {
    fn of(disk: &dyn Disk) -> Places {
        Places { state: 0x9e37_79b9_7f4a_7c15, pages: disk.facts().sectors / u64::from(PAGE) }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = u128::from(self.state.wrapping_mul(0x2545_f491_4f6c_dd1d));
        ((random * u128::from(self.pages)) >> 64) as u64 * u64::from(PAGE)
    }
}
