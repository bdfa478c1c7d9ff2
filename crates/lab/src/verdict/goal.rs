//! The figures that count: by role, by one of the goals' names, or given job by job.
//!
//! `pgdata: p99 read, wal: p99 fsync, backup: finish < 2h`: clauses separated by commas, each a job, a figure, a
//! direction, and optionally a bound. The figure of a clause without a bound is to improve; a bound is to be kept.

use blksched_measure::{Sample, Work};
use blksched_text::{did_you_mean, nearest};

use crate::error::{Expected, WordError};
use crate::runs::measured::{JobEnd, JobMeasure, Measured};
use crate::verdict::clones::families;
use crate::verdict::figure::{Figure, FigureKind};
use crate::verdict::role::Role;

/// One figure of all jobs together that makes a scheduler better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedGoal {
    /// The mean latency of reads.
    ReadLatency,
    /// The mean latency of writes.
    WriteLatency,
    /// The bandwidth of all reads.
    ReadBandwidth,
    /// The bandwidth of all writes.
    WriteBandwidth,
    /// Jain's index of the disk time that jobs got for what they asked for.
    Fairness,
    /// The part of the disk's time that goes where I/O priorities ask.
    Priorities,
}

/// The word for every job by its role: latency-bound jobs by how long reads and syncs take, bulk jobs by bandwidth,
/// background jobs not at all.
const BALANCE: &str = "balance";

impl NamedGoal {
    /// All of them, by their words.
    const WORDS: [(&'static str, NamedGoal); 6] = [
        ("read-latency", NamedGoal::ReadLatency),
        ("write-latency", NamedGoal::WriteLatency),
        ("read-bandwidth", NamedGoal::ReadBandwidth),
        ("write-bandwidth", NamedGoal::WriteBandwidth),
        ("fairness", NamedGoal::Fairness),
        ("priorities", NamedGoal::Priorities),
    ];

    /// The word that names it.
    pub fn word(self) -> &'static str {
        NamedGoal::WORDS.iter().find(|(_, goal)| *goal == self).expect("each has a word").0
    }

    /// The words after "2.00 times better than …".
    pub fn name(self) -> &'static str {
        match self {
            NamedGoal::ReadLatency => "in read latency",
            NamedGoal::WriteLatency => "in write latency",
            NamedGoal::ReadBandwidth => "in read bandwidth",
            NamedGoal::WriteBandwidth => "in write bandwidth",
            NamedGoal::Fairness => "in fairness",
            NamedGoal::Priorities => "in keeping the priorities",
        }
    }
}

/// What makes a scheduler better than another.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// Every job by its role.
    Roles,
    /// One figure of all jobs together.
    Named(NamedGoal),
    /// As the user specified.
    Clauses(Vec<Clause>),
}

/// One figure that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// As the user wrote it.
    pub text: String,
    /// The figure, once for every clone of the job.
    pub figures: Vec<Figure>,
    /// The value that it must not pass; `None` if it should improve.
    pub bound: Option<Bound>,
}

/// A value that a figure must stay above or below, in the figure's base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It must stay below.
    Below(f64),
    /// It must stay above.
    Above(f64),
}

impl Bound {
    /// Whether every run keeps it.
    pub fn holds(self, sample: &Sample) -> bool {
        sample.values().iter().all(|&value| match self {
            Bound::Below(limit) => value < limit,
            Bound::Above(limit) => value > limit,
        })
    }
}

impl Goal {
    /// Parses a goal, and checks it against the jobs.
    ///
    /// # Errors
    /// The word that is no goal, job, figure or direction, and the nearest.
    pub fn read(said: Option<&str>, jobs: &[JobMeasure]) -> Result<Goal, WordError> {
        let Some(said) = said else { return Ok(Goal::Roles) };
        if !said.contains(':') {
            let (asked, named) = (said.trim().to_ascii_lowercase(), NamedGoal::WORDS);
            if asked == BALANCE {
                return Ok(Goal::Roles);
            }
            return named.iter().find(|(word, _)| *word == asked).map(|(_, goal)| Goal::Named(*goal)).ok_or_else(
                || {
                    let words: Vec<&str> =
                        std::iter::once(BALANCE).chain(named.iter().map(|(word, _)| *word)).collect();
                    let near = did_you_mean(said.trim(), words.iter().copied());
                    let example = "as in 'db: p99 read, wal: p99 fsync, backup: finish < 2h'";
                    let message =
                        format!("--goal {said}: expected one of {}, or JOB: FIGURE, {example}{near}", words.join(", "));
                    WordError::new(Expected::Goal, said.trim(), message).near(nearest(said.trim(), words))
                },
            );
        }
        let within = |text: &str| format!("--goal: {}", text.trim());
        let clauses = said.split(',').map(|text| clause(text, jobs).map_err(|error| error.within(within(text))));
        clauses.collect::<Result<_, _>>().map(Goal::Clauses)
    }

    /// The name for machines and headings.
    pub fn name(&self) -> String {
        match self {
            Goal::Roles => BALANCE.to_owned(),
            Goal::Named(named) => named.word().to_owned(),
            Goal::Clauses(clauses) => clauses.iter().map(|clause| clause.text.as_str()).collect::<Vec<_>>().join(", "),
        }
    }

    /// The figures that should improve, in groups of equal weight.
    pub fn objectives(&self, base: &Measured) -> Vec<Vec<Figure>> {
        let all = |what, work| vec![vec![Figure { row: None, work, what }]];
        match self {
            Goal::Roles => by_role(base),
            Goal::Clauses(clauses) => {
                clauses.iter().filter(|clause| clause.bound.is_none()).map(|clause| clause.figures.clone()).collect()
            }
            Goal::Named(named) => match named {
                NamedGoal::ReadLatency => all(FigureKind::Mean, Some(Work::Read)),
                NamedGoal::WriteLatency => all(FigureKind::Mean, Some(Work::Write)),
                NamedGoal::ReadBandwidth => all(FigureKind::Bandwidth, Some(Work::Read)),
                NamedGoal::WriteBandwidth => all(FigureKind::Bandwidth, Some(Work::Write)),
                NamedGoal::Fairness => all(FigureKind::Fairness, None),
                NamedGoal::Priorities => all(FigureKind::Kept, None),
            },
        }
    }

    /// Whether this row must not come to a standstill: where the goal names jobs, only those.
    pub fn protects(&self, row: usize) -> bool {
        match self {
            Goal::Clauses(clauses) => {
                clauses.iter().flat_map(|clause| &clause.figures).any(|figure| figure.row == Some(row))
            }
            Goal::Roles | Goal::Named(_) => true,
        }
    }

    /// The clauses that must be kept.
    pub fn bounds(&self) -> impl Iterator<Item = (&Clause, Bound)> {
        let clauses: &[Clause] = if let Goal::Clauses(clauses) = self { clauses } else { &[] };
        clauses.iter().filter_map(|clause| Some((clause, clause.bound?)))
    }
}

/// Latency-bound jobs by how long reads and syncs take (writes, if none reads or syncs), bulk jobs by throughput;
/// background jobs not at all, unless there are no others.
fn by_role(base: &Measured) -> Vec<Vec<Figure>> {
    let counts = |role: Role| base.jobs.iter().any(|job| job.role.0 == role);
    let nobody_else = !counts(Role::Latency) && !counts(Role::Bulk);
    let jobs = base.jobs.iter().enumerate().filter(|(_, job)| job.role.0 != Role::Background || nobody_else);
    let mut groups: Vec<(usize, Vec<Figure>)> = Vec::new();
    let families = families(&base.jobs);
    // Clones with a row each count together as one job.
    for (row, job) in jobs {
        let family = families.iter().position(|rows| rows.contains(&row)).unwrap_or(row);
        match groups.iter_mut().find(|(known, _)| *known == family) {
            Some((_, figures)) => figures.extend(of_job(row, job)),
            None => groups.push((family, of_job(row, job))),
        }
    }
    groups.into_iter().map(|(_, figures)| figures).filter(|figures| !figures.is_empty()).collect()
}

fn of_job(row: usize, job: &JobMeasure) -> Vec<Figure> {
    if job.end == JobEnd::Done && job.ran.is_some() {
        return vec![Figure { row: Some(row), work: None, what: FigureKind::Finish }];
    }
    let does = |work: &Work| job.work(*work).is_some();
    match job.role.0 {
        Role::Latency => {
            let mut works: Vec<Work> = [Work::Read, Work::Sync].into_iter().filter(does).collect();
            if works.is_empty() {
                works.extend([Work::Write, Work::Trim].into_iter().filter(does));
            }
            let both = |work| {
                [FigureKind::Mean, FigureKind::P99].map(|what| Figure { row: Some(row), work: Some(work), what })
            };
            works.into_iter().flat_map(both).collect()
        }
        Role::Bulk | Role::Background => {
            let works = [Work::Read, Work::Write, Work::Trim].into_iter().filter(does);
            works.map(|work| Figure { row: Some(row), work: Some(work), what: FigureKind::Bandwidth }).collect()
        }
    }
}

const FIGURES: [(&str, FigureKind); 11] = [
    ("mean", FigureKind::Mean),
    ("p50", FigureKind::P50),
    ("p99", FigureKind::P99),
    ("p99.9", FigureKind::P999),
    ("max", FigureKind::Max),
    ("bw", FigureKind::Bandwidth),
    ("bandwidth", FigureKind::Bandwidth),
    ("iops", FigureKind::Iops),
    ("finish", FigureKind::Finish),
    ("stall", FigureKind::Stall),
    ("latency", FigureKind::Mean),
];

const DIRECTIONS: [(&str, Work); 7] = [
    ("read", Work::Read),
    ("write", Work::Write),
    ("trim", Work::Trim),
    ("fsync", Work::Sync),
    ("fdatasync", Work::Sync),
    ("sync", Work::Sync),
    ("flush", Work::Sync),
];

fn clause(text: &str, jobs: &[JobMeasure]) -> Result<Clause, WordError> {
    let whole = |message: &str| WordError::new(Expected::Figure, text.trim(), message);
    let (name, what) = text.split_once(':').ok_or_else(|| whole("expected JOB: FIGURE, as in db: p99 read"))?;
    let rows: Vec<usize> = (0..jobs.len()).filter(|&row| jobs[row].name == name.trim()).collect();
    let row = *rows.first().ok_or_else(|| {
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let near = did_you_mean(name.trim(), names.iter().copied());
        let message = format!("no job is called `{}`{} (jobs: {})", name.trim(), near, names.join(", "));
        WordError::new(Expected::Job, name.trim(), message).near(nearest(name.trim(), names))
    })?;
    let job = &jobs[row];
    let (left, bound) = match what.find(['<', '>']) {
        Some(at) => (&what[..at], Some((what.as_bytes()[at], what[at + 1..].trim()))),
        None => (what, None),
    };
    let (mut figure, mut work) = (None, None);
    for said in left.split_whitespace() {
        let known = FIGURES.iter().find(|(name, _)| *name == said).map(|(_, what)| figure = Some(*what));
        let known =
            known.or_else(|| DIRECTIONS.iter().find(|(name, _)| *name == said).map(|(_, dir)| work = Some(*dir)));
        known.ok_or_else(|| {
            let words = FIGURES.iter().map(|(name, _)| *name).chain(DIRECTIONS.iter().map(|(name, _)| *name));
            let words: Vec<&str> = words.collect();
            let near = did_you_mean(said, words.iter().copied());
            let message = format!("`{said}` is neither a figure nor a direction{} (known: {})", near, words.join(", "));
            WordError::new(Expected::Figure, said, message).near(nearest(said, words))
        })?;
    }
    let figures = || format!("expected a figure, one of {}", FIGURES.map(|(name, _)| name).join(", "));
    let what = figure.ok_or_else(|| whole(&figures()))?;
    let of_the_job = matches!(what, FigureKind::Finish | FigureKind::Stall);
    let main = || [Work::Read, Work::Sync, Work::Write, Work::Trim].into_iter().find(|work| job.work(*work).is_some());
    let work = if of_the_job { None } else { work.or_else(main) };
    if let Some(missing) = work.filter(|work| job.work(*work).is_none()) {
        let does: Vec<&str> = job.work.iter().map(|(work, _)| work.name()).collect();
        let message = format!("{} does no {} (it does: {})", job.name, missing.name(), does.join(", "));
        return Err(WordError::new(Expected::Figure, missing.name(), message));
    }
    let bound = bound.map(|(sign, value)| {
        let wrong = |message| WordError::new(Expected::Value, value, message);
        let value = super::value::read(value, what.unit()).map_err(wrong)?;
        Ok::<_, WordError>(if sign == b'<' { Bound::Below(value) } else { Bound::Above(value) })
    });
    Ok(Clause {
        text: text.trim().to_owned(),
        figures: rows.into_iter().map(|row| Figure { row: Some(row), work, what }).collect(),
        bound: bound.transpose()?,
    })
}
