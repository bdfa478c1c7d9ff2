//! The page of a comparison: the answer in a few lines, and one table with the figures that count.

use std::sync::Arc;

use blksched_lab::Compared;
use blksched_lab::runs::measured::{JobEnd, JobMeasure, Measured};
use blksched_lab::verdict::action::Challenger;
use blksched_lab::verdict::brief::{About, Advice, Brief};
use blksched_lab::verdict::clones::{families, label};
use blksched_lab::verdict::figure::{Figure, FigureKind};
use blksched_lab::verdict::goal::{Goal, NamedGoal};
use blksched_lab::verdict::role::Role;
use blksched_lab::verdict::tails::{self, TailFigure};
use blksched_measure::{Cell, Column, Quantity, Sample, Table, Work};

use super::heading::title;
use crate::output::{self, Paint, TableStyle};

/// The largest jobs have rows of their own; the others are taken together.
const JOBS: usize = 8;
/// More schedulers than these do not fit beside each other.
const COLUMNS: usize = 5;
/// A latency below this ends in memory \[ns\].
const IN_MEMORY: f64 = 10_000.0;

/// The whole page.
pub(super) fn page(compared: &Compared, style: TableStyle) -> String {
    let verdict = &compared.verdict;
    let text = output::paragraph(&format!("{}:", title(compared))) + &lines(&verdict.brief) + "\n";
    let text = text + &output::render(&table(compared), style) + &output::notes(&verdict.notes);
    let emit = if verdict.proposal.is_some() { "; --emit udev, tuned or sysfs makes this a change" } else { "" };
    text + &output::paragraph(&format!("--details shows every table, difference and note{emit}."))
}

/// The answer, its first line marked.
pub(crate) fn lines(brief: &Brief) -> String {
    let line = |(about, line): &(About, String)| {
        let text = output::paragraph(line);
        match (about, brief.advice) {
            (About::Advice, Advice::Use) => output::paint(&text, Paint::Green),
            (About::Advice, _) => output::paint(&text, Paint::Bold),
            (About::Price, _) => output::paint(&text, Paint::Yellow),
            _ => text,
        }
    };
    brief.lines.iter().map(line).collect()
}

/// A row for each figure that counts, a column for each scheduler.
pub(super) fn table(compared: &Compared) -> Table {
    let (measured, left_out) = columns(compared);
    let several = measured[0].disk.is_some();
    let mut columns = vec![Column::words("job", "job")];
    columns.extend(several.then(|| Column::words("disk", "disk")));
    columns.push(Column::words("figure", "figure"));
    let named = |(nth, one): (usize, &&Arc<Measured>)| {
        Column::numbers(&format!("scheduler_{nth}"), &one.label(), Quantity::Plain)
    };
    columns.extend(measured.iter().enumerate().map(named));
    let mut table = Table::new("", columns);
    let base = measured[0];
    let (shown, others) = largest(base);
    let mut tails = Vec::new();
    for rows in &shown {
        let mut name = said(base, rows);
        let mut disk = base.jobs[rows[0]].disk.clone().unwrap_or_default();
        for (words, what, work) in figures(&base.jobs[rows[0]]) {
            let values: Vec<f64> = measured.iter().map(|one| value(one, rows, what, work)).collect();
            if is_idle(what, &values) {
                continue;
            }
            if let (FigureKind::P99, Some(work)) = (what, work) {
                let job = &base.jobs[rows[0]];
                let plan = compared.stage.plan.jobs.iter().find(|plan| plan.name == job.name);
                tails.push(TailFigure { job, work, plan });
            }
            let cells = values.into_iter().map(|value| show(what, work, value));
            let disk = several.then(|| Cell::from(std::mem::take(&mut disk)));
            let lead = [std::mem::take(&mut name).into()].into_iter().chain(disk).chain([words.into()]);
            table.row(lead.chain(cells));
        }
    }
    if !others.is_empty() {
        let count = others.iter().map(|&row| base.jobs[row].processes).sum::<usize>();
        let mut name = format!("{count} others");
        for (words, work) in [("read rate", Work::Read), ("write rate", Work::Write)] {
            let rate = |one: &&Arc<Measured>| value(one, &others, FigureKind::Bandwidth, Some(work));
            let values: Vec<f64> = measured.iter().map(rate).collect();
            if values.iter().all(|value| *value <= 0.0) {
                continue;
            }
            let cells = values.into_iter().map(|value| show(FigureKind::Bandwidth, Some(work), value));
            let disk = several.then(|| Cell::Text(String::new()));
            let lead = [std::mem::take(&mut name).into()].into_iter().chain(disk).chain([words.into()]);
            table.row(lead.chain(cells));
        }
    }
    if matches!(compared.verdict.goal, Goal::Named(NamedGoal::Priorities)) {
        let part = |one: &&Arc<Measured>| one.misplaced.as_ref().map_or(f64::NAN, Sample::mean);
        let cells = measured.iter().map(part).map(|part| Cell::Text(Quantity::Fraction.show(part)));
        let disk = several.then(|| base.disk.as_deref().unwrap_or_default().into());
        let lead = ["disk time".into()].into_iter().chain(disk).chain(["to the wrong job".into()]);
        table.row(lead.chain(cells));
    }
    let seeds = base.jain.values().len();
    let runs = if seeds == 1 { "one run".to_owned() } else { format!("means over {seeds} runs") };
    let rest = match &left_out[..] {
        [] => String::new(),
        names => format!("; not shown: {}", names.join(", ")),
    };
    table.note(format!("{runs}; -: too few I/Os to say{rest}"));
    // Of several disks each has a model of its own.
    let rests_on = if several { None } else { rests_on(compared, &tails) };
    rests_on.into_iter().for_each(|line| _ = table.note(line));
    table
}

/// What the 99th percentiles in the table rest on.
fn rests_on(compared: &Compared, tails: &[TailFigure<'_>]) -> Option<String> {
    let in_flight = compared.stage.plan.jobs.iter().map(|job| job.depth).sum();
    tails::sentence(&compared.verdict.validation.model, &compared.measured[0], tails, in_flight)
}

/// The schedulers that have a column, and the names of those that have none: where nobody named them, those suffice of
/// which the answer speaks, and the best of the others.
fn columns(compared: &Compared) -> (Vec<&Arc<Measured>>, Vec<String>) {
    let all = &compared.measured;
    if all.len() <= COLUMNS || !compared.comparison.elevators.is_empty() {
        return (all.iter().collect(), Vec::new());
    }
    let is_named = |candidate: &&Challenger| candidate.is_better() || candidate.is_late;
    let (named, others): (Vec<_>, Vec<_>) = compared.verdict.candidates.iter().partition(is_named);
    let best = named.into_iter().chain(others).map(|candidate| &candidate.scheduler);
    let best: Vec<&Arc<Measured>> = best.chain(all).take(COLUMNS - 1).collect();
    let has_one = |(nth, one): &(usize, &Arc<Measured>)| *nth == 0 || best.iter().any(|best| Arc::ptr_eq(best, one));
    let (shown, others): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(has_one);
    (shown.into_iter().map(|(_, one)| one).collect(), others.into_iter().map(|(_, one)| one.label()).collect())
}

/// The jobs with the most I/O under the default, in their order, and the rows of the others.
fn largest(base: &Measured) -> (Vec<Vec<usize>>, Vec<usize>) {
    let families = families(&base.jobs);
    let moved = |rows: &[usize]| -> f64 {
        let works = rows.iter().flat_map(|&row| &base.jobs[row].work);
        works.filter(|(work, _)| *work != Work::Sync).map(|(_, done)| done.bandwidth.mean().max(0.0)).sum()
    };
    let mut order: Vec<usize> = (0..families.len()).collect();
    order.sort_by(|&a, &b| moved(&families[b]).total_cmp(&moved(&families[a])));
    let most = if families.len() > JOBS + 1 { JOBS } else { families.len() };
    let is_large = |nth: usize| order[..most].contains(&nth);
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for (nth, rows) in families.into_iter().enumerate() {
        if is_large(nth) { shown.push(rows) } else { others.extend(rows) }
    }
    (shown, others)
}

/// The job's name, and that nobody waits for it.
fn said(base: &Measured, rows: &[usize]) -> String {
    let name = label(&base.jobs, rows);
    if base.jobs[rows[0]].role.0 == Role::Background { format!("{name} (background)") } else { name }
}

/// What counts for a job, in words.
fn figures(job: &JobMeasure) -> Vec<(String, FigureKind, Option<Work>)> {
    let does = |work: Work| job.work(work).is_some();
    if job.end == JobEnd::Done && job.ran.is_some() {
        return vec![("time to finish".to_owned(), FigureKind::Finish, None)];
    }
    let mut figures = Vec::new();
    let waits = job.role.0 == Role::Latency;
    let mut waited: Vec<Work> = [Work::Read, Work::Sync].into_iter().filter(|work| waits && does(*work)).collect();
    if waits && waited.is_empty() {
        waited.extend([Work::Write, Work::Trim].into_iter().filter(|work| does(*work)));
    }
    for work in waited {
        figures.push((format!("mean {}", work.name()), FigureKind::Mean, Some(work)));
        figures.push((format!("p99 {}", work.name()), FigureKind::P99, Some(work)));
    }
    if !waits {
        let works = [Work::Read, Work::Write, Work::Trim].into_iter().filter(|work| does(*work));
        figures.extend(works.map(|work| (format!("{} rate", work.name()), FigureKind::Bandwidth, Some(work))));
    }
    figures
}

/// A figure of a job's clones: the sum of their rates, the mean of their mean latencies, the worst of the others.
fn value(measured: &Measured, rows: &[usize], what: FigureKind, work: Option<Work>) -> f64 {
    let of = |&row: &usize| Figure { row: Some(row), work, what }.sample(measured).map(|sample| sample.mean());
    let values: Vec<f64> = rows.iter().filter_map(of).filter(|value| value.is_finite()).collect();
    match what {
        _ if values.is_empty() => f64::NAN,
        FigureKind::Bandwidth | FigureKind::Iops => values.iter().sum(),
        FigureKind::Mean => Sample::of(values).mean(),
        _ => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Whether nobody would miss the row: nothing is known of it, or all of it ends in memory.
fn is_idle(what: FigureKind, values: &[f64]) -> bool {
    let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let is_time = what.unit() == Quantity::Time;
    known.is_empty() || (is_time && known.iter().all(|value| *value < IN_MEMORY))
}

fn show(what: FigureKind, work: Option<Work>, value: f64) -> Cell {
    let text = what.unit().show(value);
    Cell::Text(if work == Some(Work::Sync) && what == FigureKind::Iops { format!("{text}/s") } else { text })
}
