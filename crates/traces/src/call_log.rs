//! `blksched-calls/1`: every call that a driver made to a block queue, with its time and its answer, as JSON lines.
//!
//! The first line is a [`Header`]: the elevator and the queue. Every further line is one [`Record`]; nothing is left
//! out, not even empty answers. The same calls at the same times must give the same answers again, so the file is a
//! test, and can be attached to a bug report. A file whose last line is truncated (a killed process) is read up to
//! there.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::elevator_transcript::{self, ReadError};
use crate::lines::Lines;

/// The format's name and version, the header's first field.
pub const FORMAT: &str = "blksched-calls/1";

/// The queue as it was when the log began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// The elevator, as the catalogue names it; its knobs have their defaults until a [`Call::Set`].
    pub elevator: String,
    /// The queue's configuration.
    pub queue: QueueSurroundings,
}

/// A queue's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSurroundings {
    /// The time of its creation \[ns\].
    pub born: u64,
    /// The number of requests that the device gets at a time.
    pub depth: u32,
    /// The largest request \[sectors\].
    pub max_sectors: u32,
    /// The greatest number of memory segments in a request.
    pub max_segments: u16,
    /// Whether the device is rotational.
    pub rotational: bool,
    /// Whether it has a volatile write cache.
    pub volatile_cache: bool,
    /// Whether it supports FUA.
    pub fua: bool,
    /// Where requests are plugged.
    pub plugging: Plugging,
    /// The number of request slots.
    pub slots: Slots,
    /// The behaviour of the device's driver.
    #[serde(default)]
    pub driver: Driver,
    /// The version of groups' `io.max`.
    #[serde(default, skip_serializing_if = "IoMaxEra::is_default")]
    pub io_max: IoMaxEra,
}

/// The version of `io.max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IoMaxEra {
    /// It holds metadata, too.
    #[serde(rename = "6.12")]
    Linux6_12,
    /// Metadata pass.
    #[default]
    #[serde(rename = "6.18")]
    Linux6_18,
}

impl IoMaxEra {
    /// Whether it need not be written.
    fn is_default(&self) -> bool {
        *self == IoMaxEra::default()
    }
}

/// Where requests are plugged before they are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plugging {
    /// Nowhere.
    Never,
    /// Behind the elevator.
    Queue {
        /// The number of requests at which it opens.
        threshold: u32,
        /// The time after which it opens \[ns\].
        delay: u64,
    },
    /// Behind the elevator; opens only when a process waits.
    TaskQueue,
    /// Before the elevator.
    Submitter {
        /// The number of requests at which it is flushed.
        requests: u32,
    },
    /// The same, since blk-mq.
    Task {
        /// It is flushed before a request beyond this many,
        requests: u32,
        /// or behind one of this many sectors.
        sectors: u32,
    },
}

/// The number of requests that may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slots {
    /// Unlimited.
    Unlimited,
    /// Unlimited; elevators are told a number.
    Unbounded {
        /// The number that elevators are told.
        nr_requests: u32,
    },
    /// A pool for each direction.
    PerDirection {
        /// The number.
        nr_requests: u32,
        /// When sleeping submitters wake.
        wake: Wake,
    },
    /// One set of tags.
    Tags {
        /// The number.
        nr_requests: u32,
        /// The number for which the map was made, if it has shrunk since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_for: Option<u32>,
        /// The version of blk-mq.
        era: MqEra,
        /// The order in which they are allocated.
        order: TagOrder,
    },
}

/// The version of blk-mq.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MqEra {
    /// Before 6.12.
    #[serde(rename = "6.1")]
    Linux6_1,
    /// Since.
    #[serde(rename = "6.12")]
    Linux6_12,
}

/// The order in which tags are allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagOrder {
    /// The lowest near the last one.
    Lowest,
    /// Round robin.
    RoundRobin,
}

/// What a device's driver does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// A budget, flushes among the other commands.
    #[default]
    Budget,
    /// A budget, flushes alone.
    BudgetFlushAlone,
    /// One more request leaves the elevator.
    OneMore,
    /// One more, flushes alone.
    OneMoreFlushAlone,
}

/// When a submitter that found no slot wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// Once this many are free.
    AtFree(u32),
    /// One for each request freed while this many are free (2.4.20).
    One(u32),
    /// All for each request freed while this many are free (2.4.18).
    All(u32),
    /// At the first free slot, with a batch of its own.
    Batcher {
        /// The number of requests.
        requests: u32,
        /// Its duration \[ns\].
        time: u64,
    },
}

/// One call and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The time \[ns\].
    pub t: u64,
    /// The call.
    #[serde(flatten)]
    pub call: Call,
    /// The answer.
    pub said: Answer,
    /// The queue's deadline after the call \[ns\].
    pub deadline: Option<u64>,
}

impl Record {
    /// The record as its line of the file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a record has only string keys")
    }
}

/// A call to the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// A bio is submitted.
    Submit(Bio),
    /// The device asks for a command.
    Next {},
    /// The device has completed a command.
    Complete {
        /// The request.
        rq: u32,
        /// Whether it succeeded.
        ok: bool,
    },
    /// The device returns a command untried.
    Requeue {
        /// The request.
        rq: u32,
    },
    /// A submitter waits for its I/O.
    Waits {
        /// The submitter.
        submitter: u32,
    },
    /// A submitter has exited.
    Forget {
        /// The submitter.
        submitter: u32,
    },
    /// A knob is set.
    Set {
        /// The knob.
        knob: String,
        /// The new raw value.
        raw: i64,
    },
    /// A group is created, or its weights change.
    Group {
        /// The group.
        id: u32,
        /// Its parent group.
        parent: u32,
        /// Its share among its siblings.
        weight: u32,
        /// The share of its own submitters beside its child groups.
        leaf_weight: u32,
    },
    /// A file of a group is written.
    File {
        /// The group; 0 is the root.
        id: u32,
        /// Its name.
        file: String,
        /// The text written.
        text: String,
    },
    /// A group is removed.
    Ungroup {
        /// The group.
        id: u32,
    },
    /// The elevator is replaced.
    Switch {
        /// The new elevator.
        elevator: String,
    },
    /// Time passes.
    Elapse {},
    /// The driver asks for deliveries.
    Deliveries {},
}

/// A bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bio {
    /// The submitter's identifier of it.
    pub tag: u64,
    /// The operation.
    pub op: Op,
    /// First sector.
    pub start: u64,
    /// Length \[sectors\].
    pub sectors: u32,
    /// Whether a process waits for it.
    pub sync: bool,
    /// ionice's class, 0 to 3.
    pub class: u8,
    /// ionice's level.
    pub level: u8,
    /// The submitter.
    pub submitter: u32,
    /// Its group.
    pub group: u32,
    /// Metadata.
    pub meta: bool,
    /// No dependent request follows.
    pub no_idle: bool,
    /// The flag REQ_SYNC.
    #[serde(default)]
    pub req_sync: bool,
    /// Everything completed before it must be stable.
    pub preflush: bool,
    /// Its own data must be stable.
    pub fua: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Disk to memory.
    Read,
    /// Memory to disk.
    Write,
    /// May be forgotten.
    Discard,
    /// Zeroes without data.
    WriteZeroes,
    /// Make everything stable.
    Flush,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Nothing: the call has no answer.
    Nothing,
    /// A new request.
    Inserted(u32),
    /// It joined a request.
    Merged {
        /// The request.
        into: u32,
        /// `front` or `back`.
        end: String,
    },
    /// It became a request that merged at once.
    MergedOnInsert(u32),
    /// It sleeps for a slot.
    Asleep,
    /// It waits in a plug or for a flush.
    Held,
    /// Nothing had to be done.
    Done,
    /// The device is to execute this request.
    Issue {
        /// The request.
        rq: u32,
        /// First sector.
        start: u64,
        /// Length \[sectors\].
        sectors: u32,
        /// Whether it must be stable.
        fua: bool,
    },
    /// The disk is left idle.
    Idle {
        /// The time until which it idles \[ns\].
        until: u64,
        /// The process, group or purpose for which it idles.
        why: String,
    },
    /// Something in flight must complete first.
    Wait,
    /// Nothing is queued.
    Empty,
    /// The device has as many requests as it accepts.
    Full,
    /// The plug is closed.
    Plugged,
    /// Refused, and why.
    Refused(String),
    /// The deliveries, in order.
    Delivered(Vec<Delivery>),
}

/// A delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// This bio is done.
    Done(u64),
    /// This bio failed.
    Failed(u64),
    /// This submitter is woken.
    Awake(u32),
}

/// A whole log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLog {
    /// The first line.
    pub header: Header,
    /// The further lines; record `i` was on line `i + 2`.
    pub records: Vec<Record>,
}

/// Whether this file begins like a call log.
///
/// # Errors
/// If it cannot be read.
pub fn is_log(path: &Path) -> Result<bool, ReadError> {
    begins_with(path, FORMAT)
}

/// Whether the beginning of a file names this format.
pub(crate) fn begins_with(path: &Path, format: &str) -> Result<bool, ReadError> {
    let mut start = [0; 64];
    let mut input = elevator_transcript::open(path)?;
    let read = read_up_to(&mut input, &mut start);
    let read = read.map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    Ok(String::from_utf8_lossy(&start[..read]).contains(format))
}

/// Reads as much as is available, up to the buffer's length.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

impl CallLog {
    /// Reads a file, gzipped or not.
    ///
    /// # Errors
    /// As [`CallLog::read`].
    pub fn open(path: &Path) -> Result<CallLog, ReadError> {
        CallLog::read(BufReader::new(elevator_transcript::open(path)?), path)
    }

    /// Reads a log; `path` is for errors. An incomplete last line is left out: its writer was killed.
    ///
    /// # Errors
    /// If `input` cannot be read, or a line is not a record.
    pub fn read(input: impl BufRead, path: &Path) -> Result<CallLog, ReadError> {
        let wrong = |line: usize, column: usize, message: String| ReadError::Line {
            path: path.to_owned(),
            line,
            column: column.max(1),
            message,
        };
        let (mut header, mut records) = (None, Vec::new());
        let mut lines = Lines::of(input, path);
        while let Some((line, bytes)) = lines.bytes()? {
            if !bytes.ends_with(b"\n") {
                break;
            }
            let text = lines.text(bytes)?;
            let error = |error: serde_json::Error| wrong(line, error.column(), error.to_string());
            if header.is_none() {
                header = Some(serde_json::from_str::<Header>(&text).map_err(error)?);
            } else {
                records.push(serde_json::from_str(&text).map_err(error)?);
            }
        }
        let header = header.ok_or_else(|| wrong(1, 1, "the file is empty: expected a header".to_owned()))?;
        if header.format != FORMAT {
            return Err(wrong(1, 1, format!("the format is `{}`: expected `{FORMAT}`", header.format)));
        }
        Ok(CallLog { header, records })
    }

    /// Writes the log as JSON lines.
    ///
    /// # Errors
    /// If `out` does.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "{}", serde_json::to_string(&self.header)?)?;
        self.records.iter().try_for_each(|record| writeln!(out, "{}", record.to_json()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> CallLog {
        let queue = QueueSurroundings {
            born: 5,
            depth: 2,
            max_sectors: 1024,
            max_segments: 128,
            rotational: true,
            volatile_cache: false,
            fua: false,
            plugging: Plugging::Queue { threshold: 4, delay: 3_000_000 },
            slots: Slots::PerDirection { nr_requests: 64, wake: Wake::Batcher { requests: 32, time: 20 } },
            driver: Driver::default(),
            io_max: IoMaxEra::default(),
        };
        let bio = Bio {
            tag: 7,
            op: Op::Read,
            start: 8,
            sectors: 8,
            sync: true,
            class: 2,
            level: 4,
            submitter: 1,
            group: 0,
            meta: false,
            no_idle: false,
            req_sync: false,
            preflush: false,
            fua: false,
        };
        let record = |t, call, said| Record { t, call, said, deadline: Some(t + 1) };
        let issue = Answer::Issue { rq: 0, start: 8, sectors: 8, fua: false };
        let delivered = Answer::Delivered(vec![Delivery::Done(7), Delivery::Awake(1)]);
        let records = vec![
            record(5, Call::Submit(bio), Answer::Inserted(0)),
            record(6, Call::Next {}, issue),
            record(6, Call::Next {}, Answer::Idle { until: 9, why: "Submitter(SubmitterId(1))".into() }),
            record(7, Call::Complete { rq: 0, ok: true }, Answer::Nothing),
            record(7, Call::Deliveries {}, delivered),
            record(8, Call::Set { knob: "quantum".into(), raw: 4 }, Answer::Refused("no".into())),
        ];
        CallLog { header: Header { format: FORMAT.into(), elevator: "cfq@2.6.33".into(), queue }, records }
    }

    fn written() -> Vec<u8> {
        let mut text = Vec::new();
        log().write(&mut text).unwrap();
        text
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        assert_eq!(CallLog::read(&written()[..], Path::new("calls.jsonl")).unwrap(), log());
    }

    #[test]
    fn a_log_is_good_up_to_where_its_writer_was_killed() {
        let text = written();
        let cut = CallLog::read(&text[..text.len() - 20], Path::new("calls.jsonl")).unwrap();
        assert_eq!(cut.records, log().records[..5]);
        // Also inside a character.
        let cut = [&text[..], &b"{\"t\":8,\"call\":\"set\",\"knob\":\"\xc3"[..]].concat();
        assert_eq!(CallLog::read(&cut[..], Path::new("calls.jsonl")).unwrap(), log());
    }

    #[test]
    fn a_broken_line_is_named_by_line_and_column() {
        let text = String::from_utf8(written()).unwrap().replace("\"next\"", "\"nxet\"");
        let error = CallLog::read(text.as_bytes(), Path::new("calls.jsonl")).unwrap_err().to_string();
        assert!(error.starts_with("calls.jsonl:3:") && error.contains("expected one of"), "{error}");
        let error = CallLog::read(&b"{\"format\":\"x\"}\n"[..], Path::new("calls.jsonl")).unwrap_err().to_string();
        assert!(error.starts_with("calls.jsonl:1:"), "{error}");
        let garbage = [&written()[..], b"\x80\n"].concat();
        let error = CallLog::read(&garbage[..], Path::new("calls.jsonl")).unwrap_err().to_string();
        assert!(error.starts_with("calls.jsonl:8:1: the byte 0x80"), "{error}");
    }
}
