//! Errors in an elevator's name.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// An unknown word in an elevator's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The word.
    pub word: String,
    /// Where it starts in the name, from 1.
    pub column: usize,
    /// What was expected there.
    pub what: String,
    /// The words that would have been accepted.
    pub known: Box<[String]>,
    /// The nearest of these.
    pub nearest: Option<String>,
    /// What else is known of the word.
    pub note: Option<Box<str>>,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: unknown {} `{}`", self.column, self.what, self.word)?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean `{nearest}`?")?;
        }
        if let Some(note) = &self.note {
            write!(f, " {note}")?;
        }
        write!(f, " (known: {})", self.known.join(", "))
    }
}

impl core::error::Error for SpecError {}
