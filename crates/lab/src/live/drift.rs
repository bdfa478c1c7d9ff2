//! Whether the settings met the same load: its mix of sizes, kinds, rates and processes, between the settings and over
//! the trial's time.
//!
//! **Rule** Sizes and kinds are the load's own. Rates and the processes' shares are so as well, or follow from the
//! setting, as whoever is served sooner asks sooner: that is said and excludes nothing. Over time, the blocks of the
//! second half are compared with those of the first, all settings together: neighbours are compared, so a load that
//! changes biases nothing, but the answer is about both loads.

use super::StreamFigures;
use super::contrast::{Figure, LiveContrast, Look, PeriodFigures, RATE, Stream, contrasts};

/// A change over time of less is not said. Chosen: no load is the same for twenty minutes, and nothing hangs on it but
/// a sentence.
const TO_SPEAK_OF: f64 = 1.1;
/// Fewer blocks have no halves to compare.
const FEWEST_BLOCKS: usize = 6;

const MIX: [Figure; 3] = [
    ("KiB per I/O", |period, stream, _| {
        period.get(stream).map_or(f64::NAN, |got| got.bytes as f64 / 1024.0 / got.ios() as f64)
    }),
    ("share of I/Os", share),
    (RATE, |period, stream, seconds| period.get(stream).map_or(0, StreamFigures::ios) as f64 / seconds),
];
/// Of a process: its rate follows from its share.
const MIX_OF_A_PROCESS: [Figure; 1] = [("share of I/Os", share)];

/// A kind's part of all I/Os of the period, or a process's part in those of all processes of the kind.
fn share(period: &PeriodFigures, (task, kind): &Stream, _: f64) -> f64 {
    let own = period.get(&(task.clone(), *kind)).map_or(0, StreamFigures::ios);
    let is_beside = |other: &Stream| match task {
        None => other.0.is_none(),
        // Groups' counters count before I/Os are merged, and the disk's behind that.
        Some(_) => other.0.is_some() && other.1 == *kind,
    };
    let of: u64 = period.iter().filter(|(stream, _)| is_beside(stream)).map(|(_, got)| got.ios()).sum();
    own as f64 / of as f64
}

/// What of the load differs between the settings.
pub(super) fn between_settings(blocks: &[Vec<PeriodFigures>], streams: &[&Stream], seconds: f64) -> Vec<LiveContrast> {
    let (kinds, processes): (Vec<_>, Vec<_>) = streams.iter().copied().partition(|(task, _)| task.is_none());
    let mut all = contrasts(blocks, &kinds, &MIX, seconds, Look::Last);
    all.extend(contrasts(blocks, &processes, &MIX_OF_A_PROCESS, seconds, Look::Last));
    all.retain(LiveContrast::is_proven);
    all
}

/// What of the load differs between the trial's halves: `base` is the first, `here` the second, and the arm says
/// nothing.
pub(super) fn over_time(blocks: &[Vec<PeriodFigures>], streams: &[&Stream], seconds: f64) -> Vec<LiveContrast> {
    if blocks.len() < FEWEST_BLOCKS {
        return Vec::new();
    }
    let whole: Vec<PeriodFigures> = blocks.iter().map(|block| together(block)).collect();
    let half = whole.len() / 2;
    let halves = whole[..half].iter().zip(&whole[whole.len() - half..]);
    let halves: Vec<Vec<PeriodFigures>> = halves.map(|(first, second)| vec![first.clone(), second.clone()]).collect();
    let arms = blocks.first().map_or(1, Vec::len) as f64;
    let mut all = between_settings(&halves, streams, seconds * arms);
    all.retain(|one| !(1.0 / TO_SPEAK_OF..TO_SPEAK_OF).contains(&one.paired.ratio));
    all
}

/// The periods of a block as one.
fn together(block: &[PeriodFigures]) -> PeriodFigures {
    let mut all = PeriodFigures::new();
    for (stream, got) in block.iter().flatten() {
        let sum = all.entry(stream.clone()).or_default();
        sum.waits.merge(&got.waits);
        sum.bytes += got.bytes;
        sum.counted.0 += got.counted.0;
        sum.counted.1 += got.counted.1;
        sum.untimed += got.untimed;
    }
    all
}

#[cfg(test)]
mod tests {
    use blksched::Span;

    use super::*;
    use crate::live::{LiveCount, LiveKind, judge};

    /// Twelve blocks of two periods: what each process read in it, by the block and the arm.
    fn verdict(reads: impl Fn(usize, usize) -> Vec<(&'static str, u64)>) -> crate::live::LiveVerdict {
        let period = |block: usize, arm: usize| {
            let mut figures = PeriodFigures::new();
            for (nth, (task, ios)) in reads(block, arm).into_iter().enumerate() {
                // No two periods are quite alike.
                let ios = ios + (block as u64 * 7 + arm as u64 * 3 + nth as u64) % 3;
                for whose in [None, Some(task.to_owned())] {
                    let (kind, waited) = (LiveKind::Read, Some(Span::from_ms(2 * ios)));
                    let count = LiveCount { whose: whose.clone(), kind, ios, bytes: ios * 4096, waited };
                    figures.entry((whose, kind)).or_default().count(&count);
                }
            }
            figures
        };
        let blocks: Vec<_> = (0..12).map(|block| vec![period(block, 0), period(block, 1)]).collect();
        judge(&blocks, 10.0, Look::Last)
    }

    fn said(drift: &[LiveContrast]) -> Vec<(Option<&str>, &str)> {
        drift.iter().map(|one| (one.stream.0.as_deref(), one.figure)).collect()
    }

    #[test]
    fn the_same_load_is_no_drift() {
        let verdict = verdict(|_, _| vec![("db", 1000), ("cp", 500)]);
        assert!(verdict.drift.is_empty() && verdict.over_time.is_empty(), "{verdict:?}");
    }

    #[test]
    fn another_rate_and_other_processes_are_said_and_may_follow_from_the_setting() {
        let faster = verdict(|_, arm| vec![("db", [1000, 1400][arm])]);
        assert_eq!(said(&faster.drift), [(None, RATE)]);
        assert!((faster.drift[0].paired.ratio - 1.4).abs() < 0.02 && faster.drift[0].may_be_the_settings());
        let other = verdict(|_, arm| if arm == 0 { vec![("db", 1000), ("cp", 500)] } else { vec![("db", 1500)] });
        let of_cp = other.drift.iter().find(|one| one.stream.0.as_deref() == Some("cp")).expect("cp is not there");
        assert!(of_cp.paired.ratio < 0.001 && of_cp.may_be_the_settings() && of_cp.base > 0.3, "{of_cp:?}");
        assert!(of_cp.here.is_finite() && other.over_time.is_empty());
    }

    #[test]
    fn a_load_that_changes_over_time_is_said_and_is_none_between_settings() {
        let verdict = verdict(|block, _| vec![("db", 1000), ("cp", if block < 6 { 100 } else { 1000 })]);
        assert!(verdict.drift.is_empty(), "{:?}", verdict.drift);
        assert_eq!(
            said(&verdict.over_time),
            [(None, RATE), (Some("cp"), "share of I/Os"), (Some("db"), "share of I/Os")]
        );
        let cp = &verdict.over_time[1];
        assert!(cp.paired.ratio > 5.0 && cp.base < 0.1 && cp.here > 0.4, "{cp:?}");
    }
}
