//! Block sizes: one, a range (`bsrange`), or a mix (`bssplit`).

use super::values::{self, KbBase, ValueError, expected};

/// The sizes of one direction \[bytes\].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    One(u64),
    /// From the first to the second.
    Range(u64, u64),
    /// Size and share \[%\]; the shares add up to 100.
    Split(Vec<(u64, u64)>),
}

impl Blocks {
    pub fn min(&self) -> u64 {
        match self {
            Blocks::One(bytes) | Blocks::Range(bytes, _) => *bytes,
            Blocks::Split(parts) => parts.iter().map(|part| part.0).min().unwrap_or(0),
        }
    }

    pub fn max(&self) -> u64 {
        match self {
            Blocks::One(bytes) | Blocks::Range(_, bytes) => *bytes,
            Blocks::Split(parts) => parts.iter().map(|part| part.0).max().unwrap_or(0),
        }
    }

    /// Whether every size is a multiple of this.
    pub fn are_multiples_of(&self, bytes: u64) -> bool {
        match self {
            Blocks::Split(parts) => parts.iter().all(|part| part.0.is_multiple_of(bytes)),
            _ => self.min().is_multiple_of(bytes) && self.max().is_multiple_of(bytes),
        }
    }
}

const RANGE: &str = "a range such as 4k-16k, for reads, writes";
const SHARES: &str = "size/percentage:size/percentage…, at most 100% in all";
/// The most entries, as in fio for zones; longer lists are not sensible workloads.
const MOST_ENTRIES: usize = 256;

/// Parses `4k-16k`.
pub(crate) fn range(text: &str, base: KbBase) -> Result<Vec<(u64, u64)>, ValueError> {
    let Some((from, to)) = text.split_once(['-', ':']) else { return expected(RANGE) };
    let (from, to) = (values::bytes(from.trim(), base)?, values::bytes(to.trim(), base)?);
    if from == 0 || to == 0 { expected(RANGE) } else { Ok(vec![(from.min(to), from.max(to))]) }
}

/// Parses `4k/10:64k/50:32k/`: sizes of at least one byte.
pub(crate) fn split(text: &str, base: KbBase) -> Result<Vec<(u64, u64)>, ValueError> {
    let entries = text.split(':').map(|entry| {
        let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
        Ok((values::int(size.trim(), 1, u64::MAX, base)?, percentage(percent)?))
    });
    shares(entries.collect::<Result<Vec<_>, _>>()?)
}

/// Parses nothing, or 0 to 100.
pub(crate) fn percentage(text: &str) -> Result<Option<u64>, ValueError> {
    match text.trim().trim_end_matches('%') {
        "" => Ok(None),
        percent => values::int(percent, 0, 100, KbBase::Binary).map(Some),
    }
}

/// Fills in missing percentages evenly; if none is missing, a remainder goes to the last entry.
pub(crate) fn shares<T>(entries: Vec<(T, Option<u64>)>) -> Result<Vec<(T, u64)>, ValueError> {
    let said: u64 = entries.iter().filter_map(|entry| entry.1).sum();
    if said > 100 || entries.len() > MOST_ENTRIES {
        return expected(SHARES);
    }
    let mut blank = entries.iter().filter(|entry| entry.1.is_none()).count() as u64;
    let mut rest = 100 - said;
    if blank == 0 && rest > 0 {
        return expected("percentages that add up to 100, or some left blank");
    }
    let fill = |(value, percent): (T, Option<u64>)| match percent {
        Some(percent) => (value, percent),
        None => {
            let share = rest / blank;
            rest -= share;
            blank -= 1;
            (value, share)
        }
    };
    Ok(entries.into_iter().map(fill).collect())
}

/// The entry that a number from 0 to 99 selects; shares are in percent.
pub(crate) fn pick<T>(shares: &[(T, u64)], drawn: u64) -> usize {
    let mut sum = 0;
    let hit = shares.iter().position(|(_, percent)| {
        sum += percent;
        drawn < sum
    });
    hit.unwrap_or(shares.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_percentages_share_the_rest_evenly() {
        let split = |text| split(text, KbBase::Binary);
        assert_eq!(split("4k/50:8k/:16k"), Ok(vec![(4096, 50), (8192, 25), (16384, 25)]));
        assert_eq!(split("512:1k:2k"), Ok(vec![(512, 33), (1024, 33), (2048, 34)]));
        for text in ["4k/60:8k/50", "4k/50", "0/100", "4k/101", "", ":", "4k/x"] {
            assert!(split(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_may_be_the_wrong_way_round() {
        assert_eq!(range("16k-4k", KbBase::Binary), Ok(vec![(4096, 16384)]));
        assert!(range("4k", KbBase::Binary).is_err() && range("0-4k", KbBase::Binary).is_err());
    }

    #[test]
    fn a_draw_falls_on_its_share() {
        let shares = [("a", 10), ("b", 0), ("c", 90)];
        assert_eq!([0, 9, 10, 99].map(|drawn| pick(&shares, drawn)), [0, 0, 2, 2]);
    }
}
