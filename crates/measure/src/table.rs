//! One value for every table: its contents are decided once, its form (text, Markdown, JSON) per use.

mod html;
mod json;
mod layout;
mod markdown;
mod text;

use std::borrow::Cow;

pub use text::{Borders, wrapped};

use crate::quantity::Quantity;
use crate::sample::Sample;
use crate::spread::Spread;

/// How a column's cells are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in machine-readable rows; unique within a table.
    pub key: String,
    /// Its heading for people.
    pub header: String,
    /// What its numbers count.
    pub unit: Quantity,
    /// How its cells are aligned.
    pub align: Align,
}

impl Column {
    /// A column of words.
    pub fn words(key: &str, header: &str) -> Column {
        Column { key: key.to_owned(), header: header.to_owned(), unit: Quantity::Plain, align: Align::Left }
    }

    /// A column of numbers in `unit`.
    pub fn numbers(key: &str, header: &str, unit: Quantity) -> Column {
        Column { key: key.to_owned(), header: header.to_owned(), unit, align: Align::Right }
    }
}

/// What is in one place of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words, printed as they are.
    Text(String),
    /// A number in the base unit of the column's [`Quantity`].
    Number(f64),
    /// Mean and spread over seeds, in the same unit; prints the mean and, if it varies, `±` the standard deviation.
    Spread(Spread),
    /// Nothing; prints `-`, and `null` in JSON.
    Missing,
}

impl Cell {
    fn show(&self, unit: Quantity) -> Cow<'_, str> {
        match self {
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Number(value) => Cow::Owned(unit.show(*value)),
            Cell::Spread(spread) if spread.count == 0 => Cow::Borrowed("-"),
            Cell::Spread(spread) if spread.stddev == 0.0 => Cow::Owned(unit.show(spread.mean)),
            Cell::Spread(spread) => Cow::Owned(unit.show_varying(spread.mean, spread.stddev)),
            Cell::Missing => Cow::Borrowed("-"),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::Number(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell::Number(value as f64)
    }
}

impl From<blksched::Span> for Cell {
    fn from(span: blksched::Span) -> Cell {
        Cell::Number(span.as_ns() as f64)
    }
}

impl From<Spread> for Cell {
    fn from(spread: Spread) -> Cell {
        Cell::Spread(spread)
    }
}

impl From<&Sample> for Cell {
    fn from(sample: &Sample) -> Cell {
        Cell::Spread(sample.spread())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Missing, Into::into)
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Printed above it; empty for none.
    pub title: String,
    /// Its columns, left to right.
    pub columns: Vec<Column>,
    /// Its rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Sentences printed below it.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Table {
        Table { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it does not have one cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Table {
        let row: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a row needs one cell per column");
        self.rows.push(row);
        self
    }

    /// Adds a sentence below.
    pub fn note(&mut self, sentence: impl Into<String>) -> &mut Table {
        self.notes.push(sentence.into());
        self
    }

    /// The texts of a row.
    fn shown<'a>(&'a self, row: &'a [Cell]) -> impl Iterator<Item = Cow<'a, str>> {
        row.iter().zip(&self.columns).map(|(cell, column)| cell.show(column.unit))
    }

    /// A small table with every kind of cell, for tests.
    #[cfg(test)]
    fn sample() -> Table {
        let mut table = Table::new(
            "Reads beside a streaming writer",
            vec![
                Column::words("elevator", "elevator"),
                Column::numbers("read_bw", "read bw", Quantity::Bandwidth),
                Column::numbers("read_p99", "read p99", Quantity::Time),
                Column::numbers("busy", "busy", Quantity::Fraction),
            ],
        );
        table.row(["noop".into(), 4_192_207.0.into(), Cell::Missing, 1.0.into()]);
        table.row([
            "deadline".into(),
            Spread::of(&[92_000_000.0, 94_000_000.0]).into(),
            blksched::Span::from_us(12_300).into(),
            Some(0.764).into(),
        ]);
        table.note("2 seeds.");
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_its_spread_only_if_it_varies() {
        let show = |values: &[f64]| Cell::from(Spread::of(values)).show(Quantity::Time).into_owned();
        assert_eq!(show(&[1e6, 3e6]), "2.00 ±1.41ms");
        assert_eq!(show(&[2e6, 2e6]), "2.00ms");
        assert_eq!(show(&[]), "-");
    }

    #[test]
    #[should_panic(expected = "a row needs one cell per column")]
    fn a_row_that_is_too_short_is_a_mistake_of_the_caller() {
        Table::sample().row([Cell::Missing]);
    }
}
