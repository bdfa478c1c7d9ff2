//! The values of a block, each with its own error if it is invalid.

use blksched::Span;
use blksched_text::nearest;

use super::keys::{Form, Key, Use};
use super::syntax::{Assignment, Block, File, Value};
use crate::DiskError;

/// A block all of whose parameters are known.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a, 't> {
    pub(super) file: &'a File<'t>,
    pub(super) block: &'a Block<'t>,
}

impl<'a, 't> Fields<'a, 't> {
    /// Checks every parameter; what a disk cannot have and is not off goes to `notes`.
    pub(super) fn of(
        file: &'a File<'t>,
        block: &'a Block<'t>,
        known: &[Key],
        notes: &mut Vec<String>,
    ) -> Result<Fields<'a, 't>, DiskError> {
        let fields = Fields { file, block };
        for (nth, entry) in block.entries.iter().enumerate() {
            let Some((_, form, becomes)) = known.iter().find(|(key, _, _)| *key == entry.key) else {
                let problem = format!("unknown parameter `{}` of `{}`", entry.key, block.kind);
                let nearest = nearest(entry.key, known.iter().map(|(key, _, _)| *key));
                return Err(file.invalid(entry.key_at, problem, nearest));
            };
            if block.entries[..nth].iter().any(|before| before.key == entry.key) {
                let problem = format!("`{}` stands twice in this `{}`: expected once", entry.key, block.kind);
                return Err(file.invalid(entry.key_at, problem, None));
            }
            fields.check(entry, *form)?;
            if let Value::Text(text) = entry.value
                && text.parse::<f64>().is_ok_and(|value| value != 0.0)
            {
                match becomes {
                    Use::OffOnly => {
                        notes.push(format!("`{} = {text}` has no counterpart here and is left out", entry.key));
                    }
                    Use::Several => notes.push(format!(
                        "`{} = {text}` is left out: it says what several commands at a time do, and this drive is \
                         given one",
                        entry.key
                    )),
                    Use::Taken | Use::NoMatter => {}
                }
            }
        }
        Ok(fields)
    }

    /// Checks that a value has its parameter's form, whether it is used or not.
    fn check(&self, entry: &Assignment<'t>, form: Form) -> Result<(), DiskError> {
        let number = match entry.value {
            Value::Text(text) => text.parse::<f64>().ok().filter(|number| number.is_finite()),
            _ => None,
        };
        let expected = match (form, &entry.value) {
            (Form::Word, Value::Text(_)) | (Form::List, Value::List(_)) => return Ok(()),
            (Form::Block | Form::Source, Value::Block(_)) => return Ok(()),
            (Form::Source, Value::Text(text)) if text.starts_with("source") => return Ok(()),
            (Form::Number, _) if number.is_some() => return Ok(()),
            (Form::Part, _) if number.is_some_and(|part| (0.0..=1.0).contains(&part)) => return Ok(()),
            (Form::Ms(most), _) if number.is_some_and(|ms| (0.0..=most.into()).contains(&ms)) => return Ok(()),
            (Form::Whole(most), _)
                if number.is_some_and(|whole| whole.fract() == 0.0 && (0.0..=most as f64).contains(&whole)) =>
            {
                return Ok(());
            }
            (Form::Word, _) => "a word".to_owned(),
            (Form::List, _) => "a list in brackets".to_owned(),
            (Form::Block, _) => {
                "a block in braces (`source FILE` is read only as a `Model` or `Layout Model`)".to_owned()
            }
            (Form::Source, _) => "`source FILE`, or a block in braces".to_owned(),
            (Form::Number, _) => "a number".to_owned(),
            (Form::Ms(most), _) => format!("a number, 0 or more and up to {most} (milliseconds)"),
            (Form::Part, _) => "a number from 0 to 1".to_owned(),
            (Form::Whole(most), _) => format!("a whole number from 0 to {most}"),
        };
        Err(self.wrong(entry.key, &expected))
    }

    /// Notes the disk's numbers that are missing in the file: they are 0.
    pub(super) fn note_absent(&self, known: &[Key], notes: &mut Vec<String>) {
        for (key, form, becomes) in known {
            let is_number = !matches!(form, Form::Word | Form::List | Form::Block | Form::Source);
            if is_number && *becomes == Use::Taken && self.block.entry(key).is_none() {
                notes.push(format!("`{key}` is not in the files: taken for 0"));
            }
        }
    }

    fn entry(&self, key: &str) -> Result<&'a Assignment<'t>, DiskError> {
        let missing = || self.file.invalid(self.block.at, format!("`{}` lacks `{key}`", self.block.kind), None);
        self.block.entry(key).ok_or_else(missing)
    }

    pub(super) fn wrong(&self, key: &str, expected: &str) -> DiskError {
        self.wrong_but_near(key, expected, &[])
    }

    /// The same with words that would be valid.
    pub(super) fn wrong_but_near(&self, key: &str, expected: &str, words: &[&str]) -> DiskError {
        let near = match self.block.entry(key).map(|entry| &entry.value) {
            Some(Value::Text(text)) => nearest(text, words.iter().copied()),
            Some(Value::Block(block)) => nearest(block.kind, words.iter().copied()),
            _ => None,
        };
        let at = self.block.entry(key).map_or(self.block.at, |entry| entry.at);
        let found = match self.block.entry(key).map(|entry| &entry.value) {
            Some(Value::Text(text)) => format!("`{text}`"),
            Some(Value::List(_)) => "a list".to_owned(),
            Some(Value::Block(block)) => format!("`{} {{ … }}`", block.kind),
            None => "nothing".to_owned(),
        };
        self.file.invalid(at, format!("{found} is not a value for `{key}`: expected {expected}"), near)
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

    /// Like [`Fields::number`], 0 if it is missing.
    pub(super) fn number_or_0(&self, key: &str) -> Result<f64, DiskError> {
        if self.block.entry(key).is_some() { self.number(key) } else { Ok(0.0) }
    }

    /// Like [`Fields::number`] with any sign, 0 if it is missing.
    pub(super) fn signed_or_0(&self, key: &str) -> Result<f64, DiskError> {
        if self.block.entry(key).is_none() {
            return Ok(0.0);
        }
        let number = self.text(key)?.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.wrong(key, "a number"))
    }

    /// Like [`Fields::count`], 0 if it is missing.
    pub(super) fn count_or_0(&self, key: &str, most: u64) -> Result<u64, DiskError> {
        if self.block.entry(key).is_some() { self.count(key, most) } else { Ok(0) }
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

    /// A block of this kind.
    pub(super) fn block(&self, key: &str, kind: &str) -> Result<&'a Block<'t>, DiskError> {
        match &self.entry(key)?.value {
            Value::Block(block) if block.kind == kind => Ok(block),
            _ => Err(self.wrong_but_near(key, &format!("`{kind} {{ … }}`"), &[kind])),
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
