//! Advice about a recorded disk: what its processes wait for, which model reproduces the recording, and what that model
//! predicts of other schedulers.
//!
//! The first needs no model: [`RecordedLoad`] is read from the trace. Then each offered model replays the recording
//! under the scheduler that it was recorded under ([`ModelTried`]); the nearest one answers, unless it misses the
//! recorded latencies by more than a factor of two: then there is no verdict.

mod load;
mod model;

use std::sync::Arc;

use blksched::Catalogue;
use blksched_simulate::story::StoriesAsked;
use blksched_traces::machine::Device;

pub use load::{RecordedLoad, Served, WaitingStream, last_part};
pub use model::{ModelFrom, ModelOffered, ModelTried, Replayed};

use crate::compare::Compared;
use crate::comparison::{Comparison, FitSearch};
use crate::error::Error;
use crate::files::Files;
use crate::live::setting;
use crate::scene::{Contender, PRESENT, Scene, Stage, Workload, contenders};
use crate::verdict::brief::Advice;
use crate::watch::Watch;
use crate::why::Explanation;

/// A recording, and the disks that may be its.
pub struct AdviceAsked {
    /// The recording (`scene.jobs`, one trace), seeds and settings; its disk is not looked at.
    pub comparison: Comparison,
    /// What the recording says by itself.
    pub load: RecordedLoad,
    /// The models, any number from 1; the first of equally near ones is taken.
    pub models: Vec<ModelOffered>,
}

/// What a recording says, and what its nearest model predicts.
#[non_exhaustive]
pub struct Advised {
    /// The recorded disk, if the recording describes it.
    pub device: Option<Device>,
    /// What the recording says by itself.
    pub load: RecordedLoad,
    /// Each model, as offered.
    pub models: Vec<ModelTried>,
    /// The nearest of them.
    pub nearest: Option<usize>,
    /// What it predicts; `None` if no model is near enough.
    pub compared: Option<Compared>,
    /// Whom the simulated processes wait for under the present scheduler, and the knob that decides about it, in a
    /// sentence; `None` as there, and if nobody waits for another for a fifth of its time.
    pub culprit: Option<String>,
}

impl Advised {
    /// The setting that a trial should try beside the present one; `None` if the prediction proposes none.
    pub fn proposed(&self) -> Option<String> {
        let proposal = self.compared.as_ref()?.verdict.proposal.as_ref()?;
        Some(setting(&proposal.measured))
    }

    /// What is predicted to be done; [`Advice::NoVerdict`] without a model.
    pub fn advice(&self) -> Advice {
        self.compared.as_ref().map_or(Advice::NoVerdict, |compared| compared.verdict.brief.advice)
    }
}

/// Who follows the steps to an answer, and keeps what they find, so that the same question goes on where it was
/// interrupted; `()` does neither.
pub trait AdviceFollowed {
    /// What an earlier run found of this model.
    fn found(&self, _offered: &ModelOffered) -> Option<ModelTried> {
        None
    }

    /// So many replays begin, on models of which nothing was found.
    fn trying(&self, _replays: usize) {}

    /// One of these models was tried, by so many replays.
    fn tried(&self, _tried: &ModelTried, _replays: u32) {}

    /// The nearest model answers: so many runs begin, or more if they leave the question open.
    fn predicting(&self, _runs: usize) {}
}

impl AdviceFollowed for () {}

impl AdviceAsked {
    /// The answer.
    ///
    /// # Errors
    /// If the recording is not understood, or the user interrupted before there was an answer.
    pub fn answer(
        &self,
        files: &dyn Files,
        catalogue: &Catalogue,
        watch: &dyn Watch,
        followed: &dyn AdviceFollowed,
    ) -> Result<Advised, Error> {
        let name = self.comparison.scene.jobs.concat();
        let mut ways = Vec::new();
        for way in Replayed::all(&name, self.load.has_completions) {
            let scene = Scene { jobs: vec![way.of(&name)], ..self.comparison.scene.clone() };
            ways.push((way, Arc::new(Workload::load(&scene, files)?)));
        }
        // What the user named has to be understood; what is only tried may fail.
        contenders("--elevators", &self.comparison.elevators, &self.comparison.scene.set, catalogue)?;
        for named in self.models.iter().filter(|one| one.from == ModelFrom::Named) {
            files.disk(&named.name)?;
        }
        let device = ways.first().and_then(|(_, workload)| workload.machine.clone());
        let elevators = match self.comparison.elevators.is_empty() {
            true => present(device.as_ref(), catalogue),
            false => self.comparison.elevators.clone(),
        };
        let found: Vec<Option<ModelTried>> = self.models.iter().map(|one| followed.found(one)).collect();
        followed.trying(ways.len() * found.iter().filter(|found| found.is_none()).count());
        let tried = |(offered, found): (&ModelOffered, Option<ModelTried>)| {
            if let Some(found) = found {
                return Ok(found);
            }
            let mut nearest: Option<ModelTried> = None;
            for way in &ways {
                if watch.is_interrupted() {
                    return Err(Error::Interrupted("interrupted before all models were tried".to_owned()));
                }
                let tried = self.tried(offered, way, &elevators, files, catalogue);
                nearest = Some(nearest.into_iter().fold(tried, ModelTried::nearer_of));
            }
            let tried = nearest.expect("a recording can be replayed");
            followed.tried(&tried, ways.len() as u32);
            Ok(tried)
        };
        let models = self.models.iter().zip(found).map(tried).collect::<Result<Vec<ModelTried>, Error>>()?;
        let (nearest, load) = (model::nearest(&models), self.load.clone());
        let mut advised = Advised { device, load, models, nearest, compared: None, culprit: None };
        let near = nearest.map(|nearest| &advised.models[nearest]).filter(|one| one.is_near());
        let Some(near) = near else { return Ok(advised) };
        let scene = self.on(&near.offered.name);
        let (_, workload) = ways.iter().find(|(way, _)| *way == near.replayed).expect("it was tried");
        let stage = Stage::of(workload.clone(), &scene, files)?;
        // What was fitted has no file in which the range of a value stands.
        let is_fitted = matches!(near.offered.from, ModelFrom::Fitted(_));
        let fits = if is_fitted { FitSearch::None } else { self.comparison.fits };
        let comparison = Comparison { scene, elevators, fits, ..self.comparison.clone() };
        let comparison = Comparison { elevators: comparison.offered(&stage, catalogue), ..comparison };
        followed.predicting(comparison.elevators.len() * comparison.seeds as usize);
        let compared = comparison.run(stage, catalogue, watch)?;
        advised.culprit = explained(&compared)?;
        advised.compared = Some(compared);
        Ok(advised)
    }

    fn on(&self, disk: &str) -> Scene {
        Scene { disk: disk.to_owned(), ..self.comparison.scene.clone() }
    }

    /// One run of the recording on this model under the scheduler that it was recorded under.
    fn tried(
        &self,
        offered: &ModelOffered,
        (way, workload): &(Replayed, Arc<Workload>),
        elevators: &[String],
        files: &dyn Files,
        catalogue: &Catalogue,
    ) -> ModelTried {
        let scene = self.on(&offered.name);
        let compared = Stage::of(workload.clone(), &scene, files).and_then(|stage| {
            let first = match elevators.first() {
                Some(first) => first.clone(),
                None => stage.of_recorded_kernel(stage.kernel_default(&scene), catalogue),
            };
            let comparison = Comparison {
                scene,
                elevators: vec![first],
                seeds: 1,
                until_sure: false,
                tune: None,
                goal: None,
                fits: FitSearch::None,
                ..self.comparison.clone()
            };
            comparison.run(stage, catalogue, &())
        });
        ModelTried::of((offered, *way), &self.load, compared)
    }
}

impl Comparison {
    /// What is compared unless it was named: the present setting, and what present kernels offer beside it, of these
    /// what the recorded kernel offers.
    fn offered(&self, stage: &Stage, catalogue: &Catalogue) -> Vec<String> {
        let Some(first) = self.elevators.first().filter(|_| self.elevators.len() == 1) else {
            return self.elevators.clone();
        };
        let plain = Comparison { elevators: Vec::new(), ..self.clone() };
        let usual = plain.contenders(stage, catalogue).unwrap_or_default();
        let offers = stage.workload.machine.as_ref().and_then(|device| device.word("schedulers"));
        let offers: Option<Vec<&str>> = offers.map(|all| all.split(',').collect());
        let is_there = |one: &&Contender| offers.as_ref().is_none_or(|all| all.contains(&one.choice.entry.name));
        let others = usual.iter().skip(1).filter(is_there).map(Contender::label);
        std::iter::once(first.clone()).chain(others.filter(|other| other != first)).collect()
    }
}

/// The setting in which a disk was recorded, with those knobs that are not at their defaults; none if unknown.
fn present(device: Option<&Device>, catalogue: &Catalogue) -> Vec<String> {
    let Some(device) = device else { return Vec::new() };
    let Some(name) = device.word("scheduler").filter(|name| PRESENT.contains(name)) else { return Vec::new() };
    let running = device.word("kernel").map(|release| catalogue.of_running(name, release));
    let mut text = running.and_then(Result::ok).map_or_else(|| name.to_owned(), |choice| choice.to_string());
    let Ok(mut plain) = contenders("", std::slice::from_ref(&text), &[], catalogue) else { return vec![text] };
    let mut one = plain.remove(0);
    let built = one.choice.build();
    for (knob, value) in &device.knobs {
        let tunables = built.elevator.tunables();
        let Ok(known) = tunables.find(knob) else { continue };
        // One knob may show another's value in another unit.
        let differs = known.parse(value).is_ok_and(|raw| tunables.get(known.name) != Some(raw));
        if known.same_as.is_none() && differs && one.turn(knob, value).is_ok() {
            text += &format!(":{knob}={value}");
        }
    }
    vec![text]
}

/// Who waits for whom under the present scheduler, by one more run of it.
fn explained(compared: &Compared) -> Result<Option<String>, Error> {
    let (scene, stage) = (&compared.comparison.scene, &compared.stage);
    let Some((contender, (_, trial))) = compared.contenders.iter().zip(&compared.used).next() else { return Ok(None) };
    let explanation = Explanation::run(stage, scene, contender, trial, StoriesAsked::nothing())?;
    Ok(explanation.to_act)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(words: &[(&str, &str)], knobs: &[(&str, &str)]) -> Device {
        let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Device { words: owned(words), knobs: owned(knobs) }
    }

    #[test]
    fn the_present_setting_has_the_knobs_that_are_not_at_their_defaults() {
        let catalogue = Catalogue::builtin();
        let of = |words: &[(&str, &str)], knobs: &[(&str, &str)]| present(Some(&device(words, knobs)), &catalogue);
        let knobs = [("fifo_batch", "16"), ("read_expire", "100"), ("unheard_of", "3")];
        assert_eq!(of(&[("scheduler", "mq-deadline")], &knobs), ["mq-deadline:read_expire=100"]);
        assert_eq!(of(&[("scheduler", "none")], &[]), ["none"]);
        assert!(of(&[("scheduler", "made-up")], &[]).is_empty() && of(&[], &[]).is_empty());
        let slices = [("slice_idle", "0"), ("slice_idle_us", "0")];
        assert_eq!(of(&[("scheduler", "bfq")], &slices), ["bfq:slice_idle=0"]);
        let old = of(&[("scheduler", "bfq"), ("kernel", "6.1.0-9-amd64")], &[]);
        assert!(old[0].starts_with("bfq@6"), "{old:?}");
    }
}
