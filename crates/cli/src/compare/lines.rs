//! Lines between a table's schedulers of present kernels and the others.

use std::sync::Arc;

use blksched_lab::runs::measured::{Availability, Measured};
use blksched_measure::{Cell, Table};

/// Adds a line before the first scheduler that needs a patch, or that no present kernel has, unless it is the first of
/// all.
pub(super) fn below_a_line(table: &mut Table, measured: &[Arc<Measured>], nth: usize) {
    let Some(before) = nth.checked_sub(1).map(|before| measured[before].availability) else { return };
    let title = match measured[nth].availability {
        availability if availability == before => return,
        Availability::Present => return,
        Availability::OutOfTree => "── out of tree",
        Availability::Historical => "── historical",
    };
    let mut cells = vec![Cell::Text(String::new()); table.columns.len()];
    cells[0] = title.into();
    table.row(cells);
}
