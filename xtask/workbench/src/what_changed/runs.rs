//! The runs behind one load on one disk under one scheduler: each kernel's once, a difference once more.

use std::sync::Arc;

use anyhow::Result;
use blksched::{Catalogue, Span};
use blksched_lab::runs::Runs;
use blksched_lab::runs::measured::Measured;
use blksched_lab::scene::{Stage, contenders};
use blksched_lab::verdict::contrast::{self, ALPHA, Contrast};
use blksched_lab::verdict::figure::Figure;
use blksched_lab::verdict::role::Role;
use blksched_lab::{Comparison, NoFiles, Scene};
use blksched_simulate::Length;
use blksched_workloads::host::fs::FsKind;

use super::rules;
use super::steps::Step;
use super::table::{Change, Row};

/// How many seeds show a difference, and how many others confirm it.
const SEEDS: u32 = 5;
const FIRST: u64 = 1;
const CONFIRMING: u64 = 101;
/// The part of the length that `compare` would choose: there are thousands of runs.
const PART: u64 = 2;
/// A smaller difference is not worth a word.
const WORTH_A_WORD: f64 = 1.05;
/// How many figures are tried for a confirmation.
const TRIED: usize = 3;

/// Whether the rules that make a difference are sought, too.
#[derive(Clone, Copy)]
enum Why {
    Sought,
    NotAsked,
}

/// One load on one disk.
pub struct Lane {
    scheduler: String,
    load: String,
    disk: String,
    comparison: Comparison,
    stage: Stage,
    limit: Span,
}

impl Lane {
    /// # Errors
    /// If a run stands still.
    pub fn load(scheduler: &str, load: &str, disk: &str) -> Result<Lane> {
        // What the schedulers do with the load itself, on the disk itself.
        let scene = Scene { fs: Some(FsKind::None.into()), ..Scene::of(load, disk, FIRST) };
        let (stage, limit) = shortened(&scene, scheduler, PART)?;
        let comparison = Comparison::of(scene, SEEDS);
        let [scheduler, load, disk] = [scheduler, load, disk].map(str::to_owned);
        Ok(Lane { scheduler, load, disk, comparison, stage, limit })
    }

    /// Runs each of these once per seed.
    pub fn measured(&self, specs: &[String], first: u64) -> Result<Vec<Arc<Measured>>> {
        let contenders = contenders("--elevators", specs, &[], &Catalogue::builtin())?;
        let mut runs = Runs::new(&self.comparison, &self.stage, &contenders, (self.limit, first), &());
        runs.more(SEEDS, None)?;
        Ok(runs.measured())
    }

    /// The rows of every step that changes anything.
    pub fn rows(&self) -> Result<Vec<Row>> {
        let steps: Vec<Step> = Step::all(&self.scheduler).into_iter().filter(|step| !step.is_none()).collect();
        let mut specs: Vec<String> = Vec::new();
        for spec in steps.iter().flat_map(|step| self.specs(step)) {
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        let measured = self.measured(&specs, FIRST)?;
        let find = |spec: &String| measured[specs.iter().position(|known| known == spec).expect("it was run")].clone();
        let shown = |step: &Step| self.specs(step).map(|spec| find(&spec));
        steps.iter().map(|step| self.judged(step, shown(step), Why::Sought)).collect()
    }

    /// The row of one step, without the rules.
    pub fn row(&self, from: &str, to: &str) -> Result<Row> {
        let found = Step::all(&self.scheduler).into_iter().find(|step| step.kernels == [from, to]);
        let step = found.ok_or_else(|| anyhow::anyhow!("{from} to {to} is no step"))?;
        let measured = self.measured(&self.specs(&step), FIRST)?;
        self.judged(&step, [measured[0].clone(), measured[1].clone()], Why::NotAsked)
    }

    /// The two kernels of a step, as typed.
    pub fn specs(&self, step: &Step) -> [String; 2] {
        step.kernels.map(|kernel| format!("{}@{kernel}", self.scheduler))
    }

    fn judged(&self, step: &Step, shown: [Arc<Measured>; 2], why: Why) -> Result<Row> {
        let [from, to] = step.kernels.map(str::to_owned);
        let [scheduler, load, disk] = [&self.scheduler, &self.load, &self.disk].map(String::clone);
        Ok(Row { scheduler, from, to, load, disk, change: self.change(step, shown, why)? })
    }

    fn change(&self, step: &Step, shown: [Arc<Measured>; 2], why: Why) -> Result<Option<Change>> {
        let mut contrasts = contrast::contrasts(&shown, 1).pop().expect("there are two");
        contrasts.retain(|one| one.p <= ALPHA && one.times() >= WORTH_A_WORD);
        if contrasts.is_empty() {
            return Ok(None);
        }
        // What somebody waits for goes first, then what differs most.
        let is_background =
            |one: &Contrast| one.figure.row.is_some_and(|row| shown[0].jobs[row].role.0 == Role::Background);
        contrasts.sort_by(|a, b| is_background(a).cmp(&is_background(b)).then_with(|| b.times().total_cmp(&a.times())));
        let again = self.measured(&self.specs(step), CONFIRMING)?;
        let confirmed = contrasts.iter().take(TRIED).find_map(|one| confirmed(one, &again));
        let Some(confirmed) = confirmed else { return Ok(None) };
        let rules = match why {
            Why::Sought => rules::of(self, step, &confirmed, &again[0])?,
            Why::NotAsked => Vec::new(),
        };
        Ok(Some(Change {
            job: confirmed.job.clone(),
            figure: confirmed.figure.subject(),
            unit: confirmed.figure.what.unit(),
            old: confirmed.base.round(),
            new: confirmed.here.round(),
            times: rounded(confirmed.paired.ratio),
            low: rounded(confirmed.paired.low),
            high: rounded(confirmed.paired.high),
            rules,
            others: contrasts.len() - 1,
        }))
    }

    /// The ratios of this figure under each of these schedulers, each with the older kernel's.
    pub fn ratios(&self, figure: Figure, base: &Measured, specs: &[String]) -> Result<Vec<f64>> {
        let measured = self.measured(specs, CONFIRMING)?;
        let ratio = |here: &Arc<Measured>| Contrast::of(figure, here, base).map_or(f64::NAN, |one| one.paired.ratio);
        Ok(measured.iter().map(ratio).collect())
    }
}

/// A load on a disk with so small a part of the length that `compare` would choose, under this scheduler; and that
/// length.
///
/// # Errors
/// If the load or the scheduler is not known, or a run stands still.
pub(crate) fn shortened(scene: &Scene, scheduler: &str, part: u64) -> Result<(Stage, Span)> {
    let (stage, _) = Stage::load(scene, &NoFiles)?.without_logs();
    let newest = contenders("--elevators", &[scheduler.to_owned()], &[], &Catalogue::builtin())?;
    let length = stage.length(scene, &newest[0], 1.0)?;
    let length = Length { limit: length.limit / part, warm_up: length.warm_up / part, ..length };
    Ok((stage.cut(length, scene), length.limit))
}

/// The same figure of other seeds, if it has moved the same way there, beyond chance.
fn confirmed(one: &Contrast, again: &[Arc<Measured>]) -> Option<Contrast> {
    let other = Contrast::of(one.figure, &again[1], &again[0])?;
    let is_same_way = (other.paired.ratio > 1.0) == (one.paired.ratio > 1.0);
    (is_same_way && other.p <= ALPHA && other.times() >= WORTH_A_WORD).then_some(other)
}

/// As written into the file.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e3).round() / 1e3
}
