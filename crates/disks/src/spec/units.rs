//! Numbers with units, as they stand in a disk's TOML file.

use blksched::Span;

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

    /// How long this many sectors take, rounded down.
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

const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// `512KiB`, `1.5MB` in bytes.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let scale = SIZES.iter().find(|(name, _)| *name == unit)?.1;
    decimal(number, scale)
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

fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    Some((number.trim(), unit))
}

/// `number` (digits, with or without a fraction) times `scale`, exactly.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let tens = 10u128.pow(fraction.len() as u32);
    let number = whole.parse::<u64>().ok()?;
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
    let scaled = (u128::from(number) * tens + u128::from(part)) * u128::from(scale);
    scaled.is_multiple_of(tens).then(|| u64::try_from(scaled / tens).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_know_thousands_from_kibi() {
        assert_eq!(bytes("2MiB"), Some(2 << 20));
        assert_eq!(bytes("1.5 MB"), Some(1_500_000));
        assert_eq!(sectors("512KiB"), Some(1024));
        assert_eq!(capacity("80GB"), Some(156_250_000));
        assert_eq!(rate("40MB/s"), Some(Rate(40_000_000)));
        assert_eq!(rpm("7200rpm"), Some(7200));
        assert_eq!(turn("0.12rev"), Some(Turn(120_000)));
        assert_eq!(per_second("19000/s"), Some(19_000));
    }

    #[test]
    fn a_missing_or_wrong_unit_or_a_fraction_of_the_smallest_is_refused() {
        for text in ["2", "MiB", "2 megs", "2mib", "-1B", "1.2.3MB", "", "0.5B", "99999999999TB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(sectors("513B"), None);
        assert_eq!(rate("40MB"), None);
        assert_eq!(rate("0MB/s"), None);
        assert_eq!(rpm("7200"), None);
        assert_eq!(turn("0.12"), None);
    }
}
