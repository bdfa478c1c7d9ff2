//! Errors as data: what could not be done, and for job files where, the word, and what was expected.

use std::fmt;

use blksched_workloads::fio::{self, Style};

/// Why there is no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Job files with mistakes, each with its place; [`fio::Errors::render`] shows them in the files' text.
    Jobs(fio::Errors),
    /// Input that was not understood; the text names it, and says what was expected.
    Input(String),
    /// The caller stopped the work before there was anything to answer with.
    Interrupted(String),
    /// Something outside failed: no thread could be started, say.
    Outside(String),
}

impl Error {
    /// Input that was not understood.
    pub fn input(text: impl ToString) -> Error {
        Error::Input(text.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Jobs(errors) => f.write_str(&errors.render(Style::Plain)),
            Error::Input(text) | Error::Interrupted(text) | Error::Outside(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
