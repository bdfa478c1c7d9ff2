//! Errors in an elevator's name.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A word in an elevator's name that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The word.
    pub word: String,
    /// Where it starts in the name, from 1.
    pub column: usize,
    /// What was expected there.
    pub what: String,
    /// What would have been understood.
    pub known: Vec<String>,
    /// The nearest of those.
    pub nearest: Option<String>,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: unknown {} `{}`", self.column, self.what, self.word)?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean `{nearest}`?")?;
        }
        write!(f, " (known: {})", self.known.join(", "))
    }
}

impl core::error::Error for SpecError {}
