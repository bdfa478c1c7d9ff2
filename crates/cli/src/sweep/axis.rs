//! The values of a knob that a plan names: a list, a range, or draws from a range.

use toml::de::{DeTable, DeValue};

use super::reader::{PlacedValue, SweepFile, describe};
use crate::failure::Failure;
use blksched_lab::scene::Contender;

/// A knob and the values to set it to \[raw\].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) name: String,
    values: Values,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    These(Vec<i64>),
    /// Any value between these two, inclusive.
    Between {
        from: i64,
        to: i64,
        scale: Scale,
    },
}

/// How a range is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    Log,
}

/// The key in `[knobs.NAME]` that is not a knob.
pub(super) const DRAWS: &str = "draws";
/// The most steps or draws of a range.
const MOST: u64 = 1 << 20;

impl Axis {
    /// The number of its values; a range that is only drawn from has none of its own.
    pub(super) fn len(&self) -> u64 {
        match &self.values {
            Values::These(values) => values.len() as u64,
            Values::Between { .. } => 0,
        }
    }

    pub(super) fn nth(&self, nth: u64) -> i64 {
        match &self.values {
            Values::These(values) => values[nth as usize],
            Values::Between { from, .. } => *from,
        }
    }

    /// A value chosen by a random number.
    pub(super) fn drawn(&self, random: u64) -> i64 {
        match &self.values {
            Values::These(values) => values[(random % values.len() as u64) as usize],
            Values::Between { from, to, scale } => between(*from, *to, *scale, part(random)),
        }
    }

    /// Parses `[1, 4, 16]`, `16`, `{ from, to, steps }`, `{ from, to, random }`, or with joint draws `{ from, to }`.
    pub(super) fn read(
        source: SweepFile<'_>,
        base: &Contender,
        name: &str,
        value: &PlacedValue<'_>,
        joint: bool,
    ) -> Result<Axis, Failure> {
        let raw = |value: &PlacedValue<'_>| raw(source, base, name, value);
        let values = match value.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                return Err(source.wrong(value.span(), format!("`{name}` has no value")));
            }
            DeValue::Array(items) => Values::These(items.iter().map(raw).collect::<Result<_, _>>()?),
            DeValue::Table(table) => range(source, table, value, name, joint, &raw)?,
            _ => Values::These(vec![raw(value)?]),
        };
        Ok(Axis { name: name.to_owned(), values })
    }
}

fn range(
    source: SweepFile<'_>,
    table: &DeTable<'_>,
    value: &PlacedValue<'_>,
    name: &str,
    joint: bool,
    raw: &dyn Fn(&PlacedValue<'_>) -> Result<i64, Failure>,
) -> Result<Values, Failure> {
    source.only(table, &["from", "to", "steps", "random", "scale"], &format!("in `{name}`"))?;
    let end = |key: &str| {
        let found = table.get(key);
        found.ok_or_else(|| source.wrong(value.span(), format!("`{name}` lacks `{key}`: a range goes from … to …")))
    };
    let (from, to) = (raw(end("from")?)?, raw(end("to")?)?);
    if from > to {
        return Err(source.wrong(value.span(), format!("`{name}` goes down: expected `from` below `to`")));
    }
    let scale = match table.get("scale").map(|value| Ok::<_, Failure>((source.text("scale", value)?, value))) {
        None => Scale::Linear,
        Some(said) => match said? {
            (word, _) if word == "linear" => Scale::Linear,
            (word, value) if word == "log" && from < 1 => {
                let problem = format!("a range of scale `{word}` begins above 0");
                return Err(source.wrong(value.span(), problem));
            }
            (word, _) if word == "log" => Scale::Log,
            (_, value) => {
                let problem = format!("{} is not a scale: expected linear or log", describe(value.get_ref()));
                return Err(source.wrong(value.span(), problem));
            }
        },
    };
    let many = |key: &str, least: u64| match table.get(key) {
        None => Ok(None),
        Some(value) => match source.count(key, value)? {
            count if (least..=MOST).contains(&count) => Ok(Some(count)),
            count => Err(source.wrong(value.span(), format!("`{key}` = {count}: expected {least} to {MOST}"))),
        },
    };
    let mut values: Vec<i64> = match (many("steps", 2)?, many("random", 1)?) {
        (Some(_), Some(_)) => {
            return Err(source.wrong(value.span(), format!("`{name}`: expected `steps` or `random`, not both")));
        }
        (Some(steps), None) => {
            (0..steps).map(|nth| between(from, to, scale, nth as f64 / (steps - 1) as f64)).collect()
        }
        (None, Some(count)) => (0..count).map(|nth| between(from, to, scale, part(random(name, 0, nth)))).collect(),
        (None, None) if joint => return Ok(Values::Between { from, to, scale }),
        (None, None) => {
            let problem = format!("`{name}` lacks `steps` or `random`: how many values of the range?");
            return Err(source.wrong(value.span(), problem));
        }
    };
    values.sort_unstable();
    values.dedup();
    Ok(Values::These(values))
}

/// The raw value of a knob of the scheduler or of the queue around it.
fn raw(source: SweepFile<'_>, base: &Contender, name: &str, value: &PlacedValue<'_>) -> Result<i64, Failure> {
    let text = source.scalar(value)?;
    let mut turned = base.clone();
    turned.turn(name, &text).map_err(|problem| source.wrong(value.span(), problem))?;
    let around = turned.around.settings().into_iter().map(|(name, raw)| (name.to_owned(), raw));
    let mut all = turned.knobs.into_iter().chain(around);
    let found = all.find(|(knob, _)| knob == name).map(|(_, raw)| raw);
    found.ok_or_else(|| source.wrong(value.span(), format!("`{name}` was not set")))
}

fn between(from: i64, to: i64, scale: Scale, part: f64) -> i64 {
    let (low, high) = (from as f64, to as f64);
    let at = match scale {
        Scale::Linear => low + (high - low) * part,
        Scale::Log => (low.ln() + (high.ln() - low.ln()) * part).exp(),
    };
    (at.round() as i64).clamp(from, to)
}

/// Scaled to 0 to 1.
fn part(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// The `nth` random number of a knob; different plans have different `seed`s.
pub(super) fn random(knob: &str, seed: u64, nth: u64) -> u64 {
    let mut state = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.rotate_left(32);
    for byte in knob.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    }
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
