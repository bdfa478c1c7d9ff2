//! Rows for programs: Parquet files, and `--parquet`, which sets their place.
//!
//! A table declares its columns in Parquet's own schema text; a row has a value for each. Rows are held in groups of
//! bounded size, so a table may be larger than memory. docs/schema.md says what each column holds.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(all(feature = "serve", target_os = "linux"))]
use blksched_measure::{Align, Cell, Column, Table};
use clap::Args;
use parquet::basic::{Compression, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::failure::Failure;

/// The columns of a piece of an I/O's time, in every table of pieces.
macro_rules! piece_columns {
    () => {
        "
  required int64 from_ns;
  required int64 ns;
  required binary where (STRING);
  required binary what (STRING);
  optional binary for_whom (STRING);
  required int64 commands;
"
    };
}
pub(crate) use piece_columns;

/// How many rows are held before they are written.
pub(crate) const GROUP: usize = 1 << 17;

/// Where rows go.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RowsOut {
    /// Write the figures as Parquet: into this file if its name ends in .parquet, else every table into this folder
    /// (docs/schema.md)
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) parquet: Option<PathBuf>,
}

impl RowsOut {
    /// The directory, created if it does not exist, or the one file.
    pub(crate) fn place(&self) -> Result<Option<ParquetTarget>, Failure> {
        let Some(path) = &self.parquet else { return Ok(None) };
        if path.extension().is_some_and(|end| end == "parquet") {
            return Ok(Some(ParquetTarget::File(path.clone())));
        }
        if path.is_file() {
            let expected = "expected a folder, or a file whose name ends in .parquet";
            return Err(Failure::Input(format!("--parquet {}: is a file: {expected}", path.display())));
        }
        std::fs::create_dir_all(path).map_err(|error| Failure::Outside(format!("{}: {error}", path.display())))?;
        Ok(Some(ParquetTarget::Folder(path.clone())))
    }
}

/// What `--parquet` names.
pub(crate) enum ParquetTarget {
    /// One file, for the first table.
    File(PathBuf),
    /// A file for each table, by its name.
    Folder(PathBuf),
    /// Files beside this one, with the table's name behind its own.
    Beside(PathBuf),
}

impl ParquetTarget {
    /// Writes a table; a single file has room only for the first.
    pub(crate) fn table(
        &self,
        name: &str,
        is_first: bool,
        columns: &str,
        rows: impl FnOnce(&mut To) -> Filled,
    ) -> WriteResult {
        match self {
            ParquetTarget::File(path) if is_first => write(path, columns, rows),
            ParquetTarget::File(_) => Ok(()),
            ParquetTarget::Folder(folder) => write(&folder.join(format!("{name}.parquet")), columns, rows),
            ParquetTarget::Beside(file) => write(&file.with_extension(format!("{name}.parquet")), columns, rows),
        }
    }

    /// Writes a printed table, its numbers in their base units.
    #[cfg(all(feature = "serve", target_os = "linux"))]
    pub(crate) fn as_printed(&self, name: &str, table: &Table) -> WriteResult {
        let kind = |column: &Column| match column.align {
            Align::Left => format!("optional binary {} (STRING);", column.key),
            Align::Right => format!("optional double {};", column.key),
        };
        let columns: String = table.columns.iter().map(kind).collect();
        self.table(name, true, &format!("message {name} {{ {columns} }}"), |to| {
            table.rows.iter().try_for_each(|row| to.row(row.iter().map(CellValue::from)))
        })
    }

    /// Whether there is room for more than one table.
    pub(crate) fn is_folder(&self) -> bool {
        !matches!(self, ParquetTarget::File(_))
    }
}

/// Rows on their way into a file.
pub(crate) type To = Sheet<File>;
/// The result of writing all rows.
pub(crate) type Filled = io::Result<()>;
/// The result of writing a file.
pub(crate) type WriteResult = Result<(), Failure>;

/// Writes a file with these columns and rows; it appears only when complete.
pub(crate) fn write(path: &Path, columns: &str, rows: impl FnOnce(&mut To) -> Filled) -> WriteResult {
    let part = path.with_extension("parquet.part");
    let written = || -> Filled {
        let mut sheet = Sheet::new(File::create(&part)?, columns)?;
        rows(&mut sheet)?;
        sheet.finish()?;
        crate::half::becomes(&part, path)
    };
    written().map_err(|error| {
        // It may not even have been created.
        let _ = std::fs::remove_file(&part);
        Failure::Outside(format!("{}: {error}", path.display()))
    })
}

/// The compression and layout of all our Parquet files.
pub(crate) fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CellValue {
    Number(i64),
    Real(f64),
    Text(ByteArray),
    Flag(bool),
    Missing,
}

/// Parquet's integers are signed; greater values are cut to the greatest.
impl From<u64> for CellValue {
    fn from(number: u64) -> CellValue {
        CellValue::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for CellValue {
    fn from(number: u32) -> CellValue {
        CellValue::Number(number.into())
    }
}

/// A value that is not a number is missing.
impl From<f64> for CellValue {
    fn from(number: f64) -> CellValue {
        if number.is_finite() { CellValue::Real(number) } else { CellValue::Missing }
    }
}

impl From<bool> for CellValue {
    fn from(flag: bool) -> CellValue {
        CellValue::Flag(flag)
    }
}

impl From<&str> for CellValue {
    fn from(text: &str) -> CellValue {
        CellValue::Text(text.into())
    }
}

impl From<&ByteArray> for CellValue {
    fn from(text: &ByteArray) -> CellValue {
        CellValue::Text(text.clone())
    }
}

#[cfg(all(feature = "serve", target_os = "linux"))]
impl From<&Cell> for CellValue {
    fn from(cell: &Cell) -> CellValue {
        match cell {
            Cell::Text(text) => text.as_str().into(),
            Cell::Number(value) => (*value).into(),
            Cell::Spread(spread) => spread.mean.into(),
            Cell::Missing => CellValue::Missing,
        }
    }
}

impl<T: Into<CellValue>> From<Option<T>> for CellValue {
    fn from(value: Option<T>) -> CellValue {
        value.map_or(CellValue::Missing, Into::into)
    }
}

/// The values held of a column.
enum ColumnValues {
    Numbers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<ByteArray>),
    Flags(Vec<bool>),
}

struct Filling {
    name: String,
    held: ColumnValues,
    /// For a column that may lack values: whether each row has one.
    is_told: Option<Vec<i16>>,
}

impl Filling {
    fn add(&mut self, value: CellValue) -> Result<(), ParquetError> {
        match (&mut self.is_told, &value) {
            (Some(told), _) => told.push(i16::from(value != CellValue::Missing)),
            (None, CellValue::Missing) => return Err(ParquetError::General(format!("no `{}` in a row", self.name))),
            _ => {}
        }
        match (&mut self.held, value) {
            (_, CellValue::Missing) => {}
            (ColumnValues::Numbers(held), CellValue::Number(number)) => held.push(number),
            (ColumnValues::Reals(held), CellValue::Real(number)) => held.push(number),
            (ColumnValues::Texts(held), CellValue::Text(text)) => held.push(text),
            (ColumnValues::Flags(held), CellValue::Flag(flag)) => held.push(flag),
            (_, value) => {
                return Err(ParquetError::General(format!("`{}` is not of the kind of {value:?}", self.name)));
            }
        }
        Ok(())
    }

    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        let told = self.is_told.as_deref();
        match &mut self.held {
            ColumnValues::Numbers(held) => column::<Int64Type, W>(group, held, told),
            ColumnValues::Reals(held) => column::<DoubleType, W>(group, held, told),
            ColumnValues::Texts(held) => column::<ByteArrayType, W>(group, held, told),
            ColumnValues::Flags(held) => column::<BoolType, W>(group, held, told),
        }?;
        self.is_told.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

/// Writes the next column of a group and clears its values.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    is_told: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("the schema has no such column".to_owned()))?;
    column.typed::<T>().write_batch(values, is_told, None)?;
    values.clear();
    column.close()
}

/// A table on its way into a file.
pub(crate) struct Sheet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Filling>,
    rows: usize,
}

impl<W: Write + Send> Sheet<W> {
    /// `columns` is a message in Parquet's schema language, with INT64, DOUBLE, BOOLEAN and BINARY (STRING).
    pub(crate) fn new(out: W, columns: &str) -> io::Result<Sheet<W>> {
        let schema = Arc::new(parse_message_type(columns).map_err(io::Error::other)?);
        let fields = schema.get_fields().iter().map(|field| {
            let held = match field.get_physical_type() {
                Physical::INT64 => ColumnValues::Numbers(Vec::new()),
                Physical::DOUBLE => ColumnValues::Reals(Vec::new()),
                Physical::BOOLEAN => ColumnValues::Flags(Vec::new()),
                _ => ColumnValues::Texts(Vec::new()),
            };
            Filling { name: field.name().to_owned(), held, is_told: field.is_optional().then(Vec::new) }
        });
        let columns = fields.collect();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties())).map_err(io::Error::other)?;
        Ok(Sheet { writer, columns, rows: 0 })
    }

    /// Adds a row, with a value for each column.
    pub(crate) fn row(&mut self, values: impl IntoIterator<Item = CellValue>) -> io::Result<()> {
        let mut number = 0;
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.add(value).map_err(io::Error::other)?;
            number += 1;
        }
        if number != self.columns.len() {
            return Err(io::Error::other(format!("a row of {number} values for {} columns", self.columns.len())));
        }
        self.rows += 1;
        if self.rows < GROUP { Ok(()) } else { self.group().map_err(io::Error::other) }
    }

    /// How many rows are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.rows
    }

    /// Writes the last group and the file's end.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.group().map_err(io::Error::other)?;
        }
        self.writer.close().map(drop).map_err(io::Error::other)
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        self.columns.iter_mut().try_for_each(|column| column.write(&mut group))?;
        self.rows = 0;
        group.close().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &str = "message t { required int64 a; optional double b; optional binary c (STRING); }";

    #[test]
    fn a_row_that_is_not_of_the_tables_kind_is_refused_by_its_column() {
        let mut sheet = Sheet::new(Vec::new(), COLUMNS).unwrap();
        sheet.row([1_u64.into(), f64::NAN.into(), "x".into()]).unwrap();
        let said = |row: [CellValue; 3], sheet: &mut Sheet<Vec<u8>>| sheet.row(row).unwrap_err().to_string();
        assert!(said([CellValue::Missing, 1.0.into(), "x".into()], &mut sheet).contains("no `a` in a row"));
        let mut sheet = Sheet::new(Vec::new(), COLUMNS).unwrap();
        assert!(said([1_u64.into(), "1.0".into(), "x".into()], &mut sheet).contains("`b` is not of the kind"));
        let mut sheet = Sheet::new(Vec::new(), COLUMNS).unwrap();
        assert!(sheet.row([1_u64.into()]).unwrap_err().to_string().contains("a row of 1 values for 3 columns"));
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind_and_says_where() {
        let folder = std::env::temp_dir().join(format!("blksched-rows-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a.parquet");
        let failed = write(&file, COLUMNS, |sheet| sheet.row([CellValue::Missing]));
        assert!(matches!(failed, Err(Failure::Outside(why)) if why.contains("a.parquet: ")));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        write(&file, COLUMNS, |sheet| sheet.row([1_u64.into(), 1.0.into(), CellValue::Missing])).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
