//! The fitted values in a disk's file, and their plausible ranges.
//!
//! `[fit]` names each such key and its plausible range, as in `zones.inner = "115MB/s to 140MB/s"`. It changes nothing;
//! a sensitivity run tries both ends.

use blksched_text::document::{Complaint, Located, Section, Source, TextRange};
use blksched_text::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DiskError;
use super::{DiskSpec, Model, load_changed};

/// A value that was fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The key, with its tables: `write_cache.share`.
    pub key: String,
    /// Its text in the file.
    pub value: String,
    /// The ends of its plausible range.
    pub ends: [String; 2],
}

impl Fit {
    /// Its table; for a key at the top of the file, the key itself.
    pub fn section(&self) -> &str {
        self.key.split('.').next().unwrap_or(&self.key)
    }
}

impl DiskSpec {
    /// The fitted values; for an array those of its members.
    pub fn fitted(&self) -> Vec<Fit> {
        let Model::Raid(raid) = &self.model else { return self.fits.clone() };
        let mut fits = self.fits.clone();
        for fit in raid.members.iter().flat_map(DiskSpec::fitted) {
            if !fits.iter().any(|known| known.key == fit.key) {
                fits.push(fit);
            }
        }
        fits
    }

    /// The same disk with some keys of its file changed, like [`load_changed`]; for an array, in every member that has
    /// them.
    ///
    /// # Errors
    /// As [`load_changed`].
    pub fn changed(&self, changes: &[(String, String)]) -> Result<DiskSpec, DiskError> {
        let Model::Raid(raid) = &self.model else { return load_changed(&self.name, changes) };
        let mut raid = raid.clone();
        for member in &mut raid.members {
            let fits = member.fitted();
            let own: Vec<_> =
                changes.iter().filter(|(key, _)| fits.iter().any(|fit| fit.key == *key)).cloned().collect();
            if !own.is_empty() {
                *member = member.changed(&own)?;
            }
        }
        Ok(DiskSpec { model: Model::Raid(raid), ..self.clone() })
    }
}

/// The table `[fit]` of a document.
pub(super) fn read(source: Source<'_>, document: &DeTable<'_>) -> Result<Vec<Fit>, Complaint> {
    let Some(table) = document.get("fit") else { return Ok(Vec::new()) };
    let DeValue::Table(fit) = table.get_ref() else {
        return Err(source.complain(&table.span(), "`fit` is not a table: expected [fit]"));
    };
    let mut fits = Vec::new();
    walk(source, document, fit, "", &mut fits)?;
    Ok(fits)
}

/// Walks through a table of `[fit]`; `at` is the corresponding table of the disk.
fn walk(
    source: Source<'_>,
    at: &DeTable<'_>,
    table: &DeTable<'_>,
    prefix: &str,
    fits: &mut Vec<Fit>,
) -> Result<(), Complaint> {
    for (word, range) in table {
        let name: &str = word.get_ref();
        let key = format!("{prefix}{name}");
        let found = at.get(name).filter(|_| key != "fit").map(Spanned::get_ref);
        match (found, range.get_ref()) {
            (Some(DeValue::Table(inner)), DeValue::Table(ranges)) => {
                walk(source, inner, ranges, &format!("{key}."), fits)?;
            }
            (Some(value), DeValue::String(text)) if shown(value).is_some() => {
                let ends = ends(text).ok_or_else(|| unclear(source, range.span(), &key, text))?;
                fits.push(Fit { value: shown(value).unwrap_or_default(), key, ends });
            }
            (Some(_), _) => return Err(unclear(source, range.span(), &key, "this")),
            (None, _) => {
                let known: Vec<&str> = at.keys().map(|key| key.get_ref().as_ref()).collect();
                let problem = format!("`{key}` is not in this file: [fit] gives the range of a key that is");
                return Err(source.complain(&word.span(), problem).meaning(nearest(name, known)));
            }
        }
    }
    Ok(())
}

fn unclear(source: Source<'_>, at: TextRange, key: &str, text: &str) -> Complaint {
    let problem = format!("\"{text}\" is not a range of `{key}`: expected both ends, as in \"1ms to 4ms\"");
    source.complain(&at, problem)
}

fn ends(text: &str) -> Option<[String; 2]> {
    let (low, high) = text.split_once(" to ")?;
    let ends = [low, high].map(|end| end.trim().to_owned());
    (ends.iter().all(|end| !end.is_empty())).then_some(ends)
}

fn shown(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// What a model was compared with, besides published figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validated {
    /// What was compared, and how many response times.
    pub against: String,
    /// The model's error: the demerit figure, or as explained by `against` \[thousandths\].
    pub error_permille: u32,
    /// Of which I/O this is the error in the 99th percentile; empty if it is of something else.
    pub p99_of: Vec<TailOf>,
    /// With at most so many I/Os in flight; `None` if it holds for any number.
    pub in_flight: Option<u32>,
}

/// I/O of 4 KiB at random places whose 99th percentile was compared with a drive's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TailOf {
    /// Reads alone.
    Reads,
    /// Writes alone.
    Writes,
    /// Reads while others write.
    ReadsBesideWrites,
    /// Writes while others read.
    WritesBesideReads,
}

impl TailOf {
    /// All of them.
    pub const ALL: [TailOf; 4] = [TailOf::Reads, TailOf::Writes, TailOf::ReadsBesideWrites, TailOf::WritesBesideReads];

    /// As a disk's file has it.
    pub fn word(self) -> &'static str {
        match self {
            TailOf::Reads => "reads",
            TailOf::Writes => "writes",
            TailOf::ReadsBesideWrites => "reads beside writes",
            TailOf::WritesBesideReads => "writes beside reads",
        }
    }
}

const KEYS: &[&str] = &["against", "error", "p99_of", "in_flight"];

/// The tables `[[validated]]`.
pub(super) fn validated(top: &Section<'_>) -> Result<Vec<Validated>, Complaint> {
    let one = |section: &Section<'_>| {
        let error = section.needs_text("error")?;
        let read = error.value.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let permille =
            read.filter(|percent| (0.0..=100_000.0).contains(percent)).map(|percent| (percent * 10.0) as u32);
        let problem = || format!("\"{}\" is not an error: expected a percentage, as in \"2.8%\"", error.value);
        let error_permille = permille.ok_or_else(|| section.complain(&error.at, problem()))?;
        let tail = |text: Located<String>| {
            let known = TailOf::ALL.map(TailOf::word);
            let found = TailOf::ALL.into_iter().find(|of| of.word() == text.value);
            found.ok_or_else(|| {
                let problem = format!("\"{}\" is no such I/O: expected one of {}", text.value, known.join(", "));
                section.complain(&text.at, problem).meaning(nearest(&text.value, known))
            })
        };
        let p99_of = section.texts("p99_of")?.into_iter().map(tail).collect::<Result<_, _>>()?;
        let in_flight = match section.has("in_flight") {
            true => Some(section.count_within("in_flight", 1..=1_000_000)?),
            false => None,
        };
        Ok(Validated { against: section.needs_text("against")?.value, error_permille, p99_of, in_flight })
    };
    top.sections("validated", KEYS)?.iter().map(one).collect()
}
