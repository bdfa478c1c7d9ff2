//! The verdict: the significant differences from the first scheduler, job by job, and their causes, computed from the
//! recorded reasons. Nothing here knows any scheduler by name.

use std::sync::Arc;

use blksched::Dir;
use blksched_measure::Work;

use super::cause::FigureCause;
use super::reach::beyond_reach;
use crate::runs::measured::{JobMeasure, Measured};
use crate::verdict::action::{modes_sentence, two_modes};
use crate::verdict::clones::{JobDifference, by_job, families, label};
use crate::verdict::contrast::{ALPHA, Contrast};

/// At most this many differences are named per job.
const SAID: usize = 2;
/// What is not proven and looks smaller than this is not mentioned.
const LOOKS: f64 = 1.5;

/// What differs, in sentences, and the causes that they name.
#[derive(Default)]
pub struct Differences {
    /// The role of each job; one paragraph per scheduler after the first, job by job; and what holds for all of them.
    pub sentences: Vec<String>,
    /// Why figures differ, scheduler by scheduler.
    pub causes: Vec<FigureCause>,
}

/// What differs under each scheduler after the first, and why.
pub fn differences(measured: &[Arc<Measured>], contrasts: &[Vec<Contrast>]) -> Differences {
    let Some((base, others)) = measured.split_first() else { return Differences::default() };
    let (mut sentences, mut causes) = (vec![roles(base)], Vec::new());
    for (here, contrasts) in others.iter().zip(contrasts) {
        let (text, why) = paragraph(here, base, contrasts);
        sentences.push(text);
        causes.extend(why);
    }
    for here in measured {
        let say = |(job, figure, modes): (&JobMeasure, _, _)| {
            format!("{}: {}.", here.label(), modes_sentence(job, &figure, &modes))
        };
        sentences.extend(two_modes(here).map(say));
    }
    sentences.extend(Dir::BOTH.into_iter().filter_map(|dir| beyond_reach(measured, dir)));
    Differences { sentences, causes }
}

/// Which role each job has.
fn roles(base: &Measured) -> String {
    let job = |rows: &Vec<usize>| {
        let (role, why) = base.jobs[rows[0]].role;
        format!("{} is {} ({why})", label(&base.jobs, rows), role.name())
    };
    let jobs: Vec<String> = families(&base.jobs).iter().map(job).collect();
    format!("Roles assumed: {}; --goal overrides them.", jobs.join(", "))
}

fn paragraph(here: &Measured, base: &Measured, contrasts: &[Contrast]) -> (String, Vec<FigureCause>) {
    let pair = format!("{} against {}", here.label(), base.label());
    let beyond: Vec<&Contrast> = contrasts.iter().filter(|contrast| contrast.differs()).collect();
    if beyond.is_empty() {
        let text = match contrasts.iter().any(|contrast| contrast.times() > 1.0) {
            false => format!("{pair}: no difference."),
            true if base.jain.values().len() < 2 => {
                format!("{pair}: one seed proves nothing; try --seeds 5.")
            }
            true => format!("{pair}: {}.", chance(contrasts.iter())),
        };
        return (text, Vec::new());
    }
    let mut said: Vec<&Contrast> = Vec::new();
    let (mut jobs, mut same): (Vec<String>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for rows in families(&base.jobs) {
        let is_of = |c: &&Contrast| c.figure.row.is_some_and(|row| rows.contains(&row));
        let mut of_job: Vec<&Contrast> = beyond.iter().copied().filter(is_of).collect();
        of_job.sort_by(|a, b| b.times().total_cmp(&a.times()));
        let mut of_job = by_job(of_job.into_iter(), &base.jobs);
        of_job.truncate(SAID);
        match of_job.first() {
            Some(first) => {
                let figures: Vec<String> = of_job.iter().map(JobDifference::sentence).collect();
                jobs.push(format!("{}: {}", first.job, figures.join(", ")));
                said.extend(of_job.iter().map(|one| one.of[0]));
            }
            None => same.push(rows),
        }
    }
    if !same.is_empty() {
        let of_none = |c: &&Contrast| c.figure.row.is_some_and(|row| same.iter().any(|rows| rows.contains(&row)));
        let names: Vec<String> = same.iter().map(|rows| label(&base.jobs, rows)).collect();
        jobs.push(format!("{}: {}", names.join(", "), chance(contrasts.iter().filter(of_none))));
    }
    let mut text = format!("{pair}: {}.", jobs.join("; "));
    let of_work = |work: Work| said.iter().find(|contrast| contrast.figure.work == Some(work));
    let cause = |work: Work| match work {
        Work::Sync => FigureCause::of_syncs(of_work(work)?, here, base),
        Work::Read => FigureCause::of(of_work(work)?, Dir::Read, here, base),
        _ => FigureCause::of(of_work(work)?, Dir::Write, here, base),
    };
    // Who syncs waits in syncs more than in writes.
    let causes: Vec<FigureCause> = [Work::Read, Work::Sync, Work::Write].into_iter().filter_map(cause).collect();
    text.extend(causes.iter().map(|cause| format!(" Why: {cause}.")));
    (text, causes)
}

/// A difference that would be significant if nothing else were compared is mentioned: more seeds may prove it.
fn chance<'a>(contrasts: impl Iterator<Item = &'a Contrast>) -> String {
    let looks = |contrast: &&Contrast| contrast.paired.p <= ALPHA && contrast.times() >= LOOKS;
    let greatest = contrasts.filter(looks).max_by(|a, b| a.times().total_cmp(&b.times()));
    let looks = greatest.map(|most| {
        let (subject, unit) = (most.figure.subject(), most.figure.what.unit());
        let (here, base) = (unit.show(most.here), unit.show(most.base));
        format!(" (largest apparent one: {}'s {subject}, {here} instead of {base})", most.job)
    });
    format!("no proven difference{}", looks.unwrap_or_default())
}
