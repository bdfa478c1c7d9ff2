//! The answer for machines: one object, or a list of them if several experiments were run.

use blksched_simulate::experiment::RowAnswer;
use serde_json::{Value, json};

use super::Answered;

pub(super) fn text(answered: &[Answered]) -> String {
    let mut all: Vec<Value> = answered.iter().map(value).collect();
    let value = if all.len() == 1 { all.remove(0) } else { Value::Array(all) };
    serde_json::to_string_pretty(&value).expect("a value is JSON") + "\n"
}

fn value(answered: &Answered) -> Value {
    json!({
        "experiment": answered.experiment.name,
        "source": answered.experiment.source,
        "rows": answered.answer.rows().map(row).collect::<Vec<_>>(),
        "show": answered.answer.shows,
        "why": answered.answer.why,
    })
}

/// A number that is none (a run that did not end) is `null`.
fn row(row: &RowAnswer) -> Value {
    json!({
        "label": row.label,
        "unit": row.unit,
        "mail": row.mail,
        "ours": row.ours,
        "ours_min": row.ours_min,
        "ours_max": row.ours_max,
        "low": row.low,
        "high": row.high,
        "inside": row.inside,
        "claimed": row.claimed,
    })
}
