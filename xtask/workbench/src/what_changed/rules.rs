//! Which rule makes a difference: each mechanism that differs is switched alone.
//!
//! **Rule** What a mechanism explains is the part of the difference (of its logarithm) that appears if the older kernel
//! is given the newer one's way of it and nothing else. From half of it on, it is what does it. If none does it alone:
//! the one without which the newer kernel does not have half the difference. The block layer around the scheduler is
//! what remains when the older kernel has every mechanism of the newer.

use anyhow::Result;
use blksched_lab::runs::measured::Measured;
use blksched_lab::verdict::contrast::Contrast;

use super::runs::Lane;
use super::steps::Step;

/// The part of a difference from which on a mechanism explains it.
const EXPLAINS: f64 = 0.5;
/// How many are named.
const NAMED: usize = 2;
/// The block layer's part: who gets a tag that returns, and when.
const TAGS: &str = "the block layer's tags";
const TOGETHER: &str = "no rule alone";

/// What does it, the greatest part first.
pub fn of(lane: &Lane, step: &Step, difference: &Contrast, base: &Measured) -> Result<Vec<String>> {
    let all: Vec<_> = step.switchable().collect();
    let has_more = step.switched.len() > all.len();
    if let ([(name, _, to)], false, false) = (&all[..], step.moves_house, has_more) {
        return Ok(vec![format!("{name}={to}")]);
    }
    if all.is_empty() {
        return Ok(vec![if has_more { TOGETHER.to_owned() } else { TAGS.to_owned() }]);
    }
    let [older, newer] = lane.specs(step);
    let mut specs: Vec<String> = all.iter().map(|(name, _, to)| format!("{older}+{name}={to}")).collect();
    let together: String = all.iter().map(|(name, _, to)| format!("+{name}={to}")).collect();
    specs.push(format!("{older}{together}"));
    let mut parts = lane.ratios(difference.figure, base, &specs)?;
    parts.iter_mut().for_each(|part| *part = part.ln() / difference.paired.ratio.ln());
    let together = parts.pop().expect("it was pushed");
    let mut found: Vec<(String, f64)> =
        all.iter().zip(&parts).map(|((name, _, to), part)| (format!("{name}={to}"), *part)).collect();
    if step.moves_house && !has_more {
        found.push((TAGS.to_owned(), 1.0 - together));
    }
    let named = named(found);
    if !named.is_empty() {
        return Ok(named);
    }
    let without: Vec<String> = all.iter().map(|(name, from, _)| format!("{newer}+{name}={from}")).collect();
    let rest = lane.ratios(difference.figure, base, &without)?;
    let lost = |((name, _, to), rest): (&(&str, &str, &str), &f64)| {
        (format!("not without {name}={to}"), 1.0 - rest.ln() / difference.paired.ratio.ln())
    };
    let needed = self::named(all.iter().zip(&rest).map(lost).collect());
    Ok(if needed.is_empty() { vec![TOGETHER.to_owned()] } else { needed })
}

/// Those that explain at least half, the greatest part first.
fn named(mut found: Vec<(String, f64)>) -> Vec<String> {
    found.retain(|(_, part)| *part >= EXPLAINS);
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(NAMED);
    found.into_iter().map(|(name, part)| format!("{name} ({:.0} %)", part * 100.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_explains_half_is_named_and_the_greatest_first() {
        let parts = [("a=b", 0.2), ("c=d", 0.55), ("e=f", 0.97), ("g=h", f64::NAN)];
        let named = named(parts.map(|(name, part)| (name.to_owned(), part)).to_vec());
        assert_eq!(named, ["e=f (97 %)", "c=d (55 %)"]);
    }
}
