//! Errors as data: what could not be done, and for job files where, the word, and what was expected.

use std::fmt;

use blksched_disks::DiskError;
use blksched_workloads::fio::{self, Style};

mod word;

pub use word::{Expected, WordError};

/// Why there is no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Job files with mistakes, each with its place; [`fio::Errors::render`] shows them in the files' text.
    Jobs(fio::Errors),
    /// A disk that does not exist, with the nearest that does; or a wrong description, with its place.
    Disk(DiskError),
    /// A word that means nothing where it stands, with the nearest that would.
    Word(Box<WordError>),
    /// Input that was not understood; the text names it, and says what was expected.
    Input(String),
    /// The caller stopped the work before there was anything to answer with.
    Interrupted(String),
    /// Something outside failed: no thread could be started, say.
    Outside(String),
}

/// Where a mistake stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPlace {
    /// The text's name.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1 \[characters\].
    pub column: usize,
}

impl Error {
    /// Where the first mistake stands; `None` if it stands in no text.
    pub fn place(&self) -> Option<ErrorPlace> {
        match self {
            Error::Jobs(errors) => {
                let place = &errors.problems.first()?.place;
                let file = errors.texts.get(place.text as usize)?.name.clone();
                Some(ErrorPlace { file, line: place.line as usize, column: place.column as usize })
            }
            Error::Disk(DiskError::Invalid { file, line, column, .. }) => {
                Some(ErrorPlace { file: file.clone(), line: *line, column: *column })
            }
            _ => None,
        }
    }

    /// The word that was not understood; `None` if it is only named in the text.
    pub fn word(&self) -> Option<&str> {
        match self {
            Error::Jobs(errors) => errors.problems.first().and_then(|problem| errors.word(problem)),
            Error::Disk(DiskError::UnknownDisk { name, .. }) => Some(name),
            Error::Word(error) => Some(error.word.as_str()).filter(|word| !word.is_empty()),
            _ => None,
        }
    }

    /// The word that was probably meant; `None` if none is near, or if it is only named in the text.
    pub fn nearest(&self) -> Option<&str> {
        match self {
            Error::Jobs(errors) => errors.problems.first()?.nearest.as_deref(),
            Error::Disk(DiskError::UnknownDisk { nearest, .. }) => *nearest,
            Error::Disk(DiskError::Invalid { nearest, .. }) => nearest.as_deref(),
            Error::Word(error) => error.nearest.as_deref(),
            _ => None,
        }
    }

    /// With something in front of its message, if it is about a word or other input: `x.csv:colums=time: …`.
    #[must_use]
    pub(crate) fn within(self, whole: impl fmt::Display) -> Error {
        match self {
            Error::Word(error) => Error::Word(Box::new(error.within(whole))),
            Error::Input(text) => Error::Input(format!("{whole}: {text}")),
            other => other,
        }
    }

    /// Input that was not understood.
    pub fn input(text: impl ToString) -> Error {
        Error::Input(text.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Jobs(errors) => f.write_str(&errors.render(Style::Plain)),
            Error::Disk(error) => error.fmt(f),
            Error::Word(error) => error.fmt(f),
            Error::Input(text) | Error::Interrupted(text) | Error::Outside(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<WordError> for Error {
    fn from(error: WordError) -> Error {
        Error::Word(Box::new(error))
    }
}
