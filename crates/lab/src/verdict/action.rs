//! What to do: the end of a verdict, from a goal and the significant comparisons.
//!
//! **Rule** Only schedulers of a current kernel are proposed. Each is compared with the first, which counts as the
//! default: in each seed by the geometric mean of the ratios of the figures that count, with equal weight for each job;
//! over the seeds by its mean with an interval. The best is proposed if it is at least 5 % better, the difference is
//! significant (Holm over the candidates), and nothing forbids it: a bound of the goal that it does not keep, a job
//! that stalls for more than a second and does not under the default, a figure that counts in two modes, which no mean
//! represents, or a job that pays too much for it (`price.rs`). It is also not proposed if the default's runs fall into
//! two modes and it is not better than the better of them. Settings of the default that do as much, within 3 %, are
//! proposed before another scheduler: the smaller change. If a goal names jobs, stalls of the others are only a price.
//! BFQ, which favours what is new for up to 25 s, is not proposed by runs too short to show what comes after.

use std::sync::Arc;

use blksched::Span;
use blksched_measure::{Modes, Paired, Quantity, Sample, Work, holm};
use blksched_simulate::Length;

use crate::runs::measured::{Availability, JobMeasure, Measured};
use crate::verdict::clones::{JobDifference, by_job, families, label};
use crate::verdict::contrast::{ALPHA, Contrast, between, times};
use crate::verdict::figure::{Figure, FigureKind};
use crate::verdict::goal::{Bound, Goal, NamedGoal};
use crate::verdict::halves::{self, Sides};
use crate::verdict::price;
use crate::verdict::recorded::IN_MEMORY;
use crate::verdict::role::Role;
pub use crate::verdict::score::{WORTH_IT, scores};

/// Settings of the default that are worse than another scheduler by no more than this are the smaller change.
const AS_GOOD: f64 = 1.03;
/// The part of a gain that explains it.
const EXPLAINS: f64 = 0.5;
/// Priorities are kept if no more than this part of the disk's time goes to others than they ask for.
pub const KEPT: f64 = 0.10;
/// At most this many gains and costs are named.
const SAID: usize = 3;
/// No job may stand still for longer \[ns\].
const LONGEST_STALL: f64 = 1e9;

/// The recommendation.
#[derive(Clone, Debug)]
pub struct Action {
    /// By what the candidates were judged.
    pub goal: Goal,
    /// The scheduler with which the others are compared.
    pub default: Arc<Measured>,
    /// The others that a present kernel has, best first.
    pub candidates: Vec<Challenger>,
    /// Bounds of the goal that the default itself breaks.
    pub missed: Vec<String>,
    /// How many times worse a key figure of a job that somebody waits for may become.
    pub max_price: f64,
}

/// Why the default stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// One seed proves nothing.
    OneSeed,
    /// No other scheduler of a present kernel was run.
    NoOther,
    /// No scheduler keeps every bound of the goal.
    GoalNotMet,
    /// The best is better, but something speaks against it: [`Challenger::forbidden`].
    BetterIsForbidden,
    /// The best is better than the mean of the default's runs, which fall into two modes, and not than the better mode.
    DefaultInTwoModes,
    /// The best is better for some jobs and harms others too much: [`Challenger::harms`]. The user has to choose.
    HarmsOthers,
    /// The best looks better, but chance would explain it.
    MayBeChance,
    /// Nothing is at least 5 % better.
    TooLittle,
}

impl Kept {
    /// One word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Kept::OneSeed => "one_seed",
            Kept::NoOther => "no_other",
            Kept::GoalNotMet => "goal_not_met",
            Kept::BetterIsForbidden => "better_is_forbidden",
            Kept::DefaultInTwoModes => "default_in_two_modes",
            Kept::HarmsOthers => "harms_others",
            Kept::MayBeChance => "may_be_chance",
            Kept::TooLittle => "too_little",
        }
    }
}

/// A scheduler that might be better than the default.
#[derive(Clone, Debug)]
pub struct Challenger {
    /// What was measured of it.
    pub scheduler: Arc<Measured>,
    /// How many times better it is on the figures of the goal.
    pub score: Paired,
    /// The p-value after Holm's correction over the candidates.
    pub p: f64,
    /// What is better beyond chance, the greatest first; and what is worse.
    pub gains: Vec<Contrast>,
    /// What is worse beyond chance, the greatest first.
    pub costs: Vec<Contrast>,
    /// Key figures that are worse beyond chance, the worst first; too much of it, and the user has to choose.
    pub harms: Vec<Contrast>,
    /// Why it cannot be recommended, however well it scores.
    pub forbidden: Vec<String>,
    /// How many of these only say that the default's own runs fall into two modes.
    default_modes: usize,
    /// Standstills of jobs that the goal does not name.
    pub stalls: Vec<String>,
    /// Whether it is worth a change in the second half of the runs only.
    pub is_late: bool,
}

impl Challenger {
    /// Whether it is at least 5 % better, beyond chance.
    pub fn is_better(&self) -> bool {
        self.score.ratio >= WORTH_IT && self.p <= ALPHA
    }

    /// Whether only the default's two modes speak against it: then the runs do not say which of the two is better.
    fn hangs_on_modes(&self) -> bool {
        self.default_modes > 0 && self.forbidden.len() == self.default_modes
    }
}

/// Chooses among the schedulers; `contrasts` holds those of each scheduler after the first.
pub fn choose(measured: &[Arc<Measured>], contrasts: &[Vec<Contrast>], goal: Goal, looks: u32) -> Option<Action> {
    let (default, others) = measured.split_first()?;
    let candidates = candidates((default, others), contrasts, &goal, looks, Availability::Present);
    let missed = misses(default, &goal);
    Some(Action { goal, default: default.clone(), candidates, missed, max_price: price::MOST })
}

/// The other schedulers of this availability, compared with the default, best first.
pub fn candidates(
    (default, others): (&Measured, &[Arc<Measured>]),
    contrasts: &[Vec<Contrast>],
    goal: &Goal,
    looks: u32,
    availability: Availability,
) -> Vec<Challenger> {
    let objectives = goal.objectives(default);
    let wanted = others.iter().zip(contrasts).filter(|(here, _)| here.availability == availability);
    let candidate = |(here, contrasts): (&Arc<Measured>, &Vec<Contrast>)| {
        let score = Paired::of_logarithms(&scores(&objectives, here, default))?;
        let (gains, costs) = both_sides(contrasts, default);
        let (modes, harms) = (beside_modes(here, default, goal), price::harms(contrasts, default, goal));
        let default_modes = modes.len();
        let forbidden = forbidden(here, default, goal).into_iter().chain(modes).collect();
        let stalls = stalls(here, default, |row| !goal.protects(row));
        Some(Challenger {
            scheduler: here.clone(),
            score,
            p: score.p,
            gains,
            costs,
            harms,
            forbidden,
            default_modes,
            stalls,
            is_late: false,
        })
    };
    let mut candidates: Vec<Challenger> = wanted.filter_map(candidate).collect();
    let corrected = holm(&candidates.iter().map(|candidate| candidate.p).collect::<Vec<_>>());
    candidates.iter_mut().zip(corrected).for_each(|(candidate, p)| candidate.p = (p * f64::from(looks)).min(1.0));
    candidates.sort_by(|a, b| b.score.ratio.total_cmp(&a.score.ratio));
    candidates
}

/// What is better, and which of the figures that count are worse: a background job's loss counts only below its floor.
fn both_sides(contrasts: &[Contrast], default: &Measured) -> (Vec<Contrast>, Vec<Contrast>) {
    let mut all: Vec<Contrast> = contrasts.iter().filter(|contrast| contrast.differs()).cloned().collect();
    all.sort_by(|a, b| b.times().total_cmp(&a.times()));
    let is_price = |contrast: &Contrast| {
        let job = contrast.figure.row.map(|row| &default.jobs[row]);
        job.is_none_or(|job| job.role.0 != Role::Background) || price::is_starved(contrast)
    };
    let (gains, costs): (Vec<Contrast>, Vec<Contrast>) = all.into_iter().partition(|c| c.times_better() > 1.0);
    (gains, costs.into_iter().filter(is_price).collect())
}

/// The bounds of the goal that it does not keep, each with its worst value.
pub fn misses(scheduler: &Measured, goal: &Goal) -> Vec<String> {
    let missed = goal.bounds().filter_map(|(clause, bound)| {
        let samples: Vec<Sample> = clause.figures.iter().filter_map(|figure| figure.sample(scheduler)).collect();
        let unit = clause.figures.first()?.what.unit();
        let worst = samples.iter().flat_map(|sample| sample.values()).copied().reduce(match bound {
            Bound::Below(_) => f64::max,
            Bound::Above(_) => f64::min,
        });
        let is_kept = samples.iter().all(|sample| bound.holds(sample));
        (!is_kept).then(|| format!("{} is not kept: {}", clause.text, unit.show(worst.unwrap_or(f64::NAN))))
    });
    missed.collect()
}

/// Why a scheduler cannot be recommended, however well it scores; empty if it can.
pub fn forbidden(here: &Measured, default: &Measured, goal: &Goal) -> Vec<String> {
    let mut why = misses(here, goal);
    why.extend(stalls(here, default, |row| goal.protects(row)));
    why.extend(modes_that_count(here, default, goal).map(|(job, figure, modes)| modes_sentence(job, &figure, &modes)));
    why
}

/// The modes of the figures by which the goal judges: those of others are told, and no reason against a scheduler.
fn modes_that_count<'a>(
    measured: &'a Measured,
    default: &Measured,
    goal: &Goal,
) -> impl Iterator<Item = (&'a JobMeasure, Figure, Modes)> {
    let objectives: Vec<Figure> = goal.objectives(default).into_iter().flatten().collect();
    let counts = move |figure: &Figure| objectives.iter().any(|objective| objective.is_about(figure));
    modes(measured, counts).filter(|(job, ..)| job.role.0 != Role::Background)
}

/// The figures of which the default's runs fall into two modes, and this scheduler's are no better than the better one.
fn beside_modes(here: &Measured, default: &Measured, goal: &Goal) -> Vec<String> {
    let mut why = Vec::new();
    for (job, figure, modes) in modes_that_count(default, default, goal) {
        let ours = figure.sample(here).map_or(f64::NAN, |sample| sample.mean());
        let is_better = match figure.what.higher_is_better() {
            true => ours > modes.high.1 * WORTH_IT,
            false => ours * WORTH_IT < modes.low.1,
        };
        if !is_better {
            let (said, ours) = (modes_sentence(job, &figure, &modes), figure.what.unit().show(ours));
            why.push(format!("under {} {said}, and {ours} is no better than the better mode", default.label()));
        }
    }
    why
}

/// The jobs among those rows that stand still for long, or get nothing, where they do not under the default.
fn stalls(here: &Measured, default: &Measured, concerns: impl Fn(usize) -> bool) -> Vec<String> {
    let mut why = Vec::new();
    let stall = |of: &Measured, row: usize| of.jobs[row].stall.spread().max;
    for rows in families(&default.jobs) {
        let concerned = |row: &&usize| concerns(**row) && !here.jobs[**row].yields;
        let stands = |row: &&usize| stall(here, **row) > LONGEST_STALL && stall(default, **row) <= LONGEST_STALL;
        let stalled: Vec<usize> = rows.iter().filter(concerned).filter(stands).copied().collect();
        let is_starved = |row: &&usize| here.jobs[**row].work.is_empty() && !default.jobs[**row].work.is_empty();
        let starved: Vec<usize> = rows.iter().filter(concerned).filter(is_starved).copied().collect();
        if !stalled.is_empty() {
            let longest = |of| Quantity::Time.show(stalled.iter().map(|&row| stall(of, row)).fold(0.0, f64::max));
            why.push(format!(
                "{} makes no progress for {} (under {} for {} at most)",
                label(&default.jobs, &stalled),
                longest(here),
                default.label(),
                longest(default)
            ));
        }
        if !starved.is_empty() {
            why.push(format!("{} gets nothing at all", label(&default.jobs, &starved)));
        }
    }
    why
}

/// Jobs whose runs fall into two modes, by their bandwidth or by what they wait for, unless that ends in memory. All
/// are reported; against a scheduler count those of a figure by which the goal judges, unless its job is a background
/// one.
pub fn two_modes(measured: &Measured) -> impl Iterator<Item = (&JobMeasure, Figure, Modes)> {
    modes(measured, |_| true)
}

/// The first of each job's figures in two modes that is one of these.
fn modes(measured: &Measured, is_one: impl Fn(&Figure) -> bool) -> impl Iterator<Item = (&JobMeasure, Figure, Modes)> {
    measured.jobs.iter().enumerate().filter_map(move |(row, job)| {
        let figures = job.work.iter().map(|(work, _)| {
            let what = if *work == Work::Sync || job.role.0 == Role::Latency {
                FigureKind::Mean
            } else {
                FigureKind::Bandwidth
            };
            Figure { row: Some(row), work: Some(*work), what }
        });
        let figures = figures.filter(&is_one);
        let mut modes = figures.filter_map(|figure| Some((job, figure, figure.sample(measured)?.modes()?)));
        let in_memory = |figure: &Figure, modes: &Modes| figure.what == FigureKind::Mean && modes.high.1 <= IN_MEMORY;
        modes.find(|(_, figure, modes)| !in_memory(figure, modes))
    })
}

/// Two modes of a job's figure as a sentence.
pub fn modes_sentence(job: &JobMeasure, figure: &Figure, modes: &Modes) -> String {
    let unit = figure.what.unit();
    let (low, high) = (unit.show(modes.low.1), unit.show(modes.high.1));
    let of = modes.low.0 + modes.high.0;
    let subject = figure.subject();
    format!(
        "the runs fall into two modes: {}'s {subject} is {low} in {} of {of}, {high} in {}",
        job.label(),
        modes.low.0,
        modes.high.0
    )
}

/// The scheduler that favours what is new, for up to [`Length::MODES`](blksched_simulate::Length::MODES).
const FAVOURS_WHAT_IS_NEW: &str = "bfq";

impl Action {
    /// Without a scheduler whose favour for what is new may last longer than the runs of this length, in which all jobs
    /// were seen for `seen` at most.
    pub fn in_runs_of(mut self, limit: Span, seen: Span) -> Action {
        if seen < Length::MODES && !self.default.finished {
            let long = Length::MODES + limit.saturating_sub(seen);
            let concerned = |candidate: &&mut Challenger| candidate.scheduler.scheduler == FAVOURS_WHAT_IS_NEW;
            for candidate in self.candidates.iter_mut().filter(concerned) {
                candidate.forbidden.push(format!(
                    "it favours what is new for up to 25 s, and runs of {limit} do not show what comes after \
                     (--time {long} does)"
                ));
            }
        }
        self
    }

    /// Without schedulers of which the halves of the runs say different things.
    pub fn at_rest(mut self) -> Action {
        for candidate in &mut self.candidates {
            let sides = halves::sides(&self.goal, &candidate.scheduler, &self.default);
            candidate.forbidden.extend(sides.map(Sides::text));
            candidate.is_late = sides.is_some_and(Sides::is_late);
        }
        self
    }

    /// Why nothing can be advised: a scheduler is worth a change in the second half of the runs only, and none may be
    /// proposed.
    pub fn too_short(&self) -> Option<String> {
        let late = self.candidates.iter().find(|candidate| candidate.is_late && self.chosen().is_none())?;
        Some(format!("No verdict on {}: {}.", late.scheduler.label(), late.forbidden.last()?))
    }

    /// The same, where a key figure may become this many times worse.
    pub fn within(self, max_price: f64) -> Action {
        Action { max_price, ..self }
    }

    /// The scheduler to use instead of the default: the best, or settings of the default itself that do as much.
    pub fn chosen(&self) -> Option<&Challenger> {
        let best = self.proposable().next()?;
        let does_as_much = |other: &&Challenger| {
            other.scheduler.scheduler == self.default.scheduler && other.score.ratio * AS_GOOD >= best.score.ratio
        };
        self.proposable().find(does_as_much).or(Some(best))
    }

    /// The best other scheduler that does as much as the proposed settings of the default, and is a greater change.
    pub fn as_good(&self) -> Option<&Challenger> {
        let chosen = self.chosen().filter(|chosen| chosen.scheduler.scheduler == self.default.scheduler)?;
        let is_greater = |other: &&Challenger| other.scheduler.scheduler != self.default.scheduler;
        let does_as_much = |other: &&Challenger| other.score.ratio * AS_GOOD >= chosen.score.ratio;
        self.proposable().filter(is_greater).find(does_as_much)
    }

    /// Those that may be proposed, best first.
    fn proposable(&self) -> impl Iterator<Item = &Challenger> {
        self.candidates.iter().filter(|candidate| {
            // A candidate that keeps a bound broken by the default need not be better as well.
            let rescues = !self.missed.is_empty() && candidate.score.ratio * WORTH_IT >= 1.0;
            self.may_be_used(candidate) && (candidate.is_better() || rescues)
        })
    }

    /// Settings of the default that give at least half of another scheduler's gain, on the scale of ratios: the cheaper
    /// explanation of it. `None` if none of those that were run do.
    pub fn explained(&self, candidate: &Challenger) -> Option<&Challenger> {
        let is_setting = |other: &&Challenger| {
            other.scheduler.scheduler == self.default.scheduler
                && candidate.scheduler.scheduler != self.default.scheduler
        };
        let explains = |other: &&Challenger| {
            other.score.ratio.ln() >= EXPLAINS * candidate.score.ratio.ln() && other.score.ratio >= WORTH_IT
        };
        self.candidates.iter().filter(is_setting).find(explains)
    }

    fn may_be_used(&self, candidate: &Challenger) -> bool {
        candidate.forbidden.is_empty() && !self.is_dear(candidate)
    }

    /// Whether it harms some jobs too much for the others' sake.
    pub fn is_dear(&self, candidate: &Challenger) -> bool {
        candidate.harms.iter().any(|harm| price::is_too_much(harm, self.max_price))
    }

    /// What speaks against a candidate, however well it scores.
    pub fn objections(&self, candidate: &Challenger) -> Vec<String> {
        let harms = self.is_dear(candidate).then(|| format!("it harms {}", self.clauses(&candidate.harms)));
        candidate.forbidden.iter().cloned().chain(harms).collect()
    }

    /// The best scheduler that would be proposed if it did not harm some jobs too much; `None` if one is proposed.
    pub fn dear(&self) -> Option<&Challenger> {
        let helps = |candidate: &&Challenger| candidate.forbidden.is_empty() && candidate.is_better();
        self.candidates.iter().filter(|_| self.chosen().is_none()).find(helps)
    }

    /// The recommendation as the last sentences of the verdict.
    pub fn sentences(&self) -> Vec<String> {
        let default = self.default.label();
        let mut said = Vec::new();
        for candidate in self.candidates.iter().filter(|candidate| candidate.is_better()) {
            let name = candidate.scheduler.label();
            if !candidate.forbidden.is_empty() {
                let (why, times) = (candidate.forbidden.join("; "), times(candidate.score.ratio));
                said.push(format!("Not {name}, although it is {times} better than {default} {}: {why}.", self.on()));
            } else if self.is_dear(candidate) {
                let (gains, harms) = (self.clauses(&candidate.gains), self.clauses(&candidate.harms));
                said.push(format!("{name} helps {gains}; and it harms {harms}: choose with --goal."));
            }
        }
        said.push(match self.chosen() {
            Some(chosen) => self.proposal(chosen),
            None => self.refusal(self.kept().unwrap_or(Kept::TooLittle)),
        });
        said
    }

    /// The first of these figures, job by job.
    fn clauses(&self, contrasts: &[Contrast]) -> String {
        let jobs = by_job(contrasts.iter(), &self.default.jobs);
        jobs.iter().take(SAID).map(JobDifference::with_job).collect::<Vec<_>>().join("; ")
    }

    fn proposal(&self, chosen: &Challenger) -> String {
        let mut text = format!("Use {}: {}", chosen.scheduler.label(), self.how_much(chosen));
        if !chosen.gains.is_empty() {
            text += &format!(" ({})", self.clauses(&chosen.gains));
        }
        if !self.missed.is_empty() {
            text += &format!(". Under {}, {}", self.default.label(), self.missed.join("; "));
        }
        let costs = (!chosen.costs.is_empty()).then(|| self.clauses(&chosen.costs));
        let price: Vec<String> = costs.into_iter().chain(chosen.stalls.iter().cloned()).collect();
        if !price.is_empty() {
            text += &format!(". The price: {}", price.join("; "));
        }
        text + "."
    }

    /// Why the default stays; `None` if another is recommended.
    pub fn kept(&self) -> Option<Kept> {
        if self.chosen().is_some() {
            return None;
        }
        Some(match self.candidates.first() {
            _ if self.default.jain.values().len() < 2 => Kept::OneSeed,
            None => Kept::NoOther,
            Some(_) if !self.missed.is_empty() => Kept::GoalNotMet,
            Some(_) if self.dear().is_some() => Kept::HarmsOthers,
            Some(best) if best.is_better() && best.hangs_on_modes() && !self.is_dear(best) => Kept::DefaultInTwoModes,
            Some(best) if best.is_better() => Kept::BetterIsForbidden,
            Some(best) if best.score.ratio >= WORTH_IT => Kept::MayBeChance,
            Some(_) => Kept::TooLittle,
        })
    }

    fn refusal(&self, kept: Kept) -> String {
        let default = self.default.label();
        let why = match (kept, self.candidates.first()) {
            (Kept::OneSeed, _) => "One seed proves nothing",
            (Kept::NoOther, _) | (_, None) => "No other scheduler of a present kernel was run",
            (Kept::GoalNotMet, _) => "No scheduler meets the whole goal",
            (Kept::BetterIsForbidden, _) => {
                return format!("Keep {default}. If that price is fine, --goal says what counts.");
            }
            (Kept::DefaultInTwoModes, Some(best)) => {
                let name = best.scheduler.label();
                return format!("Keep {default}: no mean over its two modes says whether {name} is better.");
            }
            (Kept::HarmsOthers, _) => return format!("Keep {default} until --goal says what counts."),
            (Kept::MayBeChance, Some(best)) => {
                let (ratio, interval) = (times(best.score.ratio), between(best.score.low, best.score.high));
                let name = best.scheduler.label();
                return format!(
                    "Keep {default}: {name} looks {ratio} better ({interval}), which may be chance; \
                     --until-sure runs more seeds."
                );
            }
            (Kept::TooLittle, _) => "Nothing is at least 5 % better",
        };
        let missed = if self.missed.is_empty() { String::new() } else { format!(" ({})", self.missed.join("; ")) };
        format!("{why}: keep {default}{missed}.")
    }

    /// How much better it is than the default, as a phrase.
    pub fn how_much(&self, chosen: &Challenger) -> String {
        let default = self.default.label();
        if let Goal::Named(NamedGoal::Priorities) = self.goal {
            let part = |sample: &Option<Sample>| Quantity::Fraction.show(sample.as_ref().map_or(0.0, Sample::mean));
            let keeps = chosen.scheduler.misplaced.as_ref().is_some_and(|part| part.mean() <= KEPT);
            return format!(
                "it keeps the priorities{}: {} of the disk's time went elsewhere, not {}",
                if keeps { "" } else { " better" },
                part(&chosen.scheduler.misplaced),
                part(&self.default.misplaced)
            );
        }
        let (ratio, interval) = (times(chosen.score.ratio), between(chosen.score.low, chosen.score.high));
        format!("{ratio} better than {default} {} ({interval})", self.on())
    }

    /// The words after "2.00 times better than …".
    fn on(&self) -> &'static str {
        match &self.goal {
            Goal::Roles => "on each job's key figures",
            Goal::Clauses(_) => "by your goal",
            Goal::Named(named) => named.name(),
        }
    }
}

/// How each scheduler keeps the priorities that the jobs ask for.
pub fn priorities(measured: &[Arc<Measured>]) -> Option<String> {
    let part = |m: &Arc<Measured>| Some((m.label(), m.misplaced.as_ref()?.mean()));
    let parts: Vec<(String, f64)> = measured.iter().filter_map(part).collect();
    let list = |kept: bool| {
        let say = |(name, part): &(String, f64)| format!("{name} {}", Quantity::Fraction.show(*part));
        let chosen: Vec<String> = parts.iter().filter(|(_, part)| (*part <= KEPT) == kept).map(say).collect();
        (!chosen.is_empty()).then(|| chosen.join(", "))
    };
    let start = "The disk's time that went where priorities and weights do not ask:";
    Some(match (list(true), list(false)) {
        (None, None) => return None,
        (Some(kept), None) => format!("{start} {kept}. All of them keep the priorities."),
        (None, Some(others)) => format!("{start} {others}. No scheduler keeps the priorities."),
        (Some(kept), Some(others)) => format!("{start} {kept} (priorities kept); {others} (not kept)."),
    })
}

#[cfg(test)]
mod tests;
