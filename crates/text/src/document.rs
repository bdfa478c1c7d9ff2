//! TOML that people write (disks, experiments, machines, sweeps), read key by key ([`Section`]), so that every
//! complaint has its file, line and column, and the word that was probably meant.

use core::fmt;
use core::ops::Range;

use crate::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

mod section;

pub use section::{Leaf, Located, Section, whole};

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The file's path as given.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1 \[characters\].
    pub column: usize,
    /// What is wrong, with the offending word, and what was expected.
    pub problem: String,
    /// The valid word that was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Complaint { file, line, column, problem, nearest } = self;
        write!(f, "{file}:{line}:{column}: {problem}")?;
        nearest.as_ref().map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
    }
}

impl core::error::Error for Complaint {}

impl Complaint {
    /// The same, with the word that was probably meant.
    #[must_use]
    pub fn meaning(self, nearest: Option<&str>) -> Complaint {
        Complaint { nearest: nearest.map(str::to_owned), ..self }
    }
}

/// A range of a document \[bytes\].
pub type TextRange = Range<usize>;

/// A document and its name, for complaints.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t> {
    /// The file's name, as given.
    pub file: &'t str,
    /// The whole text.
    pub text: &'t str,
}

impl<'t> Source<'t> {
    /// Parses the document.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn parse(&self) -> Result<Spanned<DeTable<'t>>, Complaint> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            self.complain(&at, error.message().trim().replace('\n', ", "))
        })
    }

    /// A complaint about the text at `at`.
    pub fn complain(&self, at: &TextRange, problem: impl Into<String>) -> Complaint {
        let before = &self.text[..at.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Complaint {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: problem.into(),
            nearest: None,
        }
    }

    /// A complaint that `word` is none of `known`; `problem` says so, up to the list.
    pub fn unknown<'a>(
        &self,
        at: &TextRange,
        problem: &str,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Complaint {
        let known: Vec<&str> = known.into_iter().collect();
        let problem = format!("{problem}: expected one of {}", known.join(", "));
        self.complain(at, problem).meaning(nearest(word, known.iter().copied()))
    }

    /// Checks that the table has only these keys; `place` names the table: `in [seek]`.
    ///
    /// # Errors
    /// If it has another key.
    pub fn only(&self, table: &DeTable<'_>, place: &str, keys: &[&str]) -> Result<(), Complaint> {
        let Some(key) = table.keys().find(|key| !keys.contains(&key.get_ref().as_ref())) else { return Ok(()) };
        let word: &str = key.get_ref();
        let problem = format!("unknown key `{word}`: expected {place} one of {}", keys.join(", "));
        Err(self.complain(&key.span(), problem).meaning(nearest(word, keys.iter().copied())))
    }

    /// A number or a text, as a user would write it after `=`.
    ///
    /// # Errors
    /// If it is something else.
    pub fn scalar(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Complaint> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.as_str().replace('_', "")),
            DeValue::Float(number) => Ok(number.as_str().replace('_', "")),
            other => {
                let problem = format!("{} is not a value: expected a number or a text", describe(other));
                Err(self.complain(&value.span(), problem))
            }
        }
    }
}

/// A value, as a complaint shows it.
pub fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(value) => value.to_string(),
        DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
