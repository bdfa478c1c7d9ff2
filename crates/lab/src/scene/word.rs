//! One name of a load: a job file, a program, a recorded trace.

use blksched_measure::fio_json::FioResult;
use blksched_text::nearest;
use blksched_workloads::fio::Text;
use blksched_workloads::programs::{PROGRAMS, SettingsError, Start, program};
use blksched_workloads::{BUILTINS, builtin};

use super::trace::Trace;
use crate::error::{Error, Expected, WordError};

/// What one name of a load means.
pub enum Word {
    /// A job file.
    Jobs(Text),
    /// A job file that was found inside another text.
    Found(FoundJob),
    /// A program with its parameters.
    Program(Start),
    /// A recorded trace.
    Trace(Trace),
}

/// A job inside a text that is no job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundJob {
    /// The job file.
    pub text: Text,
    /// Where it was found.
    pub told: String,
    /// fio's result of that job, if that is where it was found.
    pub result: Option<FioResult>,
}

impl Word {
    /// A built-in workload, or a program with its parameters; `None` if the name is neither.
    pub fn builtin(name: &str) -> Option<Result<Word, Error>> {
        if let Some(known) = builtin(name) {
            return Some(Ok(Word::Jobs(Text { name: known.name.to_owned(), text: known.text.to_owned() })));
        }
        name.split(':').next().and_then(program)?;
        let wrong = |error: SettingsError| {
            let message = format!("{name}: {error}");
            Error::from(WordError::new(Expected::Setting, &error.name, message).near(error.nearest))
        };
        Some(Start::parse(name).map(Word::Program).map_err(wrong))
    }

    /// The error about a name that means nothing, with the nearest that does; `typed`: whether fio's options were given
    /// besides.
    pub fn unknown(name: &str, typed: bool) -> Error {
        let plain = name.split(':').next().unwrap_or(name);
        let builtins: Vec<&str> = BUILTINS.iter().map(|known| known.name).collect();
        let programs: Vec<&str> = PROGRAMS.iter().map(|known| known.name).collect();
        let all = builtins.iter().chain(&programs).copied();
        let near = nearest(plain, all);
        let hint = near.map_or_else(String::new, |near| format!("; the nearest workload is `{near}`"));
        let value = if typed { "; the value of an option of fio's goes after `=`, as in --rw=read" } else { "" };
        let message = format!(
            "`{name}` is neither a file nor a workload{hint}{value} (known: {}; programs: {})",
            builtins.join(", "),
            programs.join(", ")
        );
        WordError::new(Expected::Load, name, message).near(near).into()
    }
}
