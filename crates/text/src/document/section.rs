//! One table of a document, read key by key: each reader states what it expects, and each complaint has the position of
//! the value, or of the table that lacks it, and the word that was probably meant.

use core::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Complaint, Source, TextRange, describe};

/// A value that has been read, and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its position.
    pub at: TextRange,
}

/// An address (`knob.fifo_batch`) and the values at it, as a user would write them.
pub type Leaf = (Located<String>, Vec<Located<String>>);

/// One table of a document.
#[derive(Clone, Debug)]
pub struct Section<'t> {
    source: Source<'t>,
    name: &'static str,
    table: &'t DeTable<'t>,
    /// The keys that it may have; `None`: any.
    keys: Option<&'static [&'static str]>,
    at: TextRange,
}

impl<'t> Section<'t> {
    /// Opens a table that may have only `keys`. `name` is empty for the document itself.
    ///
    /// # Errors
    /// If it has another key.
    pub fn open(
        source: Source<'t>,
        name: &'static str,
        table: &'t DeTable<'t>,
        at: TextRange,
        keys: &'static [&'static str],
    ) -> Result<Section<'t>, Complaint> {
        let place = if name.is_empty() { "here".to_owned() } else { format!("in [{name}]") };
        source.only(table, &place, keys)?;
        Ok(Section { keys: Some(keys), ..Section::unjudged(source, name, table, at) })
    }

    /// Opens a table that may have any keys.
    pub fn unjudged(source: Source<'t>, name: &'static str, table: &'t DeTable<'t>, at: TextRange) -> Section<'t> {
        Section { source, name, table, keys: None, at }
    }

    /// The document.
    pub fn source(&self) -> Source<'t> {
        self.source
    }

    /// The table's position.
    pub fn at(&self) -> &TextRange {
        &self.at
    }

    /// The position of a key's value, or of the table if the key is missing.
    pub fn at_key(&self, key: &str) -> TextRange {
        self.table.get(key).map_or_else(|| self.at.clone(), Spanned::span)
    }

    /// Whether the key is present.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A complaint about the text at `at`.
    pub fn complain(&self, at: &TextRange, problem: impl Into<String>) -> Complaint {
        self.source.complain(at, problem)
    }

    /// A complaint that a key, or something else required, is missing.
    pub fn missing(&self, what: &str) -> Complaint {
        let place = if self.name.is_empty() { "the file".to_owned() } else { format!("[{}]", self.name) };
        self.complain(&self.at, format!("{place} lacks {what}"))
    }

    /// The table `[name]` inside this one, if present.
    ///
    /// # Errors
    /// If it is not a table, or has other keys than `keys`.
    pub fn section(&self, name: &'static str, keys: &'static [&'static str]) -> Result<Option<Section<'t>>, Complaint> {
        let Some(value) = self.table.get(name) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Table(table) => Section::open(self.source, name, table, value.span(), keys).map(Some),
            other => {
                let problem = format!("`{name}` is {}, expected a table [{name}]", describe(other));
                Err(self.complain(&value.span(), problem))
            }
        }
    }

    /// As [`Section::section`], but the table is required.
    ///
    /// # Errors
    /// As [`Section::section`], and if it is missing.
    pub fn needs_section(&self, name: &'static str, keys: &'static [&'static str]) -> Result<Section<'t>, Complaint> {
        self.section(name, keys)?.ok_or_else(|| self.missing(&format!("the table [{name}]")))
    }

    /// The tables `[[name]]` inside this one, in order.
    ///
    /// # Errors
    /// If one is not a table, or has other keys than `keys`.
    pub fn sections(&self, name: &'static str, keys: &'static [&'static str]) -> Result<Vec<Section<'t>>, Complaint> {
        let opened = |(table, at)| Section::open(self.source, name, table, at, keys);
        self.tables(name)?.into_iter().map(opened).collect()
    }

    /// As [`Section::sections`], but the keys are not checked.
    ///
    /// # Errors
    /// If one is not a table.
    pub fn tables(&self, name: &'static str) -> Result<Vec<(&'t DeTable<'t>, TextRange)>, Complaint> {
        let Some(value) = self.table.get(name) else { return Ok(Vec::new()) };
        let refuse = |found: &Spanned<DeValue<'_>>, what: &str| {
            self.complain(&found.span(), format!("`{name}` is {what}, expected tables [[{name}]]"))
        };
        match value.get_ref() {
            DeValue::Array(items) => {
                let table = |item: &'t Spanned<DeValue<'t>>| match item.get_ref() {
                    DeValue::Table(table) => Ok((table, item.span())),
                    other => Err(refuse(item, &describe(other))),
                };
                items.iter().map(table).collect()
            }
            DeValue::Table(_) => Err(refuse(value, "one table")),
            other => Err(refuse(value, &describe(other))),
        }
    }

    /// A value that `read` understands, if the key is present; `expected` describes such a value.
    ///
    /// # Errors
    /// If `read` does not understand it.
    pub fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Result<Option<Located<T>>, Complaint> {
        let is_listed = self.keys.is_none_or(|keys| keys.contains(&key));
        debug_assert!(is_listed, "`{key}` is read but not listed as a key of [{}]", self.name);
        let Some(found) = self.table.get(key) else { return Ok(None) };
        match read(found.get_ref()) {
            Some(value) => Ok(Some(Located { value, at: found.span() })),
            None => {
                let problem = format!("{} is not a value for `{key}`: expected {expected}", describe(found.get_ref()));
                Err(self.complain(&found.span(), problem))
            }
        }
    }

    /// As [`Section::read`], but the key is required.
    ///
    /// # Errors
    /// As [`Section::read`], and if it is missing.
    pub fn needs<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Result<Located<T>, Complaint> {
        self.read(key, expected, read)?.ok_or_else(|| self.missing(&format!("the key `{key}`, {expected}")))
    }

    /// A text, if the key is present.
    ///
    /// # Errors
    /// If it is something else.
    pub fn text(&self, key: &str) -> Result<Option<Located<String>>, Complaint> {
        self.read(key, TEXT, |value| value.as_str().map(str::to_owned))
    }

    /// A required text.
    ///
    /// # Errors
    /// If it is something else, or missing.
    pub fn needs_text(&self, key: &str) -> Result<Located<String>, Complaint> {
        self.needs(key, TEXT, |value| value.as_str().map(str::to_owned))
    }

    /// One of a few words.
    ///
    /// # Errors
    /// If it is another word, or missing.
    pub fn word<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Result<T, Complaint> {
        let found = self.needs_text(key)?;
        let known = words.iter().find(|(name, _)| *name == found.value);
        known.map(|&(_, value)| value).ok_or_else(|| {
            let problem = format!("`{}` is not a value of `{key}`", found.value);
            self.source.unknown(&found.at, &problem, &found.value, words.iter().map(|(name, _)| *name))
        })
    }

    /// One of a few words; the first if the key is missing.
    ///
    /// # Errors
    /// If it is another.
    pub fn word_or<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Result<T, Complaint> {
        if self.has(key) { self.word(key, words) } else { Ok(words[0].1) }
    }

    /// A whole number, if the key is present.
    ///
    /// # Errors
    /// If it is something else.
    pub fn count(&self, key: &str) -> Result<Option<Located<u64>>, Complaint> {
        self.read(key, "a whole number", whole)
    }

    /// A required whole number within `range`.
    ///
    /// # Errors
    /// If it is something else, or missing.
    pub fn count_within(&self, key: &str, range: RangeInclusive<u32>) -> Result<u32, Complaint> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let number = |value: &DeValue<'_>| whole(value)?.try_into().ok();
        Ok(self.needs(key, &expected, |value| number(value).filter(|number| range.contains(number)))?.value)
    }

    /// A number, if the key is present.
    ///
    /// # Errors
    /// If it is something else.
    pub fn number(&self, key: &str) -> Result<Option<Located<f64>>, Complaint> {
        self.read(key, "a number", |value| match value {
            DeValue::Integer(number) => number.as_str().replace('_', "").parse().ok(),
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        })
    }

    /// `true` or `false`, if the key is present.
    ///
    /// # Errors
    /// If it is something else.
    pub fn truth(&self, key: &str) -> Result<Option<Located<bool>>, Complaint> {
        self.read(key, "true or false", |value| value.as_bool())
    }

    /// One text, or a list of them; none if the key is missing.
    ///
    /// # Errors
    /// If one of them is something else.
    pub fn texts(&self, key: &str) -> Result<Vec<Located<String>>, Complaint> {
        let text = |value: &Spanned<DeValue<'_>>| {
            let problem = || format!("{} is not a value for `{key}`: expected texts", describe(value.get_ref()));
            let word = value.get_ref().as_str().ok_or_else(|| self.complain(&value.span(), problem()))?;
            Ok(Located { value: word.to_owned(), at: value.span() })
        };
        match self.table.get(key) {
            None => Ok(Vec::new()),
            Some(value) => match value.get_ref() {
                DeValue::Array(items) => items.iter().map(text).collect(),
                _ => Ok(vec![text(value)?]),
            },
        }
    }

    /// Every value at or below `key`, by its address, as a user would write it.
    ///
    /// # Errors
    /// If one is neither a number nor a text.
    pub fn leaves(&self, key: &str) -> Result<Vec<Leaf>, Complaint> {
        let mut found = Vec::new();
        if let Some((key, value)) = self.table.get_key_value(key) {
            self.source.collect(key.get_ref().to_string(), key.span(), value, &mut found)?;
        }
        Ok(found)
    }

    /// As [`Section::leaves`] for the table `key`, without its own name in the addresses.
    ///
    /// # Errors
    /// As [`Section::leaves`], and if it is not a table.
    pub fn leaves_below(&self, key: &str) -> Result<Vec<Leaf>, Complaint> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let DeValue::Table(table) = value.get_ref() else {
            let problem = format!("`{key}` is {}: expected a table", describe(value.get_ref()));
            return Err(self.complain(&value.span(), problem));
        };
        self.source.collect_all(table.iter())
    }

    /// Every value of this table except those of these keys, by its address.
    ///
    /// # Errors
    /// As [`Section::leaves`].
    pub fn leaves_but(&self, keys: &[&str]) -> Result<Vec<Leaf>, Complaint> {
        let others = self.table.iter().filter(|(key, _)| !keys.contains(&key.get_ref().as_ref()));
        self.source.collect_all(others)
    }
}

const TEXT: &str = "a text in quotes";

/// A whole number of any base.
pub fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}

impl<'t> Source<'t> {
    fn collect_all<'v, K: AsRef<str> + 'v>(
        &self,
        entries: impl Iterator<Item = (&'v Spanned<K>, &'v Spanned<DeValue<'t>>)>,
    ) -> Result<Vec<Leaf>, Complaint>
    where
        't: 'v,
    {
        let mut found = Vec::new();
        for (key, value) in entries {
            self.collect(key.get_ref().as_ref().to_owned(), key.span(), value, &mut found)?;
        }
        Ok(found)
    }

    fn collect(
        &self,
        address: String,
        at: TextRange,
        value: &Spanned<DeValue<'_>>,
        found: &mut Vec<Leaf>,
    ) -> Result<(), Complaint> {
        let scalar = |value: &Spanned<DeValue<'_>>| Ok(Located { value: self.scalar(value)?, at: value.span() });
        let values = match value.get_ref() {
            DeValue::Table(table) => {
                for (key, inner) in table.iter() {
                    self.collect(format!("{address}.{}", key.get_ref()), key.span(), inner, found)?;
                }
                return Ok(());
            }
            DeValue::Array(items) => items.iter().map(scalar).collect::<Result<_, _>>()?,
            _ => vec![scalar(value)?],
        };
        found.push((Located { value: address, at }, values));
        Ok(())
    }
}
