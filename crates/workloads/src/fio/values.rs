//! Values: numbers with fio's suffixes, times, percentages, lists per direction.
//!
//! The suffixes are those of fio's manual: with `kb_base=1024`, its default, `k` is 1024 and `ki` is 1000; with
//! `kb_base=1000` it is the other way round.

use crate::fio::ddir::PerDdir;
use blksched::Span;
use blksched_text::nearest;

use super::expression;

/// Why a value cannot be parsed: what was expected, and the nearest word if it was a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueError {
    pub expected: String,
    pub nearest: Option<&'static str>,
    /// The word of a longer value that is wrong, and what is wrong with it.
    pub part: Option<(String, String)>,
}

pub(crate) fn expected<T>(what: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError { expected: what.into(), ..ValueError::default() })
}

/// A length given in bytes or as a share of the file it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthOrShare {
    /// \[bytes\]
    Bytes(u64),
    /// 1 to 100 \[% of the file or device\].
    Percent(u64),
}

/// The unit of a time without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// Seconds, like most times.
    Seconds,
    /// Microseconds, like `thinktime`.
    Microseconds,
}

/// The meaning of the suffixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KbBase {
    /// `kb_base=1024`: `k`, `kb` and `ki` are 1024, `kib` is 1000.
    Binary,
    /// `kb_base=1000`: `k`, `kb` and `ki` are 1000, `kib` is 1024.
    Decimal,
}

/// Parses digits, or `0x` and hexadecimal digits, or arithmetic in parentheses; returns the number and what follows it.
fn number(text: &str, base: KbBase) -> Option<(u64, &str)> {
    if let Some((inside, rest)) = expression::parenthesised(text) {
        return Some((expression::evaluate(inside, base)?, rest.trim_start()));
    }
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hexadecimal) => (hexadecimal, 16),
        None => (text, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = u64::from_str_radix(&digits[..end], radix).ok()?;
    Some((value, digits[end..].trim_start()))
}

/// The bytes of a suffix. An `i` means something only in front of a `b` (tried: `2Mi` is 2 MiB, `2MiB` two millions).
fn scale(suffix: &str, base: KbBase) -> Option<u64> {
    let suffix = suffix.to_ascii_lowercase();
    let (letter, other) = match suffix.strip_suffix("ib") {
        Some(letter) if !letter.is_empty() => (letter, true),
        _ if suffix == "i" => return None,
        _ => (suffix.strip_suffix(['b', 'i']).unwrap_or(&suffix), false),
    };
    let step: u64 = if (base == KbBase::Binary) == other { 1000 } else { 1024 };
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|&unit| unit == letter)?;
    step.checked_pow(power as u32)
}

/// Whether a length is written with `KiB`, `MiB` or the like, which are thousands with `kb_base=1024`.
pub(crate) fn is_of_thousands(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let letter = text.strip_suffix("ib").and_then(|rest| rest.chars().last());
    letter.is_some_and(|letter| "kmgtp".contains(letter)) && text.starts_with(|c: char| c.is_ascii_digit())
}

const SUFFIX: &str = "with or without a suffix k, m, g, t or p";

/// Parses `4096`, `4k`, `1m`, `0x1000`.
pub(crate) fn bytes(text: &str, base: KbBase) -> Result<u64, ValueError> {
    let counts_zones = text.strip_suffix('z').is_some_and(|zones| zones.parse::<u64>().is_ok());
    match scaled(text, base) {
        Some(bytes) => Ok(bytes),
        None if counts_zones => {
            expected(format!("a whole number, {SUFFIX}: `z` counts zones, and no simulated disk has any"))
        }
        None => expected(format!("a whole number, {SUFFIX}")),
    }
}

/// A number times its suffix.
pub(super) fn scaled(text: &str, base: KbBase) -> Option<u64> {
    number(text, base).and_then(|(value, suffix)| value.checked_mul(scale(suffix, base)?))
}

/// Like [`bytes`], within a range.
/// What is behind a decimal point does not count (tried).
pub(crate) fn int(text: &str, min: u64, max: u64, base: KbBase) -> Result<u64, ValueError> {
    match bytes(whole_part(text).unwrap_or(text), base) {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ if max == u64::MAX => expected(format!("a whole number from {min} on, {SUFFIX}")),
        _ => expected(format!("a whole number from {min} to {max}")),
    }
}

/// `12` of `12.5`.
pub(crate) fn whole_part(text: &str) -> Option<&str> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').filter(|(whole, rest)| digits(whole) && digits(rest)).map(|(whole, _)| whole)
}

/// Parses `20%`, or bytes like [`bytes`]; what follows a `:` does not count (tried: the second of `64k:64k` is
/// nothing).
pub(crate) fn extent(text: &str, base: KbBase) -> Result<LengthOrShare, ValueError> {
    let text = text.split(':').next().unwrap_or(text).trim_end();
    match text.strip_suffix('%') {
        None => bytes(text, base).map(LengthOrShare::Bytes),
        // `100%%`, from a template of Python's, is 100 % to fio, too (tried).
        Some(percent) => match percent.trim_end().trim_end_matches('%').trim_end().parse() {
            Ok(percent) if (1..=100).contains(&percent) => Ok(LengthOrShare::Percent(percent)),
            _ => expected("a percentage from 1% to 100%"),
        },
    }
}

/// Parses `10`, `500ms`, `2m`; the unit's case does not matter.
pub(crate) fn time(text: &str, bare: Bare) -> Result<Span, ValueError> {
    let Some((value, unit)) = number(text, KbBase::Binary) else { return expected(time_expected(bare)) };
    let us_per_unit: u64 = match (unit.to_ascii_lowercase().as_str(), bare) {
        ("", Bare::Microseconds) | ("us" | "usec", _) => 1,
        ("ms" | "msec", _) => 1_000,
        ("", Bare::Seconds) | ("s" | "sec", _) => 1_000_000,
        ("m", _) => 60_000_000,
        ("h", _) => 3_600_000_000,
        ("d", _) => 86_400_000_000,
        _ => return expected(time_expected(bare)),
    };
    match value.checked_mul(us_per_unit).and_then(|us| us.checked_mul(1_000)) {
        Some(ns) if ns <= LONGEST.as_ns() => Ok(Span::from_ns(ns)),
        _ => expected("at most 1000 days"),
    }
}

/// Longer times are refused, so that sums of times never overflow.
const LONGEST: Span = Span::from_secs(1000 * 86_400);

fn time_expected(bare: Bare) -> String {
    let unit = match bare {
        Bare::Seconds => "seconds",
        Bare::Microseconds => "microseconds",
    };
    format!("a whole number of {unit}, or with a unit us, ms, s, m, h or d")
}

/// Parses `5`, or `1-3` or `1:3`; the bounds of a range may be in either order.
pub(crate) fn time_range(text: &str) -> Result<(Span, Span), ValueError> {
    let Some((from, to)) = text.split_once(['-', ':']) else {
        return time(text, Bare::Seconds).map(|span| (span, span));
    };
    let (from, to) = (time(from.trim(), Bare::Seconds)?, time(to.trim(), Bare::Seconds)?);
    Ok((from.min(to), from.max(to)))
}

/// Parses `8k`, `8k,32k`, `8k,`, `,8k`, `8k,16k,4k`, for reads, writes and trims. A value without a comma after it also
/// applies to the following directions; an empty one leaves the direction's default.
pub(crate) fn per_dir(text: &str, min: u64, max: u64, base: KbBase) -> Result<PerDdir<Option<u64>>, ValueError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 || text.is_empty() {
        return expected("one to three values for reads, writes and trims, separated by commas");
    }
    let mut values = Vec::new();
    for part in &parts {
        values.push(match *part {
            "" => None,
            part => Some(int(part, min, max, base)?),
        });
    }
    let last = values[values.len() - 1];
    Ok(PerDdir { read: values[0], write: *values.get(1).unwrap_or(&last), trim: *values.get(2).unwrap_or(&last) })
}

/// One list per direction, `reads,writes,trims`; the last one given also applies to those after it. Each part is parsed
/// by `read`.
pub(crate) fn lists<T: Clone>(
    text: &str,
    read: impl Fn(&str) -> Result<Vec<T>, ValueError>,
) -> Result<PerDdir<Vec<T>>, ValueError> {
    let parts = text.split(',').take(3).map(|part| read(part.trim())).collect::<Result<Vec<_>, _>>()?;
    let nth = |nth: usize| parts[nth.min(parts.len() - 1)].clone();
    Ok(PerDdir { read: nth(0), write: nth(1), trim: nth(2) })
}

/// A whole number with a sign, as for `nice`.
pub(crate) fn signed(text: &str, min: i64, max: i64) -> Result<i64, ValueError> {
    match text.parse() {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => expected(format!("a whole number from {min} to {max}")),
    }
}

/// `0` or `1`; what follows it behind a `/` does not count (tried: `0/1`, copied from the manual, is 0).
pub(crate) fn boolean(text: &str) -> Result<bool, ValueError> {
    match text.split('/').next().unwrap_or(text).trim_end() {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => expected("0 or 1"),
    }
}

/// What fio takes for an option that may stand alone: any whole number, also with a unit, of which 0 is no (tried:
/// `time_based=10s`, `group_reporting=32`).
pub(crate) fn flag(text: &str) -> Result<bool, ValueError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match number(digits, KbBase::Binary) {
        Some((value, unit)) if unit.len() <= 4 && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) => Ok(value > 0),
        _ => expected("nothing, or a whole number, of which 0 is no"),
    }
}

/// One of `words`.
pub(crate) fn word(text: &str, words: &'static [&'static str]) -> Result<&'static str, ValueError> {
    words.iter().find(|&&word| word == text).copied().ok_or_else(|| ValueError {
        expected: format!("one of {}", words.join(", ")),
        // Long texts are not misspelt words, and comparing them would take long.
        nearest: nearest(&text.to_ascii_lowercase(), words.iter().copied().filter(|_| text.len() <= 64)),
        part: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: KbBase = KbBase::Binary;

    #[test]
    fn sizes_read_as_the_manual_lists_them() {
        for text in ["4096", "4096b", "4096B", "4k", "4kb", "4kB", "4K", "4KB", "0x1000", "4 k"] {
            assert_eq!(bytes(text, KB), Ok(4096), "{text}");
        }
        for text in ["1000000", "1mib", "1000kib", "1Mib", "1MiB"] {
            assert_eq!(bytes(text, KB), Ok(1_000_000), "{text}");
        }
        assert_eq!(bytes("1t", KB), Ok(1 << 40));
        assert_eq!(bytes("(2+2*3)k", KB), Ok(8192));
        assert_eq!((bytes("4k", KbBase::Decimal), bytes("4kib", KbBase::Decimal)), (Ok(4000), Ok(4096)));
        // Tried with fio 3.33, each with both.
        let both = |text| [KbBase::Binary, KbBase::Decimal].map(|base| bytes(text, base).unwrap());
        assert_eq!((both("8Ki"), both("8KiB"), both("8KB")), ([8192, 8000], [8000, 8192], [8192, 8000]));
        assert_eq!((both("2Mi"), both("2MiB")), ([2 << 20, 2_000_000], [2_000_000, 2 << 20]));
        assert_eq!(extent("64k:32k", KbBase::Binary), Ok(LengthOrShare::Bytes(65_536)));
        assert_eq!((boolean("0/1"), boolean("1")), (Ok(false), Ok(true)));
        for text in ["", "k", "1.5m", "1q", "-1", "4k4", "99999999999p", "1ii", "1i", "i", "\"4k\""] {
            assert!(bytes(text, KB).is_err(), "{text}");
        }
    }

    #[test]
    fn times_take_their_unit_or_the_options_own() {
        assert_eq!(time("10", Bare::Seconds), Ok(Span::from_secs(10)));
        assert_eq!(time("10", Bare::Microseconds), Ok(Span::from_us(10)));
        assert_eq!(time("2M", Bare::Seconds), Ok(Span::from_secs(120)));
        assert_eq!(time("60sec", Bare::Seconds), Ok(Span::from_secs(60)));
        assert_eq!(time("5msec", Bare::Seconds), Ok(Span::from_ms(5)));
        assert_eq!(time_range("3-1"), Ok((Span::from_secs(1), Span::from_secs(3))));
        for text in ["", "1m30s", "1.5", "5 weeks", "-1", "99999d"] {
            assert!(time(text, Bare::Seconds).is_err(), "{text}");
        }
    }

    #[test]
    fn a_list_per_direction_carries_on_unless_a_comma_ends_it() {
        let list = |text| per_dir(text, 1, u64::MAX, KB).map(|v| (v.read, v.write));
        assert_eq!(list("256k"), Ok((Some(262_144), Some(262_144))));
        assert_eq!(list("8k,32k"), Ok((Some(8192), Some(32768))));
        assert_eq!(list("8k,"), Ok((Some(8192), None)));
        assert_eq!(list(",8k"), Ok((None, Some(8192))));
        assert!(list("1,2,3,4").is_err() && list("").is_err() && list("0").is_err());
    }

    #[test]
    fn flags_are_any_number_and_booleans_are_not() {
        let yes = ["1", "10", "10s", "32", "0x1", "-1"].map(flag);
        assert!(yes.iter().all(|flag| *flag == Ok(true)), "{yes:?}");
        assert_eq!(flag("0"), Ok(false));
        assert!(["", "yes", "on", "1.5", "s"].iter().all(|text| flag(text).is_err()));
        assert!(boolean("2").is_err() && boolean("10s").is_err());
    }

    #[test]
    fn percentages_run_from_one_to_a_hundred() {
        assert_eq!(extent("20%", KB), Ok(LengthOrShare::Percent(20)));
        assert_eq!((extent("20%%", KB), extent("100 %%", KB)), (extent("20%", KB), extent("100%", KB)));
        assert!(extent("0%", KB).is_err() && extent("101%", KB).is_err() && extent("%", KB).is_err());
    }
}
