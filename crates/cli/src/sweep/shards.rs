//! The runs of a shard: ranges of the plan with equal cost.
//!
//! **Rule** The cost of a load on a disk is estimated in the same way on every machine: by counting the disk's work in
//! a second of it, or by a trace's size. The nth run of a group begins where the runs before it end, and belongs to the
//! shard in whose part of the whole it begins. So a shard has neighbours in the plan, and reads few traces.

use blksched::{Instant, Span};
use blksched_lab::Files;
use blksched_lab::scene::{Stage, Trace, Word};
use blksched_measure::Work;
use blksched_simulate::Trial;

use super::plan::SweepPlan;
use crate::failure::Failure;
use crate::input::{OnDisk, traces};

/// `--shard I/N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 1.
    pub(super) nth: u64,
    pub(super) of: u64,
}

impl Shard {
    pub(super) const WHOLE: Shard = Shard { nth: 1, of: 1 };

    /// Parses `3/16`.
    pub(super) fn parse(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(nth, of)| Some((nth.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((nth, of)) if (1..=of).contains(&nth) && of <= 1_000_000 => Ok(Shard { nth, of }),
            _ => Err("expected I/N, as in 1/16 to 16/16".to_owned()),
        }
    }

    pub(super) fn name(self) -> String {
        format!("{}-of-{}", self.nth, self.of)
    }
}

/// The estimated cost of a run of each group; the unit is a request.
pub(super) fn costs(plan: &SweepPlan) -> Vec<u64> {
    (0..plan.groups()).map(|group| cost(plan, group).unwrap_or(1).max(1)).collect()
}

/// The runs of a shard: from the first up to the second number.
pub(super) fn stretch(plan: &SweepPlan, costs: &[u64], shard: Shard) -> (u64, u64) {
    let per_group = u128::from(plan.per_group());
    let total: u128 = costs.iter().map(|cost| u128::from(*cost) * per_group).sum();
    let begin = |nth: u64| -> u64 {
        // The first run that begins at or after this part of the whole.
        let at = (total * u128::from(nth)).div_ceil(u128::from(shard.of));
        let mut before = 0_u128;
        for (group, cost) in (0_u128..).zip(costs) {
            let here = u128::from(*cost) * per_group;
            if at < before + here {
                return (group * per_group + (at - before).div_ceil(u128::from(*cost))) as u64;
            }
            before += here;
        }
        plan.len()
    };
    (begin(shard.nth - 1), begin(shard.nth))
}

/// The length of a pilot.
const PILOT: Span = Span::from_secs(1);
/// A trace's bytes per I/O. A guess: compressed text and the events of one I/O differ more than formats do.
const BYTES_PER_IO: u64 = 32;

/// The recorded trace that this word names, if it is one.
fn recorded(name: &str) -> Option<Trace> {
    match OnDisk.word(name, false) {
        Ok(Word::Trace(trace)) => Some(trace),
        _ => None,
    }
}

fn cost(plan: &SweepPlan, group: u64) -> Result<u64, Failure> {
    let scene = plan.scene(group);
    let traces: Vec<Option<Trace>> = scene.jobs.iter().map(|word| recorded(word)).collect();
    let bytes: u64 = traces.iter().flatten().map(|trace| traces::bytes(trace) / BYTES_PER_IO).sum();
    if traces.iter().all(Option::is_some) {
        return Ok(bytes);
    }
    let mut piloted = plan.scene(group);
    let mut is_trace = traces.iter().map(Option::is_some);
    piloted.jobs.retain(|_| !is_trace.next().unwrap_or_default());
    let stage = Stage::load(&piloted, &OnDisk)?;
    let (contender, _) = plan.cell(0);
    let limit = plan.time.unwrap_or(PILOT).min(PILOT);
    let trial: Trial = stage.trial(&piloted, &contender, limit);
    let run = trial.simulate().map_err(Failure::input)?;
    let ios: u64 = run.jobs.iter().flat_map(|job| Work::ALL.map(|work| job.record.work(work).ios)).sum();
    let per_pilot = run.requests.max(ios).max(1);
    let elapsed = (Instant::ZERO + run.elapsed).as_ns().max(1);
    let long = plan.time.map_or(elapsed, Span::as_ns);
    let scaled =
        if run.finished { per_pilot } else { (u128::from(per_pilot) * u128::from(long) / u128::from(elapsed)) as u64 };
    Ok(bytes + scaled)
}
