//! A measure for machines.

use blksched_measure::{Quantity, Sample};
use serde_json::{Value, json};

/// Mean, interval and spread over the seeds, and the value of each, with the unit; `null` if nothing was measured.
pub(crate) fn sample(sample: &Sample, unit: Quantity) -> Value {
    let spread = sample.spread();
    if spread.count == 0 {
        return Value::Null;
    }
    let finite = |value: f64| value.is_finite().then_some(value);
    json!({
        "unit": unit.unit(),
        "n": spread.count,
        "mean": spread.mean,
        "ci95": sample.interval().map(|(low, high)| [low, high]),
        "min": spread.min,
        "max": spread.max,
        "stddev": spread.stddev,
        "values": sample.values().iter().map(|value| finite(*value)).collect::<Vec<_>>(),
    })
}
