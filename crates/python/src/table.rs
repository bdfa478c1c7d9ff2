//! A table as Arrow hands it on: by a capsule that holds a stream, without a copy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors;

/// Rows and columns. `pyarrow.table(t)`, `polars.DataFrame(t)`, `duckdb.sql("FROM t")` accept it directly.
#[pyclass(name = "Table", frozen, module = "blksched")]
pub(crate) struct PyTable(pub(crate) RecordBatch);

#[pymethods]
impl PyTable {
    /// Arrow's PyCapsule interface: a stream of one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A request for other types may be ignored.
        drop(requested_schema);
        let batches = vec![Ok::<_, ArrowError>(self.0.clone())];
        let reader = RecordBatchIterator::new(batches, self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// Arrow's PyCapsule interface: the columns' names and types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref());
        let schema = schema.map_err(|error| errors::of(py, "Error", &error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The columns' names.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// One column as a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(array) = self.0.column_by_name(name) else {
            let known = self.columns().join(", ");
            return Err(errors::input(py, &format!("no column `{name}`: expected one of {known}")));
        };
        values(py, array, array.len())
    }

    /// The first rows (all of them, unless a number is given), each as a dictionary.
    #[pyo3(signature = (limit=None))]
    fn rows<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let count = limit.unwrap_or(usize::MAX).min(self.0.num_rows());
        let columns: Vec<_> = self.0.columns().iter().map(|array| values(py, array, count)).collect::<PyResult<_>>()?;
        let names = self.columns();
        let rows = PyList::empty(py);
        for nth in 0..count {
            let row = PyDict::new(py);
            for (name, column) in names.iter().zip(&columns) {
                row.set_item(name, column.get_item(nth)?)?;
            }
            rows.append(row)?;
        }
        Ok(rows)
    }
}

fn values<'py>(py: Python<'py>, array: &Arc<dyn Array>, count: usize) -> PyResult<Bound<'py, PyList>> {
    match array.data_type() {
        DataType::Utf8 => PyList::new(py, array.as_string::<i32>().iter().take(count).collect::<Vec<_>>()),
        DataType::UInt64 => PyList::new(py, array.as_primitive::<UInt64Type>().iter().take(count).collect::<Vec<_>>()),
        DataType::UInt32 => PyList::new(py, array.as_primitive::<UInt32Type>().iter().take(count).collect::<Vec<_>>()),
        DataType::Int64 => PyList::new(py, array.as_primitive::<Int64Type>().iter().take(count).collect::<Vec<_>>()),
        DataType::Float64 => {
            PyList::new(py, array.as_primitive::<Float64Type>().iter().take(count).collect::<Vec<_>>())
        }
        DataType::Boolean => PyList::new(py, array.as_boolean().iter().take(count).collect::<Vec<_>>()),
        other => Err(errors::of(py, "Error", &format!("no column of ours is {other}"))),
    }
}
