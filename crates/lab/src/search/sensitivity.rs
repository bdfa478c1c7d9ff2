//! Does the verdict depend on the fitted values of the disk's model, or on what is assumed of the host?
//!
//! **Rule** A disk's file gives each fitted value a plausible range (`[fit]`). All values of one table of the file are
//! moved together to either end, and the verdict is computed again; if it differs, each of them is moved alone. Most
//! ends are tried with one seed: if the scores are on the same side of the threshold for a change as before, by twice
//! their spread over the seeds, the verdict is unchanged. `--sensitivity` tries each value alone, with all seeds, and
//! then all values of all tables together, each at one of its ends: some random draws, and the mirror image of each.
//! Without it the total number of simulated requests is limited, so that it costs seconds; the answer says what was
//! left out. Only the default, the proposed scheduler, and those that may be better than the default are run again.
//! Beside BFQ, which merges the queues of processes that begin together, as fio's jobs do and others do not
//! (docs/host.md), its runs are repeated with one process first, and the verdict is computed with them in place of its
//! own, with all seeds.

use std::sync::Arc;

use blksched::Catalogue;
use blksched_disks::Fit;
use blksched_simulate::{Starts, Trial};

use crate::comparison::{Comparison, FitSearch};
use crate::error::Error;
use crate::files::Files;
use crate::runs::Runs;
use crate::runs::measured::Measured;
use crate::runs::outcome::Outcome;
use crate::scene::Scene;
use crate::scene::{Stage, contenders};
use crate::search::host_fits;
use crate::verdict::action::{self, Action, Challenger, WORTH_IT};
use crate::verdict::contrast::{self, times};
use crate::verdict::goal::Goal;
use crate::watch::Watch;

/// The one value that no corner moves.
const CAPACITY: &str = "capacity";

/// The key of what is assumed of the processes: that they begin together.
const STARTS: &str = "starts";

/// How many times the ends of all values are drawn.
const CORNERS: usize = 4;

/// Pairs of corners: every value at a drawn end, and then every value at its opposite end. The draws are always the
/// same.
fn corners(fits: &[Fit]) -> Vec<Vec<(String, String)>> {
    let mut state = 0x636f_726e_6572_u64;
    let mut all = Vec::new();
    for _ in 0..CORNERS {
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as usize & 1
        };
        let ends: Vec<usize> = fits.iter().map(|_| draw()).collect();
        for mirrored in [0, 1] {
            let at = |(fit, end): (&Fit, &usize)| (fit.key.clone(), fit.ends[end ^ mirrored].clone());
            all.push(fits.iter().zip(&ends).map(at).collect());
        }
    }
    all
}

/// The most requests to simulate, unless the user asks for the whole analysis: a few seconds' worth. They are no more
/// than the comparison itself took, or a fraction of a second's.
const MOST_REQUESTS: u64 = 1_500_000;
const FEW_REQUESTS: u64 = 150_000;

/// A verdict in two words, and how much better the recommended scheduler is, or else the best of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortVerdict {
    /// `use bfq`, or `keep mq-deadline`.
    pub verdict: String,
    /// How many times better the recommended scheduler is, or else the best of the others.
    pub ratio: Option<f64>,
    /// The scheduler that scores best but is not recommended, and why not.
    pub passed_over: Option<(String, String)>,
}

/// The verdict with some values moved.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The keys in the disk's file, and their values; or `starts`: the processes do not begin together.
    pub changes: Vec<(String, String)>,
    /// The verdict there; `None` if it was not run: the disk has another size, so the load lies elsewhere on it.
    pub verdict: Option<ShortVerdict>,
}

/// What a verdict depends on.
#[derive(Clone, Debug)]
pub struct Sensitivity {
    /// The disk's name.
    pub disk: String,
    /// The fitted values, with their plausible ranges.
    pub fits: Vec<Fit>,
    /// How many of them were moved.
    pub tried: usize,
    /// The verdict with all of them as they are.
    pub base: ShortVerdict,
    /// How they were moved.
    pub how: FitSearch,
    /// Those that change the verdict; with [`FitSearch::Each`], all.
    pub moved: Vec<Moved>,
}

/// The comparison, and its outcome.
struct Base<'a> {
    runs: &'a Runs<'a>,
    measured: &'a [Arc<Measured>],
    goal: &'a Goal,
}

/// The sensitivity of a verdict, as far as the comparison asks for it; a search has none.
///
/// # Errors
/// If a value at the end of its range makes no disk, or a run stands still.
pub fn below(
    runs: &Runs<'_>,
    measured: &[Arc<Measured>],
    goal: &Goal,
    action: Option<&Action>,
) -> Result<Option<Sensitivity>, Error> {
    let how = if runs.comparison.tune.is_some() { FitSearch::None } else { runs.comparison.fits };
    let host = host_fits::fits(&runs.stage.trial(&runs.comparison.scene, &runs.contenders[0], runs.limit));
    action.map_or(Ok(None), |action| of(&Base { runs, measured, goal }, action, how, host))
}

/// `None` if nothing was fitted, or there is no verdict that could change.
fn of(base: &Base<'_>, action: &Action, how: FitSearch, host: Vec<Fit>) -> Result<Option<Sensitivity>, Error> {
    // The host's first: some verdicts depend on little else.
    let fits: Vec<Fit> = host.into_iter().chain(base.runs.stage.disk.fitted()).collect();
    let seeds = base.runs.done[0].len();
    if how == FitSearch::None || fits.is_empty() || action.candidates.is_empty() || seeds < 2 {
        return Ok(None);
    }
    let most = base.runs.work().clamp(FEW_REQUESTS, MOST_REQUESTS);
    let mut search =
        MarginSearch { base, spent: 0, most, margin: margin(base, action), present: present(base, action) };
    let mut found = Sensitivity {
        disk: base.runs.stage.disk.name.clone(),
        base: said(action),
        tried: 0,
        how,
        moved: Vec::new(),
        fits: fits.clone(),
    };
    match how {
        FitSearch::None => {}
        FitSearch::Each => search.each(&fits, &mut found)?,
        FitSearch::Tables => search.tables(&fits, &mut found)?,
    }
    let apart = search.one_first()?.filter(|apart| how == FitSearch::Each || found.turns(apart));
    found.moved.splice(0..0, apart);
    Ok(Some(found))
}

/// The sensitivity of a disk by itself: of the verdict of the default load, to each fitted value at both ends of its
/// range. `None` if nothing was fitted.
///
/// # Errors
/// If a value at the end of its range makes no disk, or a run stands still.
pub fn of_disk(
    disk: &str,
    catalogue: &Catalogue,
    files: &dyn Files,
    watch: &dyn Watch,
) -> Result<Option<Sensitivity>, Error> {
    let scene = Scene::of(QUESTION, disk, 1);
    let comparison = Comparison::of(scene, SEEDS);
    let (stage, _) = Stage::load(&comparison.scene, files)?.without_logs();
    let default = stage.kernel_default(&comparison.scene).to_owned();
    let others = ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).into_iter().filter(|name| *name != default);
    let names: Vec<String> = std::iter::once(default.clone()).chain(others).collect();
    let contenders = contenders("--elevators", &names, &[], catalogue)?;
    let length = stage.length(&comparison.scene, &contenders[0], comparison.effort)?;
    let stage = stage.cut(length, &comparison.scene);
    let mut runs = Runs::new(&comparison, &stage, &contenders, (length.limit, 1), watch);
    let goal = runs.more(SEEDS, None)?;
    let measured = runs.measured();
    let action = action::choose(&measured, &contrast::contrasts(&measured, 1), goal.clone(), 1);
    let action = action.map(|action| action.in_runs_of(runs.limit, runs.seen()));
    let base = Base { runs: &runs, measured: &measured, goal: &goal };
    Ok(action.map(|action| of(&base, &action, FitSearch::Each, Vec::new())).transpose()?.flatten())
}

/// The default load of a comparison.
pub const QUESTION: &str = crate::scene::DEFAULT_LOAD;
/// The number of seeds of a disk's own sensitivity.
pub const SEEDS: u32 = 5;

/// How far each candidate's score must be from what is worth a change for one seed to be enough.
fn margin(base: &Base<'_>, action: &Action) -> f64 {
    let widths = action.candidates.iter().map(|candidate| (candidate.score.high / candidate.score.low).ln() / 2.0);
    let widest = widths.filter(|width| width.is_finite()).fold(0.0, f64::max);
    // Turns the interval of the mean into the spread of one seed.
    widest * (base.runs.done[0].len() as f64).sqrt() / 2.0
}

/// The numbers of the default, and of those candidates that are proposed or may be better than it.
fn present(base: &Base<'_>, action: &Action) -> Vec<usize> {
    let is_rival = |nth: &usize| {
        let of = |candidate: &&Challenger| Arc::ptr_eq(&candidate.scheduler, &base.measured[*nth]);
        action.candidates.iter().find(of).is_some_and(|candidate| candidate.score.high >= 1.0)
    };
    std::iter::once(0).chain((1..base.runs.contenders.len()).filter(is_rival)).collect()
}

fn said(action: &Action) -> ShortVerdict {
    let best = action.chosen().or(action.candidates.first());
    let ratio = best.map(|best| best.score.ratio).filter(|ratio| ratio.is_finite());
    let Some(chosen) = action.chosen() else {
        let verdict = format!("keep {}", action.default.label());
        let passed_over = best.map(|best| {
            let why = match action.objections(best).first() {
                Some(why) => why.clone(),
                None if best.score.ratio < WORTH_IT => "that is too little".to_owned(),
                None => "that may be chance".to_owned(),
            };
            (best.scheduler.label(), why)
        });
        return ShortVerdict { verdict, ratio, passed_over };
    };
    ShortVerdict { verdict: format!("use {}", chosen.scheduler.label()), ratio, passed_over: None }
}

struct MarginSearch<'a> {
    base: &'a Base<'a>,
    /// Requests simulated so far.
    spent: u64,
    /// Beyond this, nothing more is tried, unless the whole analysis is asked for.
    most: u64,
    margin: f64,
    present: Vec<usize>,
}

impl MarginSearch<'_> {
    fn each(&mut self, fits: &[Fit], found: &mut Sensitivity) -> Result<(), Error> {
        self.base.runs.watch.begins((2 * fits.len() + 2 * CORNERS) * self.present.len() * self.seeds());
        for fit in fits {
            for end in &fit.ends {
                let changes = vec![(fit.key.clone(), end.clone())];
                let said = self.verdict(&changes)?;
                found.moved.push(Moved { changes, verdict: said });
            }
            if self.is_interrupted() {
                break;
            }
            found.tried += 1;
        }
        // On a disk of another size the load lies elsewhere, so such a corner would say nothing.
        let together: Vec<Fit> = fits.iter().filter(|fit| fit.key != CAPACITY).cloned().collect();
        for changes in corners(&together) {
            if together.len() < 2 || self.is_interrupted() {
                break;
            }
            // The ends of different tables may contradict each other (a skew that no longer covers its switch).
            if self.base.runs.stage.disk.changed(&host_fits::of_disk(&changes)).is_ok() {
                let said = self.verdict(&changes)?;
                found.moved.push(Moved { changes, verdict: said });
            }
        }
        self.base.runs.watch.ends();
        Ok(())
    }

    fn tables(&mut self, fits: &[Fit], found: &mut Sensitivity) -> Result<(), Error> {
        let mut tables: Vec<Vec<&Fit>> = Vec::new();
        for fit in fits {
            match tables.iter_mut().find(|table| table[0].section() == fit.section()) {
                Some(table) => table.push(fit),
                None => tables.push(vec![fit]),
            }
        }
        self.base.runs.watch.begins(2 * tables.len() * self.present.len());
        for table in tables {
            if self.spent + 2 * self.cost_of_a_glance() > self.most || self.is_interrupted() {
                break;
            }
            let ends =
                |end: usize| table.iter().map(|fit| (fit.key.clone(), fit.ends[end].clone())).collect::<Vec<_>>();
            if self.table(ends(0), found)? && self.table(ends(1), found)? {
                found.tried += table.len();
            }
        }
        self.base.runs.watch.ends();
        Ok(())
    }

    /// Moves all values of a table to one end, and if that changes the verdict, each alone, if the budget allows.
    /// `false` if the budget does not allow even the first.
    fn table(&mut self, changes: Vec<(String, String)>, found: &mut Sensitivity) -> Result<bool, Error> {
        if self.stands_at_a_glance(&changes, &found.base)? {
            return Ok(true);
        }
        if !self.affords(1) {
            return Ok(false);
        }
        let said = self.verdict(&changes)?;
        if said.as_ref().is_none_or(|said| said.verdict == found.base.verdict) {
            return Ok(true);
        }
        let before = found.moved.len();
        if changes.len() > 1 && self.affords(changes.len()) {
            for change in &changes {
                let changes = vec![change.clone()];
                let said = self.verdict(&changes)?;
                if said.as_ref().is_some_and(|said| said.verdict != found.base.verdict) {
                    found.moved.push(Moved { changes, verdict: said });
                }
            }
        }
        if found.moved.len() == before {
            found.moved.push(Moved { changes, verdict: said });
        }
        Ok(true)
    }

    /// Whether the budget allows this many verdicts, each with all seeds.
    fn affords(&self, verdicts: usize) -> bool {
        self.spent + (verdicts * self.seeds()) as u64 * self.cost_of_a_glance() <= self.most
    }

    fn seeds(&self) -> usize {
        self.base.runs.done[0].len()
    }

    fn is_interrupted(&self) -> bool {
        self.base.runs.watch.is_interrupted()
    }

    /// What one seed of all schedulers costs \[requests\], by the runs so far.
    fn cost_of_a_glance(&self) -> u64 {
        self.present.iter().map(|&nth| self.base.runs.done[nth][0].work).sum()
    }

    /// With one seed: whether each scheduler is clearly on the same side as in the verdict.
    fn stands_at_a_glance(&mut self, changes: &[(String, String)], base: &ShortVerdict) -> Result<bool, Error> {
        // Of the others, only one that was not recommended can change the verdict by being better.
        let proposed = |nth: &usize| base.verdict == format!("use {}", self.base.measured[*nth].label());
        let mut concerned = self.present.clone();
        if base.verdict.starts_with("use ") {
            concerned.retain(|nth| *nth == 0 || proposed(nth));
        }
        let Some(measured) = self.run(&concerned, changes, 1)? else { return Ok(true) };
        let Some((default, others)) = measured.split_first() else { return Ok(true) };
        let objectives = self.base.goal.objectives(default);
        let clearly = |here: &Arc<Measured>| {
            let score = action::scores(&objectives, here, default).first().copied().unwrap_or(f64::NAN);
            let forbidden = !action::forbidden(here, default, self.base.goal).is_empty();
            let off = score - WORTH_IT.ln();
            match base.verdict == format!("use {}", here.label()) {
                true => off > self.margin && !forbidden,
                false => off < -self.margin || forbidden,
            }
        };
        Ok(others.iter().all(clearly))
    }

    /// The whole verdict with these values.
    fn verdict(&mut self, changes: &[(String, String)]) -> Result<Option<ShortVerdict>, Error> {
        let everybody = self.present.clone();
        let measured = self.run(&everybody, changes, self.seeds())?;
        Ok(measured.and_then(|measured| self.judged(&measured)))
    }

    /// The whole verdict if the processes do not begin together; `None` if that changes nothing that is compared, the
    /// user has said when they begin, or BFQ's runs are too long to be repeated unasked.
    fn one_first(&mut self) -> Result<Option<Moved>, Error> {
        let Runs { comparison, stage, contenders, limit, first, .. } = self.base.runs;
        let starts = comparison.scene.starts;
        let is_assumed = matches!(starts, Starts::Drawn(_)) && stage.plan.begins_when_told().len() > 1;
        let merges = |nth: &usize| is_assumed && contenders[*nth].choice.entry.name == "bfq";
        let who: Vec<usize> = (0..contenders.len()).filter(merges).collect();
        let work: u64 = who.iter().flat_map(|&nth| &self.base.runs.done[nth]).map(|run| run.work).sum();
        let is_too_much = comparison.fits != FitSearch::Each && work > MOST_REQUESTS;
        if who.is_empty() || is_too_much || self.is_interrupted() {
            return Ok(None);
        }
        let trial = |nth: &usize| {
            let before = stage.trial(&comparison.scene, &contenders[*nth], *limit);
            let mut trial = before.clone();
            trial.surroundings.starts = starts.one_first();
            trial.for_all_members(&before)
        };
        self.base.runs.watch.begins(who.len() * self.seeds());
        let seeds = (0..self.seeds() as u64).map(|nth| first.wrapping_add(nth)).collect();
        let runs = self.base.runs.grid(who.iter().map(trial).collect(), seeds)?;
        self.base.runs.watch.ends();
        if runs.iter().any(Vec::is_empty) {
            return Ok(None);
        }
        let mut measured = self.base.measured.to_vec();
        for (&nth, runs) in who.iter().zip(&runs) {
            measured[nth] = Arc::new(Measured::of(&contenders[nth], &stage.plan, runs));
        }
        let changes = vec![(STARTS.to_owned(), starts.one_first().word().to_owned())];
        Ok(Some(Moved { changes, verdict: self.judged(&measured) }))
    }

    /// The verdict on these.
    fn judged(&self, measured: &[Arc<Measured>]) -> Option<ShortVerdict> {
        let contrasts = contrast::contrasts(measured, 1);
        let action = action::choose(measured, &contrasts, self.base.goal.clone(), 1);
        let runs = self.base.runs;
        let within = |action: Action| action.in_runs_of(runs.limit, runs.seen()).within(runs.comparison.max_price);
        action.map(|action| said(&within(action)))
    }

    /// Runs this many of the seeds on a disk with these values; `None` if the load would not lie on it as before.
    fn run(
        &mut self,
        who: &[usize],
        changes: &[(String, String)],
        seeds: usize,
    ) -> Result<Option<Vec<Arc<Measured>>>, Error> {
        let Runs { comparison, stage, contenders, limit, first, .. } = self.base.runs;
        let disk = stage
            .disk
            .changed(&host_fits::of_disk(changes))
            .map_err(|error| Error::Input(format!("[fit]: {error}")))?;
        let sectors = |disk: &blksched_disks::DiskSpec| disk.build(*first).facts().sectors;
        if sectors(&disk) != sectors(&stage.disk) {
            return Ok(None);
        }
        let disk = Arc::new(disk);
        let trial = |nth: &usize| {
            let before = stage.trial(&comparison.scene, &contenders[*nth], *limit);
            let mut trial = Trial { disk: disk.clone(), ..before.clone() };
            host_fits::apply(&mut trial, changes);
            trial.for_all_members(&before)
        };
        let all = (0..seeds as u64).map(|nth| first.wrapping_add(nth)).collect();
        let runs = self.base.runs.grid(who.iter().map(trial).collect(), all)?;
        if runs.iter().any(Vec::is_empty) {
            return Ok(None);
        }
        self.spent += runs.iter().flatten().map(|run| run.work).sum::<u64>();
        let of = |(&nth, runs): (&usize, &Vec<Outcome>)| Arc::new(Measured::of(&contenders[nth], &stage.plan, runs));
        Ok(Some(who.iter().zip(&runs).map(of).collect()))
    }
}

impl Sensitivity {
    /// Those that change the verdict.
    pub fn turned(&self) -> impl Iterator<Item = &Moved> {
        self.moved.iter().filter(|moved| self.turns(moved))
    }

    /// Whether the verdict is another there.
    pub fn turns(&self, moved: &Moved) -> bool {
        moved.verdict.as_ref().is_some_and(|said| said.verdict != self.base.verdict)
    }

    /// The same in a few words, behind a semicolon.
    pub fn brief(&self) -> String {
        let (of, rest) = (self.guesses(), self.fits.len() - self.tried);
        let turned: Vec<&Moved> = self.turned().collect();
        match (&turned[..], self.tried) {
            ([first, ..], _) => format!("but it rests on guesses: {}", self.movement(first)),
            ([], 0) => format!("we guessed {of}, and did not try whether they matter (--sensitivity does)"),
            ([], _) if rest == 0 => format!("we guessed {of}: no other choice changes the advice"),
            ([], tried) => {
                format!(
                    "we guessed {of}: changing {tried} of them does not change the advice (--sensitivity: the rest)"
                )
            }
        }
    }

    /// "18 numbers of this disk".
    fn guesses(&self) -> String {
        let of_host = self.fits.iter().filter(|fit| host_fits::is_one(fit)).count();
        let whose = match of_host {
            0 => "this disk",
            of_host if of_host == self.fits.len() => "the host",
            _ => "this disk and host",
        };
        match self.fits.len() {
            1 => format!("one number of {whose}"),
            of => format!("{of} numbers of {whose}"),
        }
    }

    /// What the verdict depends on, in one paragraph.
    pub fn sentence(&self) -> String {
        let guessed = format!("We guessed {} ({})", self.guesses(), self.disk);
        let rest = match self.fits.len() - self.tried {
            0 => String::new(),
            rest => format!("; --sensitivity tries the other {rest}"),
        };
        if self.tried == 0 {
            return format!("{guessed}. Whether they matter takes long to find out; --sensitivity does it.");
        }
        let (alone, together): (Vec<&Moved>, Vec<&Moved>) = self.turned().partition(|moved| moved.changes.len() == 1);
        let say = |moved: &[&Moved]| {
            let mut said: Vec<String> = moved.iter().take(SAID).map(|moved| self.movement(moved)).collect();
            if moved.len() > SAID {
                said.push(format!("and {} more (--sensitivity shows them)", moved.len() - SAID));
            }
            said.join("; ")
        };
        let changed = match (self.tried, self.fits.len()) {
            (_, 1) => "it".to_owned(),
            (tried, of) if tried == of => "them".to_owned(),
            (tried, _) => format!("{tried} of them"),
        };
        let way = self.way();
        match (alone.is_empty(), together.is_empty()) {
            (true, true) => format!("{guessed}. Changing {changed} ({way}) does not change the advice{rest}."),
            (true, false) => {
                format!("{guessed}. Changing {changed} ({way}) can change the advice: {}{rest}.", say(&together))
            }
            (false, _) => format!("{guessed}, and the advice depends on them: {}{rest}.", say(&alone)),
        }
    }

    /// How they were moved.
    fn way(&self) -> String {
        match self.how {
            FitSearch::Each => {
                let drawn = self.corners().count();
                format!("to both ends of what is plausible, one at a time, and {drawn} times all at once")
            }
            FitSearch::None | FitSearch::Tables => {
                "to both ends of what is plausible, a table of its file at a time".to_owned()
            }
        }
    }

    /// The corners at which all values moved at once, each to one of its ends.
    pub fn corners(&self) -> impl Iterator<Item = &Moved> {
        self.moved.iter().filter(|moved| self.how == FitSearch::Each && moved.changes.len() > 1)
    }

    /// `with write_cache.share = 10% (30%; plausible: 10% to 60%) keep mq-deadline`.
    fn movement(&self, moved: &Moved) -> String {
        let verdict = moved.verdict.as_ref().map_or_else(String::new, ShortVerdict::in_words);
        if moved.changes.iter().any(|(key, _)| key == STARTS) {
            return format!("if the processes do not begin together (--starts one-first) it is: {verdict}");
        }
        let one = |(key, value): &(String, String)| match self.fits.iter().find(|fit| fit.key == *key) {
            Some(fit) => format!("{key} = {value} (here {}, plausible {} to {})", fit.value, fit.ends[0], fit.ends[1]),
            None => format!("{key} = {value}"),
        };
        let all = self.how == FitSearch::Each || moved.changes.len() == self.fits.len();
        let with: Vec<String> = match all && moved.changes.len() > 1 {
            true => vec![format!("all {} at drawn ends (--json: which)", moved.changes.len())],
            false => moved.changes.iter().map(one).collect(),
        };
        format!("with {} it is: {verdict}", with.join(" and "))
    }
}

/// At most this many are named.
const SAID: usize = 3;

impl ShortVerdict {
    /// `use bfq (1.40 times better)`, for people.
    pub fn in_words(&self) -> String {
        match (self.ratio, &self.passed_over) {
            (Some(ratio), None) => format!("{} ({} better)", self.verdict, times(ratio)),
            (Some(ratio), Some((best, why))) if ratio > 1.0 => {
                format!("{} ({best} is {} better, but {why})", self.verdict, times(ratio))
            }
            _ => self.verdict.clone(),
        }
    }
}
