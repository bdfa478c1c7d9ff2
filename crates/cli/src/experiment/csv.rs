//! The answer as CSV: a row per row and seed. docs/schema.md says more.

use std::fmt::Write;

use super::answered::Answered;
use crate::quoted::quoted;

const HEADER: &str = "experiment,table,row,unit,seed,value,published,low,high,claimed,inside\n";

pub(super) fn text(answered: &[Answered]) -> String {
    let mut text = HEADER.to_owned();
    let or_nothing = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for Answered { experiment, answer, .. } in answered {
        for (table, row) in answer.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row))) {
            let [name, title, label, unit] = [&experiment.name, &table.title, &row.label, &row.unit].map(|t| quoted(t));
            let [mail, low, high] = [row.mail, row.low, row.high].map(or_nothing);
            let inside = row.inside.map_or_else(String::new, |inside| inside.to_string());
            for (nth, value) in row.values.iter().enumerate() {
                let seed = experiment.first_seed.wrapping_add(nth as u64);
                let value = or_nothing(Some(*value).filter(|value| value.is_finite()));
                let lead = format!("{name},{title},{label},{unit},{seed},{value}");
                writeln!(text, "{lead},{mail},{low},{high},{},{inside}", row.claimed).expect("memory takes any text");
            }
        }
    }
    text
}
