//! The parameters of a program: one description each, from which it is parsed, listed and explained.

use blksched::Span;
use blksched_text::{did_you_mean, units};

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in an experiment's file.
    pub name: &'static str,
    /// Its kind.
    pub kind: ParameterKind,
    /// The default, as a user would write it.
    pub default: &'static str,
    /// What it means, in one line.
    pub doc: &'static str,
}

/// The kind of a parameter, which decides how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// Bytes: `128KiB`.
    Bytes,
    /// A time: `8ms`.
    Time,
    /// A place on the disk: `30%` of the way inwards, or this many bytes from its beginning: `10GB`.
    Place,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue {
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Bytes.
    Bytes(u64),
    /// A time.
    Time(Span),
    /// A place.
    Place(DiskPlace),
    /// A word.
    Word(&'static str),
}

/// A place on the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiskPlace {
    /// This part of the capacity from the outer edge (0 to 1).
    Share(f64),
    /// Bytes from the outer edge.
    Bytes(u64),
}

impl DiskPlace {
    /// The sector, on 8-sector (4 KiB) boundaries, of a disk with this many sectors.
    pub fn sector(self, disk_sectors: u64) -> u64 {
        let sector = match self {
            DiskPlace::Share(share) => (disk_sectors as f64 * share) as u64,
            DiskPlace::Bytes(bytes) => bytes / 512,
        };
        sector.min(disk_sectors) / 8 * 8
    }
}

impl ParameterKind {
    /// The expected form in words, with an example.
    pub fn expected(self) -> String {
        match self {
            ParameterKind::Count => "a whole number".to_owned(),
            ParameterKind::Number => "a number, not negative".to_owned(),
            ParameterKind::Bytes => "a size, as in 128KiB".to_owned(),
            ParameterKind::Time => "a time, as in 8ms".to_owned(),
            ParameterKind::Place => "a place on the disk, as in 30% or 10GB".to_owned(),
            ParameterKind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// The kind in a word: `size`, `time`, or the words themselves.
    pub fn word(self) -> String {
        match self {
            ParameterKind::Count => "whole number".to_owned(),
            ParameterKind::Number => "number".to_owned(),
            ParameterKind::Bytes => "size".to_owned(),
            ParameterKind::Time => "time".to_owned(),
            ParameterKind::Place => "place on the disk".to_owned(),
            ParameterKind::Word(known) => known.join("|"),
        }
    }

    fn read(self, text: &str) -> Option<ParameterValue> {
        let text = text.trim();
        match self {
            ParameterKind::Count => text.parse().ok().map(ParameterValue::Count),
            ParameterKind::Number => {
                text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0).map(ParameterValue::Number)
            }
            ParameterKind::Bytes => units::bytes_or_letter(text).map(ParameterValue::Bytes),
            ParameterKind::Time => text.parse().ok().map(ParameterValue::Time),
            ParameterKind::Place => {
                let share = units::share(text).map(DiskPlace::Share);
                share.or_else(|| units::bytes_or_letter(text).map(DiskPlace::Bytes)).map(ParameterValue::Place)
            }
            ParameterKind::Word(words) => {
                words.iter().find(|word| **word == text).map(|word| ParameterValue::Word(word))
            }
        }
    }
}

impl Parameter {
    /// Parses a value as a user writes it.
    ///
    /// # Errors
    /// What is wrong with it, and what was expected.
    pub fn parse(&self, text: &str) -> Result<ParameterValue, String> {
        self.kind.read(text).ok_or_else(|| {
            let hint = match self.kind {
                ParameterKind::Word(words) => did_you_mean(text, words.iter().copied()),
                _ => String::new(),
            };
            format!("`{text}` is not a value of `{}`: expected {}{hint}", self.name, self.kind.expected())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_its_kind_or_refused_with_what_was_expected() {
        let order =
            Parameter { name: "order", kind: ParameterKind::Word(&["token", "window"]), default: "token", doc: "x" };
        assert_eq!(order.parse("window"), Ok(ParameterValue::Word("window")));
        let refused = order.parse("widnow").unwrap_err();
        assert_eq!(
            refused,
            "`widnow` is not a value of `order`: expected one of token, window; did you mean `window`?"
        );
        let think = Parameter { name: "think", kind: ParameterKind::Time, default: "0ms", doc: "x" };
        assert_eq!(think.parse("2ms"), Ok(ParameterValue::Time(Span::from_ms(2))));
        assert_eq!(think.parse("2"), Err("`2` is not a value of `think`: expected a time, as in 8ms".to_owned()));
    }

    #[test]
    fn a_place_is_a_share_of_the_disk_or_a_distance_from_its_edge() {
        assert_eq!(DiskPlace::Share(0.5).sector(1_000_000), 500_000);
        assert_eq!(DiskPlace::Bytes(1 << 20).sector(1_000_000), 2048);
        assert_eq!(DiskPlace::Bytes(1 << 40).sector(1_000_000), 1_000_000);
    }
}
