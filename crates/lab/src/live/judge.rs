//! From periods to a verdict: pairs within blocks, by the statistics of `compare`.
//!
//! **Rule** A figure of an arm is compared with the first arm's figure of the same block; Holm's correction is over all
//! figures of all arms, so that of twenty trials of a setting against itself nineteen find nothing, however many
//! processes there are. The trial ends early if its main figure (the p99 of the busiest kind that somebody waits for,
//! its mean where most periods have too few I/Os for one) has p at most 0.001 for every arm: the boundary of Haybittle
//! and Peto, which leaves the last look at 0.05. Whoever stops at what looks large sees it larger than it is, so that
//! intervals are then those that the boundary leaves: the ratios that would not have ended it (a repeated confidence
//! interval).
//!
//! **Source** R. Peto et al., "Design and analysis of randomized clinical trials requiring prolonged observation of
//! each patient", British Journal of Cancer 34 (1976), 585-612; C. Jennison and B. W. Turnbull, "Interim analyses: the
//! repeated confidence interval approach", Journal of the Royal Statistical Society B 51 (1989), 305-361.

use std::collections::{BTreeMap, BTreeSet};

use blksched::Span;

use super::contrast::{EARLY, Figure, LiveContrast, Look, PeriodFigures, RATE, Stream, contrasts};
use super::{LiveKind, StreamFigures, drift};

/// Blocks before the first early look; below eight, Student's t trusts that logarithms are normal.
const FIRST_LOOK: usize = 8;
/// A p99 of fewer I/Os is their maximum.
const ENOUGH: u64 = 100;
/// So many processes with the most I/O are compared one by one: each costs power.
const PROCESSES: usize = 4;

/// What the periods say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveVerdict {
    /// The blocks that were complete.
    pub blocks: usize,
    /// Each arm's main figure, in the arms' order.
    pub main: Vec<LiveContrast>,
    /// All figures.
    pub contrasts: Vec<LiveContrast>,
    /// What of the load itself differs between the arms: then the settings did not meet the same load, or have made it
    /// another ([`LiveContrast::may_be_the_settings`]).
    pub drift: Vec<LiveContrast>,
    /// What of it differs between the trial's halves, the first (`base`) and the second (`here`).
    pub over_time: Vec<LiveContrast>,
}

impl LiveVerdict {
    /// Whether any figure differs.
    pub fn differs(&self) -> bool {
        self.contrasts.iter().any(LiveContrast::is_proven)
    }
}

/// Less of the time counts as this part: the ratio of two nothings is none.
const PRESSURE_TO_SPEAK_OF: f64 = 1e-3;

/// A part of the time for which processes waited for I/O \[%\].
fn pressure(period: &PeriodFigures, stream: &Stream, seconds: f64, which: usize) -> f64 {
    let part = |stalled: [Span; 2]| (stalled[which].as_secs_f64() / seconds).max(PRESSURE_TO_SPEAK_OF);
    period.get(stream).and_then(|got| got.stalled).map_or(f64::NAN, |stalled| 100.0 * part(stalled))
}

const RESULTS: [Figure; 6] = [
    ("p99 ms", |period, stream, _| {
        let known = period.get(stream).filter(|got| got.waits.count() >= ENOUGH);
        known.map_or(f64::NAN, |got| got.waits.percentile(99.0).as_ms_f64())
    }),
    ("mean ms", |period, stream, _| period.get(stream).map_or(f64::NAN, |got| got.mean() / 1e6)),
    ("KiB/s", |period, stream, seconds| {
        let known = period.get(stream).filter(|got| got.ios() > 0);
        known.map_or(f64::NAN, |got| got.bytes as f64 / 1024.0 / seconds)
    }),
    // Of a group, whose latencies nobody knows.
    (RATE, |period, stream, seconds| {
        let untimed = period.get(stream).map(|got| got.untimed).filter(|untimed| *untimed > 0);
        untimed.map_or(f64::NAN, |untimed| untimed as f64 / seconds)
    }),
    ("psi some %", |period, stream, seconds| pressure(period, stream, seconds, 0)),
    ("psi full %", |period, stream, seconds| pressure(period, stream, seconds, 1)),
];

/// Compares the complete blocks; each has every arm's period by the arm's number, of which `seconds` were measured.
pub fn judge(blocks: &[Vec<PeriodFigures>], seconds: f64, look: Look) -> LiveVerdict {
    let streams = streams(blocks);
    let all: Vec<&Stream> = streams.iter().collect();
    let mut contrasts = contrasts(blocks, &all, &RESULTS, seconds, look);
    // Where nobody waited under either there is nothing to be read.
    let least = 100.0 * PRESSURE_TO_SPEAK_OF * 1.001;
    contrasts.retain(|one| !one.figure.starts_with("psi ") || one.base.max(one.here) > least);
    let load: Vec<&Stream> = all.iter().copied().filter(|(_, kind)| *kind != LiveKind::Any).collect();
    let drift = drift::between_settings(blocks, &load, seconds);
    let over_time = drift::over_time(blocks, &load, seconds);
    let busiest = main_stream(blocks);
    let of = |figure: &'static str| {
        contrasts.iter().filter(move |one| one.figure == figure).filter(|one| Some(&one.stream) == busiest.as_ref())
    };
    // Where I/Os are too few for a p99 under one of them, or only counted, the mean.
    let others = blocks.first().map_or(0, Vec::len).saturating_sub(1);
    let figure = if of("p99 ms").count() == others { "p99 ms" } else { "mean ms" };
    let main: Vec<&LiveContrast> = of(figure).collect();
    LiveVerdict { blocks: blocks.len(), main: main.into_iter().cloned().collect(), contrasts, drift, over_time }
}

/// Whether it is clear before its time.
pub fn is_clear(blocks: &[Vec<PeriodFigures>], seconds: f64) -> bool {
    let (Some(stream), true) = (main_stream(blocks), blocks.len() >= FIRST_LOOK) else { return false };
    let by = |figure: usize| contrasts(blocks, &[&stream], &RESULTS[figure..=figure], seconds, Look::Last);
    let arms = blocks.first().map_or(0, Vec::len);
    let main = Some(by(0)).filter(|by_p99| by_p99.len() + 1 == arms).unwrap_or_else(|| by(1));
    main.len() + 1 == arms && main.iter().all(|one| one.p <= EARLY)
}

/// The kinds, and the processes (or control groups) with the most I/O, each with its pressure if that is known.
fn streams(blocks: &[Vec<PeriodFigures>]) -> BTreeSet<Stream> {
    let mut counts: BTreeMap<&Stream, u64> = BTreeMap::new();
    for (stream, got) in blocks.iter().flatten().flatten() {
        *counts.entry(stream).or_default() += got.ios();
    }
    let (pressed, counts): (Vec<_>, Vec<_>) = counts.into_iter().partition(|((_, kind), _)| *kind == LiveKind::Any);
    let (kinds, mut tasks): (Vec<_>, Vec<_>) = counts.into_iter().partition(|((task, _), _)| task.is_none());
    tasks.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
    // One process alone is its kind.
    let tasks =
        if tasks.len() > kinds.len() { tasks.into_iter().take(PROCESSES) } else { Vec::new().into_iter().take(0) };
    let mut chosen: BTreeSet<Stream> = kinds.into_iter().chain(tasks).map(|(stream, _)| stream.clone()).collect();
    let is_chosen = |whose: &Option<String>| whose.is_none() || chosen.iter().any(|(task, _)| task == whose);
    let pressed: Vec<_> = pressed.into_iter().map(|(stream, _)| stream).filter(|(task, _)| is_chosen(task)).collect();
    chosen.extend(pressed.into_iter().cloned());
    chosen
}

/// Of the kinds that somebody waits for, that with the most I/Os; of all if there is none.
fn main_stream(blocks: &[Vec<PeriodFigures>]) -> Option<Stream> {
    let count = |kind: LiveKind| {
        let of = |period: &PeriodFigures| period.get(&(None, kind)).map_or(0, StreamFigures::ios);
        blocks.iter().flatten().map(of).sum::<u64>()
    };
    // Counters do not tell who is waited for.
    let is_counted = blocks.iter().flatten().flatten().any(|(_, got)| got.counted.0 > 0);
    let kinds = if is_counted { &LiveKind::ALL[..] } else { &[LiveKind::SyncWrite, LiveKind::Read] };
    let waited_for = kinds.iter().copied().filter(|kind| count(*kind) > 0);
    let kind = waited_for.max_by_key(|kind| count(*kind)).or((count(LiveKind::Write) > 0).then_some(LiveKind::Write))?;
    Some((None, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{LiveCount, LiveStall};

    /// Blocks of two periods in which so many reads were only counted, each of these lengths \[ms\].
    fn counted(reads: u64, lengths: &[[u64; 2]]) -> Vec<Vec<PeriodFigures>> {
        let period = |ms: u64| {
            let mut got = StreamFigures::default();
            let (kind, waited) = (LiveKind::Read, Some(Span::from_ms(ms * reads)));
            got.count(&LiveCount { whose: None, kind, ios: reads, bytes: reads * 4096, waited });
            PeriodFigures::from([((None, LiveKind::Read), got)])
        };
        lengths.iter().map(|block| block.iter().map(|ms| period(*ms)).collect()).collect()
    }

    #[test]
    fn where_ios_are_only_counted_the_mean_decides() {
        let lengths = [[10, 20], [11, 21], [10, 21], [9, 19], [10, 20], [11, 22], [10, 19], [10, 20]];
        let verdict = judge(&counted(50, &lengths), 10.0, Look::Last);
        let [main] = &verdict.main[..] else { panic!("{:?}", verdict.main) };
        assert!(main.figure == "mean ms" && main.is_proven(), "{main:?}");
        assert!((main.paired.ratio - 2.0).abs() < 0.1 && (main.base - 10.1).abs() < 0.2, "{main:?}");
        assert!(verdict.contrasts.iter().all(|one| one.figure != "p99 ms"));
        assert!(is_clear(&counted(50, &lengths), 10.0) && !is_clear(&counted(50, &lengths[1..]), 10.0));
        let alike: Vec<[u64; 2]> = lengths.iter().map(|block| [block[0], block[0]]).collect();
        assert!(!judge(&counted(50, &alike), 10.0, Look::Last).differs());
        assert!(judge(&counted(0, &lengths), 10.0, Look::Last).main.is_empty(), "nothing was done");
    }

    #[test]
    fn of_groups_there_are_rates_and_pressure_and_no_latencies() {
        let (db, idle) = (Some("a/db".to_owned()), Some("idle".to_owned()));
        let mut blocks = counted(50, &[[10, 10], [11, 10], [10, 11], [10, 10], [11, 11], [10, 10], [9, 10], [10, 9]]);
        for (nth, period) in blocks.iter_mut().flatten().enumerate() {
            let (of_first, wander) = (nth % 2 == 0, nth as u64 % 3);
            let count = |whose: &Option<String>, ios| {
                let (whose, kind) = (whose.clone(), LiveKind::Read);
                LiveCount { whose, kind, ios, bytes: ios * 8192, waited: None }
            };
            for count in [count(&db, if of_first { 400 } else { 800 } + wander), count(&idle, 20 + wander)] {
                period.entry((count.whose.clone(), count.kind)).or_default().count(&count);
            }
            for (whose, ms) in [(None, 900), (db.clone(), 500), (Some("elsewhere".to_owned()), 100)] {
                let some = Span::from_ms(ms * if of_first { 4 } else { 2 } + wander);
                let stall = LiveStall { whose, some, full: Span::from_us(wander) };
                period.entry((stall.whose.clone(), LiveKind::Any)).or_default().stall(&stall);
            }
        }
        let verdict = judge(&blocks, 10.0, Look::Last);
        let proven = verdict.contrasts.iter().filter(|one| one.is_proven());
        let proven: Vec<_> = proven.map(|one| (one.stream.0.as_deref(), one.stream.1, one.figure)).collect();
        let (read, any) = (LiveKind::Read, LiveKind::Any);
        let of_db = [(Some("a/db"), read, "KiB/s"), (Some("a/db"), read, RATE), (Some("a/db"), any, "psi some %")];
        assert_eq!(proven, [&[(None, any, "psi some %")][..], &of_db].concat());
        let figures = |whose: &Option<String>| {
            let own = verdict.contrasts.iter().filter(|one| one.stream.0 == *whose);
            own.map(|one| one.figure).collect::<Vec<_>>()
        };
        assert_eq!(figures(&idle), ["KiB/s", RATE], "of whom nothing else is known");
        assert!(figures(&None).contains(&"mean ms") && figures(&Some("elsewhere".to_owned())).is_empty());
        let rate = verdict.contrasts.iter().find(|one| one.figure == RATE && one.stream.0 == db).expect("its rate");
        assert!((rate.base - 40.0).abs() < 1.0 && (rate.paired.ratio - 2.0).abs() < 0.05, "{rate:?}");
        // A thousandth of the time, or less, is no waiting.
        assert!(verdict.contrasts.iter().all(|one| one.figure != "psi full %"), "{verdict:?}");
        assert_eq!(verdict.main[0].stream, (None, LiveKind::Read));
        // Shares are of the groups' I/Os: merging makes the disk's fewer.
        assert!(verdict.drift.iter().all(|one| one.base <= 1.0 || one.figure != "share of I/Os"), "{verdict:?}");
    }
}
