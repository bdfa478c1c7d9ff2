//! How much of each run the rows and sentences of its experiment need.
//!
//! A run can stop once none of its needed values can change: the processes whose `finish` is used have exited, and the
//! intervals whose rates are used are over. Reasons need not be kept if no row reads them. The output is the same to
//! the byte; a caller that needs more of a run than its rows uses [`Asked::everything`].

use blksched::{Instant, Span};

use super::expression::{Expression, fits};
use super::measures::{Measure, Needs, window_of};
use super::outcome::{Keeps, OutcomeObserver};
use super::spec::{Experiment, ExperimentRun, SentencePart};

/// What is asked of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Whether it runs to its own end.
    whole: bool,
    /// It runs at least until then.
    until: Instant,
    /// It runs until these processes have exited.
    exits: Vec<usize>,
    /// What is recorded of its reasons.
    pub(super) reasons: Keeps,
    /// Whether its seconds are recorded.
    pub(super) seconds: bool,
}

impl Asked {
    /// Everything about a run.
    pub fn everything() -> Asked {
        Asked { whole: true, until: Instant::ZERO, exits: Vec::new(), reasons: Keeps::All, seconds: true }
    }

    /// Whether the run has gone far enough.
    pub(super) fn is_enough(&self, now: Instant, seen: &OutcomeObserver) -> bool {
        !self.whole && now >= self.until && self.exits.iter().all(|&nth| seen.processes[nth].ended.is_some())
    }

    fn add(&mut self, run: &ExperimentRun, measure: &Measure, words: &[String]) {
        match measure.needs {
            Needs::Exit => {
                let meant = |nth: &usize| fits(&words[0], &run.processes[*nth]) && !self.exits.contains(nth);
                let meant: Vec<usize> = (0..run.processes.len()).filter(meant).collect();
                self.exits.extend(meant);
            }
            Needs::Rates | Needs::Seconds => {
                let (_, to) = window_of(measure, words).unwrap_or((Span::ZERO, run.scene.time));
                self.until = self.until.max(Instant::ZERO + to);
                self.seconds |= measure.needs == Needs::Seconds;
            }
            Needs::Processes => self.whole = true,
            Needs::Counts => (self.whole, self.reasons) = (true, self.reasons.max(Keeps::Counts)),
            Needs::Reasons => (self.whole, self.reasons) = (true, Keeps::All),
        }
    }
}

/// The expression of a part, if it is computed.
fn number(part: &SentencePart) -> Option<&Expression> {
    match part {
        SentencePart::Number(expression, _) => Some(expression),
        SentencePart::Words(_) => None,
    }
}

impl Experiment {
    /// What its rows and sentences ask of each of its runs.
    pub fn asked(&self) -> Vec<Asked> {
        let mut asked = vec![Asked::default(); self.runs.len()];
        let rows = self.tables.iter().flat_map(|table| &table.rows).map(|row| (&*row.run, &row.expression));
        let sentences = self.shows.iter().chain(&self.whys);
        let numbers =
            sentences.flat_map(|said| said.parts.iter().filter_map(number).map(|number| (&*said.run, number)));
        let all: Vec<(&str, &Expression)> = rows.chain(numbers).collect();
        for (here, expression) in all {
            for (measure, words, run) in expression.measures() {
                let pattern = run.unwrap_or(here);
                for (asked, run) in asked.iter_mut().zip(&self.runs).filter(|(_, run)| fits(pattern, &run.name)) {
                    asked.add(run, measure, words);
                }
            }
        }
        asked
    }
}
