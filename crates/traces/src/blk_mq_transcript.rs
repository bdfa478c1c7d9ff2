//! `blk-mq-transcript/1`: the decisions of a real kernel's slots and throttles, event by event, as JSON lines.
//!
//! The first line is a header, every further line an event, in the exact order of occurrence. Keys that are only
//! informative are ignored. The contents of header and events depend on the header's `kind`: [`tags`], [`wbt`],
//! [`iocost`]. Files may be gzipped.

use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::elevator_transcript::{ReadError, open};
use crate::lines::Lines;

pub mod iocost;
pub mod tags;
pub mod wbt;

/// The format's name in the first line.
pub const FORMAT: &str = "blk-mq-transcript/1";

/// The subject of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// io.cost.
    Iocost,
    /// The slots of requests.
    Tags,
    /// Writeback throttling.
    Wbt,
}

/// The common part of every header.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Common {
    /// [`FORMAT`].
    pub format: String,
    /// The case's subject.
    pub kind: CaseKind,
    /// The kernel whose decisions were recorded: `6.1.192`.
    pub kernel: String,
    /// The case's name.
    pub case: String,
}

/// An event, and its line as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent<E> {
    /// The event.
    pub event: E,
    /// Its text, for messages about a difference.
    pub text: String,
}

/// A whole case; event `i` was on line `i + 2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Case<H, E> {
    /// The common part of every header.
    pub common: Common,
    /// The part of the header specific to this kind.
    pub header: H,
    /// The further lines.
    pub events: Vec<RecordedEvent<E>>,
}

/// Whether a file has this format, judging by its first bytes.
///
/// # Errors
/// If it cannot be read.
pub fn is_transcript(path: &Path) -> Result<bool, ReadError> {
    crate::call_log::begins_with(path, FORMAT)
}

/// The subject of the case in a file.
///
/// # Errors
/// If it cannot be read, or its first line is not a header.
pub fn kind(path: &Path) -> Result<CaseKind, ReadError> {
    let mut lines = Lines::of(BufReader::new(open(path)?), path);
    let Some(first) = lines.next() else { return Err(empty(path)) };
    let (line, text) = first?;
    Ok(parse::<Common>(path, line, &text)?.kind)
}

impl<H: DeserializeOwned, E: DeserializeOwned> Case<H, E> {
    /// Reads a file, gzipped or not.
    ///
    /// # Errors
    /// If it cannot be read, or a line is not what it should be.
    pub fn open(path: &Path) -> Result<Case<H, E>, ReadError> {
        let mut header = None;
        let mut events = Vec::new();
        for line in Lines::of(BufReader::new(open(path)?), path) {
            let (line, text) = line?;
            match header {
                None => header = Some((parse(path, line, &text)?, parse(path, line, &text)?)),
                Some(_) => events.push(RecordedEvent { event: parse(path, line, &text)?, text }),
            }
        }
        let (common, header) = header.ok_or_else(|| empty(path))?;
        Ok(Case { common, header, events })
    }
}

fn parse<T: DeserializeOwned>(path: &Path, line: usize, text: &str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(|error| ReadError::Line {
        path: path.to_owned(),
        line,
        column: error.column().max(1),
        message: error.to_string(),
    })
}

fn empty(path: &Path) -> ReadError {
    let message = "the file is empty: expected a header with `format`, `kind` and `kernel`".to_owned();
    ReadError::Line { path: path.to_owned(), line: 1, column: 1, message }
}
