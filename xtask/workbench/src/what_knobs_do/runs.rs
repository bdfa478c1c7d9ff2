//! The runs behind one load on one disk: each value of each knob once per seed.

use std::sync::Arc;

use anyhow::{Context, Result};
use blksched::Catalogue;
use blksched_lab::effects::{Effect, KnobRow, ShownFigure};
use blksched_lab::runs::Runs;
use blksched_lab::runs::measured::Measured;
use blksched_lab::scene::contenders;
use blksched_lab::verdict::contrast::{self, ALPHA, Contrast};
use blksched_lab::verdict::figure::Figure;
use blksched_lab::verdict::role::Role;
use blksched_lab::{Comparison, Scene};
use blksched_workloads::host::fs::FsKind;

use super::probes::{Knobs, Probe, SUBJECTS, Subject, Tried};
use crate::what_changed::runs::shortened;

const SEEDS: u32 = 4;
const FIRST: u64 = 1;
/// The part of the length that `compare` would choose.
const PART: u64 = 3;
/// A smaller difference is not worth a word.
const WORTH_A_WORD: f64 = 1.05;

/// All knobs of a scheduler, on all of its loads.
///
/// # Errors
/// If a run stands still.
pub fn rows(subject: &Subject) -> Result<Vec<KnobRow>> {
    let mut rows = Vec::new();
    let tried = subject.tried();
    for probe in subject.loads {
        eprintln!("{}, {} on {}", subject.name, probe.load, probe.disk);
        for (tried, measured) in tried.iter().zip(measured(subject, *probe, &tried)?) {
            rows.extend(judged(subject, *probe, tried, &measured));
        }
    }
    Ok(rows)
}

/// The rows of one knob on one load again.
///
/// # Errors
/// As [`rows`], and if there is no such knob or load any more.
pub fn anew(old: &[KnobRow]) -> Result<Vec<KnobRow>> {
    let is_its = |subject: &&Subject| subject.name == old[0].scheduler;
    let subject = SUBJECTS.iter().find(is_its).with_context(|| format!("{} is not tried", old[0].scheduler))?;
    let is_there = |probe: &&Probe| probe.load == old[0].load && probe.disk == old[0].disk;
    let probe = subject.loads.iter().find(is_there).with_context(|| format!("{} is not tried", old[0].place()))?;
    let tried = subject.tried().into_iter().find(|tried| tried.knob == old[0].knob);
    let tried = [tried.with_context(|| format!("{} is no knob", old[0].knob))?];
    let measured = measured(subject, *probe, &tried)?.remove(0);
    // Whether a difference is chance depends on how many are looked at: all knobs of the load, or this one.
    Ok(judged(subject, *probe, &tried[0], &measured))
}

/// What was measured with each value of each of these knobs; the default comes first.
fn measured(subject: &Subject, probe: Probe, tried: &[Tried]) -> Result<Vec<Vec<Arc<Measured>>>> {
    match subject.knobs {
        Knobs::OfScheduler => {
            let scene = scene(subject, probe, "", "");
            let spec = |tried: &Tried, value: &String| format!("{}:{}={value}", subject.name, tried.knob);
            let others = tried.iter().flat_map(|one| one.values[1..].iter().map(|value| spec(one, value)));
            let specs: Vec<String> = [subject.name.to_owned()].into_iter().chain(others).collect();
            let mut all = of_specs(scene, &specs)?.into_iter();
            let default = all.next().context("the default was run")?;
            let with = |one: &Tried| {
                [default.clone()].into_iter().chain(all.by_ref().take(one.values.len() - 1)).collect::<Vec<_>>()
            };
            Ok(tried.iter().map(with).collect())
        }
        Knobs::OfRoot { .. } => {
            let spec = ["none+io.cost".to_owned()];
            let of =
                |one: &Tried, value: &String| Ok(of_specs(scene(subject, probe, &one.knob, value), &spec)?.remove(0));
            tried.iter().map(|one| one.values.iter().map(|value| of(one, value)).collect()).collect()
        }
    }
}

fn scene(subject: &Subject, Probe { load, disk }: Probe, knob: &str, value: &str) -> Scene {
    let text = subject.text(load, knob, value);
    let scene = text.map_or_else(|| Scene::of(load, disk, FIRST), |text| Scene::of_jobs(load, &text, disk));
    // What the scheduler does with the load itself, on the disk itself.
    Scene { fs: Some(FsKind::None.into()), seed: FIRST, ..scene }
}

fn of_specs(scene: Scene, specs: &[String]) -> Result<Vec<Arc<Measured>>> {
    let (stage, limit) = shortened(&scene, &specs[0], PART)?;
    let contenders = contenders("--elevators", specs, &[], &Catalogue::builtin())?;
    let comparison = Comparison::of(scene, SEEDS);
    let mut runs = Runs::new(&comparison, &stage, &contenders, (limit, FIRST), &());
    runs.more(SEEDS, None)?;
    Ok(runs.measured())
}

/// A line for each value.
fn judged(subject: &Subject, probe: Probe, tried: &Tried, measured: &[Arc<Measured>]) -> Vec<KnobRow> {
    let contrasts = contrast::contrasts(measured, 1);
    let base = &measured[0];
    let is_same = measured.iter().all(|one| one.hashes == base.hashes);
    let moved = |one: &&Contrast| one.p <= ALPHA && one.times() >= WORTH_A_WORD && one.paired.ratio.is_finite();
    let is_background = |one: &Contrast| one.figure.row.is_some_and(|row| base.jobs[row].role.0 == Role::Background);
    // What somebody waits for goes first, then what moves most.
    let greatest = |all: &mut dyn Iterator<Item = &Contrast>| -> Option<Contrast> {
        all.max_by(|a, b| is_background(b).cmp(&is_background(a)).then_with(|| a.times().total_cmp(&b.times())))
            .cloned()
    };
    let first = greatest(&mut contrasts.iter().flatten().filter(moved));
    let opposite = |one: &&Contrast, first: &Contrast| {
        let same = contrasts.iter().find(|all| all.iter().any(|other| std::ptr::eq(other, *one)));
        let beside = same.and_then(|all| all.iter().find(|other| other.figure == first.figure));
        beside.is_some_and(|beside| (beside.times_better() > 1.0) != (one.times_better() > 1.0))
    };
    let second = first.as_ref().and_then(|first| {
        let others = || contrasts.iter().flatten().filter(moved).filter(|one| one.figure != first.figure);
        others().filter(|one| opposite(one, first)).max_by(|a, b| a.times().total_cmp(&b.times())).cloned()
    });
    let effect = match &first {
        Some(_) => Effect::Figure,
        None if is_same => Effect::None,
        None => Effect::Small,
    };
    let shown = |figure: &Figure, job: &str, of: &Measured| {
        let mean = figure.sample(of)?.mean();
        // Jobs of one name have numbers.
        let alike: Vec<usize> = (0..of.jobs.len()).filter(|&row| of.jobs[row].label() == job).collect();
        let nth = alike.iter().position(|&row| Some(row) == figure.row).filter(|_| alike.len() > 1);
        let job = nth.map_or_else(|| job.to_owned(), |nth| format!("{job} #{}", nth + 1));
        let what = figure.subject();
        Some(ShownFigure { job, figure: what, unit: figure.what.unit(), mean: mean.round() })
    };
    let row = |(nth, value): (usize, &String)| {
        let both = first.iter().chain(&second);
        let figures = both.filter_map(|one| shown(&one.figure, &one.job, &measured[nth])).collect();
        let times = first.as_ref().filter(|_| nth > 0).and_then(|first| {
            let paired = Contrast::of(first.figure, &measured[nth], base)?.paired;
            Some([paired.ratio, paired.low, paired.high].map(|ratio| (ratio * 1e3).round() / 1e3))
        });
        KnobRow {
            scheduler: subject.name.to_owned(),
            knob: tried.knob.clone(),
            load: probe.load.to_owned(),
            disk: probe.disk.to_owned(),
            value: value.clone(),
            effect,
            figures,
            times,
        }
    };
    tried.values.iter().enumerate().map(row).collect()
}
