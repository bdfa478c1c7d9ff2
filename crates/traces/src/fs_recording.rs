//! `fs-recording/1`: what a real kernel's file systems and write-back did below each system call, as JSON lines.
//!
//! The first line is a header, every further line an event in the order of time. Files may be gzipped. The fields of an
//! event are those of its tracepoint; the format is described beside the recordings.

use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::elevator_transcript::{ReadError, open};
use crate::lines::Lines;

/// The format's name in the first line.
pub const FORMAT: &str = "fs-recording/1";

/// The disk below the file system.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RecordedDisk {
    /// Its length \[bytes\].
    pub size: u64,
    /// The time of a write \[ns\].
    pub write_ns: u64,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// The largest request \[KiB\].
    pub max_sectors_kb: u64,
}

/// The shape of the file system \[512-byte sectors\].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RecordedGeometry {
    /// ext4: the journal's first sector and its length.
    #[serde(default)]
    pub journal: Vec<(u64, u64)>,
    /// xfs: the log's first sector and its length.
    #[serde(default)]
    pub log: Option<(u64, u64)>,
    /// ext4: inodes of a block group.
    #[serde(default)]
    pub inodes_per_group: u64,
    /// xfs: the length of an allocation group \[blocks\].
    #[serde(default)]
    pub agsize: Option<u64>,
}

/// The header.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RecordingHeader {
    /// [`FORMAT`].
    pub format: String,
    /// The kernel, in the recorder's words.
    pub kernel: String,
    /// `ext4`, `xfs` or `none`.
    pub fs: String,
    /// The kernel's ticks per second.
    pub hz: u32,
    /// The scheduler.
    pub scheduler: String,
    /// The recording's name.
    pub scenario: String,
    /// What happens in it.
    #[serde(default)]
    pub description: String,
    /// Options of mkfs beside the defaults; `default` if there are none.
    #[serde(default)]
    pub mkfs: String,
    /// Mount options as asked for.
    #[serde(default)]
    pub mount_asked: String,
    /// The disk.
    pub disk: RecordedDisk,
    /// The file system's shape.
    #[serde(default)]
    pub geometry: RecordedGeometry,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct FsEvent {
    /// When \[ns\].
    pub t: u64,
    /// Its name.
    pub ev: String,
    /// The task that ran; for a `bio` the one to whom it belongs.
    #[serde(default)]
    pub task: String,
    /// Its other fields.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl FsEvent {
    /// A field that is a number, also one in hexadecimal digits.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.fields.get(name)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => u64::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
            _ => None,
        }
    }

    /// A field of counts by name; empty if there is none.
    pub fn counts(&self, name: &str) -> Vec<(String, u64)> {
        let counts = self.fields.get(name).and_then(Value::as_object).into_iter().flatten();
        counts.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect()
    }

    /// Whether a field is a list that has this text.
    pub fn has(&self, name: &str, text: &str) -> bool {
        self.fields.get(name).and_then(Value::as_array).is_some_and(|list| list.iter().any(|of| of == text))
    }

    /// A field that is text; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or("")
    }
}

/// A whole recording; event `i` was on line `i + 2`.
#[derive(Clone, Debug, PartialEq)]
pub struct FsRecording {
    /// The header.
    pub header: RecordingHeader,
    /// The further lines.
    pub events: Vec<FsEvent>,
}

/// Whether a file has this format, judging by its first bytes.
///
/// # Errors
/// If it cannot be read.
pub fn is_recording(path: &Path) -> Result<bool, ReadError> {
    crate::call_log::begins_with(path, FORMAT)
}

impl FsRecording {
    /// Whether no two processes are ever in a sync at the same time, as with one process or with paced ones: then who
    /// wakes first decides nothing.
    pub fn syncs_never_overlap(&self) -> bool {
        const SYNCS: [&str; 5] = ["fsync", "fdatasync", "msync", "sync", "syncfs"];
        let mut inside: Vec<&str> = Vec::new();
        for event in self.events.iter().filter(|event| SYNCS.contains(&event.text("op"))) {
            match event.ev.as_str() {
                "call" => inside.push(&event.task),
                "return" => inside.retain(|task| *task != event.task),
                _ => {}
            }
            if inside.len() > 1 {
                return false;
            }
        }
        true
    }

    /// Reads a file, gzipped or not.
    ///
    /// # Errors
    /// If it cannot be read, or a line is not what it should be.
    pub fn open(path: &Path) -> Result<FsRecording, ReadError> {
        let mut header = None;
        let mut events = Vec::new();
        for line in Lines::of(BufReader::new(open(path)?), path) {
            let (line, text) = line?;
            let broken = |error: serde_json::Error| ReadError::Line {
                path: path.to_owned(),
                line,
                column: error.column().max(1),
                message: error.to_string(),
            };
            match header {
                None => header = Some(serde_json::from_str(&text).map_err(broken)?),
                Some(_) => events.push(serde_json::from_str(&text).map_err(broken)?),
            }
        }
        let message = "the file is empty: expected a header with `format`, `fs` and `disk`".to_owned();
        let empty = || ReadError::Line { path: path.to_owned(), line: 1, column: 1, message };
        Ok(FsRecording { header: header.ok_or_else(empty)?, events })
    }
}
