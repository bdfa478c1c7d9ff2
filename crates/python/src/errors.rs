//! Errors as Python's exceptions, which `blksched/_errors.py` declares: message, file, line,
//! column, word, nearest.

use blksched_cli::library::Error;
use pyo3::prelude::*;

/// An error as an exception.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = if error.is_input { "InputError" } else { "Error" };
    let arguments = (&error.message, &error.file, error.line, error.column, &error.word, &error.nearest);
    let made = py.import("blksched._errors").and_then(|module| module.getattr(class)?.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// An input error without a place.
pub(crate) fn input(py: Python<'_>, message: &str) -> PyErr {
    of(py, "InputError", message)
}

/// An exception of that class.
pub(crate) fn of(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py.import("blksched._errors").and_then(|module| module.getattr(class)?.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}
