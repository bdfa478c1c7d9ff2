//! A part of the measurements that the model is not made of, and what the model says to it.

use core::ops::ControlFlow;

use blksched::{Op, Span};

use super::ProbeError;
use super::session::{Random, Session, Step, Timed};
use super::target::{Modelled, ProbeAccess, ProbeClock};
use super::value::demerit;
use crate::DiskSpec;

/// One load, measured and predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldBack {
    /// What it was.
    pub name: &'static str,
    /// The mean latency \[ns\].
    pub measured_mean: f64,
    /// The model's \[ns\].
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

/// A load's name, how deep it goes, and its steps.
struct Load {
    name: &'static str,
    depth: u32,
    steps: Vec<Step>,
}

/// What each load took.
pub(super) type Measurements = Vec<(&'static str, Vec<f64>)>;

/// The seed of the held-back places: no other measurement has it.
const SEED: u64 = 0x6865_6c64;

/// A stream begins within so much, at the same rate \[4 KiB\].
const NEARBY: u64 = 65_536;

/// The places of a `draw`; sizes, which reads are far ones, and which part of the disk is fast or slow, are the same in
/// every draw, or these alone would tell two draws apart.
fn loads(session: &Session<'_>, draw: u64) -> Vec<Load> {
    let facts = session.facts();
    let many = |count: u64| 0..session.scaled(count);
    let (sectors, access) = (facts.sectors, facts.access);
    let most = u64::from(facts.max_sectors);
    let (mut random, mut pattern) = (Random::new(SEED + draw), Random::new(SEED));
    let anywhere = |random: &mut Random, size: u64| random.below((sectors - size) / 8) * 8;
    let read = |start: u64, sectors: u64| Step { op: Op::Read, start, sectors: sectors as u32 };
    let mut loads = Vec::new();
    let steps = many(800).map(|_| read(anywhere(&mut random, 8), 8)).collect();
    loads.push(Load { name: "random reads of 4 KiB", depth: 1, steps });
    // Waits behind others differ most, so most of them are needed.
    let steps = many(3200).map(|_| read(anywhere(&mut random, 8), 8)).collect();
    loads.push(Load { name: "random reads of 4 KiB, 8 at a time", depth: 8, steps });
    let area = anywhere(&mut pattern, sectors / 90);
    let near = |random: &mut Random, pattern: &mut Random| {
        let size = (8 << pattern.below(7)).min(most);
        read(area + random.below(sectors / 100 / 8) * 8, size)
    };
    let steps = many(1000).map(|_| near(&mut random, &mut pattern)).collect();
    loads.push(Load { name: "reads of 4 to 256 KiB in a hundredth of the disk", depth: 1, steps });
    let mut at = anywhere(&mut pattern, sectors / 90) + random.below(NEARBY.min(sectors / 100 / 8)) * 8;
    let mut stream = || {
        if pattern.below(8) == 0 {
            return read(anywhere(&mut random, 128), 128);
        }
        at += 128;
        read(at, 128)
    };
    let steps = many(2400).map(|_| stream()).collect();
    loads.push(Load { name: "a stream of 64 KiB, one read in eight elsewhere", depth: 1, steps });
    if access == ProbeAccess::Destroy {
        let steps = many(3000).map(|_| Step { op: Op::Write, start: anywhere(&mut random, 8), sectors: 8 }).collect();
        loads.push(Load { name: "random writes of 4 KiB, 4 at a time", depth: 4, steps });
    }
    loads
}

/// What the loads take in one draw of places.
pub(super) fn measure(session: &mut Session<'_>, draw: u64) -> Result<Measurements, ProbeError> {
    session.stage("what is held back")?;
    session.rest(Span::from_secs(3));
    let mut measured = Vec::new();
    let clock = session.facts().clock;
    for Load { name, depth, steps } in loads(session, draw) {
        let (begun, mut took) = (session.elapsed(), run(session, depth, &steps)?);
        let lasted = session.elapsed() - begun;
        // Twice, if there is time for it: the run counts in which the host was less late.
        if clock == ProbeClock::Wall && session.elapsed() + lasted * 5 < session.limit() {
            let again = run(session, depth, &steps)?;
            if squares(&again) < squares(&took) {
                took = again;
            }
        }
        measured.push((name, took));
    }
    Ok(measured)
}

fn run(session: &mut Session<'_>, depth: u32, steps: &[Step]) -> Result<Vec<f64>, ProbeError> {
    session.rest(Span::from_ms(100));
    Ok(latencies(&session.closed_loop(depth, steps.iter().copied())?))
}

fn squares(times: &[f64]) -> f64 {
    times.iter().map(|time| time * time).sum()
}

/// The draw that is measured; the model's are others.
pub(super) const MEASURED: u64 = 0;

/// The same on the model, in several other draws of places: where a model's sectors lie is not where the disk's do, so
/// the same draw says no more than another, and one alone is chance.
pub(super) fn predict(spec: &DiskSpec, measured: Measurements, session: &Session<'_>) -> Vec<HeldBack> {
    const DRAWS: u64 = 6;
    let access = session.facts().access;
    let mut predicted = vec![Vec::new(); measured.len()];
    for draw in 1..=DRAWS {
        let mut model = Modelled::new(spec, SEED + draw, access);
        let mut never = |_| ControlFlow::Continue(());
        let mut alone = Session::new(&mut model, SEED, session.limit() * 100, &mut never).scaled_as(session);
        let loads = measure(&mut alone, draw).unwrap_or_default();
        predicted.iter_mut().zip(loads).for_each(|(all, (_, times))| all.extend(times));
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
