//! Reads a TOML document key by key, so that every complaint knows its line and column and the keys that would be
//! valid.

use core::ops::{Range, RangeInclusive};

use blksched::Span;
use blksched_text::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DiskError;
use super::units::{self, Rate, Turn};
use blksched_text::document::{self, describe};

/// A document and its name, for complaints.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) file: &'t str,
    pub(super) text: &'t str,
}

impl<'t> Source<'t> {
    pub(super) fn invalid(&self, at: Range<usize>, problem: String, nearest: Option<&str>) -> DiskError {
        let complaint = self.document().complain(&at, problem);
        DiskError::of(document::Complaint { nearest: nearest.map(str::to_owned), ..complaint })
    }

    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'t>>, DiskError> {
        self.document().parse().map_err(DiskError::of)
    }

    fn document(&self) -> document::Source<'t> {
        document::Source { file: self.file, text: self.text }
    }
}

/// A value that has been read, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) at: Range<usize>,
}

/// One table of a document.
pub(super) struct Section<'t> {
    source: Source<'t>,
    name: &'static str,
    table: &'t DeTable<'t>,
    keys: &'static [&'static str],
    at: Range<usize>,
}

impl<'t> Section<'t> {
    /// A table that may hold `keys` and nothing else. `name` is empty for the document itself.
    pub(super) fn open(
        source: Source<'t>,
        name: &'static str,
        table: &'t DeTable<'t>,
        at: Range<usize>,
        keys: &'static [&'static str],
    ) -> Result<Section<'t>, DiskError> {
        for key in table.keys() {
            let word: &str = key.get_ref();
            if !keys.contains(&word) {
                let place = if name.is_empty() { "here".to_owned() } else { format!("in [{name}]") };
                let problem = format!("unknown key `{word}`: expected {place} one of {}", keys.join(", "));
                return Err(source.invalid(key.span(), problem, nearest(word, keys.iter().copied())));
            }
        }
        Ok(Section { source, name, table, keys, at })
    }

    /// The table `[name]` inside this one, if it is there.
    pub(super) fn section(
        &self,
        name: &'static str,
        keys: &'static [&'static str],
    ) -> Result<Option<Section<'t>>, DiskError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::Table(table) => Section::open(self.source, name, table, value.span(), keys).map(Some),
                other => {
                    let problem = format!("`{name}` is {}, expected a table [{name}]", describe(other));
                    Err(self.source.invalid(value.span(), problem, None))
                }
            },
        }
    }

    /// The tables `[[name]]` inside this one, in order.
    pub(super) fn sections(
        &self,
        name: &'static str,
        keys: &'static [&'static str],
    ) -> Result<Vec<Section<'t>>, DiskError> {
        let opened = |(table, at)| Section::open(self.source, name, table, at, keys);
        self.tables(name)?.into_iter().map(opened).collect()
    }

    /// As [`Section::sections`], not yet judged.
    pub(super) fn tables(&self, name: &'static str) -> Result<Vec<(&'t DeTable<'t>, Range<usize>)>, DiskError> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let table = |item: &'t Spanned<DeValue<'t>>| match item.get_ref() {
            DeValue::Table(table) => Ok((table, item.span())),
            other => {
                let problem = format!("`{name}` is {}, expected tables [[{name}]]", describe(other));
                Err(self.invalid(item.span(), problem))
            }
        };
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(table).collect(),
            _ => Err(table(value).err().unwrap_or_else(|| {
                self.invalid(value.span(), format!("`{name}` is one table, expected tables [[{name}]]"))
            })),
        }
    }

    /// A list of words.
    pub(super) fn words(&self, key: &'static str) -> Result<Vec<Located<String>>, DiskError> {
        let expected = "a list of texts, as in [\"hdd-7200\", \"hdd-7200\"]";
        self.value(key, expected, |value| {
            let word = |item: &Spanned<DeValue<'_>>| {
                let value = item.get_ref().as_str()?.to_owned();
                Some(Located { value, at: item.span() })
            };
            value.as_array()?.iter().map(word).collect()
        })
        .map(|list| list.value)
    }

    /// The document.
    pub(super) fn source(&self) -> Source<'t> {
        self.source
    }

    /// Where the table stands.
    pub(super) fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// Where a key's value stands, or the table if the key is not there.
    pub(super) fn at_key(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.at(), Spanned::span)
    }

    /// As [`Section::section`], but it must be there.
    pub(super) fn needs(&self, name: &'static str, keys: &'static [&'static str]) -> Result<Section<'t>, DiskError> {
        self.section(name, keys)?.ok_or_else(|| self.missing(&format!("the table [{name}]")))
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Located<String>, DiskError> {
        self.value(key, "a text in quotes", |value| value.as_str().map(str::to_owned))
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&'static str, T)]) -> Result<T, DiskError> {
        let found = self.text(key)?;
        let names = || words.iter().map(|(name, _)| *name);
        match words.iter().find(|(name, _)| *name == found.value) {
            Some(&(_, value)) => Ok(value),
            None => {
                let expected = names().collect::<Vec<_>>().join(", ");
                let problem = format!("`{}` is not a value of `{key}`: expected one of {expected}", found.value);
                Err(self.source.invalid(found.at, problem, nearest(&found.value, names())))
            }
        }
    }

    pub(super) fn count(&self, key: &'static str, range: RangeInclusive<u32>) -> Result<u32, DiskError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let number = |value: &DeValue<'_>| match value {
            DeValue::Integer(integer) => u32::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok(),
            _ => None,
        };
        Ok(self.value(key, &expected, |value| number(value).filter(|number| range.contains(number)))?.value)
    }

    /// A sector's number.
    pub(super) fn sector(&self, key: &'static str) -> Result<Located<u64>, DiskError> {
        self.value(key, "a sector's number, counted from 0", |value| match value {
            DeValue::Integer(integer) => u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok(),
            _ => None,
        })
    }

    pub(super) fn span(&self, key: &'static str, range: RangeInclusive<Span>) -> Result<Located<Span>, DiskError> {
        let expected = format!("a time from {} to {}, as in \"8.9ms\"", range.start(), range.end());
        self.value(key, &expected, |value| value.as_str()?.parse().ok().filter(|span| range.contains(span)))
    }

    /// As [`Section::span`], `usual` if the key is not there.
    pub(super) fn span_or(
        &self,
        key: &'static str,
        range: RangeInclusive<Span>,
        usual: Span,
    ) -> Result<Span, DiskError> {
        if self.has(key) { Ok(self.span(key, range)?.value) } else { Ok(usual) }
    }

    pub(super) fn capacity(&self, key: &'static str) -> Result<u64, DiskError> {
        let expected = "a capacity from 1MB to 1000TB, as in \"80GB\"";
        let range = 1_953..=2_000_000_000_000;
        Ok(self.value(key, expected, |value| units::capacity(value.as_str()?).filter(|n| range.contains(n)))?.value)
    }

    /// A list of sectors' numbers, ascending.
    pub(super) fn sector_list(&self, key: &'static str) -> Result<Vec<u64>, DiskError> {
        let number = |value: &DeValue<'_>| match value {
            DeValue::Integer(integer) => u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok(),
            _ => None,
        };
        let list = self.value(key, "a list of sectors' numbers, ascending", |value| {
            let list: Option<Vec<u64>> = value.as_array()?.iter().map(|item| number(item.get_ref())).collect();
            list.filter(|list| list.is_sorted_by(|one, next| one < next))
        })?;
        Ok(list.value)
    }

    /// A size in whole sectors, within `range` sectors.
    pub(super) fn sectors(&self, key: &'static str, range: RangeInclusive<u64>) -> Result<Located<u64>, DiskError> {
        let kib = |sectors: u64| sectors as f64 / 2.0;
        let (low, high) = (kib(*range.start()), kib(*range.end()));
        let expected = format!("a size in whole sectors of 512 bytes, from {low}KiB to {high}KiB, as in \"512KiB\"");
        self.value(key, &expected, |value| units::sectors(value.as_str()?).filter(|sectors| range.contains(sectors)))
    }

    pub(super) fn rate(&self, key: &'static str) -> Result<Located<Rate>, DiskError> {
        let range = 100_000..=100_000_000_000;
        let expected = "a rate from 100kB/s to 100GB/s, as in \"40MB/s\"";
        self.value(key, expected, |value| {
            units::rate(value.as_str()?).filter(|rate| range.contains(&rate.bytes_per_s()))
        })
    }

    /// `3000/s`.
    pub(super) fn per_second(&self, key: &'static str) -> Result<Located<u64>, DiskError> {
        let expected = "operations per second from 1/s to 100000000/s, as in \"3000/s\"";
        let range = 1..=100_000_000;
        self.value(key, expected, |value| units::per_second(value.as_str()?).filter(|rate| range.contains(rate)))
    }

    /// Whole percents, within `range`.
    pub(super) fn percent(&self, key: &'static str, range: RangeInclusive<u32>) -> Result<u32, DiskError> {
        let expected = format!("a share from {}% to {}%, as in \"50%\"", range.start(), range.end());
        let read = |text: &str| text.trim().strip_suffix('%')?.trim().parse().ok();
        Ok(self.value(key, &expected, |value| read(value.as_str()?).filter(|share| range.contains(share)))?.value)
    }

    pub(super) fn rpm(&self, key: &'static str) -> Result<u32, DiskError> {
        let expected = "a speed from 1000rpm to 30000rpm, as in \"7200rpm\"";
        let read = |text: &str| units::rpm(text).filter(|rpm| (1_000..=30_000).contains(rpm));
        Ok(self.value(key, expected, |value| read(value.as_str()?))?.value as u32)
    }

    pub(super) fn turn(&self, key: &'static str) -> Result<Located<Turn>, DiskError> {
        let expected = "a part of a revolution from 0rev to 0.999rev, as in \"0.12rev\"";
        let read = |text: &str| units::turn(text).filter(|turn| turn.millionths() <= 999_000);
        self.value(key, expected, |value| read(value.as_str()?))
    }

    /// As [`Section::turn`], 0 if the key is not there.
    pub(super) fn turn_or_none(&self, key: &'static str) -> Result<Turn, DiskError> {
        if self.has(key) { Ok(self.turn(key)?.value) } else { Ok(Turn::from_millionths(0)) }
    }

    /// One of a few words, the first if the key is not there.
    pub(super) fn word_or<T: Copy>(&self, key: &'static str, words: &[(&'static str, T)]) -> Result<T, DiskError> {
        if self.has(key) { self.word(key, words) } else { Ok(words[0].1) }
    }

    /// True if the key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// A complaint about something at `at`.
    pub(super) fn invalid(&self, at: Range<usize>, problem: String) -> DiskError {
        self.source.invalid(at, problem, None)
    }

    fn value<T>(
        &self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Result<Located<T>, DiskError> {
        debug_assert!(self.keys.contains(&key), "`{key}` is read but not listed as a key of [{}]", self.name);
        let found = self.get(key).ok_or_else(|| self.missing(&format!("the key `{key}`, {expected}")))?;
        match read(found.get_ref()) {
            Some(value) => Ok(Located { value, at: found.span() }),
            None => {
                let problem = format!("{} is not a value for `{key}`: expected {expected}", describe(found.get_ref()));
                Err(self.invalid(found.span(), problem))
            }
        }
    }

    fn missing(&self, what: &str) -> DiskError {
        let place = if self.name.is_empty() { "the file".to_owned() } else { format!("[{}]", self.name) };
        self.invalid(self.at.clone(), format!("{place} lacks {what}"))
    }

    fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }
}
