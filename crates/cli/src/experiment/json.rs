//! The answer for machines: one object, or a list of them if several experiments were run.

use blksched_simulate::experiment::RowAnswer;
use serde::Serialize;

use super::Answered;

#[derive(Serialize)]
struct Report<'a> {
    experiment: &'a str,
    source: &'a str,
    rows: Vec<Row<'a>>,
    /// What is printed in its source's own layout; left out if there is nothing.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    show: &'a [String],
    why: &'a [String],
}

/// A number that is none (a run that did not end) is `null`.
#[derive(Serialize)]
struct Row<'a> {
    label: &'a str,
    unit: &'a str,
    mail: Option<f64>,
    ours: f64,
    ours_min: f64,
    ours_max: f64,
    low: Option<f64>,
    high: Option<f64>,
    inside: Option<bool>,
    claimed: bool,
}

pub(super) fn text(answered: &[Answered]) -> String {
    let all: Vec<Report<'_>> = answered.iter().map(report).collect();
    let text = match &all[..] {
        [one] => serde_json::to_string_pretty(one),
        many => serde_json::to_string_pretty(many),
    };
    text.expect("a report is JSON") + "\n"
}

fn report(answered: &Answered) -> Report<'_> {
    Report {
        experiment: &answered.experiment.name,
        source: &answered.experiment.source,
        rows: answered.answer.rows().map(row).collect(),
        show: &answered.answer.shows,
        why: &answered.answer.why,
    }
}

fn row(row: &RowAnswer) -> Row<'_> {
    Row {
        label: &row.label,
        unit: &row.unit,
        mail: row.mail,
        ours: row.ours,
        ours_min: row.ours_min,
        ours_max: row.ours_max,
        low: row.low,
        high: row.high,
        inside: row.inside,
        claimed: row.claimed,
    }
}
