//! `--report FILE.html` and `--plot KIND --out FILE.svg`: pictures of a run.
//!
//! The pictures show the first seed: a separate run for each scheduler, with an onlooker that keeps everything
//! (`collect.rs`, `decisions.rs`). The figures of the answer are those of all seeds.

mod answer;
mod collect;
mod decisions;
mod parquet;
mod verbs;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use blksched::{Instant, Span};
use blksched_lab::why::blame::Rows as BlameRows;
use blksched_lab::why::names::Names;
use blksched_measure::{Cause, Reasons};
use blksched_report::{Blame, Detail, RecordedRun, Report, html, plot};
use blksched_simulate::story::{SharedOnlooker, StoriesAsked, Storyteller};
use blksched_simulate::{Findings, Trial};

use crate::failure::Failure;
use crate::pictures::{Pictures, Plot};
use crate::rows::ParquetTarget;
use collect::Collector;
pub(crate) use verbs::{ComparedPage, compared, experiments, explained, recorded, simulated, validated};

fn kind_of(plot: Plot) -> plot::PlotKind {
    match plot {
        Plot::Lba => plot::PlotKind::Lba,
        Plot::Latency => plot::PlotKind::Latency,
        Plot::Timeline => plot::PlotKind::Timeline,
        Plot::Blame => plot::PlotKind::Blame,
        Plot::Shares => plot::PlotKind::Shares,
    }
}

/// Writes them; returns notes for the user.
fn write(pictures: &Pictures, mut report: Report) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    if let (Some(kind), Some(file)) = (pictures.plot, &pictures.out) {
        let text = plot::svg(&report.runs, kind_of(kind)).map_err(Failure::Outside)?;
        save(file, &text)?;
    }
    if let Some(file) = &pictures.report {
        report.beside = beside(file);
        let page = html(&report, None).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))?;
        save(file, &page.text)?;
        if let Some(what) = shortened(page.detail) {
            parquet::write(&ParquetTarget::Beside(file.clone()), &report.runs)?;
            let all = report.beside.join(", ");
            notes.push(format!("{} has room for {what}; {all} beside it have everything", file.display()));
        }
    }
    Ok(notes)
}

/// What the file contains, unless that is everything.
fn shortened(detail: Detail) -> Option<&'static str> {
    match detail {
        Detail::Everything => None,
        Detail::Points => Some("every I/O, but only for the slowest hundredth where its time went"),
        Detail::Slowest => Some("densities, and the slowest hundredth of the I/Os"),
        Detail::FewSlowest => Some("densities, and the slowest thousandth of the I/Os"),
        Detail::Sums => Some("densities and sums"),
    }
}

/// The names of the Parquet files beside a large report.
fn beside(file: &Path) -> Vec<String> {
    let name = |table: &str| file.with_extension(format!("{table}.parquet"));
    let names = parquet::TABLES.iter().map(|table| name(table));
    names.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

/// Writes every I/O, command and decision of a run as Parquet.
pub(crate) fn rows_of(place: &ParquetTarget, trial: &Trial, name: &str, names: &Names) -> Result<(), Failure> {
    parquet::write(place, &[watched(trial, name, names)?])
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))
}

/// Runs `trial` with the collector.
fn watched(trial: &Trial, name: &str, names: &Names) -> Result<RecordedRun, Failure> {
    let teller = trial.storyteller(slowest());
    let mut findings = None;
    let (mut run, teller) = collected(teller, names, |onlooker| {
        let found = trial.simulate_before(onlooker, Reasons::new()).map_err(Failure::input)?;
        let end = Instant::ZERO + found.elapsed;
        findings = Some(found);
        Ok(end)
    })?;
    run.name = name.to_owned();
    run.disk_sectors = trial.disk.build(trial.seed).facts().sectors;
    fill(&mut run, &teller, names);
    if let Some(found) = &findings {
        run.disk_time = disk_time(found);
        run.shares = shares(found, trial);
    }
    Ok(run)
}

/// Which stories are told in a sentence.
fn slowest() -> StoriesAsked {
    StoriesAsked { slowest: collect::SENTENCES, ..StoriesAsked::nothing() }
}

/// Runs `run` with the collector; the closure returns when it ended.
fn collected(
    teller: Storyteller,
    names: &Names,
    run: impl FnOnce(SharedOnlooker) -> Result<Instant, Failure>,
) -> Result<(RecordedRun, Storyteller), Failure> {
    let collector = Rc::new(RefCell::new(Collector::new(teller, names.clone())));
    let end = run(collector.clone())?;
    let collector = Rc::into_inner(collector).ok_or_else(|| Failure::Outside("the run is not over".to_owned()))?;
    Ok(collector.into_inner().finish(end))
}

/// Who waited for whom, by job.
fn fill(run: &mut RecordedRun, teller: &Storyteller, names: &Names) {
    let rows = BlameRows::of(teller.blame(), names, &BTreeSet::new());
    let blame = rows.rows.iter().map(|(key, time, ios)| Blame {
        who: key.who.clone(),
        whom: key.whom.clone().unwrap_or_default(),
        rule: key.rule.to_owned(),
        leg: collect::number(key.leg),
        ns: time.as_ns(),
        ios: *ios,
    });
    run.blame = blame.collect();
    run.totals = rows.totals.iter().map(|(who, (time, ios))| (who.clone(), (*ios, time.as_ns()))).collect();
}

/// What the disk did with its time; the parts add up to the run.
fn disk_time(findings: &Findings) -> Vec<(String, u64)> {
    let disk = findings.reasons.disk();
    let activity = &findings.disk.activity;
    let elapsed = findings.elapsed.as_ns();
    let worked = disk.worked().as_ns().min(elapsed);
    let parts = [
        ("transfer", activity.transfer),
        ("seek", activity.seek + activity.settle),
        ("rotation", activity.rotation),
        ("reading ahead", activity.look_ahead),
        ("overhead", activity.overhead + activity.interface),
    ];
    let sum: u64 = parts.iter().map(|(_, span)| span.as_ns()).sum();
    // Where several parts of a disk work at once, each gets its share of the time.
    let scaled = |ns: u64| match sum > worked {
        true => (u128::from(ns) * u128::from(worked) / u128::from(sum)) as u64,
        false => ns,
    };
    let mut all: Vec<(String, u64)> =
        parts.iter().map(|(name, span)| ((*name).to_owned(), scaled(span.as_ns()))).collect();
    all.push(("other work in the drive".to_owned(), worked.saturating_sub(sum)));
    let of = |wanted: &dyn Fn(Cause) -> bool| {
        disk.iter().filter(|(cause, _)| wanted(*cause)).fold(Span::ZERO, |sum, (_, span)| sum + span).as_ns()
    };
    let idle = of(&|cause| matches!(cause, Cause::Idle(_) | Cause::Plugged)).min(elapsed - worked);
    all.push(("idle on purpose".to_owned(), idle));
    all.push(("nothing to do".to_owned(), elapsed - worked - idle));
    all.retain(|(_, ns)| *ns > 0);
    all
}

/// Each job's part of the disk's time: asked for, and given.
fn shares(findings: &Findings, trial: &Trial) -> Vec<(String, f64, f64)> {
    let elapsed = findings.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (outcome, job) in findings.jobs.iter().zip(&trial.plan.jobs) {
        let sum = sums.entry(&job.name).or_default();
        sum.0 += outcome.share.asked.as_secs_f64() / elapsed;
        sum.1 += outcome.share.given.as_secs_f64() / elapsed;
    }
    sums.into_iter().map(|(name, (asked, given))| (name.to_owned(), asked, given)).collect()
}
