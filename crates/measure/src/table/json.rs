//! A table for machines: base units, nothing rounded, spread as its own object.

use serde_json::{Map, Value, json};

use super::{Cell, Table};
use crate::quantity::Quantity;

impl Table {
    /// `{"title", "columns": [{"key", "header", "unit"}], "rows": [{key: value}],
    /// "notes"}`. Numbers are in the base unit that the column names; a spread is
    /// `{"count", "mean", "min", "max", "stddev"}`; missing values and NaN are `null`.
    pub fn json(&self) -> Value {
        let columns: Vec<Value> = self
            .columns
            .iter()
            .map(|column| json!({"key": column.key, "header": column.header, "unit": column.unit.unit()}))
            .collect();
        let rows: Vec<Value> = self.rows.iter().map(|row| self.json_row(row)).collect();
        json!({"title": self.title, "columns": columns, "rows": rows, "notes": self.notes})
    }

    fn json_row(&self, row: &[Cell]) -> Value {
        let pairs = row.iter().zip(&self.columns).map(|(cell, column)| (column.key.clone(), value(cell, column.unit)));
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}

fn value(cell: &Cell, unit: Quantity) -> Value {
    match cell {
        // A whole number is written as a number, whatever else its column holds.
        Cell::Text(text) => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
        Cell::Number(number) if unit == Quantity::Count && *number >= 0.0 => json!(number.round() as u64),
        Cell::Number(number) => json!(number),
        Cell::Spread(s) if s.count == 0 => Value::Null,
        Cell::Spread(s) => {
            json!({"count": s.count, "mean": s.mean, "min": s.min, "max": s.max, "stddev": s.stddev})
        }
        Cell::Missing => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn a_whole_number_among_words_is_a_number() {
        let mut table = Table::new("knobs", vec![Column::words("name", "name"), Column::words("default", "default")]);
        table.row(["fifo_batch".into(), "16".into()]);
        table.row(["read_expire".into(), "500ms".into()]);
        let rows = table.json()["rows"].clone();
        assert_eq!(rows, json!([{"name": "fifo_batch", "default": 16}, {"name": "read_expire", "default": "500ms"}]));
    }

    #[test]
    fn rows_are_keyed_and_in_base_units() {
        let json = Table::sample().json();
        assert_eq!(json["columns"][2], json!({"key": "read_p99", "header": "read p99", "unit": "ns"}));
        assert_eq!(json["rows"][0], json!({"elevator": "noop", "read_bw": 4_192_207.0, "read_p99": null, "busy": 1.0}));
        assert_eq!(json["rows"][1]["read_bw"]["mean"], json!(93_000_000.0));
        assert_eq!(json["rows"][1]["read_p99"], json!(12_300_000.0));
        assert_eq!(json["notes"], json!(["2 seeds."]));
    }

    #[test]
    fn a_count_is_whole_and_not_a_number_is_null() {
        assert_eq!(value(&Cell::Number(3.0), Quantity::Count).to_string(), "3");
        assert_eq!(value(&Cell::Number(f64::NAN), Quantity::Count), Value::Null);
    }
}
