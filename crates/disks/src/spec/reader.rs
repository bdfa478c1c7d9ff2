//! Reads a disk's file in units of disks: rates, sectors, revolutions. Its tables are read like all TOML that people
//! write.

use core::ops::RangeInclusive;

use blksched::Span;
use blksched_text::document::{Complaint, Located, Section, whole};
use toml::Spanned;
use toml::de::DeValue;

use super::units::{self, Rate, Turn};
use crate::draw::Chance;

/// Reads values with a disk's units by their keys. Each must be present unless its method says otherwise.
pub(super) trait Quantities {
    /// A list of words.
    fn words(&self, key: &str) -> Result<Vec<Located<String>>, Complaint>;

    /// A sector's number.
    fn sector(&self, key: &str) -> Result<Located<u64>, Complaint>;

    /// A time within `range`.
    fn span(&self, key: &str, range: RangeInclusive<Span>) -> Result<Located<Span>, Complaint>;

    /// Like [`Quantities::span`], `usual` if the key is missing.
    fn span_or(&self, key: &str, range: RangeInclusive<Span>, usual: Span) -> Result<Span, Complaint>;

    /// `80GB`, in sectors.
    fn capacity(&self, key: &str) -> Result<u64, Complaint>;

    /// A list of sectors' numbers, ascending.
    fn sector_list(&self, key: &str) -> Result<Vec<u64>, Complaint>;

    /// A size in whole sectors, within `range` sectors.
    fn sectors(&self, key: &str, range: RangeInclusive<u64>) -> Result<Located<u64>, Complaint>;

    /// `40MB/s`.
    fn rate(&self, key: &str) -> Result<Located<Rate>, Complaint>;

    /// `3000/s`.
    fn per_second(&self, key: &str) -> Result<Located<u64>, Complaint>;

    /// Whole percents, within `range`.
    fn percent(&self, key: &str, range: RangeInclusive<u32>) -> Result<u32, Complaint>;

    /// A probability: `0.05%`, to four decimals.
    fn chance(&self, key: &str) -> Result<Chance, Complaint>;

    /// `7200rpm`.
    fn rpm(&self, key: &str) -> Result<u32, Complaint>;

    /// `0.12rev`.
    fn turn(&self, key: &str) -> Result<Located<Turn>, Complaint>;

    /// Like [`Quantities::turn`], 0 if the key is missing.
    fn turn_or_none(&self, key: &str) -> Result<Turn, Complaint>;
}

impl Quantities for Section<'_> {
    fn words(&self, key: &str) -> Result<Vec<Located<String>>, Complaint> {
        let expected = "a list of texts, as in [\"hdd-7200\", \"hdd-7200\"]";
        self.needs(key, expected, |value| {
            let word = |item: &Spanned<DeValue<'_>>| {
                let value = item.get_ref().as_str()?.to_owned();
                Some(Located { value, at: item.span() })
            };
            value.as_array()?.iter().map(word).collect()
        })
        .map(|list| list.value)
    }

    fn sector(&self, key: &str) -> Result<Located<u64>, Complaint> {
        self.needs(key, "a sector's number, counted from 0", whole)
    }

    fn span(&self, key: &str, range: RangeInclusive<Span>) -> Result<Located<Span>, Complaint> {
        let expected = format!("a time from {} to {}, as in \"8.9ms\"", range.start(), range.end());
        self.needs(key, &expected, |value| value.as_str()?.parse().ok().filter(|span| range.contains(span)))
    }

    fn span_or(&self, key: &str, range: RangeInclusive<Span>, usual: Span) -> Result<Span, Complaint> {
        if self.has(key) { Ok(self.span(key, range)?.value) } else { Ok(usual) }
    }

    fn capacity(&self, key: &str) -> Result<u64, Complaint> {
        let expected = "a capacity from 1MB to 1000TB, as in \"80GB\"";
        let range = 1_953..=2_000_000_000_000;
        Ok(self.needs(key, expected, |value| units::capacity(value.as_str()?).filter(|n| range.contains(n)))?.value)
    }

    fn sector_list(&self, key: &str) -> Result<Vec<u64>, Complaint> {
        let list = self.needs(key, "a list of sectors' numbers, ascending", |value| {
            let list: Option<Vec<u64>> = value.as_array()?.iter().map(|item| whole(item.get_ref())).collect();
            list.filter(|list| list.is_sorted_by(|one, next| one < next))
        })?;
        Ok(list.value)
    }

    fn sectors(&self, key: &str, range: RangeInclusive<u64>) -> Result<Located<u64>, Complaint> {
        let kib = |sectors: u64| sectors as f64 / 2.0;
        let (low, high) = (kib(*range.start()), kib(*range.end()));
        let expected = format!("a size in whole sectors of 512 bytes, from {low}KiB to {high}KiB, as in \"512KiB\"");
        self.needs(key, &expected, |value| units::sectors(value.as_str()?).filter(|sectors| range.contains(sectors)))
    }

    fn rate(&self, key: &str) -> Result<Located<Rate>, Complaint> {
        let range = 100_000..=100_000_000_000;
        let expected = "a rate from 100kB/s to 100GB/s, as in \"40MB/s\"";
        self.needs(key, expected, |value| {
            units::rate(value.as_str()?).filter(|rate| range.contains(&rate.bytes_per_s()))
        })
    }

    fn per_second(&self, key: &str) -> Result<Located<u64>, Complaint> {
        let expected = "operations per second from 1/s to 100000000/s, as in \"3000/s\"";
        let range = 1..=100_000_000;
        self.needs(key, expected, |value| units::per_second(value.as_str()?).filter(|rate| range.contains(rate)))
    }

    fn percent(&self, key: &str, range: RangeInclusive<u32>) -> Result<u32, Complaint> {
        let expected = format!("a share from {}% to {}%, as in \"50%\"", range.start(), range.end());
        let read = |text: &str| text.trim().strip_suffix('%')?.trim().parse().ok();
        Ok(self.needs(key, &expected, |value| read(value.as_str()?).filter(|share| range.contains(share)))?.value)
    }

    fn chance(&self, key: &str) -> Result<Chance, Complaint> {
        let expected = "a probability from 0% to 100% with at most four decimals, as in \"0.05%\"";
        Ok(self.needs(key, expected, |value| units::chance(value.as_str()?))?.value)
    }

    fn rpm(&self, key: &str) -> Result<u32, Complaint> {
        let expected = "a speed from 1000rpm to 30000rpm, as in \"7200rpm\"";
        let read = |text: &str| units::rpm(text).filter(|rpm| (1_000..=30_000).contains(rpm));
        Ok(self.needs(key, expected, |value| read(value.as_str()?))?.value as u32)
    }

    fn turn(&self, key: &str) -> Result<Located<Turn>, Complaint> {
        let expected = "a part of a revolution from 0rev to 0.999rev, as in \"0.12rev\"";
        let read = |text: &str| units::turn(text).filter(|turn| turn.millionths() <= 999_000);
        self.needs(key, expected, |value| read(value.as_str()?))
    }

    fn turn_or_none(&self, key: &str) -> Result<Turn, Complaint> {
        if self.has(key) { Ok(self.turn(key)?.value) } else { Ok(Turn::from_millionths(0)) }
    }
}
