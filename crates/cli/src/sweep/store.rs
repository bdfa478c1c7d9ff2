//! The folder that a sweep fills: Parquet files, each complete or absent, and a journal per shard of the runs that are
//! in no file yet.
//!
//! **Rule** A run's rows are a line of the journal as soon as it ends. When there are enough, they become a file under
//! another name, which is renamed when it is on the disk; then the journal is emptied. A process that dies in between
//! leaves lines that the next process either finds in a file already or puts into one. An incomplete line is ignored.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_array::{Array, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};

use super::columns::SweepColumns;
use super::row::RunRows;
use crate::failure::Failure;
use crate::rows::properties;

/// The most runs of a Parquet file.
const RUNS_PER_FILE: usize = 8192;
/// The longest that a process holds a journal while it adopts it.
const PATIENCE: Duration = Duration::from_secs(10);
const PARQUET: &str = "parquet";
const JOURNAL: &str = "journal";

/// The folder, as one process fills it.
pub(super) struct Store {
    folder: PathBuf,
    /// `1-of-16`.
    shard: String,
    columns: SweepColumns,
    journal: File,
    pending: Vec<RunRows>,
    /// The keys of all runs in the folder, sorted.
    done: Vec<u128>,
    next_file: u32,
}

impl Store {
    /// Opens or creates it; journals that no process writes any more become files.
    pub(super) fn open(folder: &Path, shard: &str, columns: SweepColumns) -> Result<Store, Failure> {
        fs::create_dir_all(folder).map_err(|error| outside(folder, &error))?;
        let path = folder.join(format!(".{shard}.{JOURNAL}"));
        let journal = locked(&path)?;
        let mut store = Store {
            folder: folder.to_owned(),
            shard: shard.to_owned(),
            columns,
            journal,
            pending: Vec::new(),
            done: Vec::new(),
            next_file: 1,
        };
        store.read_files()?;
        store.adopt(&path)?;
        Ok(store)
    }

    fn has(&self, key: u128) -> bool {
        self.done.binary_search(&key).is_ok()
    }

    /// The keys of all its runs, sorted: 16 bytes each.
    pub(super) fn take_keys(&mut self) -> Vec<u128> {
        std::mem::take(&mut self.done)
    }

    /// Adds a run.
    pub(super) fn add(&mut self, run: RunRows) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(&run).map_err(|error| Failure::Outside(error.to_string()))?;
        line.push(b'\n');
        self.journal.write_all(&line).map_err(|error| outside(&self.folder, &error))?;
        self.pending.push(run);
        if self.pending.len() >= RUNS_PER_FILE { self.flush() } else { Ok(()) }
    }

    /// Ends the work: what is left becomes a file, and the journal is removed.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        let path = self.folder.join(format!(".{}.{JOURNAL}", self.shard));
        fs::remove_file(&path).map_err(|error| outside(&path, &error))
    }

    /// Turns the journal's content into a file.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        if !self.pending.is_empty() {
            let mut runs = std::mem::take(&mut self.pending);
            self.write(&mut runs)?;
        }
        self.journal.set_len(0).map_err(|error| outside(&self.folder, &error))
    }

    fn write(&mut self, runs: &mut [RunRows]) -> Result<(), Failure> {
        // Similar rows are put together, whichever finished first.
        runs.sort_by_cached_key(RunRows::place);
        let name = format!("runs-{}-{:05}", self.shard, self.next_file);
        let (temporary, path) =
            (self.folder.join(format!(".{name}.part")), self.folder.join(format!("{name}.{PARQUET}")));
        let batch = self.columns.batch(runs).map_err(|error| Failure::Outside(error.to_string()))?;
        let failed = |error: parquet::errors::ParquetError| Failure::Outside(format!("{}: {error}", path.display()));
        let file = File::create(&temporary).map_err(|error| outside(&temporary, &error))?;
        let mut writer = ArrowWriter::try_new(file, self.columns.schema(), Some(properties())).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
        let file = writer.into_inner().map_err(failed)?;
        file.sync_all().map_err(|error| outside(&temporary, &error))?;
        fs::rename(&temporary, &path).map_err(|error| outside(&path, &error))?;
        self.next_file += 1;
        Ok(())
    }

    /// Reads the keys of every file, and the number of our next one.
    fn read_files(&mut self) -> Result<(), Failure> {
        let prefix = format!("runs-{}-", self.shard);
        for path in entries(&self.folder)? {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.extension().is_none_or(|end| end != PARQUET) {
                continue;
            }
            if let Some(nth) = name.strip_prefix(&prefix).and_then(|nth| nth.parse::<u32>().ok()) {
                self.next_file = self.next_file.max(nth + 1);
            }
            keys(&path, &mut self.done)?;
        }
        self.done.sort_unstable();
        self.done.dedup();
        Ok(())
    }

    /// Reads our own journal, and adopts those that no process writes any more.
    fn adopt(&mut self, own: &Path) -> Result<(), Failure> {
        let (runs, length) = lines(own, &mut self.journal)?;
        self.journal.set_len(length).map_err(|error| outside(own, &error))?;
        self.pending = self.without_known(runs);
        for path in entries(&self.folder)? {
            if path.extension().is_none_or(|end| end != JOURNAL) || path == own {
                continue;
            }
            let Ok(mut journal) = OpenOptions::new().read(true).append(true).open(&path) else { continue };
            if journal.try_lock().is_err() {
                continue;
            }
            let (runs, _) = lines(&path, &mut journal)?;
            let mut runs = self.without_known(runs);
            if !runs.is_empty() {
                self.write(&mut runs)?;
                journal.set_len(0).map_err(|error| outside(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Leaves out runs that are already in a file, and marks the others as known.
    fn without_known(&mut self, runs: Vec<RunRows>) -> Vec<RunRows> {
        let is_new = |run: &RunRows| key_of(&run.key).is_some_and(|key| !self.has(key));
        let runs: Vec<RunRows> = runs.into_iter().filter(is_new).collect();
        self.done.extend(runs.iter().filter_map(|run| key_of(&run.key)));
        self.done.sort_unstable();
        runs
    }
}

fn outside(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Outside(format!("{}: {error}", path.display()))
}

fn key_of(text: &str) -> Option<u128> {
    u128::from_str_radix(text, 16).ok()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| outside(folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort_unstable();
    Ok(paths)
}

/// Locks a journal for this process.
fn locked(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().read(true).append(true).create(true).open(path);
    let file = file.map_err(|error| outside(path, &error))?;
    const STEP: Duration = Duration::from_millis(100);
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(outside(path, &error)),
            Err(TryLockError::WouldBlock) if waited < PATIENCE => {
                std::thread::sleep(STEP);
                waited += STEP;
            }
            Err(TryLockError::WouldBlock) => {
                let problem = "another process writes this shard: expected one process for each shard";
                return Err(Failure::Outside(format!("{}: {problem}", path.display())));
            }
        }
    }
}

/// The complete lines of a journal, and their total length.
fn lines(path: &Path, journal: &mut File) -> Result<(Vec<RunRows>, u64), Failure> {
    let mut text = Vec::new();
    journal.rewind().and_then(|()| journal.read_to_end(&mut text)).map_err(|error| outside(path, &error))?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let runs = text[..whole].split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    Ok((runs.collect(), whole as u64))
}

/// Appends the keys of a Parquet file.
fn keys(path: &Path, keys: &mut Vec<u128>) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Outside(format!("{}: {error}; if it is removed, its runs are made again", path.display()))
    };
    let file = File::open(path).map_err(|error| outside(path, &error))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| failed(&error))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["key"]);
    let reader = builder.with_projection(mask).build().map_err(|error| failed(&error))?;
    for batch in reader {
        let batch = batch.map_err(|error| failed(&error))?;
        let column = batch.columns().first().and_then(|column| column.as_any().downcast_ref::<StringArray>());
        let column = column.ok_or_else(|| failed(&"it has no column `key`: expected a file of this program"))?;
        for key in column.iter().flatten().filter_map(key_of) {
            if keys.last() != Some(&key) {
                keys.push(key);
            }
        }
    }
    Ok(())
}
