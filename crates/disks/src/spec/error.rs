//! Errors in a disk's name or file, with their position and the expected value.

use core::fmt;

use blksched_text::document::Complaint;

/// Why a disk cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskError {
    /// It is neither a preset nor a file.
    UnknownDisk {
        /// What was asked for.
        name: String,
        /// The preset that was probably meant.
        nearest: Option<&'static str>,
        /// Every preset.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    Unreadable {
        /// Its path as given.
        file: String,
        /// The system's words.
        reason: String,
    },
    /// The file can be read but is invalid.
    Invalid {
        /// Its path as given, or the preset's name.
        file: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1 \[characters\].
        column: usize,
        /// What is wrong, with the offending word, and what was expected.
        problem: String,
        /// The valid word that was probably meant.
        nearest: Option<String>,
    },
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskError::UnknownDisk { name, nearest, known } => {
                write!(f, "`{name}` is neither a preset nor a file")?;
                if let Some(nearest) = nearest {
                    write!(f, "; did you mean `{nearest}`?")?;
                }
                write!(f, " (known: {}; the path of a TOML file works too)", known.join(", "))
            }
            DiskError::Unreadable { file, reason } => write!(f, "{file}: {reason}"),
            DiskError::Invalid { file, line, column, problem, nearest } => {
                write!(f, "{file}:{line}:{column}: {problem}")?;
                nearest.as_ref().map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
            }
        }
    }
}

impl core::error::Error for DiskError {}

impl From<Complaint> for DiskError {
    fn from(Complaint { file, line, column, problem, nearest }: Complaint) -> DiskError {
        DiskError::Invalid { file, line, column, problem, nearest }
    }
}
