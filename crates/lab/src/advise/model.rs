//! Models that may be the recorded disk's, each held against the recorded latencies.

use blksched_measure::Work;

use super::load::{RecordedLoad, WaitingStream};
use crate::compare::Compared;
use crate::error::Error;
use crate::live::LiveKind;
use crate::runs::measured::Measured;
use crate::verdict::recorded::IN_MEMORY;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelFrom {
    /// The user named it.
    Named,
    /// It was measured earlier, on this disk.
    Measured,
    /// It was fitted to this very recording; behind it, what the fit says of the part that it has not seen.
    Fitted(String),
    /// The preset of its class; behind it, why this one.
    Class(String),
}

impl ModelFrom {
    /// In a word or two.
    pub fn word(&self) -> &'static str {
        match self {
            ModelFrom::Named => "named",
            ModelFrom::Measured => "measured earlier",
            ModelFrom::Fitted(_) => "fitted to this recording",
            ModelFrom::Class(_) => "preset of its class",
        }
    }
}

/// A model that may be the disk's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOffered {
    /// As `--disk` takes it.
    pub name: String,
    /// Where it comes from.
    pub from: ModelFrom,
}

/// When the recorded I/Os are submitted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// Each when its process had as few in flight, and after its recorded pause: `timing=closed`.
    Closed,
    /// At their recorded moments, however slow the disk is: `timing=recorded`.
    Open,
    /// As the user said.
    AsSaid,
}

impl Replayed {
    /// How it is done, in words.
    pub fn word(self) -> &'static str {
        match self {
            Replayed::Closed => "each I/O submitted when those were done that its process waited for",
            Replayed::Open => "I/Os submitted at their recorded moments",
            Replayed::AsSaid => "I/Os submitted as said",
        }
    }

    /// The ways in which a recording of this name can be replayed, the likelier first.
    pub(super) fn all(name: &str, has_completions: bool) -> Vec<Replayed> {
        match (name.contains("timing="), has_completions) {
            (true, _) => vec![Replayed::AsSaid],
            (false, true) => vec![Replayed::Closed, Replayed::Open],
            (false, false) => vec![Replayed::Open],
        }
    }

    /// Its name where it is kept.
    pub fn name(self) -> &'static str {
        match self {
            Replayed::Closed => "closed",
            Replayed::Open => "recorded",
            Replayed::AsSaid => "as said",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Replayed> {
        [Replayed::Closed, Replayed::Open, Replayed::AsSaid].into_iter().find(|way| way.name() == name)
    }

    /// The recording as a word of the command line, a row for each name of processes.
    pub(super) fn of(self, name: &str) -> String {
        let timing = match self {
            Replayed::Closed => "timing=closed",
            Replayed::Open => "timing=recorded",
            Replayed::AsSaid => "",
        };
        let rows = if name.contains("rows=") { "" } else { "rows=name" };
        let said = [timing, rows].iter().filter(|said| !said.is_empty()).copied().collect::<Vec<_>>().join(",");
        match (said.is_empty(), name.contains(':') && !name.contains("://")) {
            (true, _) => name.to_owned(),
            (false, true) => format!("{name},{said}"),
            (false, false) => format!("{name}:{said}"),
        }
    }
}

/// A model, and how far it is from the recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelTried {
    /// As it was offered.
    pub offered: ModelOffered,
    /// When the I/Os were submitted, of the ways that are possible the one by which it misses least.
    pub replayed: Replayed,
    /// The greatest factor by which a mean latency differs, from 1: of all reads, of all writes, or of a process that
    /// waits much; or why there is none.
    pub misses: Result<f64, String>,
    /// Which mean that is: `all reads`, `db's reads`.
    pub missed: Option<String>,
    /// Recorded and simulated means, in words.
    pub means: Option<String>,
}

/// How many times nearer a model has to be that was fitted to this very recording, to be taken instead of one that was
/// not. FIT, by judgement: what is fitted misses what it was fitted to by little, whatever it is, and knows nothing of
/// what the recorded load did not ask for. Only the choice between near models hangs on it.
const HEAD_START: f64 = 1.25;

/// A model that is off by a greater factor is another disk.
pub const NEAR: f64 = 2.0;

impl ModelTried {
    /// From a run of it.
    pub(super) fn of(
        (offered, replayed): (&ModelOffered, Replayed),
        load: &RecordedLoad,
        run: Result<Compared, Error>,
    ) -> ModelTried {
        let offered = offered.clone();
        let failed = |why: String| (Err(why), None, None);
        let (misses, missed, means) = match run {
            Ok(Compared { recorded: Some(recorded), measured, .. }) => {
                let of_all = recorded.rows.iter().filter(|row| row.recorded.mean.max(row.simulated) > IN_MEMORY);
                let of_all = of_all.map(|row| (format!("all {}s", row.word), row.recorded.mean, row.simulated));
                let each = measured.first().map_or_else(Vec::new, |measured| by_process(load, measured));
                let far = |was: f64, is: f64| (is / was).max(was / is.max(f64::MIN_POSITIVE));
                let all = of_all.chain(each).map(|(whose, was, is)| (whose, far(was, is)));
                match all.max_by(|a, b| a.1.total_cmp(&b.1)) {
                    Some((whose, far)) => (Ok(far), Some(whose), Some(recorded.brief())),
                    None => failed("all I/Os ended in memory, of which no model of a disk says anything".to_owned()),
                }
            }
            Ok(_) => failed("the recording has no completions, so no model can be held against it".to_owned()),
            Err(error) => failed(error.to_string()),
        };
        ModelTried { offered, replayed, misses, missed, means }
    }

    /// What was found of it earlier.
    pub fn found(
        offered: &ModelOffered,
        replayed: Replayed,
        misses: Result<f64, String>,
        missed: Option<String>,
        means: Option<String>,
    ) -> ModelTried {
        ModelTried { offered: offered.clone(), replayed, misses, missed, means }
    }

    /// Its miss as something to be sorted by; no figure is behind any.
    fn distance(&self) -> f64 {
        self.misses.as_ref().map_or(f64::INFINITY, |misses| *misses)
    }

    /// The way of replaying it by which it misses least; `earlier` of equal ones.
    pub(super) fn nearer_of(self, earlier: ModelTried) -> ModelTried {
        if self.distance() < earlier.distance() { self } else { earlier }
    }

    /// Whether predictions may rest on it.
    pub fn is_near(&self) -> bool {
        self.misses.as_ref().is_ok_and(|misses| *misses <= NEAR)
    }
}

/// The one that misses least; of several near ones, one that was fitted to the recording only if it misses much less.
pub(super) fn nearest(models: &[ModelTried]) -> Option<usize> {
    let is_fitted = |one: &ModelTried| matches!(one.offered.from, ModelFrom::Fitted(_));
    let any_near = models.iter().any(ModelTried::is_near);
    let handicap = |one: &ModelTried| if any_near && is_fitted(one) { HEAD_START } else { 1.0 };
    let asked = models.iter().enumerate().filter(|(_, one)| !any_near || one.is_near());
    let misses = asked.filter_map(|(at, one)| Some((at, *one.misses.as_ref().ok()? * handicap(one))));
    misses.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// A process with fewer I/Os has no mean to speak of.
const ENOUGH: u64 = 10;
/// Only processes count that wait for this part of all waiting, or more.
const MUCH: f64 = 0.05;

/// Of processes that wait much: whose I/Os, their recorded mean, and the simulated one \[ns\].
fn by_process(load: &RecordedLoad, measured: &Measured) -> Vec<(String, f64, f64)> {
    let awaited = |stream: &&WaitingStream| stream.kind != LiveKind::Write && !stream.waits.is_empty();
    let waited = |stream: &WaitingStream| stream.waits.mean() * stream.waits.count() as f64;
    let all: f64 = load.streams.iter().filter(awaited).map(waited).sum();
    let victim = load.victim().map(|victim| (&victim.process, victim.kind));
    let counts = |stream: &&WaitingStream| {
        let waits_much = waited(stream) >= MUCH * all || victim == Some((&stream.process, stream.kind));
        waits_much && stream.waits.count() >= ENOUGH && stream.waits.mean() > IN_MEMORY
    };
    let row = |stream: &WaitingStream| {
        // A simulated process's writes are all of a kind.
        let is_mixed = |other: &WaitingStream| other.process == stream.process && other.kind == LiveKind::Write;
        let work = match stream.kind {
            LiveKind::Read => Work::Read,
            _ if load.streams.iter().any(is_mixed) => return None,
            _ => Work::Write,
        };
        let jobs = || measured.jobs.iter().filter(|job| job.name == stream.process).filter_map(|job| job.work(work));
        let halves = || jobs().flat_map(|work| &work.halves).map(|half| (half.iops.mean(), half.mean.mean()));
        let known = || halves().filter(|(iops, mean)| *iops > 0.0 && mean.is_finite());
        let rate: f64 = known().map(|(iops, _)| iops).sum();
        let mean = known().map(|(iops, mean)| iops * mean).sum::<f64>() / rate;
        let what = if work == Work::Read { "reads" } else { "sync writes" };
        mean.is_finite().then(|| (format!("{}'s {what}", stream.process), stream.waits.mean(), mean))
    };
    load.streams.iter().filter(awaited).filter(counts).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(misses: Result<f64, String>) -> ModelTried {
        let offered = ModelOffered { name: "a".to_owned(), from: ModelFrom::Named };
        ModelTried { offered, replayed: Replayed::Closed, misses, missed: None, means: None }
    }

    #[test]
    fn the_nearest_model_answers_and_one_off_by_more_than_two_does_not() {
        let models = [tried(Ok(1.8)), tried(Err("x".to_owned())), tried(Ok(1.3)), tried(Ok(1.3))];
        assert_eq!(nearest(&models), Some(2), "the first of equally near ones");
        assert_eq!((nearest(&models[1..2]), nearest(&[])), (None, None));
        let mut fitted = tried(Ok(1.2));
        fitted.offered.from = ModelFrom::Fitted("x".to_owned());
        let both = |preset: f64| nearest(&[fitted.clone(), tried(Ok(preset))]);
        assert_eq!((both(1.49), both(1.51)), (Some(1), Some(0)), "it was fitted to what it is held against");
        fitted.misses = Ok(1.9);
        let both = |preset: f64| nearest(&[fitted.clone(), tried(Ok(preset))]);
        assert_eq!((both(2.3), both(1.99)), (Some(0), Some(1)), "the head start is among near ones");
        fitted.misses = Ok(9.0);
        assert_eq!(nearest(&[fitted.clone(), tried(Ok(9.5))]), Some(0), "none is near");
        assert_eq!(tried(Ok(1.5)).nearer_of(tried(Ok(3.0))).misses, Ok(1.5));
        assert_eq!(tried(Ok(9.0)).nearer_of(tried(Err("x".to_owned()))).misses, Ok(9.0));
        assert!(tried(Ok(2.0)).is_near() && !tried(Ok(2.001)).is_near() && !models[1].is_near());
    }

    #[test]
    fn a_recording_is_replayed_in_every_way_that_it_allows_unless_the_user_says_how() {
        assert_eq!(Replayed::all("x", true), [Replayed::Closed, Replayed::Open]);
        assert_eq!(Replayed::all("x", false), [Replayed::Open]);
        assert_eq!(Replayed::all("x:timing=no_stall", true), [Replayed::AsSaid]);
        assert_eq!(Replayed::Closed.of("x"), "x:timing=closed,rows=name");
        assert_eq!(Replayed::Open.of("x:device=sda"), "x:device=sda,timing=recorded,rows=name");
        assert_eq!(Replayed::AsSaid.of("x:timing=closed,rows=process"), "x:timing=closed,rows=process");
        assert_eq!(Replayed::Closed.of("s3://b/k"), "s3://b/k:timing=closed,rows=name");
    }
}
