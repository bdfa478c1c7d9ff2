//! What to do: the end of a verdict, from a goal and the differences beyond the spread.
//!
//! **Rule** Only schedulers that a present kernel has are proposed. Each is held against the first, which counts as the
//! default. By goal: the ratio of that one measure, if it differs beyond the spread; on balance: the geometric mean of
//! the ratios of all measures (bandwidth, mean and p99 latency, of reads and writes), those within the spread counting
//! as 1. The best is proposed if it is at least 5 % better; else the default stays.

use blksched::Dir;
use blksched_measure::{Quantity, Spread, geometric_mean};

use super::measured::Measured;
use super::verdict::{Contrast, What, differences};
use crate::args::Goal;

/// What is not better by so much is not worth a change.
const WORTH_IT: f64 = 1.05;
/// Priorities are kept if no more than this part of the disk's time goes to others than they ask for.
const KEPT: f64 = 0.10;
/// At most so many gains and costs are said.
const SAID: usize = 2;

/// What to do.
pub(super) struct Action<'a> {
    pub(super) goal: Goal,
    /// The scheduler that the others were held against.
    pub(super) default: &'a Measured,
    /// What is better; none: keep the default.
    pub(super) chosen: Option<Chosen<'a>>,
}

/// A scheduler that is better than the default.
pub(super) struct Chosen<'a> {
    pub(super) scheduler: &'a Measured,
    /// How many times better by the goal.
    pub(super) times: f64,
    /// What is better beyond the spread, the greatest first; and what is worse.
    pub(super) gains: Vec<String>,
    pub(super) costs: Vec<String>,
}

/// `goal`: as asked, or priorities if the jobs have several, else the balance.
pub(super) fn choose(measured: &[Measured], goal: Option<Goal>) -> Option<Action<'_>> {
    let (default, others) = measured.split_first()?;
    let own = if default.misplaced.is_some() { Goal::Priorities } else { Goal::Balance };
    let goal = goal.unwrap_or(own);
    let rated = others.iter().filter(|here| here.is_present).map(|here| (here, times_better(goal, here, default)));
    let best = rated.max_by(|a, b| a.1.total_cmp(&b.1));
    let chosen = best.filter(|&(_, times)| times >= WORTH_IT).map(|(scheduler, times)| {
        let (gains, costs) = both_sides(scheduler, default);
        Chosen { scheduler, times, gains, costs }
    });
    Some(Action { goal, default, chosen })
}

fn times_better(goal: Goal, here: &Measured, default: &Measured) -> f64 {
    let all = differences(here, default);
    let one = |wanted: What, dir: Dir| {
        let found = all.iter().find(|contrast| contrast.what == wanted && contrast.dir == dir);
        found.map_or(1.0, beyond_the_spread)
    };
    match goal {
        Goal::Balance => geometric_mean(&all.iter().map(beyond_the_spread).collect::<Vec<f64>>()),
        Goal::ReadLatency => one(What::MeanLatency, Dir::Read),
        Goal::WriteLatency => one(What::MeanLatency, Dir::Write),
        Goal::ReadBandwidth => one(What::Bandwidth, Dir::Read),
        Goal::WriteBandwidth => one(What::Bandwidth, Dir::Write),
        Goal::Fairness => higher(here.jain, default.jain),
        Goal::Priorities => match (here.misplaced, default.misplaced) {
            (Some(here), Some(default)) if here.mean <= KEPT => higher(inverse(here), inverse(default)),
            _ => 1.0,
        },
    }
}

fn beyond_the_spread(contrast: &Contrast) -> f64 {
    if contrast.here.differs_from(&contrast.base) { contrast.times_better().clamp(1e-3, 1e3) } else { 1.0 }
}

fn higher(here: Spread, default: Spread) -> f64 {
    if here.differs_from(&default) { here.times(&default).unwrap_or(1e3) } else { 1.0 }
}

/// What is kept of a part that is lost.
fn inverse(part: Spread) -> Spread {
    Spread { mean: 1.0 - part.mean, min: 1.0 - part.max, max: 1.0 - part.min, ..part }
}

fn both_sides(here: &Measured, default: &Measured) -> (Vec<String>, Vec<String>) {
    let mut all = differences(here, default);
    all.retain(|contrast| contrast.here.differs_from(&contrast.base));
    all.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let (gains, costs): (Vec<Contrast>, Vec<Contrast>) = all.into_iter().partition(|c| c.times_better() > 1.0);
    let say = |contrasts: Vec<Contrast>| contrasts.iter().take(SAID).map(Contrast::say).collect();
    (say(gains), say(costs))
}

impl Action<'_> {
    /// As the last sentence of the verdict.
    pub(super) fn sentence(&self) -> String {
        let default = self.default.label();
        let Some(chosen) = &self.chosen else {
            let why = match self.goal {
                _ if self.default.jain.count < 2 => "One seed says nothing about the spread",
                Goal::Priorities => "Nothing keeps the priorities better",
                _ => "Within the spread",
            };
            return format!("{why}: keep your default, {default}.");
        };
        let mut text = format!("Use {}: {}", chosen.scheduler.label(), self.how_much(chosen));
        if !chosen.gains.is_empty() {
            text += &format!(" ({})", chosen.gains.join("; "));
        }
        if !chosen.costs.is_empty() {
            text += &format!(". The price: {}", chosen.costs.join("; "));
        }
        text + "."
    }

    pub(super) fn how_much(&self, chosen: &Chosen<'_>) -> String {
        let default = self.default.label();
        let part = |measured: &Measured| measured.misplaced.map_or(0.0, |part| part.mean);
        match self.goal {
            Goal::Priorities => {
                let (here, there) = (part(chosen.scheduler), part(self.default));
                let show = |part| Quantity::Fraction.show(part);
                format!(
                    "it keeps the priorities: {} of the disk's time went to others than they ask for, not {}",
                    show(here),
                    show(there)
                )
            }
            goal => format!("{}, {:.2} times better than {default}", goal.name(), chosen.times),
        }
    }
}

/// How each scheduler keeps the priorities that the jobs ask for.
pub(super) fn priorities(measured: &[Measured]) -> Option<String> {
    let parts: Vec<(String, f64)> = measured.iter().filter_map(|m| Some((m.label(), m.misplaced?.mean))).collect();
    let list = |kept: bool| {
        let say = |(name, part): &(String, f64)| format!("{name} ({})", Quantity::Fraction.show(*part));
        let chosen: Vec<String> = parts.iter().filter(|(_, part)| (*part <= KEPT) == kept).map(say).collect();
        if chosen.is_empty() { "nobody".to_owned() } else { chosen.join(", ") }
    };
    (!parts.is_empty()).then(|| {
        format!(
            "Priorities and weights (in brackets: the part of the disk's time that went to others than they ask for) \
             are kept by {}; not kept by {}.",
            list(true),
            list(false)
        )
    })
}
