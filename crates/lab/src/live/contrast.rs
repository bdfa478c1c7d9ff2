//! One figure of one setting against the same of the first, over the pairs of neighbouring periods.

use std::collections::BTreeMap;

use blksched_measure::{Paired, holm, logarithms};

use super::{LiveKind, StreamFigures};

/// What is significant.
const ALPHA: f64 = 0.05;
/// What ends a trial early.
pub(super) const EARLY: f64 = 0.001;
/// Requests done per second; of a process or a kind.
pub const RATE: &str = "I/Os per s";

/// A process's name (`None`: all of them) and a kind.
pub type Stream = (Option<String>, LiveKind);
/// What each stream got in a period.
pub type PeriodFigures = BTreeMap<Stream, StreamFigures>;

/// A figure of one arm against the first.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveContrast {
    /// The arm's number.
    pub arm: usize,
    /// Of whom.
    pub stream: Stream,
    /// `p99 ms`, `mean ms`, `KiB/s`; or a part of the load's mix: `KiB per I/O`, `share of I/Os`, `I/Os per s`.
    pub figure: &'static str,
    /// The first arm's geometric mean over the blocks, in the figure's unit.
    pub base: f64,
    /// This arm's.
    pub here: f64,
    /// Ratio, interval and chance, for this figure alone.
    pub paired: Paired,
    /// The chance, corrected by Holm for all figures.
    pub p: f64,
}

impl LiveContrast {
    /// Whether it differs.
    pub fn is_proven(&self) -> bool {
        self.p <= ALPHA
    }

    /// Whether what differs of the load may follow from the setting: whoever is served sooner asks sooner.
    pub fn may_be_the_settings(&self) -> bool {
        self.figure == RATE || self.stream.0.is_some()
    }
}

/// A figure of a period; NaN where there is none.
pub(super) type Figure = (&'static str, fn(&PeriodFigures, &Stream, f64) -> f64);

/// When the blocks are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It ended because it was clear.
    Early,
    /// It ended otherwise.
    Last,
}

/// Each arm's figures against the first arm's.
pub(super) fn contrasts(
    blocks: &[Vec<PeriodFigures>],
    streams: &[&Stream],
    figures: &[Figure],
    seconds: f64,
    look: Look,
) -> Vec<LiveContrast> {
    let mut found = Vec::new();
    for arm in 1..blocks.first().map_or(0, Vec::len) {
        for &stream in streams {
            for (figure, of) in figures {
                let each = |arm: usize| blocks.iter().map(|block| of(&block[arm], stream, seconds)).collect::<Vec<_>>();
                let (base, here) = (each(0), each(arm));
                let Some(paired) = Paired::of(&here, &base).filter(|paired| 2 * paired.count > blocks.len()) else {
                    continue;
                };
                let paired = match look {
                    Look::Early => repeated(paired, &logarithms(&here, &base)),
                    Look::Last => paired,
                };
                let base = middle(&base);
                // Where the first has nothing, there is nothing to multiply.
                let (base, here) = if base.is_nan() { (0.0, middle(&here)) } else { (base, base * paired.ratio) };
                found.push(LiveContrast { arm, stream: stream.clone(), figure, base, here, paired, p: 1.0 });
            }
        }
    }
    let corrected = holm(&found.iter().map(|one| one.paired.p).collect::<Vec<_>>());
    found.iter_mut().zip(corrected).for_each(|(one, p)| one.p = p);
    found
}

/// The same with the interval of the ratios whose p would have been above [`EARLY`].
fn repeated(paired: Paired, logarithms: &[f64]) -> Paired {
    let mean = paired.ratio.ln();
    let is_outside = |reach: f64| {
        let moved: Vec<f64> = logarithms.iter().map(|log| log - mean + reach).collect();
        Paired::of_logarithms(&moved).is_some_and(|moved| moved.p <= EARLY)
    };
    let mut inside = paired.high.ln() - mean;
    let mut outside = inside.max(1e-9) * 2.0;
    while !is_outside(outside) && outside < 1e3 {
        (inside, outside) = (outside, outside * 2.0);
    }
    for _ in 0..10 {
        let middle = (inside + outside) / 2.0;
        if is_outside(middle) { outside = middle } else { inside = middle }
    }
    Paired { low: (mean - outside).exp(), high: (mean + outside).exp(), ..paired }
}

/// The geometric mean of what is known.
fn middle(values: &[f64]) -> f64 {
    let logarithms: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_early_end_the_interval_is_wider_about_the_same_ratio() {
        let logarithms = [0.30, 0.22, 0.27, 0.35, 0.24, 0.29, 0.21, 0.31];
        let plain = Paired::of_logarithms(&logarithms).unwrap();
        let wide = repeated(plain, &logarithms);
        assert_eq!((wide.ratio, wide.p, wide.count), (plain.ratio, plain.p, plain.count));
        assert!(wide.low < plain.low && wide.high > plain.high, "{wide:?} {plain:?}");
        // What ends a trial excludes one.
        assert!(plain.p <= EARLY && wide.low > 1.0, "{wide:?}");
        // Student's t with 7 degrees of freedom: 5.41 at 0.001, 2.36 at 0.05.
        let times = (wide.high / wide.ratio).ln() / (plain.high / plain.ratio).ln();
        assert!((1.5..3.5).contains(&times), "{times}");
    }
}
