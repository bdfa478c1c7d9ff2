//! The verdict: the significant differences from the first scheduler, job by job, and their causes, computed from the
//! recorded reasons. Nothing here knows any scheduler by name.

use std::sync::Arc;

use blksched::Dir;
use blksched_measure::{Quantity, Work};

use super::reach::beyond_reach;
use crate::runs::measured::{JobMeasure, Measured, Total};
use crate::verdict::action::{say_modes, two_modes};
use crate::verdict::clones::{Told, families, label, told};
use crate::verdict::contrast::{ALPHA, Contrast};

/// At most this many differences are named per job.
const SAID: usize = 2;
/// What is not proven and looks smaller than this is not mentioned.
const LOOKS: f64 = 1.5;

/// The role of each job; one paragraph per scheduler after the first, job by job; and what holds for all of them.
pub fn sentences(measured: &[Arc<Measured>], contrasts: &[Vec<Contrast>]) -> Vec<String> {
    let Some((base, others)) = measured.split_first() else { return Vec::new() };
    let mut sentences = vec![roles(base)];
    sentences.extend(others.iter().zip(contrasts).map(|(here, contrasts)| paragraph(here, base, contrasts)));
    for here in measured {
        let say = |(job, figure, modes): (&JobMeasure, _, _)| {
            format!("{}: {}.", here.label(), say_modes(job, &figure, &modes))
        };
        sentences.extend(two_modes(here).map(say));
    }
    sentences.extend(Dir::BOTH.into_iter().filter_map(|dir| beyond_reach(measured, dir)));
    sentences
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

fn paragraph(here: &Measured, base: &Measured, contrasts: &[Contrast]) -> String {
    let pair = format!("{} against {}", here.label(), base.label());
    let beyond: Vec<&Contrast> = contrasts.iter().filter(|contrast| contrast.differs()).collect();
    if beyond.is_empty() {
        return match contrasts.iter().any(|contrast| contrast.times() > 1.0) {
            false => format!("{pair}: no difference."),
            true if base.jain.values().len() < 2 => {
                format!("{pair}: one seed proves nothing; try --seeds 5.")
            }
            true => format!("{pair}: {}.", chance(contrasts.iter())),
        };
    }
    let mut said: Vec<&Contrast> = Vec::new();
    let (mut jobs, mut same): (Vec<String>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for rows in families(&base.jobs) {
        let is_of = |c: &&Contrast| c.figure.row.is_some_and(|row| rows.contains(&row));
        let mut of_job: Vec<&Contrast> = beyond.iter().copied().filter(is_of).collect();
        of_job.sort_by(|a, b| b.times().total_cmp(&a.times()));
        let mut of_job = told(of_job.into_iter(), &base.jobs);
        of_job.truncate(SAID);
        match of_job.first() {
            Some(first) => {
                let figures: Vec<String> = of_job.iter().map(Told::say).collect();
                jobs.push(format!("{}: {}", first.job, figures.join(", ")));
                said.extend(of_job.iter().map(|told| told.of[0]));
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
    for dir in Dir::BOTH {
        let of_dir = |contrast: &&&Contrast| {
            contrast.figure.work == Some(if dir == Dir::Read { Work::Read } else { Work::Write })
        };
        if let Some(contrast) = said.iter().find(of_dir) {
            text += &reason(contrast, dir, here.total(dir), base.total(dir));
        }
    }
    text
}

/// A difference that would be significant if nothing else were compared is mentioned: more seeds may prove it.
fn chance<'a>(contrasts: impl Iterator<Item = &'a Contrast>) -> String {
    let looks = |contrast: &&Contrast| contrast.paired.p <= ALPHA && contrast.times() >= LOOKS;
    let greatest = contrasts.filter(looks).max_by(|a, b| a.times().total_cmp(&b.times()));
    let looks = greatest.map(|most| format!(", though on its own {}'s {}", most.job, most.say()));
    format!("no difference beyond chance{}", looks.unwrap_or_default())
}

/// Whether a request's way through queue and disk is longer here.
fn is_longer(contrast: &Contrast) -> bool {
    (contrast.paired.ratio > 1.0) != contrast.figure.what.higher_is_better()
}

/// The part of a request's way that changed most in the direction of the difference.
fn reason(difference: &Contrast, dir: Dir, here: &Total, base: &Total) -> String {
    let parts = parts(dir, here, base);
    let wanted = if is_longer(difference) { 1.0 } else { -1.0 };
    let waits = parts.into_iter().max_by(|x, y| (wanted * (x.1 - x.2)).total_cmp(&(wanted * (y.1 - y.2))));
    let Some((seen, h, b)) = waits else { return String::new() };
    let time = |ns: f64| Quantity::Time.show(ns.round());
    let is_in_memory = |total: &Total| dir == Dir::Write && total.in_memory.is_some();
    let to_disk = !is_in_memory(here) && !is_in_memory(base);
    if to_disk && wanted * (here.service - base.service) > wanted * (h - b) {
        return format!(" Why: the disk has a {dir} for {}, not {}.", time(here.service), time(base.service));
    }
    match (wanted * (h - b) > 0.0, h < 0.5, b < 0.5) {
        (false, _, _) => String::new(),
        (true, true, _) => format!(" Why: no {dir} waits for {seen}; there each does, for {}.", time(b)),
        (true, _, true) => format!(" Why: a {dir} waits {} for {seen}; there none does.", time(h)),
        (true, _, _) => format!(" Why: a {dir} waits {} for {seen}, not {}.", time(h), time(b)),
    }
}

/// What an I/O waited for, here and there. No process waits for the requests that writes to memory become.
fn parts(dir: Dir, here: &Total, base: &Total) -> Vec<(String, f64, f64)> {
    let mut parts: Vec<(String, f64, f64)> = Vec::new();
    if let (Some(here), Some(base)) = (&here.in_memory, &base.in_memory) {
        parts.extend(here.iter().zip(base).map(|((what, h), (_, b))| (what.words().to_owned(), *h, *b)));
        if dir == Dir::Write {
            return parts;
        }
    }
    for (&(cause, h), &(_, b)) in here.waited.iter().zip(&base.waited) {
        let seen = cause.seen_by(dir);
        match parts.iter_mut().find(|(known, _, _)| *known == seen) {
            Some(part) => (part.1, part.2) = (part.1 + h, part.2 + b),
            None => parts.push((seen, h, b)),
        }
    }
    parts.push(("a request slot".to_owned(), here.slept, base.slept));
    parts
}
