//! The names that a question contains, and where they lead. This crate opens no file: texts, bytes and readers are
//! handed in by the caller.

use std::collections::BTreeMap;

use blksched_disks::DiskSpec;
use blksched_simulate::recording::Named;
use blksched_workloads::replay::KEPT_IN_MEMORY;

use crate::error::Error;
use crate::guess::Facts;
use crate::scene::Word;

/// What names lead to. Every method has a default that knows what is built in and no file.
pub trait Files {
    /// The names of a load, with patterns replaced by what they match.
    ///
    /// # Errors
    /// If a pattern matches nothing.
    fn expanded(&self, names: &[String]) -> Result<Vec<String>, Error> {
        Ok(names.to_vec())
    }

    /// What one name of a load means; `typed`: whether a job file was given as text besides.
    ///
    /// # Errors
    /// If it means nothing, with the nearest name that does.
    fn word(&self, name: &str, typed: bool) -> Result<Word, Error> {
        Word::builtin(name).unwrap_or_else(|| Err(Word::unknown(name, typed)))
    }

    /// The text of a file that another text names, as job files include others.
    ///
    /// # Errors
    /// If it cannot be read; the caller adds the name and the place.
    fn text(&self, name: &str) -> Result<String, String> {
        Err(format!("there is no file `{name}`"))
    }

    /// The parts of a recorded trace, named for messages: one, or one per CPU in the order of their numbers.
    ///
    /// # Errors
    /// If one cannot be opened.
    fn open(&self, trace: &str) -> Result<Vec<Named>, String> {
        Err(format!("{trace}: there is no such file"))
    }

    /// A disk by its name.
    ///
    /// # Errors
    /// If there is none, or its description is wrong: file, line, column, and what was expected.
    fn disk(&self, name: &str) -> Result<DiskSpec, Error> {
        blksched_disks::builtin(name).map_err(Error::Disk)
    }

    /// What this machine knows of its own block device, such as `sda` or `/dev/disk/by-id/…`; `None` if it has none of
    /// that name.
    fn device(&self, _name: &str) -> Option<Facts> {
        None
    }

    /// What this machine's block device of this name lies on, if it is stacked: itself and all stacked devices below
    /// it, each with its members in the words of `--disk`; `None` if it is not, or there is no such device.
    ///
    /// # Errors
    /// If the kernel says too little of one, or it is of no known kind.
    fn stack(&self, _name: &str) -> Option<Result<Vec<(String, String)>, String>> {
        None
    }

    /// What earlier predictions on this very disk came to, as a phrase; `None` if nothing is known.
    fn validated(&self, _disk: &str) -> Option<String> {
        None
    }

    /// Variables that job files may use, as in `${NAME}`.
    fn variables(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// How much of a trace stays in memory \[bytes\]; what is beyond lies in a temporary file.
    fn trace_memory(&self) -> u64 {
        KEPT_IN_MEMORY
    }
}

/// Only what is built in.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {}
