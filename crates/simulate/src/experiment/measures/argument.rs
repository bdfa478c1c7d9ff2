//! The arguments of measures.

use blksched::reasons::Index;
use blksched::{Dir, Span};
use blksched_measure::{BeganBy, Cause, Serving, Waiting};

use super::Misunderstood;
use crate::experiment::outcome::{ProcessOutcome, RunOutcome};

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::experiment) enum Argument {
    /// A process's name, `*` for anything.
    Process,
    /// `read` or `write`.
    Dir,
    /// One of these words.
    Word(&'static [&'static str]),
    /// What a request waited for.
    Cause,
    /// An index.
    Index,
    /// Seconds of the run: `10s..60s`.
    Window,
    /// A length of time: `40ms`.
    Time,
}

pub(super) const STATISTICS: &[&str] = &["mean", "p50", "p99", "max"];
const DIRS: &[&str] = &["read", "write"];
const INDICES: &[&str] = &["list", "tree", "hash"];
/// The names of causes in experiments: `own` are requests of the same direction, the next six those of the other
/// direction by what began their batch.
const CAUSES: &[&str] = &["own", "moved", "starved", "alone", "expired", "turn", "unbatched", "idle", "plugged"];

impl Argument {
    fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Argument::Process | Argument::Window | Argument::Time => None,
            Argument::Dir => Some(DIRS),
            Argument::Word(words) => Some(words),
            Argument::Cause => Some(CAUSES),
            Argument::Index => Some(INDICES),
        }
    }

    pub(in crate::experiment) fn is_process(self) -> bool {
        self == Argument::Process
    }

    pub(super) fn form(self) -> String {
        match self {
            Argument::Process => "process".to_owned(),
            Argument::Window => "from..to".to_owned(),
            Argument::Time => "time".to_owned(),
            other => other.words().unwrap_or_default().join("|"),
        }
    }

    pub(super) fn check(self, word: &str) -> Result<(), Misunderstood> {
        let known = match self.words() {
            Some(words) if words.contains(&word) => return Ok(()),
            Some(words) => words.to_vec(),
            None if self.takes(word) => return Ok(()),
            None => Vec::new(),
        };
        let problem = match self {
            Argument::Window => format!("`{word}` is not a stretch of time: expected one as in 10s..60s"),
            Argument::Time => format!("`{word}` is not a time: expected one as in 40ms"),
            _ => format!("`{word}` does not fit there"),
        };
        Err(Misunderstood { problem, known, word: word.to_owned() })
    }

    /// Whether `word` is acceptable, for arguments without a list of words.
    fn takes(self, word: &str) -> bool {
        match self {
            Argument::Window => window(word).is_some(),
            Argument::Time => word.parse::<Span>().is_ok(),
            _ => true,
        }
    }
}

/// Parses `10s..60s`.
pub(super) fn window(word: &str) -> Option<(Span, Span)> {
    let (from, to) = word.split_once("..")?;
    let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (from < to).then_some((from, to))
}

pub(super) fn dir(word: &str) -> Dir {
    if word == "write" { Dir::Write } else { Dir::Read }
}

pub(super) fn index(word: &str) -> Index {
    match word {
        "list" => Index::List,
        "tree" => Index::Tree,
        _ => Index::Hash,
    }
}

/// The processes that match a pattern.
pub(super) fn processes<'a>(outcome: &'a RunOutcome, pattern: &'a str) -> impl Iterator<Item = &'a ProcessOutcome> {
    outcome.processes.iter().filter(move |process| crate::experiment::expression::fits(pattern, &process.name))
}

/// How long requests of direction `of` waited for the cause with the name `word`.
pub(super) fn waited(waiting: &Waiting, of: Dir, word: &str) -> Span {
    let on = |dir: Dir, by: BeganBy| waiting.on(Cause::Serving(Serving::Batch(dir, by)));
    let sum = |spans: &mut dyn Iterator<Item = Span>| spans.fold(Span::ZERO, |sum, span| sum + span);
    let other = of.other();
    match word {
        "own" => sum(&mut BeganBy::ALL.into_iter().map(|by| on(of, by))),
        "moved" => on(other, BeganBy::Moved),
        "starved" => on(other, BeganBy::Starved),
        "alone" => on(other, BeganBy::Alone),
        "expired" => on(other, BeganBy::Expired),
        "turn" => on(other, BeganBy::Turn),
        "unbatched" => on(other, BeganBy::Unbatched),
        "plugged" => waiting.on(Cause::Plugged),
        _ => sum(&mut Cause::all().filter(|cause| matches!(cause, Cause::Idle(_))).map(|cause| waiting.on(cause))),
    }
}
