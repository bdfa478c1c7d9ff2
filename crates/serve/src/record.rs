//! Recording a disk, in two files: the call log, which replays decision for decision, and a trace in blktrace's binary
//! format, which blkparse, btt and similar programs read.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use blksched::author::Request;
use blksched::reasons::End;
use blksched::{Bio, Command, Durability, Instant, Op, Sector, Submitted, SubmitterId};
use blksched_traces::blktrace::{Action, BlktraceEvent, Categories};
use blksched_traces::calls::LoggedQueue;

use crate::ServeError;
use crate::backend::SECTOR;

/// The major number of network block devices.
const NBD_MAJOR: u32 = 43;

/// The call log: its header is written as soon as there is one, then a line per call.
pub struct Log {
    file: Lasting,
}

/// A file that is written as long as possible.
struct Lasting {
    file: BufWriter<File>,
    path: PathBuf,
    /// The disk is full, for example: the record ends, and the server continues.
    ended: bool,
}

impl Lasting {
    fn create(directory: &Path, name: String) -> Result<Lasting, ServeError> {
        let path = directory.join(name);
        let made = std::fs::create_dir_all(directory).and_then(|()| File::create(&path));
        let file = made.map_err(ServeError::system(format!("recording to {}", path.display())))?;
        Ok(Lasting { file: BufWriter::with_capacity(1 << 20, file), path, ended: false })
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) {
        if self.ended {
            return;
        }
        if let Err(error) = write(&mut self.file) {
            tracing::warn!(%error, path = %self.path.display(), "the record ends here");
            self.ended = true;
        }
    }
}

impl Log {
    /// Begins `DISK.calls.jsonl` in `directory`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(directory: &Path, disk: &str) -> Result<Log, ServeError> {
        Ok(Log { file: Lasting::create(directory, format!("{}.calls.jsonl", plain(disk)))? })
    }

    /// A line.
    pub fn line(&mut self, line: &str) {
        self.file.write(|file| writeln!(file, "{line}"));
    }
}

/// A disk's name without characters that a file's name cannot have.
fn plain(disk: &str) -> String {
    disk.replace(['/', ':'], "-")
}

/// The queue's own header.
pub fn header(queue: &LoggedQueue) -> String {
    serde_json::to_string(queue.header()).unwrap_or_default()
}

/// A trace in blktrace's format.
pub struct BlktraceFile {
    file: Lasting,
    sequence: u32,
}

impl BlktraceFile {
    /// Begins `DISK.blktrace.0` in `directory`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(directory: &Path, disk: &str) -> Result<BlktraceFile, ServeError> {
        Ok(BlktraceFile { file: Lasting::create(directory, format!("{}.blktrace.0", plain(disk)))?, sequence: 0 })
    }

    /// Names a client `name` from now on.
    pub fn process(&mut self, now: Instant, submitter: SubmitterId, name: &str) {
        let event = BlktraceEvent::process(now.as_ns(), submitter.0, name);
        self.file.write(|file| event.write(file));
    }

    /// Records a submitted bio, and what became of it.
    pub fn submitted(&mut self, now: Instant, bio: &Bio, became: Submitted) {
        let steps: &[Action] = match became {
            Submitted::Inserted(_) => &[Action::Queue, Action::GetRequest, Action::Insert],
            Submitted::Merged { end: End::Back, .. } | Submitted::MergedOnInsert { .. } => {
                &[Action::Queue, Action::BackMerge]
            }
            Submitted::Merged { end: End::Front, .. } => &[Action::Queue, Action::FrontMerge],
            Submitted::Asleep => &[Action::Queue, Action::SleepRequest],
            Submitted::Held | Submitted::Done => &[Action::Queue],
        };
        for &action in steps {
            self.note(now, action, kind(bio.op, bio.durability), bio.start, bio.sectors, bio.submitter, 0);
        }
    }

    /// The device got a command.
    pub fn issued(&mut self, now: Instant, command: &Command) {
        let durability = Durability { preflush: false, fua: command.fua };
        let Command { op, start, sectors, submitter, .. } = *command;
        self.note(now, Action::Issue, kind(op, durability), start, sectors, submitter, 0);
    }

    /// The device is done with a request.
    pub fn completed(&mut self, now: Instant, request: &Request, error: u16) {
        let Bio { op, start, sectors, submitter, durability, .. } = **request;
        self.note(now, Action::Complete, kind(op, durability), start, sectors, submitter, error);
    }

    #[allow(clippy::too_many_arguments)]
    fn note(
        &mut self,
        now: Instant,
        action: Action,
        kind: Categories,
        start: Sector,
        sectors: u32,
        submitter: SubmitterId,
        error: u16,
    ) {
        self.sequence += 1;
        let event = BlktraceEvent {
            sequence: self.sequence,
            time: now.as_ns(),
            sector: start.0,
            bytes: u32::try_from(u64::from(sectors) * SECTOR).unwrap_or(u32::MAX),
            action,
            kind,
            pid: submitter.0,
            device: NBD_MAJOR << 20,
            error,
            ..BlktraceEvent::default()
        };
        self.file.write(|file| event.write(file));
    }
}

fn kind(op: Op, durability: Durability) -> Categories {
    let fua = if durability.fua { Categories::FUA } else { 0 };
    Categories(match op {
        Op::Read => Categories::READ | Categories::SYNC,
        Op::Write => Categories::WRITE | Categories::SYNC | fua,
        Op::Discard => Categories::WRITE | Categories::DISCARD | fua,
        Op::WriteZeroes => Categories::WRITE | fua,
        Op::Flush => Categories::WRITE | Categories::FLUSH,
    })
}
