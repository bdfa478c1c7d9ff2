//! A comparison from its question to its answer: the runs, what differs beyond chance, what to do, and what that hangs
//! on.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_simulate::{Length, Trial};

use crate::comparison::Comparison;
use crate::error::Error;
use crate::files::NoFiles;
use crate::runs::Runs;
use crate::runs::measured::{JobMeasure, Measured};
use crate::runs::outcome::Outcome;
use crate::scene::{Contender, Scene, Stage, contenders, notes_on, notes_on_files, unthrottled, usual};
use crate::search::sensitivity::{self, Sensitivity};
use crate::search::tune::{self, KnobWorth, Tuned};
use crate::verdict::action::{self, Action};
use crate::verdict::brief::BriefFrom;
use crate::verdict::cause::FigureCause;
use crate::verdict::clones::{families, label};
use crate::verdict::contrast::{self, Contrast};
use crate::verdict::processors;
use crate::verdict::recorded::RecordedComparison;
use crate::verdict::validation::Validation;
use crate::verdict::words::{self, Differences};
use crate::verdict::{JobRole, Proposal, Verdict};
use crate::watch::Watch;

/// The answer to a comparison.
#[non_exhaustive]
pub struct Compared {
    /// The question.
    pub comparison: Comparison,
    /// The load on the disk, its warm-up cut off.
    pub stage: Stage,
    /// How long each run was at most, and how much of it was warm-up.
    pub length: Length,
    /// The first seed.
    pub first: u64,
    /// The schedulers that were run, the first of which is the one with which the others are compared.
    pub contenders: Vec<Contender>,
    /// What was measured of each, in the same order.
    pub measured: Vec<Arc<Measured>>,
    /// What differs, what to do, and how far to trust that.
    pub verdict: Verdict,
    /// What each knob that a search changed is worth.
    pub worth: Vec<KnobWorth>,
    /// The settings in force around each scheduler.
    pub used: Vec<(String, Trial)>,
    /// A trace's recorded figures beside the simulated ones.
    pub recorded: Option<RecordedComparison>,
}

impl Comparison {
    /// The schedulers on this stage: those named, the one whose knobs are searched, or the usual ones.
    ///
    /// # Errors
    /// The word that was not understood, and the nearest.
    pub fn contenders(&self, stage: &Stage, catalogue: &Catalogue) -> Result<Vec<Contender>, Error> {
        let names = match &self.tune {
            Some(name) => vec![name.clone()],
            None if self.elevators.is_empty() => {
                usual(catalogue, stage.kernel_default(&self.scene), &stage.plan, self.historical)
            }
            None => self.elevators.clone(),
        };
        contenders("--elevators", &names, &self.scene.set, catalogue)
    }

    /// The answer to a question about what is built in or given as text, among the built-in schedulers.
    ///
    /// # Errors
    /// As [`run`](Comparison::run), and if the load or the disk is not understood.
    pub fn answer(&self) -> Result<Compared, Error> {
        self.run(Stage::load(&self.scene, &NoFiles)?, &Catalogue::builtin(), &())
    }

    /// Runs the comparison on this stage, with these schedulers, followed by `watch`.
    ///
    /// # Errors
    /// A word that was not understood; that a run stands still; or that it was interrupted before the first seed.
    pub fn run(&self, stage: Stage, catalogue: &Catalogue, watch: &dyn Watch) -> Result<Compared, Error> {
        let scene = &self.scene;
        let (stage, no_logs) = stage.without_logs();
        let mut contenders = self.contenders(&stage, catalogue)?;
        let length = stage.settled(stage.length(scene, &contenders[0])?, scene, &contenders);
        let stage = stage.cut(length);
        let searched = |name| tune::search(self, catalogue, &stage, name, length.limit, watch);
        let tuned = self.tune.as_ref().map(|name| searched(name)).transpose()?;
        let (first, seeds) = self.held_back(tuned.as_ref(), &mut contenders);
        let mut runs = Runs::new(self, &stage, &contenders, (length.limit, first), watch);
        let goal = runs.more(seeds, self.goal.as_deref())?;
        if self.until_sure {
            runs.until_sure(&goal)?;
        }
        let measured = runs.measured();
        let contrasts = contrast::contrasts(&measured, runs.looks);
        let of_tuned = tuned.as_ref().zip(measured.get(1));
        let worth = of_tuned.map(|(tuned, best)| tuned.worth(self, &stage, best, &goal, length.limit));
        let worth = worth.transpose()?.unwrap_or_default();
        let action = action::choose(&measured, &contrasts, goal.clone(), runs.looks);
        let action = action.map(|action| action.in_runs_of(length.limit, runs.seen()).within(self.max_price));
        let recorded = RecordedComparison::of(&stage, &runs.done[0], &contenders[0].name);
        let unranked = Unranked::of(&stage, action.as_ref(), recorded.as_ref())
            .or_else(|| never_ran(&measured[0], length.limit).map(Unranked::NeverRan));
        let action = action.filter(|_| unranked.is_none());
        let hangs_on = sensitivity::below(&runs, &measured, &goal, action.as_ref())?;
        let (mut sentences, causes) = sentences(&measured, &contrasts, unranked.as_ref(), action.as_ref());
        let of_search = |tuned: &Tuned| tuned.sentence(action.as_ref().is_some_and(|action| action.chosen().is_some()));
        sentences.extend(tuned.as_ref().map(of_search));
        sentences.extend(hangs_on.as_ref().map(Sensitivity::sentence));
        let ran = !matches!(unranked, Some(Unranked::NeverRan(_)));
        let cut_short = cut_short(&measured, length.limit).filter(|_| ran);
        let notes = notes(&stage, &contenders, &runs, cut_short.into_iter().chain(no_logs));
        let remarks = self.remarks(&stage, &contenders, &measured);
        let unranked = unranked.map(Unranked::into_words);
        let validation = Validation::of(&stage);
        let brief = BriefFrom {
            measured: &measured,
            action: action.as_ref(),
            unranked: unranked.as_deref(),
            causes: &causes,
            limit: length.limit,
            hangs_on: hangs_on.as_ref(),
            checked: checked(recorded.as_ref(), &validation),
        };
        let brief = brief.brief();
        let verdict = Verdict {
            goal,
            default: measured[0].clone(),
            proposal: action.as_ref().and_then(Proposal::of),
            kept: action.as_ref().and_then(Action::kept),
            unranked,
            missed: action.as_ref().map_or_else(Vec::new, |action| action.missed.clone()),
            candidates: action.map_or_else(Vec::new, |action| action.candidates),
            roles: JobRole::all(&measured[0].jobs),
            contrasts,
            causes,
            validation,
            hangs_on,
            brief,
            sentences,
            notes,
            remarks,
        };
        let used = contenders.iter().map(|one| (one.name.clone(), stage.trial(scene, one, length.limit))).collect();
        let comparison = self.clone();
        Ok(Compared { comparison, stage, length, first, contenders, measured, verdict, worth, used, recorded })
    }

    /// The first seed and their number: what a search found is compared over seeds that it has not seen.
    fn held_back(&self, tuned: Option<&Tuned>, contenders: &mut Vec<Contender>) -> (u64, u32) {
        let Some(tuned) = tuned else { return (self.scene.seed, self.seeds) };
        contenders.clone_from(&tuned.contenders);
        (self.scene.seed.wrapping_add(tune::HELD_BACK), self.seeds.max(tune::HELD_BACK_SEEDS))
    }

    /// What explains figures, and changes nothing of the answer.
    fn remarks(&self, stage: &Stage, contenders: &[Contender], measured: &[Arc<Measured>]) -> Vec<String> {
        let asks = self.goal.is_none() && measured.iter().any(|m| m.misplaced.is_some());
        let priorities = "--goal priorities asks which schedulers keep the priorities; this verdict goes by roles";
        let mut remarks: Vec<String> = asks.then(|| priorities.to_owned()).into_iter().collect();
        remarks.extend(remarks_around(&self.scene, stage, contenders, measured));
        remarks
    }
}

/// What a user should know before believing the answer.
fn notes(
    stage: &Stage,
    contenders: &[Contender],
    runs: &Runs<'_>,
    of_this: impl Iterator<Item = String>,
) -> Vec<String> {
    let gave_up = contenders.iter().zip(&runs.done).flat_map(|(contender, runs)| gave_up(contender, stage, runs));
    let asked = notes_on(contenders);
    stage.notes().into_iter().chain(asked).chain(of_this).chain(runs.notes()).chain(gave_up).collect()
}

/// What such predictions were checked against: this trace's own recorded latencies first.
fn checked(recorded: Option<&RecordedComparison>, validation: &Validation) -> String {
    let lines: Vec<String> = recorded.map(RecordedComparison::brief).into_iter().chain([validation.brief()]).collect();
    lines.join(" ")
}

/// That some jobs did nothing, or some runs did not end by themselves.
fn cut_short(measured: &[Arc<Measured>], time: Span) -> Option<String> {
    let mut idle: Vec<&str> = Vec::new();
    for job in measured.iter().flat_map(|elevator| &elevator.jobs).filter(|job| job.work.is_empty()) {
        if !idle.contains(&job.name.as_str()) {
            idle.push(&job.name);
        }
    }
    if !idle.is_empty() {
        return Some(format!("did nothing in {time}: {}; --time makes the runs longer", idle.join(", ")));
    }
    let some = measured.iter().any(|m| !m.finished) && measured.iter().any(|m| m.finished);
    some.then(|| format!("some runs were cut off after {time}; --time makes them longer"))
}

/// Why nothing can be ranked.
enum Unranked {
    /// The trace cannot show queueing, or was recorded on another disk than the model.
    Trace(String),
    /// The model misses what was recorded by more than the best scheduler gains.
    Model(String),
    /// A job had not begun when the runs ended.
    NeverRan(String),
}

/// Which jobs had not begun when the runs ended: without them, nothing can be said. One that wanted the disk and got
/// nothing has begun.
fn never_ran(default: &Measured, time: Span) -> Option<String> {
    let is_idle = |job: &JobMeasure| job.work.is_empty() && job.asked.mean() <= 0.0;
    let is_idle = |rows: &&Vec<usize>| rows.iter().all(|&row| is_idle(&default.jobs[row]));
    let families = families(&default.jobs);
    let idle: Vec<String> = families.iter().filter(is_idle).map(|rows| label(&default.jobs, rows)).collect();
    let text = || format!("No verdict: {} never ran in {time}; --time makes the runs longer.", idle.join(", "));
    (!idle.is_empty()).then(text)
}

impl Unranked {
    /// `None` if schedulers can be ranked.
    fn of(stage: &Stage, action: Option<&Action>, recorded: Option<&RecordedComparison>) -> Option<Unranked> {
        if let Some(why) = &stage.workload.unranked {
            return Some(Unranked::Trace(format!("No ranking: the trace {why}.")));
        }
        if let Some(why) = recorded.and_then(RecordedComparison::is_another_disk) {
            return Some(Unranked::Trace(why));
        }
        recorded?.forbids(action?.chosen()?.score.ratio).map(Unranked::Model)
    }

    fn into_words(self) -> String {
        match self {
            Unranked::Trace(text) | Unranked::Model(text) | Unranked::NeverRan(text) => text,
        }
    }
}

/// The verdict: what differs, and what to do; or why nothing can be ranked.
fn sentences(
    measured: &[Arc<Measured>],
    contrasts: &[Vec<Contrast>],
    unranked: Option<&Unranked>,
    action: Option<&Action>,
) -> (Vec<String>, Vec<FigureCause>) {
    let Differences { mut sentences, causes } = match unranked {
        Some(Unranked::Trace(why) | Unranked::NeverRan(why)) => {
            Differences { sentences: vec![why.clone()], causes: Vec::new() }
        }
        Some(Unranked::Model(_)) | None => words::differences(measured, contrasts),
    };
    sentences.extend(action::priorities(measured));
    sentences.extend(action.iter().filter(|_| measured.len() > 1).flat_map(|action| action.sentences()));
    if let Some(Unranked::Model(why)) = unranked {
        sentences.push(why.clone());
    }
    (sentences, causes)
}

/// What a user should know about the settings around the schedulers.
fn remarks_around(scene: &Scene, stage: &Stage, contenders: &[Contender], measured: &[Arc<Measured>]) -> Vec<String> {
    let mut notes = stage.cpu_notes(scene);
    notes.extend(processors::note(measured, scene.host.cpu_name()));
    notes.extend(unreached_caps(measured));
    notes.extend(of_no_cost(contenders, scene));
    notes.extend(unthrottled(contenders, scene.wbt_lat_usec));
    notes.extend(notes_on_files(contenders, &stage.plan));
    notes
}

/// Where `io.max` is set and held nothing back, it explains nothing.
fn unreached_caps(measured: &[Arc<Measured>]) -> Option<String> {
    let unreached = || measured.iter().filter(|one| one.capped == Some(0));
    let labels: Vec<String> = unreached().map(|one| one.label()).collect();
    (!labels.is_empty())
        .then(|| format!("io.max did nothing under {}: no I/O was held back, as no cap was reached", labels.join(", ")))
}

/// The jobs that ended early under an elevator, each once.
fn gave_up(contender: &Contender, stage: &Stage, runs: &[Outcome]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in runs
        .iter()
        .flat_map(|run| stage.gave_up(run.jobs.iter().map(|job| job.gave_up)))
        .map(|line| format!("{}: {line}", contender.name))
    {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// A note about the schedulers whose processor cost is unknown.
fn of_no_cost(contenders: &[Contender], scene: &Scene) -> Option<String> {
    let preset = scene.host.cpu.as_ref()?;
    let is_mq = |one: &&Contender| one.choice.build().slots.era().is_some();
    let names = |wanted: &dyn Fn(&&Contender) -> bool| -> Vec<&str> {
        contenders.iter().filter(wanted).map(|one| one.name.as_str()).collect()
    };
    let free = names(&|one| !is_mq(one));
    let unknown = names(&|one| is_mq(one) && preset.costs.known(one.choice.entry.name).is_none());
    let mut parts = Vec::new();
    if !unknown.is_empty() {
        parts.push(format!(
            "what {} costs the processor was not measured: mq-deadline's stands for it",
            unknown.join(", ")
        ));
    }
    if !free.is_empty() && free.len() < contenders.len() {
        parts.push(format!(
            "I/O costs no processor time under {}: the cost is not known for kernels before blk-mq",
            free.join(", ")
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
