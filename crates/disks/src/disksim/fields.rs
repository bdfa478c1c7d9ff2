//! The values of a block, each with a complaint of its own if it is none.

use blksched::Span;
use blksched_text::nearest;

use super::keys::Use;
use super::syntax::{Block, Entry, File, Value};
use crate::DiskError;

/// A block whose parameters are all known.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a, 't> {
    pub(super) file: &'a File<'t>,
    pub(super) block: &'a Block<'t>,
}

impl<'a, 't> Fields<'a, 't> {
    /// Judges every parameter; what a disk cannot have and is not off goes to `notes`.
    pub(super) fn of(
        file: &'a File<'t>,
        block: &'a Block<'t>,
        known: &[(&str, Use)],
        notes: &mut Vec<String>,
    ) -> Result<Fields<'a, 't>, DiskError> {
        for entry in &block.entries {
            match known.iter().find(|(key, _)| *key == entry.key) {
                None => {
                    let problem = format!("unknown parameter `{}` of `{}`", entry.key, block.kind);
                    let nearest = nearest(entry.key, known.iter().map(|(key, _)| *key));
                    return Err(file.invalid(entry.key_at, problem, nearest));
                }
                Some((_, Use::OffOnly)) => {
                    if let Value::Text(text) = entry.value
                        && text.parse::<f64>().is_ok_and(|value| value != 0.0)
                    {
                        notes.push(format!("`{} = {text}` has no counterpart here and is left out", entry.key));
                    }
                }
                Some(_) => {}
            }
        }
        Ok(Fields { file, block })
    }

    fn entry(&self, key: &str) -> Result<&'a Entry<'t>, DiskError> {
        let missing = || self.file.invalid(self.block.at, format!("`{}` lacks `{key}`", self.block.kind), None);
        self.block.entry(key).ok_or_else(missing)
    }

    pub(super) fn wrong(&self, key: &str, expected: &str) -> DiskError {
        let at = self.block.entry(key).map_or(self.block.at, |entry| entry.at);
        let found = match self.block.entry(key).map(|entry| &entry.value) {
            Some(Value::Text(text)) => format!("`{text}`"),
            Some(Value::List(_)) => "a list".to_owned(),
            Some(Value::Block(block)) => format!("`{} {{ … }}`", block.kind),
            None => "nothing".to_owned(),
        };
        self.file.invalid(at, format!("{found} is not a value for `{key}`: expected {expected}"), None)
    }

    pub(super) fn text(&self, key: &str) -> Result<&'t str, DiskError> {
        match self.entry(key)?.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong(key, "a word or a number")),
        }
    }

    pub(super) fn number(&self, key: &str) -> Result<f64, DiskError> {
        let number = self.text(key)?.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.wrong(key, "a number, 0 or more"))
    }

    /// As [`Fields::number`], 0 if it is not there.
    pub(super) fn number_or_0(&self, key: &str) -> Result<f64, DiskError> {
        if self.block.entry(key).is_some() { self.number(key) } else { Ok(0.0) }
    }

    pub(super) fn count(&self, key: &str, most: u64) -> Result<u64, DiskError> {
        let number = self.number(key)?;
        let whole = number.fract() == 0.0 && number <= most as f64;
        if whole { Ok(number as u64) } else { Err(self.wrong(key, &format!("a whole number up to {most}"))) }
    }

    pub(super) fn is_on(&self, key: &str) -> Result<bool, DiskError> {
        Ok(self.number_or_0(key)? != 0.0)
    }

    /// Milliseconds.
    pub(super) fn ms(&self, key: &str) -> Result<Span, DiskError> {
        Ok(ms(self.number_or_0(key)?))
    }

    pub(super) fn block(&self, key: &str) -> Result<&'a Block<'t>, DiskError> {
        match &self.entry(key)?.value {
            Value::Block(block) => Ok(block),
            _ => Err(self.wrong(key, "a block in braces")),
        }
    }

    pub(super) fn list(&self, key: &str) -> Result<&'a [(Value<'t>, usize)], DiskError> {
        match &self.entry(key)?.value {
            Value::List(list) => Ok(list),
            _ => Err(self.wrong(key, "a list in brackets")),
        }
    }
}

/// To the nearest nanosecond.
pub(super) fn ms(ms: f64) -> Span {
    Span::from_ns((ms * 1e6).round() as u64)
}
