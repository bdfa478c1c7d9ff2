//! A measure for machines.

use blksched_measure::{Quantity, Spread};
use serde_json::{Value, json};

/// Mean and spread over the seeds, with the unit; `null` if nothing was measured.
pub(super) fn spread(spread: Spread, unit: Quantity) -> Value {
    if spread.count == 0 {
        return Value::Null;
    }
    json!({
        "unit": unit.unit(),
        "mean": spread.mean,
        "min": spread.min,
        "max": spread.max,
        "stddev": spread.stddev,
    })
}
