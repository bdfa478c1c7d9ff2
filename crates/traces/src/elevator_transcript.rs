//! `elevator-transcript/1` and `/2`: the decisions of a real kernel's scheduler, event by event, as JSON lines.
//!
//! The first line is a [`Header`], every further line an [`Event`], in the exact order of occurrence. Keys that are
//! only informative (`h`, `dbg`, `queue`…) are ignored. Files may be gzipped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use crate::lines::Lines;

/// The scheduler and queue of a recorded case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// `elevator-transcript/1` or `/2`.
    pub format: String,
    /// The scheduler, in the recorder's words.
    pub scheduler: String,
    /// The kernel or variant, in the recorder's words.
    pub kernel: String,
    /// 2.4: the variant of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Ticks per second.
    pub hz: u32,
    /// 2.x: the tick at the start; 4.20: the nanosecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t0: Option<u64>,
    /// 6.1: the clock at `t` = 0 \[ns\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ktime0: Option<u64>,
    /// The unit of `t`, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Knobs as sysfs shows them.
    pub tunables: BTreeMap<String, i64>,
    /// Those of the knobs that are times, as the scheduler uses them; these take precedence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub raw: BTreeMap<String, i64>,
    /// The queue.
    pub queue: RecordedQueue,
    /// BFQ: values in force at the start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub initial: BTreeMap<String, i64>,
    /// 4.20 and later: whether group scheduling is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_scheduling: Option<bool>,
    /// 4.20 and later: groups at the start; parents precede their children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// Whether the outcome depends on the shape of a red-black tree (2.x, 4.20).
    #[serde(default)]
    pub rbtree_shape_sensitive: bool,
}

/// The queue of a recorded case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedQueue {
    /// The scheduler's own limit.
    pub nr_requests: u32,
    /// 2.4: whether it is a pool, half for reads and half for writes, for which submitters wait.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pool: bool,
    /// The largest request \[sectors\].
    pub max_sectors: u32,
    /// The greatest number of segments in a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_segments: Option<u16>,
    /// The greatest number of requests that the driver holds.
    pub depth: u32,
    /// Whether the disk is rotational.
    pub rotational: bool,
    /// How many of its requests may be other than synchronous reads (7.x).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_depth: Option<u32>,
}

/// A group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// 0 is the root.
    pub id: u32,
    /// -1 for the root.
    pub parent: i64,
    /// Its share among its siblings.
    pub weight: u32,
    /// The share of its own tasks beside its child groups (4.20).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_weight: Option<u32>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The time: ticks in 2.x, nanoseconds in later recordings.
    pub t: u64,
    /// The event.
    #[serde(flatten)]
    pub what: What,
    /// A run of the queue that the scheduler asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kick: Option<Kick>,
    /// The time for which it armed a timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_until: Option<u64>,
    /// Present if it cancelled its timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_cancel: Option<serde_json::Value>,
    /// 2.4: the request before the new one in the list; null if the new one is first.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub after: Option<Option<u64>>,
    /// 2.4: the smallest counter of all queued requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_seq: Option<i32>,
    /// 2.4: the numbers of free requests for reads and for writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<(u32, u32)>,
}

/// Reads a key that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(value).map(Some)
}

impl Event {
    /// The event as its line of the file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an event has only string keys")
    }
}

/// What happened: the inputs of an event, and the outputs that belong to its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub enum What {
    /// A bio was submitted.
    Add(Add),
    /// A request was absorbed by another because of the preceding add.
    Coalesce {
        /// The victim.
        id: u64,
        /// The survivor.
        into: u64,
    },
    /// The driver asked for a request.
    Dispatch(Got),
    /// A waiting task got a request, and searches again (2.4).
    Retry {
        /// The bio with which it waited.
        id: u64,
        /// The result.
        result: AddResult,
    },
    /// A queue run nested in an add has ended.
    KickEnd {},
    /// The driver has completed a request.
    Complete {
        /// The request.
        id: u64,
    },
    /// A plug is flushed: its requests are inserted by one call (ADIOS).
    Insert {
        /// The requests, in order.
        ids: Vec<u64>,
        /// The requests absorbed meanwhile, each with the absorbing one.
        #[serde(default)]
        merged: Vec<(u64, u64)>,
    },
    /// A knob is written while requests are queued.
    Set {
        /// The knob.
        name: String,
        /// The value written.
        value: WrittenValue,
        /// `ok`, or an errno (ADIOS).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// The scheduler's timer fired.
    Timer {
        /// Base and slope of each latency model afterwards (ADIOS).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Vec<(u64, u64)>>,
    },
    /// A process exits.
    Exit {
        /// The process.
        pid: u32,
    },
    /// A process's priority changes.
    Ioprio {
        /// The process.
        pid: u32,
        /// The new priority: `be/4`.
        prio: String,
    },
    /// A group's weight is written.
    Weight {
        /// The group.
        group: u32,
        /// Its new weight.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<u32>,
        /// Its new leaf weight.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leaf_weight: Option<u32>,
    },
    /// A group is removed; no process runs in it any more.
    Rmgroup {
        /// The group.
        group: u32,
    },
    /// The end of the case (6.1).
    End {
        /// The number of look-ups whose outcome depends on a tree's shape.
        #[serde(default)]
        shape_dependent: u64,
        /// The number of calls at which token numbers mattered.
        #[serde(default)]
        token_sensitive: u64,
    },
}

/// A value written to a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WrittenValue {
    /// A value, as sysfs would show it (6.12 and later).
    Value(i64),
    /// As written (ADIOS).
    Text(String),
}

/// A submitted bio and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Add {
    /// Its name, and that of the request if it becomes one.
    pub id: u64,
    /// The submitter.
    pub pid: u32,
    /// `R`, `W`, `D` or `Z`.
    pub op: OpLetter,
    /// Whether a process waits for it.
    pub sync: bool,
    /// First sector.
    pub sector: u64,
    /// Length.
    pub sectors: u32,
    /// `be/4`.
    pub prio: String,
    /// The group it is charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Metadata.
    #[serde(default, skip_serializing_if = "is_false")]
    pub meta: bool,
    /// No dependent request follows.
    #[serde(default, skip_serializing_if = "is_false")]
    pub noidle: bool,
    /// Inserted at the head, without a merge attempt (ADIOS).
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_head: bool,
    /// 6.1: the depth that the scheduler allowed, 0 = unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shallow: Option<u32>,
    /// The result.
    pub result: AddResult,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Read, write, discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpLetter {
    /// Read.
    R,
    /// Write.
    W,
    /// Discard.
    D,
    /// Write zeroes.
    Z,
}

/// The result of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AddResult {
    /// `"insert"`: a new request; `"wait"`: none was free (2.4).
    Word(String),
    /// It merged.
    Merge {
        /// The kind of merge.
        merge: MergeKind,
        /// The request that it joined.
        into: u64,
    },
}

/// How a bio merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeKind {
    /// Behind a request.
    Back,
    /// Before a request.
    Front,
    /// As it was inserted (6.1).
    Insert,
}

/// The result of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Got {
    /// A request, or nothing.
    pub got: Option<u64>,
    /// Its first sector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector: Option<u64>,
    /// Its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sectors: Option<u32>,
    /// 2.5: how many requests were moved first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// The merges after the release of a barrier: absorbed and absorbing request (ADIOS).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<(u64, u64)>,
    /// Kyber: the token it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u32>,
}

/// A requested run of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kick {
    /// Inside the event.
    Now,
    /// After it.
    Later,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
}

/// Opens a file, unpacked while reading if its name ends in `.gz`.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, ReadError> {
    let file = File::open(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    let gzipped = path.extension().is_some_and(|extension| extension == "gz");
    Ok(if gzipped { Box::new(flate2::read::GzDecoder::new(file)) } else { Box::new(file) })
}

/// A whole case.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The first line.
    pub header: Header,
    /// The further lines; event `i` was on line `i + 2`.
    pub events: Vec<Event>,
}

impl Transcript {
    /// Reads a file, gzipped or not.
    ///
    /// # Errors
    /// If it cannot be read, or a line is not an event.
    pub fn open(path: &Path) -> Result<Transcript, ReadError> {
        Transcript::read(BufReader::new(open(path)?), path)
    }

    /// Reads a case from any input; `path` is for errors.
    ///
    /// # Errors
    /// As [`Transcript::open`].
    pub fn read(input: impl BufRead, path: &Path) -> Result<Transcript, ReadError> {
        let mut header = None;
        let mut events = Vec::new();
        for line in Lines::of(input, path) {
            let (line, text) = line?;
            let error = |error: serde_json::Error| ReadError::Line {
                path: path.to_owned(),
                line,
                column: error.column().max(1),
                message: error.to_string(),
            };
            match header {
                None => header = Some(serde_json::from_str::<Header>(&text).map_err(error)?),
                Some(_) => events.push(serde_json::from_str::<Event>(&text).map_err(error)?),
            }
        }
        let empty = || ReadError::Line {
            path: path.to_owned(),
            line: 1,
            column: 1,
            message: "the file is empty: expected a header with `format`, `scheduler` and `kernel`".to_owned(),
        };
        Ok(Transcript { header: header.ok_or_else(empty)?, events })
    }

    /// Writes the case as JSON lines.
    ///
    /// # Errors
    /// If `out` does.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "{}", serde_json::to_string(&self.header)?)?;
        for event in &self.events {
            writeln!(out, "{}", event.to_json())?;
        }
        Ok(())
    }

    /// Whether the case states that its outcome depends on the shape of a tree or on token numbers.
    pub fn is_shape_dependent(&self) -> bool {
        let at_end = |event: &Event| matches!(event.what, What::End { shape_dependent, .. } if shape_dependent > 0);
        self.header.rbtree_shape_sensitive || self.events.last().is_some_and(at_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = include_str!("../tests/case.jsonl");

    #[test]
    fn what_is_written_reads_back_the_same() {
        let read = |text: &[u8]| Transcript::read(text, Path::new("case.jsonl")).unwrap();
        let case = read(CASE.as_bytes());
        assert_eq!(case.events.len(), 10);
        let mut written = Vec::new();
        case.write(&mut written).unwrap();
        assert_eq!(read(&written), case);
    }

    #[test]
    fn a_broken_line_is_named_by_line_and_column() {
        let broken = CASE.replace(r#""ev":"exit","pid":7"#, r#""ev":"exit""#);
        let error = Transcript::read(broken.as_bytes(), Path::new("case.jsonl")).unwrap_err().to_string();
        assert!(error.starts_with("case.jsonl:11:") && error.contains("missing field `pid`"), "{error}");
        let unknown = CASE.replace(r#""ev":"exit""#, r#""ev":"exti""#);
        let error = Transcript::read(unknown.as_bytes(), Path::new("case.jsonl")).unwrap_err().to_string();
        assert!(error.contains("unknown variant `exti`, expected one of"), "{error}");
        assert!(Transcript::read(&b""[..], Path::new("x")).is_err());
        let garbage = [CASE.as_bytes(), b"{\"\xff\n"].concat();
        let error = Transcript::read(&garbage[..], Path::new("case.jsonl")).unwrap_err().to_string();
        assert_eq!(error, "case.jsonl:12:3: the byte 0xff is not UTF-8: expected text");
    }
}
