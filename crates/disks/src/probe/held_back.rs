//! Measurements that are not used to build the model, and the model's prediction of them.

use core::ops::ControlFlow;

use blksched::{Instant, Op, Span};

use super::ProbeError;
use super::session::{ProbeStep, Random, Session, Timed};
use super::target::{Modelled, ProbeAccess, ProbeClock};
use super::value::demerit;
use crate::DiskSpec;

/// One load, measured and predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldBack {
    /// Its name.
    pub name: &'static str,
    /// The measured mean latency \[ns\].
    pub measured_mean: f64,
    /// The model's mean latency \[ns\].
    pub predicted_mean: f64,
    /// The rms distance of both distributions \[ns\].
    pub demerit: f64,
}

impl HeldBack {
    /// The demerit as part of the measured mean.
    pub fn relative(&self) -> f64 {
        self.demerit / self.measured_mean.max(1.0)
    }
}

/// A load's name, its depth, and its steps.
struct HeldBackLoad {
    name: &'static str,
    depth: u32,
    steps: Vec<ProbeStep>,
    /// The cost of a step, in random reads.
    each: f64,
}

/// The latencies of each load.
pub(super) type Measurements = Vec<(&'static str, Vec<f64>)>;

/// The seed of the held-back places, which no other measurement uses.
const SEED: u64 = 0x6865_6c64;

/// A stream begins within this distance, at the same rate \[4 KiB\].
const NEARBY: u64 = 65_536;

/// The part of all the time that is at most kept for the loads.
const SHARE: f64 = 0.3;
/// How long the loads take one command at a time, in units of one random read (a nearby one is half of it, one in a
/// stream a tenth), and how long several at a time; writes take half of it, as far as a cache sorts them.
const ALONE: f64 = 800.0 + 1000.0 / 2.0 + 2400.0 / 8.0 + 2400.0 / 10.0;
const AT_ONCE: f64 = 3200.0;
const WRITES: f64 = 3000.0 / 2.0;
/// A drive that chooses among several commands takes this part of the time for each.
const CHOSEN: f64 = 0.6;
/// A random write may take this long where reads are quick \[s\].
const WRITE_S: f64 = 0.008;
/// A load may take its share of this part of the remaining time.
const LEFT: f64 = 0.95;
/// Shorter loads are not worth running.
const LEAST: f64 = 0.02;
/// A rest before them, and after writes, which a drive's cache is still draining \[s\].
const REST_S: f64 = 3.0;
const REST_BEHIND_WRITES_S: f64 = 6.0;

/// Keeps the time that the loads will take, if a random read takes `usual` \[ns\]; where that exceeds their share, they
/// are shortened.
pub(super) fn plan(session: &mut Session<'_>, usual: f64) {
    let (facts, limit) = (session.facts(), session.limit().as_secs_f64());
    let (read, each) = (usual / 1e9, if facts.depth > 1 { CHOSEN } else { 1.0 });
    let writes = if facts.access == ProbeAccess::Destroy { WRITES * each * read.max(WRITE_S) } else { 0.0 };
    let loads = (ALONE * read + AT_ONCE * each * read + writes) * session.scaled(1000) as f64 / 1000.0;
    let rest = rest_s(session);
    let kept = (loads + 1.5 * rest).min(SHARE * limit);
    let part = ((kept - 1.5 * rest) / loads.max(1e-9)).clamp(0.0, 1.0);
    session.keep(Span::from_ns((kept * 1e9) as u64), (part * session.scaled(1000) as f64 / 1000.0).max(LEAST));
}

fn rest_s(session: &Session<'_>) -> f64 {
    let destroy = session.facts().access == ProbeAccess::Destroy;
    let rest = if destroy { REST_BEHIND_WRITES_S } else { REST_S };
    rest.min(session.limit().as_secs_f64() * SHARE / 6.0)
}

/// The loads with the places of a `draw`; sizes, which reads are far, and which part of the disk is fast or slow, are
/// the same in every draw, or these alone would distinguish two draws.
fn loads(session: &Session<'_>, draw: u64) -> Vec<HeldBackLoad> {
    let facts = session.facts();
    let many = |count: u64| 0..session.held(count);
    let (sectors, access) = (facts.sectors, facts.access);
    let most = u64::from(facts.max_sectors);
    let (mut random, mut pattern) = (Random::new(SEED + draw), Random::new(SEED));
    let anywhere = |random: &mut Random, size: u64| random.below((sectors - size) / 8) * 8;
    let read = |start: u64, sectors: u64| ProbeStep { op: Op::Read, start, sectors: sectors as u32 };
    let mut loads = Vec::new();
    let steps = many(800).map(|_| read(anywhere(&mut random, 8), 8)).collect();
    loads.push(HeldBackLoad { name: "random reads of 4 KiB", depth: 1, steps, each: 1.0 });
    // Waits behind others vary most, so most steps are needed here.
    let steps = many(3200).map(|_| read(anywhere(&mut random, 8), 8)).collect();
    loads.push(HeldBackLoad { name: "random reads of 4 KiB, 8 at a time", depth: 8, steps, each: CHOSEN });
    let area = anywhere(&mut pattern, sectors / 90);
    let near = |random: &mut Random, pattern: &mut Random| {
        let size = (8 << pattern.below(7)).min(most);
        read(area + random.below(sectors / 100 / 8) * 8, size)
    };
    let steps = many(1000).map(|_| near(&mut random, &mut pattern)).collect();
    loads.push(HeldBackLoad { name: "reads of 4 to 256 KiB in a hundredth of the disk", depth: 1, steps, each: 0.5 });
    let mut at = anywhere(&mut pattern, sectors / 90) + random.below(NEARBY.min(sectors / 100 / 8)) * 8;
    let mut stream = || {
        if pattern.below(8) == 0 {
            return read(anywhere(&mut random, 128), 128);
        }
        at += 128;
        read(at, 128)
    };
    let steps = many(2400).map(|_| stream()).collect();
    loads.push(HeldBackLoad { name: "a stream of 64 KiB, one read in eight elsewhere", depth: 1, steps, each: 0.25 });
    if access == ProbeAccess::Destroy {
        let steps =
            many(3000).map(|_| ProbeStep { op: Op::Write, start: anywhere(&mut random, 8), sectors: 8 }).collect();
        loads.push(HeldBackLoad { name: "random writes of 4 KiB, 4 at a time", depth: 4, steps, each: CHOSEN });
    }
    loads
}

/// The latencies of the loads with one draw of places, as far as the time allows, each with its share of it; of those
/// that ended before something stopped it.
pub(super) fn measure(session: &mut Session<'_>, draw: u64) -> (Measurements, Option<ProbeError>) {
    let mut measured = Vec::new();
    let stopped = into(session, draw, &mut measured).err();
    (measured, stopped)
}

fn into(session: &mut Session<'_>, draw: u64, measured: &mut Measurements) -> Result<(), ProbeError> {
    session.stage("what is held back")?;
    session.rest(Span::from_ns((rest_s(session) * 1e9) as u64));
    let clock = session.facts().clock;
    let loads = loads(session, draw);
    let weight = |load: &HeldBackLoad| load.steps.len() as f64 * load.each;
    for (nth, load) in loads.iter().enumerate() {
        let part = LEFT * weight(load) / loads[nth..].iter().map(weight).sum::<f64>();
        let (begun, until) = (session.elapsed(), session.part_of_left(part));
        let mut took = run(session, until, load.depth, &load.steps)?;
        let lasted = session.elapsed() - begun;
        // Twice, if there is time: the run in which the host was less late counts.
        if clock == ProbeClock::Wall && session.elapsed() + lasted * 5 < session.limit() {
            let again = run(session, Instant::NEVER, load.depth, &load.steps[..took.len()])?;
            if squares(&again) < squares(&took) {
                took = again;
            }
        }
        measured.push((load.name, took));
    }
    Ok(())
}

/// Repeats as much as was measured on a model.
fn repeat(session: &mut Session<'_>, draw: u64, measured: &Measurements) -> Result<Vec<Vec<f64>>, ProbeError> {
    session.rest(Span::from_secs(3));
    let loads = loads(session, draw);
    let pairs = loads.iter().zip(measured);
    pairs.map(|(load, (_, took))| run(session, Instant::NEVER, load.depth, &load.steps[..took.len()])).collect()
}

fn run(session: &mut Session<'_>, until: Instant, depth: u32, steps: &[ProbeStep]) -> Result<Vec<f64>, ProbeError> {
    session.rest(Span::from_ms(100));
    Ok(latencies(&session.closed_loop_until(until, depth, steps.iter().copied())?))
}

fn squares(times: &[f64]) -> f64 {
    times.iter().map(|time| time * time).sum()
}

/// The draw that is measured; the model uses others.
pub(super) const MEASURED: u64 = 0;

/// The same on the model, in several other draws of places: a model's sectors are not where the disk's are, so the same
/// draw is no better than another, and a single one is subject to chance.
pub(super) fn predict(spec: &DiskSpec, measured: Measurements, session: &Session<'_>) -> Vec<HeldBack> {
    const DRAWS: u64 = 6;
    let access = session.facts().access;
    let mut predicted = vec![Vec::new(); measured.len()];
    for draw in 1..=DRAWS {
        let mut model = Modelled::new(spec, SEED + draw, access);
        let mut never = |_| ControlFlow::Continue(());
        let mut alone = Session::new(&mut model, SEED, session.limit() * 100, &mut never).scaled_as(session);
        let loads = repeat(&mut alone, draw, &measured).unwrap_or_default();
        predicted.iter_mut().zip(loads).for_each(|(all, times)| all.extend(times));
    }
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
    let pairs = measured.into_iter().zip(predicted);
    pairs
        .map(|((name, real), ours)| HeldBack {
            name,
            measured_mean: mean(&real),
            predicted_mean: mean(&ours),
            demerit: demerit(&real, &ours),
        })
        .collect()
}

fn latencies(timed: &[Timed]) -> Vec<f64> {
    timed.iter().map(|timed| timed.latency()).collect()
}
