//! `compare --tune NAME`: which knobs of the scheduler, and of the settings around it, are worth changing.
//!
//! **Rule** Every value worth trying of every knob is tried alone with one seed; the best values of different knobs are
//! then tried together; and the better half of the candidates continues with more seeds until one is left (successive
//! halving). Every run is compared with the unchanged scheduler with the same seed, and a candidate under which a job
//! stalls or a bound is broken is dropped at once. A knob whose reset to its default costs less than a hundredth is
//! reset. The result is compared on seeds that the search has not seen: only this decides whether it is better, and
//! what each knob contributes.

use blksched::{Catalogue, Span};
use blksched_measure::Paired;
use blksched_simulate::Grid;
use blksched_workloads::IoCharacter;

use crate::comparison::Comparison;
use crate::error::Error;
use crate::runs::measured::{Measured, TurnedKnob};
use crate::runs::outcome::Outcome;
use crate::scene::{Contender, Stage, contenders};
use crate::verdict::action::{forbidden, scores};
use crate::verdict::goal::Goal;
use crate::watch::Watch;

/// The default of `--budget` in runs.
const MOST_RUNS: u32 = 200;
/// The seeds that the search never sees are this much higher.
pub const HELD_BACK: u64 = 1 << 32;
/// The number of those seeds: enough for the bootstrap.
pub const HELD_BACK_SEEDS: u32 = 8;
/// The least that a knob must bring \[logarithm\].
const WORTH_TURNING: f64 = 0.01;
/// At most this many knobs are changed together.
const TOGETHER: usize = 4;
/// The number of seeds that decide whether a knob returns to its default.
const PRUNING_SEEDS: u32 = 4;

/// The result of a search.
pub struct Tuned {
    /// The scheduler with its defaults, and, if any was found, with the best settings.
    pub contenders: Vec<Contender>,
    turned: Vec<(String, i64)>,
    tried: usize,
    runs: usize,
}

/// What a knob that a search changed is worth.
#[derive(Clone, Debug)]
pub struct KnobWorth {
    /// The knob.
    pub name: String,
    /// Its file, value and default; `None` if the scheduler no longer has it.
    pub control: Option<TurnedKnob>,
    /// How many times better it is with it than with its default, all others as found; `None` if nothing was measured.
    pub better: Option<Paired>,
}

/// Settings under search.
struct Tried {
    turned: Vec<(String, i64)>,
    /// The logarithm of how many times better, in each seed.
    scores: Vec<f64>,
    is_out: bool,
}

impl Tried {
    fn of(turned: Vec<(String, i64)>) -> Tried {
        Tried { turned, scores: Vec::new(), is_out: false }
    }

    fn mean(&self) -> f64 {
        let known = if self.is_out { &[] } else { &self.scores[..] };
        if known.is_empty() { f64::NEG_INFINITY } else { known.iter().sum::<f64>() / known.len() as f64 }
    }
}

struct TuneSearch<'a> {
    comparison: &'a Comparison,
    stage: &'a Stage,
    limit: Span,
    base: Contender,
    /// The scheduler with its defaults, seed by seed.
    bases: Vec<Measured>,
    goal: Goal,
    runs: usize,
    /// Ends the search early; what it has found is still checked.
    watch: &'a dyn Watch,
}

/// The scheduler with its defaults and, if the search found any, with its best settings.
pub fn search(
    comparison: &Comparison,
    catalogue: &Catalogue,
    stage: &Stage,
    name: &str,
    limit: Span,
    watch: &dyn Watch,
) -> Result<Tuned, Error> {
    let base = contenders("--tune", &[name.to_owned()], &comparison.scene.set, catalogue)?.remove(0);
    let axes = axes(&base, stage, comparison);
    let mut search =
        TuneSearch { comparison, stage, limit, base, bases: Vec::new(), goal: Goal::Roles, runs: 0, watch };
    search.more_bases(1)?;
    if search.bases.is_empty() {
        return Err(Error::Interrupted("interrupted before the first run was done".to_owned()));
    }
    search.goal = Goal::read(comparison.goal.as_deref(), &search.bases[0].jobs)?;
    let budget = (comparison.budget.unwrap_or(MOST_RUNS) as usize).saturating_sub(reserve());
    // Singles cost one run each, and combinations half as many again; halving costs that much once more.
    let mut all = singles(&axes, (budget / 3).max(axes.len()));
    search.advance(&mut all, 1)?;
    let mut combined = together(&all, budget / 6);
    search.advance(&mut combined, 1)?;
    all.extend(combined);
    let tried = all.len();
    let mut seeds = 1;
    loop {
        all.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        if all.len() <= 1 || search.runs >= budget || search.is_interrupted() {
            break;
        }
        all.truncate(all.len().div_ceil(2));
        seeds = (seeds * 2).min(HELD_BACK_SEEDS);
        search.advance(&mut all, seeds)?;
    }
    let best = all.into_iter().next().filter(|best| best.mean() > WORTH_TURNING);
    let best = best.map(|best| search.prune(best)).transpose()?.filter(|best| !best.turned.is_empty());
    let turned = best.map_or_else(Vec::new, |best| best.turned);
    let contenders = match turned.is_empty() {
        true => vec![search.base.clone()],
        false => vec![search.base.clone(), search.base.with(&turned)],
    };
    Ok(Tuned { contenders, turned, tried, runs: search.runs })
}

/// Runs that pruning and the check on held-back seeds need.
fn reserve() -> usize {
    HELD_BACK_SEEDS as usize * (2 + TOGETHER)
}

/// A knob, and the values worth trying.
pub struct Axis {
    /// The knob.
    pub name: String,
    /// Raw, without its default.
    pub values: Vec<i64>,
}

/// The knobs worth trying on this load, of the scheduler and of the queue around it.
pub fn axes(base: &Contender, stage: &Stage, comparison: &Comparison) -> Vec<Axis> {
    let built = base.choice.build();
    let tunables = built.elevator.tunables();
    let own = tunables.knobs().into_iter().filter(|knob| knob.same_as.is_none());
    let mut axes: Vec<Axis> = own
        .map(|knob| {
            let default = tunables.get(knob.name);
            let values = knob.sweep.iter().copied().filter(|raw| Some(*raw) != default).collect();
            Axis { name: knob.name.to_owned(), values }
        })
        .collect();
    axes.extend(around(base, stage, comparison));
    let said = |name: &str| base.knobs.iter().any(|(said, _)| said == name) || base.around.has(name);
    axes.retain(|axis| !axis.values.is_empty() && !said(&axis.name));
    axes
}

/// Knobs of the queue around the scheduler, as far as such a disk has them and the load would notice.
fn around(base: &Contender, stage: &Stage, comparison: &Comparison) -> Vec<Axis> {
    let axis = |name: &str, values: Vec<i64>| Axis { name: name.to_owned(), values };
    let trial = stage.trial(&comparison.scene, base, Span::MAX);
    let config = trial.around();
    // Without a scheduler, requests are limited by the device's tags.
    let most = if base.choice.build().elevator.schedules() { u32::MAX } else { config.slots.nr_requests() };
    let requests = [32, 128, 512, 1024].into_iter().filter(|n| *n < i64::from(most));
    let mut axes = vec![axis("nr_requests", requests.collect())];
    if comparison.scene.attached.unwrap_or(stage.disk.attached).has_queue_depth() {
        let depths = [1, 4, 8, 16, 64].into_iter().filter(|depth| *depth < i64::from(config.depth));
        axes.push(axis("queue_depth", depths.collect()));
    }
    let buffered =
        |does: fn(&IoCharacter) -> bool| stage.plan.jobs.iter().any(|job| job.is_buffered && does(&job.character));
    if buffered(|character| character.reads) {
        axes.push(axis("read_ahead_kb", vec![0, 32, 512, 2048]));
    }
    if buffered(|character| character.writes) && base.can_be_throttled() {
        let usual = if config.limits.rotational { 75_000 } else { 2_000 };
        // It may be off already: by hand, or because the scheduler throttles writes itself.
        let now = trial.used().wbt_lat_usec as i64;
        let targets = [0, usual / 4, usual, usual * 4].into_iter().filter(|target| *target != now);
        axes.push(axis("wbt_lat_usec", targets.collect()));
    }
    axes
}

/// Each value alone, at most this many in all: the first value of every knob, then the second …
fn singles(axes: &[Axis], most: usize) -> Vec<Tried> {
    let longest = axes.iter().map(|axis| axis.values.len()).max().unwrap_or(0);
    let nth = |nth: usize| axes.iter().filter_map(move |axis| Some((axis.name.clone(), *axis.values.get(nth)?)));
    (0..longest).flat_map(nth).take(most).map(|one| Tried::of(vec![one])).collect()
}

/// The best values of different knobs, two to four at a time: every combination of the best few, best first.
fn together(singles: &[Tried], most: usize) -> Vec<Tried> {
    let mut best: Vec<&Tried> = singles.iter().filter(|tried| tried.mean() > 0.0).collect();
    best.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
    let mut knobs: Vec<(String, i64)> = Vec::new();
    for (name, raw) in best.iter().flat_map(|tried| &tried.turned) {
        if knobs.len() < 6 && knobs.iter().all(|(other, _)| other != name) {
            knobs.push((name.clone(), *raw));
        }
    }
    let mut choices: Vec<u32> = (0..1u32 << knobs.len()).collect();
    choices.retain(|choice| (2..=TOGETHER as u32).contains(&choice.count_ones()));
    // The combination of the best knobs has the lowest number.
    let chosen = |choice: u32| (0..knobs.len()).filter(move |nth| choice >> nth & 1 == 1);
    choices
        .into_iter()
        .take(most)
        .map(|choice| Tried::of(chosen(choice).map(|nth| knobs[nth].clone()).collect()))
        .collect()
}

impl TuneSearch<'_> {
    fn grid(&mut self, rows: &[Contender], seeds: std::ops::Range<u32>) -> Result<Vec<Vec<Outcome>>, Error> {
        let scene = &self.comparison.scene;
        let trials = rows.iter().map(|row| self.stage.trial(scene, row, self.limit)).collect();
        let seeds = seeds.map(|nth| scene.seed.wrapping_add(u64::from(nth))).collect();
        let grid = Grid::new(trials, seeds);
        self.runs += grid.len();
        self.watch.begins(grid.len());
        let fold = |run| Outcome::of(&self.stage.plan, &run);
        let results = grid.run(fold, || self.watch.step(), || self.is_interrupted()).map_err(Error::input);
        self.watch.ends();
        results
    }

    fn is_interrupted(&self) -> bool {
        self.watch.is_interrupted()
    }

    fn more_bases(&mut self, seeds: u32) -> Result<(), Error> {
        let base = self.base.clone();
        let first = self.bases.len() as u32;
        let runs = self.grid(std::slice::from_ref(&base), first..seeds.max(first))?;
        self.bases.extend(runs[0].chunks(1).map(|run| Measured::of(&base, &self.stage.plan, run)));
        Ok(())
    }

    /// Runs each of them with up to this many seeds.
    fn advance(&mut self, all: &mut [Tried], seeds: u32) -> Result<(), Error> {
        self.more_bases(seeds)?;
        let first = all.iter().map(|tried| tried.scores.len() as u32).min().unwrap_or(seeds);
        let rows: Vec<Contender> = all.iter().map(|tried| self.base.with(&tried.turned)).collect();
        let results = self.grid(&rows, first..seeds.max(first))?;
        for ((tried, row), runs) in all.iter_mut().zip(&rows).zip(results) {
            // An interrupt may have left the two with different numbers of seeds.
            for (nth, run) in (first as usize..self.bases.len()).zip(runs.chunks(1)) {
                let (here, base) = (Measured::of(row, &self.stage.plan, run), &self.bases[nth]);
                tried.is_out |= !forbidden(&here, base, &self.goal).is_empty();
                if tried.scores.len() == nth {
                    tried.scores.extend(scores(&self.goal.objectives(base), &here, base));
                }
            }
        }
        Ok(())
    }

    /// Returns the knobs that bring nothing to their defaults.
    fn prune(&mut self, mut best: Tried) -> Result<Tried, Error> {
        self.advance(std::slice::from_mut(&mut best), PRUNING_SEEDS)?;
        while best.turned.len() > 1 && !self.is_interrupted() {
            let without = |nth: usize| {
                let mut turned = best.turned.clone();
                turned.remove(nth);
                Tried::of(turned)
            };
            let mut fewer: Vec<Tried> = (0..best.turned.len()).map(without).collect();
            let seeds = best.scores.len() as u32;
            self.advance(&mut fewer, seeds)?;
            let Some(next) = fewer.into_iter().max_by(|a, b| a.mean().total_cmp(&b.mean())) else { break };
            if next.mean() < best.mean() - WORTH_TURNING {
                break;
            }
            best = next;
        }
        Ok(best)
    }
}

impl Tuned {
    /// What each knob is worth by this goal, on seeds that the search has not seen.
    pub fn worth(
        &self,
        comparison: &Comparison,
        stage: &Stage,
        best: &Measured,
        goal: &Goal,
        limit: Span,
    ) -> Result<Vec<KnobWorth>, Error> {
        let of = |(nth, (name, _)): (usize, &(String, i64))| {
            let mut others = self.turned.clone();
            others.remove(nth);
            let without = self.contenders[0].with(&others);
            let scene = &comparison.scene;
            let trial = stage.trial(scene, &without, limit);
            let seeds = (0..u64::from(HELD_BACK_SEEDS)).map(|nth| scene.seed.wrapping_add(HELD_BACK + nth)).collect();
            let runs = Grid::new(vec![trial], seeds)
                .run(|run| Outcome::of(&stage.plan, &run), || {}, || false)
                .map_err(Error::input)?;
            let without = Measured::of(&without, &stage.plan, &runs[0]);
            Ok(KnobWorth {
                name: name.clone(),
                control: best.controls.iter().find(|control| control.name == *name).cloned(),
                better: Paired::of_logarithms(&scores(&goal.objectives(&without), best, &without)),
            })
        };
        self.turned.iter().enumerate().map(of).collect()
    }

    /// What was searched, as a sentence; `found`: whether the result proved better on other seeds.
    pub fn sentence(&self, found: bool) -> String {
        let name = &self.contenders[0].choice;
        let searched = format!("{} settings of {name} tried in {} runs", self.tried, self.runs);
        let check = format!("{HELD_BACK_SEEDS} seeds that the search had not seen");
        match (self.turned.is_empty(), found) {
            (true, _) => format!("{searched}: none looks better than its defaults. Leave them."),
            (false, true) => format!("{searched}; the best of them was checked on {check}."),
            (false, false) => format!("{searched}; the best of them is not proven better on {check}. Leave them."),
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched_measure::Paired;
    use blksched_workloads::host::fs::FsKind;

    use super::super::judge::Judge;
    use super::*;
    use crate::files::NoFiles;
    use crate::scene::Scene;

    /// The targets of writeback throttling that a search tries.
    fn targets(load: &str, said: Option<u64>) -> Option<Vec<i64>> {
        let mut scene = Scene::of(load, "hdd-7200", 1);
        scene.wbt_lat_usec = said;
        let comparison = Comparison::of(scene, 1);
        let (stage, _) = Stage::load(&comparison.scene, &NoFiles).unwrap().without_logs();
        let base = contenders("", &["mq-deadline".to_owned()], &[], &Catalogue::builtin()).unwrap().remove(0);
        axes(&base, &stage, &comparison).into_iter().find(|axis| axis.name == "wbt_lat_usec").map(|axis| axis.values)
    }

    #[test]
    fn throttling_of_writes_is_searched_where_something_is_buffered_and_from_where_it_stands() {
        assert_eq!(targets("desktop-start", None), Some(vec![0, 18_750, 300_000]));
        assert_eq!(targets("desktop-start", Some(0)), Some(vec![18_750, 75_000, 300_000]));
        assert_eq!(targets("random-readers", None), None);
    }

    fn tuned(load: &str, disk: &str, goal: &str) -> Comparison {
        let fs = Some(FsKind::None.into());
        let scene = Scene { time: Some(Span::from_secs(3)), fs, ..Scene::of(load, disk, 3) };
        Comparison { goal: Some(goal.to_owned()), budget: Some(70), ..Comparison::of(scene, 1) }
    }

    /// Python's `bs.tune` chooses what to try with a [`Judge`].
    #[test]
    fn a_search_from_outside_has_its_objective_settings_by_settings_and_seed_by_seed() {
        for (load, goal) in [("reader-and-writer", "reader: mean read"), ("priorities", "priorities")] {
            let comparison = tuned(load, "ide-2002", goal);
            let (stage, _) = Stage::load(&comparison.scene, &NoFiles).unwrap().without_logs();
            let (stage, mut judge) = Judge::new(&comparison, &Catalogue::builtin(), stage, "bfq").unwrap();
            let base = contenders("", &["bfq".to_owned()], &[], &Catalogue::builtin()).unwrap().remove(0);
            let axes = axes(&base, &stage, &comparison);
            let theirs: Vec<_> = axes.iter().map(|axis| (axis.name.clone(), axis.values.clone())).collect();
            assert_eq!(judge.knobs(&comparison, &stage), theirs);
            let (limit, goal, bases) = (judge.limit, judge.goal.clone(), Vec::new());
            let mut search =
                TuneSearch { comparison: &comparison, stage: &stage, limit, base, bases, goal, runs: 0, watch: &() };
            let mut all = singles(&axes, 12);
            search.advance(&mut all, 2).unwrap();
            for tried in &all {
                let mut driven = |nth| judge.score(&comparison, &stage, &tried.turned, nth).unwrap();
                let driven = [driven(0), driven(1)];
                assert_eq!(driven.contains(&None), tried.is_out, "{:?}", tried.turned);
                if !tried.is_out {
                    assert_eq!(
                        driven.map(|score| score.unwrap_or(f64::NAN)).to_vec(),
                        tried.scores,
                        "{:?}",
                        tried.turned
                    );
                }
            }
            let differing = all.iter().filter(|tried| !tried.is_out && tried.scores.iter().any(|score| *score != 0.0));
            assert!(differing.count() > 3, "nothing was compared");
        }
    }

    #[test]
    fn what_compare_finds_is_checked_as_a_search_from_outside_checks_it() {
        let (load, disk, goal) = ("reader-and-writer", "ide-2002", "reader: mean read");
        let comparison = tuned(load, disk, goal);
        let (stage, _) = Stage::load(&comparison.scene, &NoFiles).unwrap().without_logs();
        let (stage, judge) = Judge::new(&comparison, &Catalogue::builtin(), stage, "bfq").unwrap();
        let found = search(&comparison, &Catalogue::builtin(), &stage, "bfq", judge.limit, &()).unwrap();
        assert!(!found.turned.is_empty(), "nothing was found");
        let checked = judge.check(&comparison, &stage, &found.turned).unwrap();
        let question = Comparison { tune: Some("bfq".to_owned()), ..comparison.clone() };
        let (whole, _) = Stage::load(&comparison.scene, &NoFiles).unwrap().without_logs();
        let compared = question.run(whole, &Catalogue::builtin(), &()).unwrap();
        let verdict = &compared.verdict;
        let (candidate, Paired { ratio, low, high, count, p }) = (&verdict.candidates[0], checked.score);
        let theirs = &candidate.score;
        assert_eq!((theirs.ratio, theirs.low, theirs.high, theirs.count, theirs.p), (ratio, low, high, count, p));
        assert!(checked.forbidden.starts_with(&candidate.forbidden), "{:?}", checked.forbidden);
        assert_eq!(verdict.proposal.is_some(), checked.is_better);
    }
}
