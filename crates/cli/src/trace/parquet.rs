//! A trace as Parquet: the columns of our own CSV, in groups of rows of a bounded size.

use std::io::{self, Write};
use std::sync::Arc;

use blksched_simulate::recording::Io;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::write::{Whose, word};

/// How many rows are held until they are written.
const GROUP: usize = 1 << 17;

/// As in our own CSV, whose first line has the same names.
const SCHEMA: &str = "\
message trace {
  required int64 time_ns;
  required binary disk (STRING);
  required binary process (STRING);
  required binary op (STRING);
  required int64 offset_B;
  required int64 size_B;
  optional int64 response_ns;
}";

/// Writes rows.
pub(super) struct Rows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    time: Vec<i64>,
    disk: Vec<ByteArray>,
    process: Vec<ByteArray>,
    op: Vec<ByteArray>,
    offset: Vec<i64>,
    size: Vec<i64>,
    /// Those that are told, and for each row whether it is.
    response: Vec<i64>,
    is_told: Vec<i16>,
}

impl<W: Write + Send> Rows<W> {
    pub fn new(out: W) -> io::Result<Rows<W>> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        Ok(Rows {
            writer: SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(failed)?,
            time: Vec::new(),
            disk: Vec::new(),
            process: Vec::new(),
            op: Vec::new(),
            offset: Vec::new(),
            size: Vec::new(),
            response: Vec::new(),
            is_told: Vec::new(),
        })
    }

    pub fn io(&mut self, io: &Io, whose: &Whose) -> io::Result<()> {
        let event = &io.event;
        self.time.push(number(event.time));
        self.disk.push(whose.device.as_str().into());
        self.process.push(whose.process.as_str().into());
        self.op.push(word(event).into());
        self.offset.push(number(event.start.saturating_mul(512)));
        self.size.push(i64::from(event.sectors) * 512);
        self.response.extend(io.response.map(number));
        self.is_told.push(i16::from(io.response.is_some()));
        if self.time.len() < GROUP { Ok(()) } else { self.group().map_err(failed) }
    }

    pub fn finish(mut self) -> io::Result<()> {
        if !self.time.is_empty() {
            self.group().map_err(failed)?;
        }
        self.writer.close().map(drop).map_err(failed)
    }

    /// What is held, written.
    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        column::<Int64Type, W>(&mut group, &mut self.time, None)?;
        column::<ByteArrayType, W>(&mut group, &mut self.disk, None)?;
        column::<ByteArrayType, W>(&mut group, &mut self.process, None)?;
        column::<ByteArrayType, W>(&mut group, &mut self.op, None)?;
        column::<Int64Type, W>(&mut group, &mut self.offset, None)?;
        column::<Int64Type, W>(&mut group, &mut self.size, None)?;
        column::<Int64Type, W>(&mut group, &mut self.response, Some(&self.is_told))?;
        self.is_told.clear();
        group.close().map(drop)
    }
}

/// The next column of a group; its values are gone then.
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

/// Parquet's numbers have a sign; times and places beyond it stay at its end.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use blksched::{Durability, Hints, Op, Waiter};
    use blksched_workloads::replay::{Event, What};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    fn read(time: u64, response: Option<u64>) -> Io {
        let event = Event {
            time,
            what: What::Queue,
            device: (8, 0),
            pid: 7,
            op: Op::Read,
            start: time % 1000,
            sectors: 8,
            waiter: Waiter::Sync,
            hints: Hints::default(),
            durability: Durability::default(),
        };
        Io { event, response }
    }

    #[test]
    fn rows_come_back_as_they_were_in_groups_of_a_bounded_size() {
        let file = std::env::temp_dir().join(format!("blksched-rows-{}.parquet", std::process::id()));
        let mut rows = Rows::new(std::fs::File::create(&file).unwrap()).unwrap();
        let whose = Whose { device: "8,0".to_owned(), process: "ca,t".to_owned() };
        let ios = GROUP as u64 + 3;
        (0..ios).for_each(|n| rows.io(&read(n, (n % 2 == 0).then_some(n * 10)), &whose).unwrap());
        assert!(rows.time.len() < GROUP, "held: {}", rows.time.len());
        rows.finish().unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&file).unwrap()).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let mut seen = 0;
        for (row, n) in reader.get_row_iter(None).unwrap().zip(0_i64..) {
            let row = row.unwrap();
            let words = [1, 2, 3].map(|at| row.get_string(at).unwrap().as_str());
            assert_eq!(words, ["8,0", "ca,t", "R"]);
            let numbers = [0, 4, 5].map(|at| row.get_long(at).unwrap());
            assert_eq!(numbers, [n, n % 1000 * 512, 4096]);
            assert_eq!(row.get_long(6).ok(), (n % 2 == 0).then_some(n * 10));
            seen += 1;
        }
        assert_eq!(seen, ios);
    }
}
