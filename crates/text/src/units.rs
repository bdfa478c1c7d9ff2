//! Sizes and shares in text. The meaning of `k` depends on the writer: thousands in a data sheet, 1024 in fio, dd and
//! cgroup files; so there are three ways to read a size, and each caller chooses one.

/// Units that are explicit about counting in thousands or in 1024.
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

/// Single letters, which count in 1024.
const LETTERS: [(&str, u64); 4] = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)];

/// `512KiB` or `1.5MB` in bytes; the unit is required.
///
/// ```
/// use blksched_text::units::bytes;
/// assert_eq!((bytes("512KiB"), bytes("1.5 MB")), (Some(524_288), Some(1_500_000)));
/// assert_eq!((bytes("512"), bytes("512k")), (None, None));
/// ```
pub fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    decimal(number, scale(&SIZES, unit)?)
}

/// As [`bytes`], or with a small letter as fio and dd mean it: `64k`, `1.5g`; a bare `0` needs no unit.
///
/// ```
/// use blksched_text::units::bytes_or_letter;
/// assert_eq!(["64k", "64kB", "0"].map(bytes_or_letter), [Some(65_536), Some(64_000), Some(0)]);
/// assert_eq!(["64", "64K"].map(bytes_or_letter), [None, None]);
/// ```
pub fn bytes_or_letter(text: &str) -> Option<u64> {
    if text.trim() == "0" {
        return Some(0);
    }
    let (number, unit) = split(text)?;
    decimal(number, scale(&LETTERS, unit).or_else(|| scale(&SIZES, unit))?)
}

/// `4096`, `64K`, `1.5g`: a bare number, or one letter of either case that counts in 1024.
///
/// ```
/// use blksched_text::units::number_or_letter;
/// assert_eq!(["4096", "64K", " 1m "].map(number_or_letter), [Some(4096), Some(65_536), Some(1 << 20)]);
/// assert_eq!(["1KB", "K"].map(number_or_letter), [None, None]);
/// ```
pub fn number_or_letter(text: &str) -> Option<u64> {
    match split(text) {
        None => decimal(text.trim(), 1),
        Some((number, unit)) => decimal(number, scale(&LETTERS, &unit.to_ascii_lowercase())?),
    }
}

/// `30%` as 0.3.
///
/// ```
/// use blksched_text::units::share;
/// assert_eq!((share("30%"), share("100 %"), share("101%"), share("30")), (Some(0.3), Some(1.0), None, None));
/// ```
pub fn share(text: &str) -> Option<f64> {
    let share = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
    (0.0..=100.0).contains(&share).then_some(share / 100.0)
}

/// A number and its unit, split at the first letter.
///
/// ```
/// use blksched_text::units::split;
/// assert_eq!((split(" 7200 rpm"), split("7200")), (Some(("7200", "rpm")), None));
/// ```
pub fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    Some((number.trim(), unit))
}

/// `number` (digits, with or without a fraction) times `scale`, exactly.
///
/// ```
/// use blksched_text::units::decimal;
/// assert_eq!((decimal("1.5", 1000), decimal("0.0001", 1000), decimal("-1", 1)), (Some(1500), None, None));
/// ```
pub fn decimal(number: &str, scale: u64) -> Option<u64> {
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

fn scale(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_wrong_unit_or_a_fraction_of_the_smallest_is_refused() {
        for text in ["2", "MiB", "2 megs", "2mib", "-1B", "1.2.3MB", "", "0.5B", "99999999999TB"] {
            assert_eq!(bytes(text), None, "{text}");
            assert_eq!(bytes_or_letter(text), None, "{text}");
        }
        for text in ["", "K", "1KB", "-1", "1.0001", "99999999999T", "1..2", "1e3"] {
            assert_eq!(number_or_letter(text), None, "{text}");
        }
    }

    #[test]
    fn a_fraction_is_exact() {
        assert_eq!((number_or_letter("1.5g"), number_or_letter("2T")), (Some(3 << 29), Some(2 << 40)));
        assert_eq!((bytes("1.5GiB"), bytes_or_letter("1.5g")), (Some(3 << 29), Some(3 << 29)));
    }
}
