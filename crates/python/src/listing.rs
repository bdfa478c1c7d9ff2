//! What there is: `blksched_lab`'s tables as titles, columns and rows.

use blksched::Catalogue;
use blksched_lab::lists;
use blksched_measure::{Cell, Table};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{elevator, raised};

/// A title, the columns' keys and headings, and a dictionary per row.
type Listing<'py> = (String, Vec<(String, String)>, Vec<Bound<'py, PyDict>>);

fn catalogue() -> Catalogue {
    Catalogue::builtin().with(&elevator::entries())
}

/// Every elevator.
#[pyfunction]
pub(crate) fn elevators(py: Python<'_>) -> PyResult<Listing<'_>> {
    listed(py, lists::elevators(&catalogue()))
}

/// Every built-in disk.
#[pyfunction]
pub(crate) fn disks(py: Python<'_>) -> PyResult<Listing<'_>> {
    listed(py, lists::disks())
}

/// Every built-in workload and program.
#[pyfunction]
pub(crate) fn workloads(py: Python<'_>) -> PyResult<Listing<'_>> {
    listed(py, lists::workloads())
}

/// An elevator's knobs.
#[pyfunction]
pub(crate) fn knobs(py: Python<'_>, elevator: String) -> PyResult<Listing<'_>> {
    let catalogue = catalogue();
    let (entry, _) = lists::elevator(&elevator, &catalogue).map_err(|error| raised(py, &error.into()))?;
    listed(py, lists::knobs(&entry, &catalogue))
}

fn listed(py: Python<'_>, table: Table) -> PyResult<Listing<'_>> {
    let Table { title, columns, rows, .. } = table;
    let row = |cells: &Vec<Cell>| {
        let row = PyDict::new(py);
        for (column, cell) in columns.iter().zip(cells) {
            match cell {
                Cell::Text(text) => match text.parse::<i64>() {
                    // A whole number is a number, whatever else its column holds.
                    Ok(number) => row.set_item(&column.key, number)?,
                    Err(_) => row.set_item(&column.key, text)?,
                },
                Cell::Number(number) => row.set_item(&column.key, number)?,
                Cell::Spread(spread) => row.set_item(&column.key, spread.mean)?,
                Cell::Missing => row.set_item(&column.key, py.None())?,
            }
        }
        Ok(row)
    };
    let rows = rows.iter().map(row).collect::<PyResult<_>>()?;
    Ok((title, columns.into_iter().map(|column| (column.key, column.header)).collect(), rows))
}
