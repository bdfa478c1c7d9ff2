//! `random_distribution`: which parts of a region random offsets prefer.

use super::blocks::{percentage, shares};
use super::values::{self, KbBase, LengthOrShare, ValueError, expected};

/// How random offsets are spread over a region.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Distribution {
    /// Every block with the same probability.
    #[default]
    Random,
    /// The block of rank k is used in proportion to k^-theta.
    Zipf { theta: f64, centre: Option<f64> },
    /// Self-similar: within any part, 1-h of the accesses go to its first share h (h from 0 to 1).
    Pareto { h: f64, centre: Option<f64> },
    /// Around the centre, with this deviation \[part of the region\].
    Normal { deviation: f64, centre: f64 },
    /// The length of each zone, in their order, and its share of accesses \[%\].
    Zoned(Vec<(LengthOrShare, u64)>),
}

const WORDS: &[&str] = &["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];

/// Parses `zipf:1.2`, `zoned:60/10:40/90`.
pub(crate) fn distribution(text: &str, base: KbBase) -> Result<Distribution, ValueError> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let word = values::word(word.trim(), WORDS)?;
    let (first, second) = rest.split_once(':').map_or((rest, None), |(first, second)| (first, Some(second)));
    let centre = || second.map(|text| float(text, 0.0, 1.0)).transpose();
    Ok(match word {
        "zipf" => {
            let theta = float_or(first, 1.1, 0.01, 100.0)?;
            if theta == 1.0 {
                return expected("a Zipf theta other than 1.0, as fio has it");
            }
            Distribution::Zipf { theta, centre: centre()? }
        }
        "pareto" => Distribution::Pareto { h: float_or(first, 0.2, 0.0001, 0.9999)?, centre: centre()? },
        "normal" => {
            let deviation = float_or(first, 0.0, 0.0, 100.0)? / 100.0;
            Distribution::Normal { deviation, centre: centre()?.unwrap_or(0.5) }
        }
        "zoned" | "zoned_abs" => Distribution::Zoned(zones(rest, word == "zoned_abs", base)?),
        _ => Distribution::Random,
    })
}

fn float_or(text: &str, default: f64, min: f64, max: f64) -> Result<f64, ValueError> {
    if text.trim().is_empty() { Ok(default) } else { float(text, min, max) }
}

fn float(text: &str, min: f64, max: f64) -> Result<f64, ValueError> {
    match text.trim().parse::<f64>() {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => expected(format!("a number from {min} to {max} after the distribution's name")),
    }
}

fn zones(text: &str, absolute: bool, base: KbBase) -> Result<Vec<(LengthOrShare, u64)>, ValueError> {
    let mut entries = Vec::new();
    let mut covered = 0;
    for entry in text.split(':') {
        let Some((accesses, length)) = entry.split_once('/') else {
            return expected("accesses%/length%:accesses%/length%… (of zoned_abs accesses%/bytes)");
        };
        let length = length.trim();
        let length = match absolute {
            true => LengthOrShare::Bytes(values::int(length, 1, u64::MAX, base)?),
            false => LengthOrShare::Percent(percentage(length)?.unwrap_or(100 - covered)),
        };
        if let LengthOrShare::Percent(percent) = length {
            covered += percent;
        }
        if covered > 100 {
            return expected("zones that cover at most 100%");
        }
        entries.push((length, percentage(accesses)?));
    }
    shares(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_reads_its_numbers() {
        let read = |text| distribution(text, KbBase::Binary);
        assert_eq!(read("random"), Ok(Distribution::Random));
        assert_eq!(read("zipf:1.2:0.25"), Ok(Distribution::Zipf { theta: 1.2, centre: Some(0.25) }));
        assert_eq!(read("pareto:0.9"), Ok(Distribution::Pareto { h: 0.9, centre: None }));
        assert_eq!(read("normal:20"), Ok(Distribution::Normal { deviation: 0.2, centre: 0.5 }));
        let zones = vec![(LengthOrShare::Percent(10), 60), (LengthOrShare::Percent(90), 40)];
        assert_eq!(read("zoned:60/10:40/90"), Ok(Distribution::Zoned(zones)));
        let zones = vec![(LengthOrShare::Bytes(1 << 30), 60), (LengthOrShare::Bytes(2 << 30), 40)];
        assert_eq!(read("zoned_abs:60/1g:40/2g"), Ok(Distribution::Zoned(zones)));
        for text in ["zipf:1", "zipf:x", "pareto:1.5", "normal:101", "zoned", "zoned:60/60:40/60", "zpif", "zipf:nan"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
