//! Numbers with units, as written in a disk's TOML file.

use blksched::Span;
use blksched_text::units::{bytes, decimal, split};

use crate::draw::Chance;

/// Bytes in a sector.
const SECTOR_BYTES: u64 = 512;

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// `bytes` per second.
    ///
    /// # Panics
    /// If `bytes` is 0.
    pub const fn from_bytes_per_s(bytes: u64) -> Rate {
        assert!(bytes > 0, "a rate of nothing");
        Rate(bytes)
    }

    /// Bytes per second.
    pub const fn bytes_per_s(self) -> u64 {
        self.0
    }

    /// The time for this many sectors, rounded down.
    pub const fn time_of(self, sectors: u64) -> Span {
        Span::from_ns((sectors as u128 * SECTOR_BYTES as u128 * 1_000_000_000 / self.0 as u128) as u64)
    }
}

/// A part of a revolution \[millionths\].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(u32);

impl Turn {
    /// `millionths` of a revolution.
    pub const fn from_millionths(millionths: u32) -> Turn {
        Turn(millionths)
    }

    /// Millionths of a revolution.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// How long it takes.
    pub const fn of(self, revolution: Span) -> Span {
        Span::from_ns(revolution.as_ns() * self.0 as u64 / 1_000_000)
    }
}

/// `512KiB` in whole sectors.
pub(super) fn sectors(text: &str) -> Option<u64> {
    let bytes = bytes(text)?;
    bytes.is_multiple_of(SECTOR_BYTES).then_some(bytes / SECTOR_BYTES)
}

/// `4TB` in sectors, rounded down: capacities are marketed in round numbers.
pub(super) fn capacity(text: &str) -> Option<u64> {
    Some(bytes(text)? / SECTOR_BYTES)
}

/// `40MB/s`.
pub(super) fn rate(text: &str) -> Option<Rate> {
    bytes(text.trim().strip_suffix("/s")?).filter(|&bytes| bytes > 0).map(Rate)
}

/// `19000/s`.
pub(super) fn per_second(text: &str) -> Option<u64> {
    decimal(text.trim().strip_suffix("/s")?.trim(), 1)
}

/// `7200rpm`.
pub(super) fn rpm(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    (unit == "rpm").then(|| decimal(number, 1)).flatten()
}

/// `0.12rev`.
pub(super) fn turn(text: &str) -> Option<Turn> {
    let (number, unit) = split(text)?;
    let millionths = (unit == "rev").then(|| decimal(number, 1_000_000)).flatten()?;
    u32::try_from(millionths).ok().map(Turn)
}

/// `0.05%`.
pub(super) fn chance(text: &str) -> Option<Chance> {
    let millionths = decimal(text.trim().strip_suffix('%')?.trim(), 10_000)?;
    u32::try_from(millionths).ok().filter(|&millionths| millionths <= 1_000_000).map(Chance::from_millionths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_data_sheet_says_is_read_in_its_units() {
        assert_eq!(sectors("512KiB"), Some(1024));
        assert_eq!(capacity("80GB"), Some(156_250_000));
        assert_eq!(rate("40MB/s"), Some(Rate(40_000_000)));
        assert_eq!(rpm("7200rpm"), Some(7200));
        assert_eq!(turn("0.12rev"), Some(Turn(120_000)));
        assert_eq!(per_second("19000/s"), Some(19_000));
        assert_eq!(chance("0.05%"), Some(Chance::from_millionths(500)));
        assert_eq!(chance("100%"), Some(Chance::from_millionths(1_000_000)));
    }

    #[test]
    fn a_missing_or_wrong_unit_is_refused() {
        assert_eq!(sectors("513B"), None);
        assert_eq!(rate("40MB"), None);
        assert_eq!(rate("0MB/s"), None);
        assert_eq!(rpm("7200"), None);
        assert_eq!(turn("0.12"), None);
        assert_eq!(chance("0.05"), None);
        assert_eq!(chance("100.0001%"), None);
    }
}
