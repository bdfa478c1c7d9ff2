//! Reads a plan's TOML so that every complaint knows file, line and column, and the word that was probably meant.

use std::ops::Range;

use blksched::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;

/// The file, for complaints.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) file: &'t str,
    pub(super) text: &'t str,
}

/// A value and where it stands.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Source<'t> {
    pub(super) fn parse(self) -> Result<Spanned<DeTable<'t>>, Failure> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            self.wrong(at, error.message().trim().replace('\n', ", "))
        })
    }

    /// A complaint about what stands at `at` \[bytes\].
    pub(super) fn wrong(self, at: Range<usize>, problem: impl AsRef<str>) -> Failure {
        let before = &self.text[..at.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        Failure::Input(format!("{}:{line}:{column}: {}", self.file, problem.as_ref()))
    }

    /// Only these keys may stand in this table.
    pub(super) fn only(self, table: &DeTable<'_>, known: &[&str], place: &str) -> Result<(), Failure> {
        for key in table.keys() {
            let word: &str = key.get_ref();
            if !known.contains(&word) {
                let near = nearest(word, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
                let problem = format!("unknown key `{word}`{place}: expected one of {}", known.join(", "));
                return Err(self.wrong(key.span(), problem + &near.unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// A number or a text, as a user would write it behind `=`.
    pub(super) fn scalar(self, value: &Value<'_>) -> Result<String, Failure> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.as_str().replace('_', "")),
            DeValue::Float(number) => Ok(number.as_str().replace('_', "")),
            _ => Err(self.wrong(value.span(), format!("{} is not a number and no text", describe(value.get_ref())))),
        }
    }

    /// A whole number.
    pub(super) fn count(self, key: &str, value: &Value<'_>) -> Result<u64, Failure> {
        let number = value.get_ref().as_integer().and_then(|number| number.as_str().replace('_', "").parse().ok());
        number.ok_or_else(|| {
            let problem = format!("{} is not a value of `{key}`: expected a whole number", describe(value.get_ref()));
            self.wrong(value.span(), problem)
        })
    }

    /// A text in quotes.
    pub(super) fn text(self, key: &str, value: &Value<'_>) -> Result<String, Failure> {
        value.get_ref().as_str().map(str::to_owned).ok_or_else(|| {
            let problem = format!("{} is not a value of `{key}`: expected a text", describe(value.get_ref()));
            self.wrong(value.span(), problem)
        })
    }

    /// A list with something in it.
    pub(super) fn list<'v>(
        self,
        table: &'v DeTable<'t>,
        at: Range<usize>,
        key: &str,
        example: &str,
    ) -> Result<&'v [Value<'t>], Failure> {
        let Some(value) = table.get(key) else {
            return Err(self.wrong(at, format!("the plan lacks `{key}`, as in {key} = {example}")));
        };
        match value.get_ref() {
            DeValue::Array(items) if !items.is_empty() => Ok(items),
            other => {
                let problem =
                    format!("{} is not a value of `{key}`: expected a list, as in {example}", describe(other));
                Err(self.wrong(value.span(), problem))
            }
        }
    }
}

pub(super) fn describe(value: &DeValue<'_>) -> String {
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
