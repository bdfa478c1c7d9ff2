//! A comparison from its question to its answer: the runs, what differs beyond chance, what to do, and what that hangs
//! on.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_measure::Work;
use blksched_simulate::{Length, Trial};
use blksched_workloads::Syncs;

use crate::comparison::Comparison;
use crate::curve::MoreProcessors;
use crate::error::Error;
use crate::files::NoFiles;
use crate::runs::Runs;
use crate::runs::lasting::{Lasting, LongRuns};
use crate::runs::measured::Measured;
use crate::runs::outcome::Outcome;
use crate::scene::{Contender, Scene, Stage, contenders, notes_on, notes_on_files, unthrottled, usual};
use crate::search::sensitivity::{self, Sensitivity};
use crate::search::targets::KyberTargets;
use crate::search::tune::{self, KnobWorth, Tuned};
use crate::verdict::action::{self, Action};
use crate::verdict::brief::BriefFrom;
use crate::verdict::cause::FigureCause;
use crate::verdict::clock;
use crate::verdict::clones::{families, label};
use crate::verdict::contrast::{self, Contrast};
use crate::verdict::goal::Goal;
use crate::verdict::phases;
use crate::verdict::processors;
use crate::verdict::reach::{NotFull, memory_not_full};
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
    /// How long each run was at most, how much of it was warm-up, and whether that was enough.
    pub lasting: Lasting,
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
    /// What Kyber's targets do, if its knobs were searched.
    pub kyber: Option<KyberTargets>,
    /// The settings in force around each scheduler.
    pub used: Vec<(String, Trial)>,
    /// A trace's recorded figures beside the simulated ones.
    pub recorded: Option<RecordedComparison>,
}

impl Compared {
    /// The recommendation with its reasons; `None` if nothing can be ranked.
    pub fn action(&self) -> Option<Action> {
        let Verdict { goal, default, candidates, missed, unranked, .. } = &self.verdict;
        unranked.is_none().then(|| Action {
            goal: goal.clone(),
            default: default.clone(),
            candidates: candidates.clone(),
            missed: missed.clone(),
            max_price: self.comparison.max_price,
        })
    }
}

impl Comparison {
    /// The schedulers on this stage: those named, the one whose knobs are searched, or the usual ones.
    ///
    /// # Errors
    /// The word that was not understood, and the nearest.
    pub fn contenders(&self, stage: &Stage, catalogue: &Catalogue) -> Result<Vec<Contender>, Error> {
        let elevators = stage.among.elevators.as_ref().unwrap_or(&self.elevators);
        let names = match &self.tune {
            Some(name) => vec![name.clone()],
            None if elevators.is_empty() => {
                let names = usual(catalogue, stage.kernel_default(&self.scene), &stage.plan, self.historical);
                names.iter().map(|name| stage.of_recorded_kernel(name, catalogue)).collect()
            }
            None => elevators.clone(),
        };
        let option = if self.tune.is_some() { "--tune" } else { "--elevators" };
        contenders(option, &names, &self.scene.set, catalogue)
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
        let (scene, stage) = (&self.scene, stage.under(&self.elevators, &self.scene, catalogue)?);
        let (stage, no_logs) = stage.without_logs();
        let (stage, joined) = stage.by_section();
        let mut contenders = self.contenders(&stage, catalogue)?;
        let length = self.length(&stage, &contenders)?;
        let tuned = self.tuned((&stage, length), catalogue, watch)?;
        let (first, seeds) = self.held_back(tuned.as_ref(), &mut contenders);
        let long = LongRuns::of(self, (&stage, length), &contenders, (first, seeds), watch)?;
        let LongRuns { stage, goal, lasting, done } = long;
        let limit = lasting.length.limit;
        let mut runs = Runs::new(self, &stage, &contenders, (limit, first), watch).continued(done);
        runs.until_sure(&goal)?;
        let measured = runs.measured();
        let contrasts = contrast::contrasts(&measured, runs.looks);
        let kyber = self.kyber(&stage, tuned.as_ref(), limit, watch)?;
        let worth = self.worth(&stage, tuned.as_ref().zip(measured.get(1)), &goal, limit)?;
        let action = action::choose(&measured, &contrasts, goal.clone(), runs.looks);
        let action = action.map(|action| action.in_runs_of(limit, runs.seen()).within(self.max_price).at_rest());
        let recorded = RecordedComparison::of(&stage, &runs.done[0], &contenders[0].name);
        let not_full = self.not_full(&stage, &measured, &lasting);
        let unranked = Unranked::of(&stage, &measured[0], action.as_ref(), recorded.as_ref(), limit);
        let action = action.filter(|_| unranked.is_none());
        let hangs_on = sensitivity::below(&runs, &measured, &goal, action.as_ref())?;
        let (mut sentences, causes) = sentences(&measured, &contrasts, unranked.as_ref(), action.as_ref());
        sentences.extend(tuned.as_ref().map(|it| it.sentence(action.as_ref().and_then(Action::chosen).is_some())));
        sentences.extend(hangs_on.as_ref().map(Sensitivity::sentence));
        let part = covered(&stage, &measured, limit, unranked.as_ref());
        let told = not_full.as_ref().and_then(NotFull::note);
        let notes = notes(&stage, &contenders, &runs, part.into_iter().chain(told).chain(no_logs).chain(joined));
        let unranked = unranked.map(Unranked::into_words);
        let validation = Validation::of(&stage);
        let phases = action.as_ref().map_or_else(Vec::new, phases::of);
        let brief = BriefFrom {
            measured: &measured,
            action: action.as_ref(),
            unranked: unranked.as_deref(),
            causes: &causes,
            phases: &phases,
            not_full: not_full.as_ref().and_then(NotFull::why),
            lasting: &lasting,
            hangs_on: hangs_on.as_ref(),
            checked: checked(recorded.as_ref(), &validation),
        }
        .brief();
        let (proposal, kept) = (action.as_ref().and_then(Proposal::of), action.as_ref().and_then(Action::kept));
        let (missed, candidates) = action.map(|action| (action.missed, action.candidates)).unwrap_or_default();
        let verdict = Verdict {
            goal,
            default: measured[0].clone(),
            proposal,
            phases,
            kept,
            unranked,
            missed,
            candidates,
            roles: JobRole::all(&measured[0].jobs),
            contrasts,
            causes,
            validation,
            hangs_on,
            brief,
            sentences,
            notes,
            remarks: self.remarks(&runs, &measured, &lasting),
        };
        let used = contenders.iter().map(|one| (one.name.clone(), stage.trial(scene, one, limit))).collect();
        let comparison = self.clone();
        Ok(Compared { comparison, stage, lasting, first, contenders, measured, verdict, worth, kyber, used, recorded })
    }

    /// How long runs are, and how much of them is warm-up.
    fn length(&self, stage: &Stage, contenders: &[Contender]) -> Result<Length, Error> {
        let length = stage.length(&self.scene, &contenders[0], self.effort)?;
        Ok(self.settling(stage.settled(length, &self.scene, contenders), stage.plan.phases()))
    }

    /// What Kyber's targets do, if it was searched.
    fn kyber(
        &self,
        stage: &Stage,
        tuned: Option<&Tuned>,
        limit: Span,
        watch: &dyn Watch,
    ) -> Result<Option<KyberTargets>, Error> {
        let of = |tuned: &Tuned| KyberTargets::of(self, (stage, limit), &tuned.contenders[0], watch);
        Ok(tuned.map(of).transpose()?.flatten())
    }

    /// The search for a scheduler's best knobs in runs of this length, if it was asked for.
    fn tuned(
        &self,
        (stage, length): (&Stage, Length),
        catalogue: &Catalogue,
        watch: &dyn Watch,
    ) -> Result<Option<Tuned>, Error> {
        let stage = || stage.clone().cut(length, &self.scene);
        let search = |name: &String| tune::search(self, catalogue, &stage(), name, length.limit, watch);
        self.tune.as_ref().map(search).transpose()
    }

    /// Writers that have not filled the memory; who asks for a time means it.
    fn not_full(&self, stage: &Stage, measured: &[Arc<Measured>], lasting: &Lasting) -> Option<NotFull> {
        let host = &self.scene.host.memory;
        let of = || memory_not_full(measured, &stage.plan.jobs, host, lasting.length.limit);
        if lasting.is_given { None } else { of() }
    }

    /// What each knob that a search changed is worth.
    fn worth(
        &self,
        stage: &Stage,
        of: Option<(&Tuned, &Arc<Measured>)>,
        goal: &Goal,
        limit: Span,
    ) -> Result<Vec<KnobWorth>, Error> {
        let worth = of.map(|(tuned, best)| tuned.worth(self, stage, best, goal, limit));
        Ok(worth.transpose()?.unwrap_or_default())
    }

    /// The first seed and their number: what a search found is compared over seeds that it has not seen.
    fn held_back(&self, tuned: Option<&Tuned>, contenders: &mut Vec<Contender>) -> (u64, u32) {
        let Some(tuned) = tuned else { return (self.scene.seed, self.seeds) };
        contenders.clone_from(&tuned.contenders);
        (self.scene.seed.wrapping_add(tune::HELD_BACK), self.seeds.max(tune::HELD_BACK_SEEDS))
    }

    /// What explains figures, and changes nothing of the answer.
    fn remarks(&self, runs: &Runs<'_>, measured: &[Arc<Measured>], lasting: &Lasting) -> Vec<String> {
        let asks = self.goal.is_none() && measured.iter().any(|m| m.misplaced.is_some());
        let priorities = "--goal priorities asks which schedulers keep the priorities; this verdict goes by roles";
        let mut remarks: Vec<String> = asks.then(|| priorities.to_owned()).into_iter().collect();
        remarks.extend(remarks_around(&self.scene, runs, measured));
        let counts_from = runs.stage.plan.first_counts_from();
        remarks.extend(measured.iter().filter_map(|one| clock::note(one, (counts_from, lasting.length.limit))));
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
        return Some(format!("did nothing in {time}: {}; --effort or --time makes the runs longer", idle.join(", ")));
    }
    let some = measured.iter().any(|m| !m.finished) && measured.iter().any(|m| m.finished);
    some.then(|| format!("some runs were cut off after {time}; --time makes them longer"))
}

/// What of the load was not covered.
fn covered(stage: &Stage, measured: &[Arc<Measured>], time: Span, unranked: Option<&Unranked>) -> Option<String> {
    let is_told = matches!(unranked, Some(Unranked::NeverRan(_)));
    part_of_trace(stage, measured, time).or_else(|| cut_short(measured, time).filter(|_| !is_told))
}

/// That a trace was not judged whole.
fn part_of_trace(stage: &Stage, measured: &[Arc<Measured>], time: Span) -> Option<String> {
    if let Some(windows) = &stage.windows {
        return Some(format!(
            "judged by {windows} of the trace, the same in all runs (--seed draws others): --effort 10 covers \
             more of it"
        ));
    }
    let is_part = stage.plan.has_replays() && measured.iter().any(|one| !one.finished);
    is_part.then(|| format!("judged by the first {time} of the trace: --effort 10, or --time, covers more of it"))
}

/// Why nothing can be ranked.
enum Unranked {
    /// The trace cannot show queueing, or was recorded on another disk than the model.
    Trace(String),
    /// The model misses what was recorded by more than the best scheduler gains.
    Model(String),
    /// A job had not begun when the runs ended.
    NeverRan(String),
    /// The halves of the runs say different things.
    TooShort(String),
}

/// Which jobs had not begun when the runs ended, or had not waited for the first of their syncs: without them, nothing
/// can be said. One that wanted the disk and got nothing has begun.
fn never_ran(default: &Measured, stage: &Stage, time: Span) -> Option<String> {
    let families = families(&default.jobs);
    let those = |is_so: &dyn Fn(usize) -> bool| -> Option<String> {
        let all = families.iter().filter(|rows| rows.iter().all(|&row| is_so(row)));
        let names: Vec<String> = all.map(|rows| label(&default.jobs, rows)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    // A process of a trace may begin after the part of it that is judged, which is told.
    if stage.plan.has_replays() {
        return None;
    }
    let is_idle = |row: usize| default.jobs[row].work.is_empty() && default.jobs[row].asked.mean() <= 0.0;
    let longer = "--effort 10 or --time makes the runs longer";
    if let Some(idle) = those(&is_idle) {
        return Some(format!("No verdict: {idle} never ran in {time}; {longer}."));
    }
    let shown: Vec<Vec<usize>> = stage.plan.members_by_row();
    let shown: Vec<&Vec<usize>> =
        shown.iter().filter(|members| members.iter().any(|&job| stage.plan.jobs[job].report.shown)).collect();
    let syncs = |row: usize| shown[row].iter().any(|&job| stage.plan.jobs[job].character.syncs == Syncs::Calls);
    let waits = |row: usize| syncs(row) && default.jobs[row].work(Work::Sync).is_none() && !default.finished;
    those(&waits).map(|names| format!("No verdict: the first sync of {names} took longer than {time}; {longer}."))
}

impl Unranked {
    /// `None` if schedulers can be ranked by runs of this length.
    fn of(
        stage: &Stage,
        default: &Measured,
        action: Option<&Action>,
        recorded: Option<&RecordedComparison>,
        limit: Span,
    ) -> Option<Unranked> {
        if let Some(why) = &stage.workload.unranked {
            return Some(Unranked::Trace(format!("No ranking: the trace {why}.")));
        }
        if let Some(why) = recorded.and_then(RecordedComparison::is_another_disk) {
            return Some(Unranked::Trace(why));
        }
        let forbids = || recorded?.forbids(action?.chosen()?.score.ratio).map(Unranked::Model);
        let never_ran = || never_ran(default, stage, limit).map(Unranked::NeverRan);
        forbids().or_else(never_ran).or_else(|| action?.too_short().map(Unranked::TooShort))
    }

    fn into_words(self) -> String {
        match self {
            Unranked::Trace(text) | Unranked::Model(text) | Unranked::NeverRan(text) | Unranked::TooShort(text) => text,
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
        Some(Unranked::Model(_) | Unranked::TooShort(_)) | None => words::differences(measured, contrasts),
    };
    sentences.extend(action::priorities(measured));
    sentences.extend(action.iter().filter(|_| measured.len() > 1).flat_map(|action| action.sentences()));
    if let Some(Unranked::Model(why) | Unranked::TooShort(why)) = unranked {
        sentences.push(why.clone());
    }
    (sentences, causes)
}

/// What a user should know about the settings around the schedulers.
fn remarks_around(scene: &Scene, runs: &Runs<'_>, measured: &[Arc<Measured>]) -> Vec<String> {
    let Runs { stage, contenders, .. } = runs;
    let mut notes = stage.cpu_notes(scene);
    notes.extend(processors::notes(measured, scene.host.cpu.as_ref(), &MoreProcessors(runs)));
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
