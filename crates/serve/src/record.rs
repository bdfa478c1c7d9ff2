//! Recording a disk: the call log that replays decision for decision, a line per call of the block queue.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use blksched_conformance::calls::LoggedQueue;

use crate::ServeError;

/// A file that the log of a disk goes to, its header written as soon as there is one.
pub struct Log {
    file: BufWriter<File>,
}

impl Log {
    /// Begin `DISK.calls.jsonl` in `directory`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(directory: &Path, disk: &str) -> Result<Log, ServeError> {
        let path = directory.join(format!("{}.calls.jsonl", disk.replace('/', "-")));
        let made = std::fs::create_dir_all(directory).and_then(|()| File::create(&path));
        let file = made.map_err(ServeError::system(format!("recording to {}", path.display())))?;
        Ok(Log { file: BufWriter::with_capacity(1 << 20, file) })
    }

    /// A line.
    pub fn line(&mut self, line: &str) {
        // A disk that is full must not stop the server; the log then ends there.
        if let Err(error) = writeln!(self.file, "{line}") {
            tracing::warn!(%error, "the record is not complete");
        }
    }
}

/// The queue's own header.
pub fn header(queue: &LoggedQueue) -> String {
    serde_json::to_string(queue.header()).unwrap_or_default()
}
