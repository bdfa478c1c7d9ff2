//! A plan's runs as tables in memory: for engines that distribute work among machines themselves.

use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;

use super::Error;
use crate::sweep;

/// How many runs a plan has, and how many of them each load has: those are adjacent.
///
/// # Errors
/// Those of `blksched sweep`.
pub fn plan_size(file: &str, text: &str) -> Result<(u64, u64), Error> {
    Ok(sweep::size(file, text)?)
}

/// The runs from the first number up to the second, on this many threads, in the plan's columns; sorted, so that the
/// same runs give the same table.
///
/// # Errors
/// If the plan is not understood, or `stop` became true.
pub fn plan_rows(
    file: &str,
    text: &str,
    stretch: (u64, u64),
    threads: usize,
    stop: &AtomicBool,
) -> Result<RecordBatch, Error> {
    let (columns, runs) = sweep::stretch_of(file, text, stretch, threads, stop)?;
    if (runs.len() as u64) < stretch.1.saturating_sub(stretch.0) {
        return Err(Error::of_text("interrupted", false));
    }
    columns.batch(&runs).map_err(|error| Error::of_text(&error.to_string(), false))
}
