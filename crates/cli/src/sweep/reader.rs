//! Reads a plan's TOML so that every error gives file, line and column, and the word that was probably meant.

use std::ops::Range;

use blksched_text::document;
pub(super) use blksched_text::document::describe;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;

/// The file, for error messages.
#[derive(Clone, Copy)]
pub(super) struct SweepFile<'t> {
    pub(super) file: &'t str,
    pub(super) text: &'t str,
}

/// A value and where it stands.
pub(super) type PlacedValue<'t> = Spanned<DeValue<'t>>;

impl<'t> SweepFile<'t> {
    pub(super) fn parse(self) -> Result<Spanned<DeTable<'t>>, Failure> {
        self.document().parse().map_err(Failure::input)
    }

    fn document(self) -> document::Source<'t> {
        document::Source { file: self.file, text: self.text }
    }

    /// An error about the text at `at` \[bytes\].
    pub(super) fn wrong(self, at: Range<usize>, problem: impl AsRef<str>) -> Failure {
        Failure::input(self.document().complain(&at, problem.as_ref()))
    }

    /// Allows only these keys in this table, which `place` describes, as in "in `seeds`".
    pub(super) fn only(self, table: &DeTable<'_>, known: &[&str], place: &str) -> Result<(), Failure> {
        self.document().only(table, place, known).map_err(Failure::input)
    }

    /// A number or a text, as a user would write it after `=`.
    pub(super) fn scalar(self, value: &PlacedValue<'_>) -> Result<String, Failure> {
        self.document().scalar(value).map_err(Failure::input)
    }

    /// A whole number.
    pub(super) fn count(self, key: &str, value: &PlacedValue<'_>) -> Result<u64, Failure> {
        document::whole(value.get_ref()).ok_or_else(|| {
            let problem = format!("{} is not a value of `{key}`: expected a whole number", describe(value.get_ref()));
            self.wrong(value.span(), problem)
        })
    }

    /// A text in quotes.
    pub(super) fn text(self, key: &str, value: &PlacedValue<'_>) -> Result<String, Failure> {
        value.get_ref().as_str().map(str::to_owned).ok_or_else(|| {
            let problem = format!("{} is not a value of `{key}`: expected a string", describe(value.get_ref()));
            self.wrong(value.span(), problem)
        })
    }

    /// A list that is not empty.
    pub(super) fn list<'v>(
        self,
        table: &'v DeTable<'t>,
        at: Range<usize>,
        key: &str,
        example: &str,
    ) -> Result<&'v [PlacedValue<'t>], Failure> {
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
