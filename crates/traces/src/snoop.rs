//! The tables of programs that watch I/Os end: bcc's and libbpf-tools' `biosnoop`, bpftrace's `biosnoop.bt`,
//! perf-tools' `iosnoop`. Each row is an I/O, and the header says what its words are.
//!
//! ```text
//! TIME(s)     COMM           PID     DISK      T  SECTOR     BYTES   QUE(ms) LAT(ms)
//! 0.000004    supervise      1950    xvda1     W  13092560   4096      0.01     0.74
//! ```
//!
//! **Rule** TIME is when the I/O *ended*; LAT passed since the disk was given it; QUE, if shown (`-Q`), passed in the
//! queue before. COMM may contain blanks. Where these programs have a time of their own for the start (`iosnoop -s`),
//! that is when the disk was given the I/O.
//!
//! Evidence: the programs' manuals and printed tables as remembered; no recording was at hand.

use crate::columns::{Column, Spec};

/// From where on an I/O's time is in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedSide {
    /// From its submission.
    Submission,
    /// From its insertion into the scheduler: what merged is one I/O, and what waited for a tag is left out.
    Scheduler,
    /// From its issue to the disk: no queue is in it.
    Disk,
}

/// A table, as its header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnoopTable {
    /// How its rows are read.
    pub spec: Spec,
    /// From where on times count.
    pub side: RecordedSide,
    /// Whether it says what was read or written, and where.
    pub has_place: bool,
}

/// What a header calls a column, and what it is.
const NAMES: [(&str, &str); 26] = [
    ("TIME(s)", "end@s"),
    ("TIME(ms)", "end@ms"),
    ("TIMESTAMP", "end@clock"),
    ("TIME", "end@clock"),
    ("STARTs", "time@s"),
    ("ENDs", "end@s"),
    ("COMM", "process"),
    ("PID", "-"),
    ("TID", "-"),
    ("DISK", "disk"),
    ("DEV", "disk"),
    ("T", "op"),
    ("TYPE", "op"),
    ("SECTOR", "offset@512B"),
    ("BLOCK", "offset@512B"),
    ("BYTES", "size@B"),
    ("QUE(ms)", "queue@ms"),
    ("LAT(ms)", "response@ms"),
    ("LATms", "response@ms"),
    ("QUE(us)", "queue@us"),
    ("LAT(us)", "response@us"),
    ("PATTERN", "-"),
    ("P", "-"),
    ("FLAGS", "-"),
    ("CPU", "-"),
    ("CGROUP", "-"),
];

/// How many lines may precede the header (`Tracing block device I/O... Hit Ctrl-C to end.`).
const BEFORE_HEADER: usize = 20;

/// Recognises a table by its header.
pub fn table(beginning: &str) -> Option<SnoopTable> {
    let found = beginning.lines().take(BEFORE_HEADER).enumerate().find_map(|(at, line)| Some((at, columns(line)?)));
    let (at, words) = found?;
    let has = |word: &str| words.iter().any(|column| column.split('@').next() == Some(word));
    if !has("process") || !has("response") {
        return None;
    }
    let has_place = has("op") && has("offset") && has("size");
    let side = if has("queue") { RecordedSide::Scheduler } else { RecordedSide::Disk };
    let columns = words.iter().map(|word| Column::parse(word)).collect::<Result<Vec<_>, _>>().ok()?;
    Some(SnoopTable { spec: Spec::of_tool(columns, at + 1), side, has_place })
}

/// The columns of a header; none if this line is not one.
fn columns(line: &str) -> Option<Vec<&'static str>> {
    let known = |word| NAMES.iter().find(|(name, _)| *name == word).map(|row| row.1);
    let columns: Vec<_> = line.split_whitespace().map(known).collect::<Option<_>>()?;
    (columns.len() >= 4).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{RowReader, ToldOp, TraceRow};

    fn rows(text: &str) -> (SnoopTable, Vec<TraceRow>, Vec<String>) {
        let table = table(text).unwrap();
        let mut reader = RowReader::new(text.as_bytes(), table.spec.clone());
        let read = std::iter::from_fn(|| reader.row().unwrap()).map(Result::unwrap).collect();
        (table, read, reader.processes().to_vec())
    }

    #[test]
    fn an_io_begins_at_its_end_less_what_it_took_and_waited() {
        let text = "Tracing block device I/O... Hit Ctrl-C to end.\n\
                    TIME(s)     COMM           PID     DISK      T  SECTOR     BYTES   QUE(ms) LAT(ms)\n\
                    0.004       Web Content    1950    xvda1     WS 13092560   4096       1.00    2.50\n\
                    0.005                      1       xvda1     N  0          0          0.00    0.10\n\
                    0.010       cat            7       xvda1     R  8          512        0.00    5.00\n\
                    Detaching...\n";
        let (table, rows, processes) = rows(text);
        assert_eq!((table.side, table.has_place), (RecordedSide::Scheduler, true));
        assert_eq!((rows.len(), rows[0].op, rows[0].offset, rows[0].bytes), (2, ToldOp::Write, 13_092_560 * 512, 4096));
        assert_eq!((rows[0].response, rows[1].response), (Some(3_500_000), Some(5_000_000)));
        // 0.0005 s and 0.005 s, from a moment before the recording.
        assert_eq!(rows[1].time - rows[0].time, 4_500_000);
        assert_eq!(processes, ["Web Content", "cat"]);
    }

    #[test]
    fn clocks_pass_midnight() {
        let text = "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
                    23:59:59.900 a              1       sda     R    8          512     1.000\n\
                    00:00:00.100 a              1       sda     R    16         512     1.000\n";
        let (table, rows, _) = rows(text);
        assert_eq!(table.side, RecordedSide::Disk);
        assert_eq!(rows[1].time - rows[0].time, 200_000_000);
    }

    #[test]
    fn iosnoop_has_starts_of_its_own_and_bpftraces_has_no_place() {
        let text = "Tracing block I/O. Ctrl-C to end.\n\
                    STARTs         ENDs           COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                    5982800.302061 5982800.302679 supervise        1809   W    202,1    17039600     4096       0.62\n";
        let (_, read, _) = rows(text);
        assert_eq!((read[0].time, read[0].response), (5_982_800_302_061_000, Some(620_000)));
        let text = "Attaching 4 probes...\n\
                    TIME(ms)     DISK    COMM             PID    LAT(ms)\n\
                    611          nvme0n1 bash             4179         0\n";
        assert!(!table(text).unwrap().has_place);
    }

    #[test]
    fn other_tables_are_none() {
        for text in ["PID COMM T X\n", "TIME(s) COMM PID DISK\n", "time_ns,disk,process\n", ""] {
            assert_eq!(table(text), None, "{text}");
        }
    }
}
