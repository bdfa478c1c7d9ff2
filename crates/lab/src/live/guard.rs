//! What ends a trial before its time: `--abort-if 'p99 read > 500ms for 20s'`.

use std::fmt;
use std::str::FromStr;

use blksched::Span;

use super::{LiveIo, LiveKind, StreamFigures};

/// What a guard looks at, second by second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GuardedFigure {
    /// The 99th percentile of the latency of one kind, above this.
    P99(LiveKind, Span),
    /// Its mean, above this.
    Mean(LiveKind, Span),
    /// The part of the time in which all processes that wanted to run waited for I/O (`full` of
    /// `/proc/pressure/io`), above this \[0 to 1\].
    PsiFull(f64),
}

/// A guard, and for how long its figure has been beyond its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// What is watched.
    pub figure: GuardedFigure,
    /// For how long it must last.
    pub lasting: Span,
    beyond: Span,
}

const EXPECTED: &str = "expected as in `p99 read > 500ms for 20s`, `mean sync-write > 1s for 30s` or \
                        `psi full > 80% for 30s`";

impl Guard {
    /// What the next `elapsed` brought: the I/Os that were done, how long the oldest one that is not has waited, and
    /// the part of the time that PSI calls full. True if the trial is to end.
    ///
    /// A kind of which nothing was done is judged by what waits: a disk that hangs completes nothing.
    pub fn is_hit(&mut self, elapsed: Span, done: &[LiveIo], oldest: Option<Span>, psi_full: Option<f64>) -> bool {
        let is_beyond = match self.figure {
            GuardedFigure::PsiFull(limit) => psi_full.is_some_and(|full| full > limit),
            GuardedFigure::P99(kind, limit) | GuardedFigure::Mean(kind, limit) => {
                let mut figures = StreamFigures::default();
                done.iter().filter(|io| io.kind == kind).for_each(|io| figures.add(io));
                let seen = match self.figure {
                    _ if figures.waits.is_empty() => oldest.unwrap_or(Span::ZERO),
                    GuardedFigure::P99(..) => figures.waits.percentile(99.0),
                    _ => Span::from_ns(figures.waits.mean() as u64),
                };
                seen > limit
            }
        };
        self.beyond = if is_beyond { self.beyond + elapsed } else { Span::ZERO };
        self.beyond >= self.lasting
    }

    /// The next period begins: what was seen under the former setting no longer counts.
    pub fn forget(&mut self) {
        self.beyond = Span::ZERO;
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figure {
            GuardedFigure::P99(kind, limit) => write!(f, "p99 {} > {limit}", kind.name())?,
            GuardedFigure::Mean(kind, limit) => write!(f, "mean {} > {limit}", kind.name())?,
            GuardedFigure::PsiFull(limit) => write!(f, "psi full > {}%", limit * 100.0)?,
        }
        write!(f, " for {}", self.lasting)
    }
}

impl FromStr for Guard {
    type Err = String;

    fn from_str(text: &str) -> Result<Guard, String> {
        let wrong = |word: &str| format!("`{text}`: `{word}` was not understood; {EXPECTED}");
        let words: Vec<&str> = text.split_whitespace().collect();
        let [figure, of, ">", limit, "for", lasting] = words[..] else {
            return Err(format!("`{text}` was not understood; {EXPECTED}"));
        };
        let time = |word: &str| word.parse::<Span>().map_err(|_| wrong(word));
        let kind = || LiveKind::ALL.into_iter().find(|kind| kind.name() == of).ok_or_else(|| wrong(of));
        let figure = match figure {
            "p99" => GuardedFigure::P99(kind()?, time(limit)?),
            "mean" => GuardedFigure::Mean(kind()?, time(limit)?),
            "psi" if of == "full" => {
                let percent = limit.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
                let percent = percent.filter(|percent| (0.0..100.0).contains(percent));
                GuardedFigure::PsiFull(percent.ok_or_else(|| wrong(limit))? / 100.0)
            }
            "psi" => return Err(wrong(of)),
            other => return Err(wrong(other)),
        };
        Ok(Guard { figure, lasting: time(lasting)?, beyond: Span::ZERO })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Span = Span::from_secs(1);

    fn reads(waited: Span) -> Vec<LiveIo> {
        vec![LiveIo { task: "db".to_owned(), kind: LiveKind::Read, bytes: 4096, waited }; 50]
    }

    #[test]
    fn a_guard_is_hit_when_its_time_is_full_and_begins_anew_after_a_good_second() {
        let mut guard: Guard = "p99 read > 500ms for 3s".parse().unwrap();
        let (slow, limit) = (reads(Span::from_ms(600)), reads(Span::from_ms(500)));
        assert!(!guard.is_hit(SECOND, &slow, None, None) && !guard.is_hit(SECOND, &slow, None, None));
        assert!(!guard.is_hit(SECOND, &limit, None, None), "at the limit is not beyond it");
        assert!(!guard.is_hit(SECOND, &slow, None, None) && !guard.is_hit(SECOND, &slow, None, None));
        assert!(guard.is_hit(SECOND, &slow, None, None));
    }

    #[test]
    fn a_disk_that_hangs_is_noticed_by_what_waits() {
        let mut guard: Guard = "p99 read > 500ms for 1s".parse().unwrap();
        assert!(!guard.is_hit(SECOND, &[], None, None) && !guard.is_hit(SECOND, &[], Some(Span::from_ms(500)), None));
        assert!(guard.is_hit(SECOND, &[], Some(Span::from_ms(501)), None));
    }

    #[test]
    fn pressure_is_a_part_of_the_time() {
        let mut guard: Guard = "psi full > 80% for 2s".parse().unwrap();
        assert!(!guard.is_hit(SECOND, &[], None, Some(0.9)));
        guard.forget();
        assert!(!guard.is_hit(SECOND, &[], None, Some(0.9)) && guard.is_hit(SECOND, &[], None, Some(0.81)));
        assert!(!guard.is_hit(SECOND, &[], None, Some(0.8)) && !guard.is_hit(SECOND, &[], None, None));
    }

    #[test]
    fn words_come_back_and_wrong_ones_are_named() {
        for text in ["p99 read > 500ms for 20s", "mean sync-write > 1s for 30s", "psi full > 80% for 30s"] {
            assert_eq!(text.parse::<Guard>().unwrap().to_string(), text);
        }
        for (text, word) in
            [("p98 read > 1s for 1s", "`p98`"), ("p99 reed > 1s for 1s", "`reed`"), ("p99 read > 1 for 1s", "`1`")]
        {
            assert!(text.parse::<Guard>().unwrap_err().contains(word), "{text}");
        }
        assert!("psi full > 100% for 1s".parse::<Guard>().is_err() && "p99 read".parse::<Guard>().is_err());
    }
}
