//! Published figures of a disk, which the data sheet shows beside the model's own. They change nothing.

use blksched_text::document::{Complaint, Section};

use super::units;
use crate::sheet::{Figure, FigureUnit, Published};

const KEYS: &[&str] = &["figure", "value", "source"];

pub(super) fn read(top: &Section<'_>) -> Result<Vec<Published>, Complaint> {
    top.sections("published", KEYS)?.iter().map(published).collect()
}

fn published(section: &Section<'_>) -> Result<Published, Complaint> {
    let figure = section.word("figure", &Figure::ALL.map(|figure| (figure.name(), figure)))?;
    let value = section.needs_text("value")?;
    let (read, expected) = match figure.unit() {
        FigureUnit::Rate => (units::rate(&value.value).map(|rate| rate.bytes_per_s()), "a rate, as in \"40MB/s\""),
        FigureUnit::PerSecond => (units::per_second(&value.value), "commands per second, as in \"10000/s\""),
        FigureUnit::Time => {
            (value.value.parse::<blksched::Span>().ok().map(|span| span.as_ns()), "a time, as in \"8.5ms\"")
        }
    };
    match read.filter(|&value| value > 0) {
        Some(value) => Ok(Published { figure, value, source: section.needs_text("source")?.value }),
        None => Err(section.complain(
            &value.at,
            format!("\"{}\" is not a value of {}: expected {expected}", value.value, figure.name()),
        )),
    }
}
