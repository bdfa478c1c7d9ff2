//! Seek times, in each of the forms in which DiskSim's files give them.
//!
//! `extracted`: points in a separate file. The others are formulas of DiskSim's manual (mechanical model, `Seek type`),
//! converted to points here: `linear` between one cylinder, a third of the stroke and all of it; `curve`, Lee and
//! Katz's equation (An Analytic Performance Model of Disk Arrays, 1993) through the same three; `constant`; `hpl`,
//! Ruemmler and Wilkes's (An Introduction to Disk Drive Modeling, 1994) with six values; `hplplus10`, the same after
//! ten listed times. From memory of the manual, except `extracted`, which is tested with drives.

use blksched::Span;
use blksched_text::nearest;

use super::fields::{Fields, ms};
use super::syntax::{File, Value};
use crate::DiskError;

const TYPES: [&str; 6] = ["extracted", "linear", "curve", "constant", "hpl", "hplplus10"];

/// Points of a curve: cylinders and times.
pub(super) type Points = Vec<(u32, Span)>;

/// The seek curve of the mechanical model; `extracted` is the file that it names, if it could be read.
pub(super) fn read(
    mechanics: &Fields<'_, '_>,
    cylinders: u32,
    extracted: &dyn Fn(&str) -> Result<Points, DiskError>,
) -> Result<(Points, &'static str), DiskError> {
    let said = mechanics.text("Seek type")?;
    let Some(kind) = TYPES.into_iter().find(|kind| *kind == said) else {
        let problem = format!("`{said}` is not a seek type: expected one of {}", TYPES.join(", "));
        let at = mechanics.block.entry("Seek type").map_or(mechanics.block.at, |entry| entry.at);
        return Err(mechanics.file.invalid(at, problem, nearest(said, TYPES)));
    };
    if kind == "extracted" {
        return Ok((extracted(mechanics.text("Full seek curve")?)?, kind));
    }
    let most = f64::from(cylinders.max(2) - 1);
    let formula: Box<dyn Fn(f64) -> f64> = match kind {
        "constant" => {
            let said = mechanics.block.entry("Constant seek time").is_some();
            let time = mechanics.number(if said { "Constant seek time" } else { "Average seek time" })?;
            Box::new(move |_| time)
        }
        "linear" => {
            let three = Three::read(mechanics)?;
            Box::new(move |distance| three.linear(distance, most))
        }
        "curve" => {
            let three = Three::read(mechanics)?;
            Box::new(move |distance| three.curve(distance, f64::from(cylinders)))
        }
        _ => {
            let [short, a, b, c, d, single] = listed::<6>(mechanics, "HPL seek equation values")?;
            let first = if kind == "hpl" { [-1.0; 10] } else { listed::<10>(mechanics, "First ten seek times")? };
            Box::new(move |distance| {
                let listed = first.get(distance as usize - 1).copied().filter(|time| *time >= 0.0);
                let single = (distance < 2.0 && single >= 0.0).then_some(single);
                let long = if distance < short { a + b * distance.sqrt() } else { c + d * distance };
                listed.or(single).unwrap_or(long)
            })
        }
    };
    let point = |distance| (distance, ms(formula(f64::from(distance)).clamp(0.0, 500.0)));
    Ok((distances(most as u32).map(point).collect(), kind))
}

/// Every distance up to 20, and then each a twentieth further.
fn distances(most: u32) -> impl Iterator<Item = u32> {
    core::iter::successors(Some(1u32), move |&last| (last < most).then(|| (last + (last / 20).max(1)).min(most)))
}

/// The times of one cylinder, the mean, and the full stroke \[ms\].
#[derive(Clone, Copy, Debug)]
struct Three {
    least: f64,
    average: f64,
    full: f64,
}

impl Three {
    fn read(mechanics: &Fields<'_, '_>) -> Result<Three, DiskError> {
        Ok(Three {
            least: mechanics.number("Single cylinder seek time")?,
            average: mechanics.number("Average seek time")?,
            full: mechanics.number("Full strobe seek time")?,
        })
    }

    fn linear(&self, distance: f64, most: f64) -> f64 {
        let third = most / 3.0;
        if distance <= third {
            self.least + (self.average - self.least) * (distance - 1.0) / (third - 1.0).max(1.0)
        } else {
            self.average + (self.full - self.average) * (distance - third) / (most - third)
        }
    }

    /// Lee and Katz's curve, as written in DiskSim's manual: by the number of cylinders, not by the longest distance.
    fn curve(&self, distance: f64, cylinders: f64) -> f64 {
        let Three { least, average, full } = *self;
        let root = (-10.0 * least + 15.0 * average - 5.0 * full) / (3.0 * cylinders.sqrt());
        let straight = (7.0 * least - 15.0 * average + 8.0 * full) / (3.0 * cylinders);
        root * (distance - 1.0).sqrt() + straight * (distance - 1.0) + least
    }
}

/// A list of this many numbers; values below 0 mean none.
fn listed<const N: usize>(mechanics: &Fields<'_, '_>, key: &str) -> Result<[f64; N], DiskError> {
    let number = |(value, at): &(Value<'_>, usize)| match value {
        Value::Text(text) => text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or(*at),
        _ => Err(*at),
    };
    let numbers: Result<Vec<f64>, usize> = mechanics.list(key)?.iter().map(number).collect();
    let numbers = numbers
        .map_err(|at| mechanics.file.invalid(at, format!("`{key}` lists something that is not a number"), None))?;
    let count = numbers.len();
    numbers.try_into().map_err(|_| mechanics.wrong(key, &format!("a list of {N} numbers, not {count}")))
}

/// Reads lines of `distance, ms`, after a line with their number; `#` begins a comment.
pub(super) fn points(file: &File<'_>) -> Result<Points, DiskError> {
    let mut points: Points = Vec::new();
    let mut promised: Option<(usize, usize)> = None;
    let mut at = 0;
    for line in file.text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let text = line.split('#').next().unwrap_or("").trim();
        if text.is_empty() {
            continue;
        }
        if let Some(count) = text.strip_prefix("Seek distances measured:").filter(|_| points.is_empty()) {
            let expected = || format!("`{text}`: expected how many there are, as in `Seek distances measured: 90`");
            let count = count.trim().parse().map_err(|_| file.invalid(begin, expected(), None))?;
            promised = Some((count, begin));
            continue;
        }
        let point = text.split_once([',', ' ', '\t']).and_then(|(distance, time)| {
            let time = time.trim().trim_start_matches(',').trim();
            Some((distance.trim().parse::<u32>().ok()?, time.parse::<f64>().ok()?))
        });
        let ascends = |distance: u32| points.last().map_or(distance > 0, |&(before, _)| distance > before);
        match point.filter(|&(distance, time)| ascends(distance) && (0.0..=500.0).contains(&time)) {
            Some((distance, time)) => points.push((distance, ms(time))),
            None => {
                let problem = format!("`{text}` is not a point: expected `cylinders, ms`, distances ascending from 1");
                let indent = line.len() - line.trim_start().len();
                return Err(file.invalid(begin + indent, problem, None));
            }
        }
    }
    if let Some((count, at)) = promised.filter(|&(count, _)| count != points.len()) {
        let problem = format!("{count} distances, it says: but {} follow; is the file cut off?", points.len());
        return Err(file.invalid(at, problem, None));
    }
    if points.is_empty() {
        return Err(file.invalid(0, "no points: expected lines of `cylinders, ms`".to_owned(), None));
    }
    Ok(points)
}
