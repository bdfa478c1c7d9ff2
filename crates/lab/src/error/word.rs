//! A word that means nothing where it stands: which, what was expected, and the nearest that would be understood.

use std::fmt;

use blksched::text::SpecError;
use blksched::tunables::KnobError;

/// A choice that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WordError {
    /// What was expected in the word's place.
    pub expected: Expected,
    /// The word; empty if something is missing.
    pub word: String,
    /// Its place in the setting that contains it, counted from 1 \[bytes\]; `None` if it is the whole setting, or the
    /// setting is not a name with parts.
    pub column: Option<usize>,
    /// The word that was probably meant; `None` if none is near.
    pub nearest: Option<String>,
    /// All of it for people.
    pub message: String,
}

/// What a word of a question may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A workload, a program, a job file or a trace.
    Load,
    /// An elevator's name, its kernel, a mechanism or a variant of one.
    Scheduler,
    /// A knob of a scheduler, or of the queue around it.
    Knob,
    /// A value of a setting.
    Value,
    /// One of the schedulers that are run.
    Contender,
    /// A job of the load.
    Job,
    /// A process of the load.
    Process,
    /// A figure, or a direction.
    Figure,
    /// What makes a scheduler better than another.
    Goal,
    /// A setting: of a program, of the host, of a trace.
    Setting,
}

impl Expected {
    /// Its name for machines.
    pub fn name(self) -> &'static str {
        match self {
            Expected::Load => "load",
            Expected::Scheduler => "scheduler",
            Expected::Knob => "knob",
            Expected::Value => "value",
            Expected::Contender => "contender",
            Expected::Job => "job",
            Expected::Process => "process",
            Expected::Figure => "figure",
            Expected::Goal => "goal",
            Expected::Setting => "setting",
        }
    }
}

impl WordError {
    /// A word without any near it.
    pub fn new(expected: Expected, word: &str, message: impl Into<String>) -> WordError {
        WordError { expected, word: word.to_owned(), column: None, nearest: None, message: message.into() }
    }

    /// With the word that was probably meant, which the message names already.
    pub fn near(self, nearest: Option<&str>) -> WordError {
        WordError { nearest: nearest.map(str::to_owned), ..self }
    }

    /// With something in front of its message: `--set bfq.slice_idel=0: …`.
    #[must_use]
    pub fn within(self, whole: impl fmt::Display) -> WordError {
        WordError { message: format!("{whole}: {}", self.message), ..self }
    }

    /// An elevator's name that is not understood, in `option name`.
    pub(crate) fn scheduler(option: &str, name: &str, error: SpecError) -> WordError {
        let separator = if option.is_empty() { "" } else { " " };
        let message = format!("{option}{separator}{name}:{error}");
        let SpecError { word, column, nearest, .. } = error;
        WordError { expected: Expected::Scheduler, word, column: Some(column), nearest, message }
    }

    /// A knob that does not exist, or a value that it does not take.
    pub(crate) fn knob(error: &KnobError, value: &str) -> WordError {
        let (expected, word, nearest) = match error {
            KnobError::Unknown { name, nearest } => (Expected::Knob, name.as_str(), *nearest),
            KnobError::OtherKernels { knob } => (Expected::Knob, knob.name, None),
            _ => (Expected::Value, value, None),
        };
        WordError::new(expected, word, error.to_string()).near(nearest)
    }

    /// The same of a setting of the host.
    pub(crate) fn setting(error: &KnobError, value: &str) -> WordError {
        let error = WordError::knob(error, value);
        let expected = if error.expected == Expected::Knob { Expected::Setting } else { error.expected };
        WordError { expected, ..error }
    }
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The message.
impl AsRef<str> for WordError {
    fn as_ref(&self) -> &str {
        &self.message
    }
}

impl std::error::Error for WordError {}
