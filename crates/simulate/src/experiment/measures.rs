//! Measures by name: the values that an experiment can use from a run. Each is described once; `docs/experiments.md`
//! lists them.

mod argument;
mod arrivals;
mod decision;
mod disk;
mod process;
mod processor;
mod scheduler;
mod turns;

use blksched::Span;

use super::expression::Misunderstood;
use super::outcome::RunOutcome;
pub(super) use argument::Argument;

/// What a measure needs of a run: how long it must last, and what must be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Its processes must exit.
    Exit,
    /// Its window, and what its processes transferred.
    Rates,
    /// Its window, and what the disk did in each second.
    Seconds,
    /// The whole run, and what its processes saw.
    Processes,
    /// The whole run, and what is counted of its reasons.
    Counts,
    /// The whole run, and its reasons.
    Reasons,
}

/// One measure.
#[derive(Debug)]
pub struct Measure {
    /// Its name in experiments.
    pub name: &'static str,
    /// Its arguments.
    pub(super) arguments: &'static [Argument],
    /// Its unit.
    pub unit: &'static str,
    /// What it is, in one line.
    pub doc: &'static str,
    /// How much of a run it needs.
    pub(super) needs: Needs,
    /// Its values in a run; the words are the checked arguments.
    pub(super) values: fn(&RunOutcome, &[String]) -> Vec<f64>,
}

/// Every measure.
pub fn measures() -> impl Iterator<Item = &'static Measure> {
    process::MEASURES
        .iter()
        .chain(disk::MEASURES)
        .chain(processor::MEASURES)
        .chain(scheduler::MEASURES)
        .chain(arrivals::MEASURES)
        .chain(turns::MEASURES)
}

/// The window of a run that a measure with these words covers, if it has one.
pub(super) fn window_of(measure: &Measure, words: &[String]) -> Option<(Span, Span)> {
    let said = measure.arguments.iter().zip(words).find(|(argument, _)| **argument == Argument::Window)?;
    argument::window(said.1)
}

pub(super) fn measure_of(name: &str) -> Option<&'static Measure> {
    measures().find(|measure| measure.name == name)
}

pub(super) fn measure_names() -> impl Iterator<Item = &'static str> {
    measures().map(|measure| measure.name)
}

impl Measure {
    /// Its form: `latency(process, mean|p50|p99|max)`.
    pub fn form(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(|argument| argument.form()).collect();
        format!("{}({})", self.name, arguments.join(", "))
    }

    /// Checks whether these words are valid arguments.
    pub(super) fn check(&self, words: &[String]) -> Result<(), Misunderstood> {
        if words.len() != self.arguments.len() {
            let problem = format!("`{}` has {} arguments here: expected {}", self.name, words.len(), self.form());
            return Err(Misunderstood { problem, known: Vec::new(), word: String::new() });
        }
        self.arguments.iter().zip(words).try_for_each(|(argument, word)| argument.check(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_is_described_and_has_a_name_of_its_own() {
        let mut names: Vec<_> = measure_names().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(measures().all(|measure| !measure.doc.is_empty() && !measure.doc.ends_with('.')));
    }

    #[test]
    fn arguments_are_checked_one_by_one() {
        let waited = measure_of("waited_for").unwrap();
        let check = |words: &[&str]| waited.check(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(check(&["read", "moved"]), Ok(()));
        let error = check(&["read", "movde"]).unwrap_err();
        assert_eq!((error.word.as_str(), error.known.contains(&"moved")), ("movde", true));
        assert!(check(&["read"]).unwrap_err().problem.contains("waited_for(read|write, "));
    }
}
