//! A trace as Parquet: the columns of our own CSV, in groups of rows of a bounded size.

use std::io::{self, Write};

use blksched_simulate::recording::TraceIo;

use super::write::{Whose, word};
use crate::rows::Sheet;

/// As in our own CSV, whose header has the same names.
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
pub(super) struct RowWriter<W: Write + Send>(Sheet<W>);

impl<W: Write + Send> RowWriter<W> {
    pub fn new(out: W) -> io::Result<RowWriter<W>> {
        Sheet::new(out, SCHEMA).map(RowWriter)
    }

    pub fn io(&mut self, io: &TraceIo, whose: &Whose) -> io::Result<()> {
        let event = &io.event;
        self.0.row([
            event.time.into(),
            whose.device.as_str().into(),
            whose.process.as_str().into(),
            word(event).into(),
            event.start.saturating_mul(512).into(),
            (u64::from(event.sectors) * 512).into(),
            io.response.into(),
        ])
    }

    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use blksched::author::Waiter;
    use blksched::{Durability, Hints, Op};
    use blksched_workloads::replay::{TraceAction, TraceEvent};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;
    use crate::rows::GROUP;

    fn read(time: u64, response: Option<u64>) -> TraceIo {
        let event = TraceEvent {
            time,
            what: TraceAction::Queue,
            device: (8, 0),
            pid: 7,
            op: Op::Read,
            start: time % 1000,
            sectors: 8,
            waiter: Waiter::Sync,
            hints: Hints::default(),
            durability: Durability::default(),
        };
        TraceIo { event, response }
    }

    #[test]
    fn rows_come_back_as_they_were_in_groups_of_a_bounded_size() {
        let file = std::env::temp_dir().join(format!("blksched-rows-{}.parquet", std::process::id()));
        let mut rows = RowWriter::new(std::fs::File::create(&file).unwrap()).unwrap();
        let whose = Whose { device: "8,0".to_owned(), process: "ca,t".to_owned() };
        let ios = GROUP as u64 + 3;
        (0..ios).for_each(|n| rows.io(&read(n, (n % 2 == 0).then_some(n * 10)), &whose).unwrap());
        assert!(rows.0.held() < GROUP, "held: {}", rows.0.held());
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
