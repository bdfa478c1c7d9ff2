//! A recorded trace's files: one, or one per CPU.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use blksched_simulate::recording::recording;
use blksched_workloads::replay::{Recording, Replay};

use crate::failure::Failure;

/// What blktrace puts between a trace's name and the number of a CPU.
const PER_CPU: &str = ".blktrace.";

/// A trace as it was said. What blktrace wrote CPU by CPU belongs together, whichever file of it was named: a process
/// moves from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trace {
    /// Its file, or what is before the CPU's number.
    name: String,
    said: String,
}

impl Trace {
    pub(super) fn of(name: &str, said: &str) -> Trace {
        Trace { name: stem(name).unwrap_or(name).to_owned(), said: said.to_owned() }
    }

    /// Is this a file of a trace with one per CPU, or what their names begin with?
    pub(super) fn is_one(name: &str) -> bool {
        !per_cpu(stem(name).unwrap_or(name)).is_empty()
    }

    /// Its files as one recording.
    pub(super) fn read(&self) -> Result<Recording, String> {
        let files = match per_cpu(&self.name) {
            none if none.is_empty() => vec![self.name.clone()],
            files => files,
        };
        let read = |name: String| match fs::read(&name) {
            Ok(bytes) => Ok((name, bytes)),
            Err(error) => Err(format!("{name}: {error}")),
        };
        recording(&files.into_iter().map(read).collect::<Result<Vec<_>, _>>()?)
    }

    pub(super) fn load(&self) -> Result<Replay, Failure> {
        let recording = self.read().map_err(Failure::Input)?;
        let name = Path::new(&self.name).file_name().map_or(self.name.clone().into(), |name| name.to_string_lossy());
        let replay = Replay::of(&name, &self.said, Arc::new(recording));
        replay.map_err(|problem| Failure::Input(format!("{}:{}: {problem}", self.name, self.said)))
    }
}

/// `x` of `x.blktrace.0`.
fn stem(name: &str) -> Option<&str> {
    let (stem, cpu) = name.rsplit_once(PER_CPU)?;
    cpu.parse::<u32>().ok().map(|_| stem)
}

/// The files of CPUs 0, 1, … of `stem`, as far as there are any. A CPU on which nothing happened has an empty one.
fn per_cpu(stem: &str) -> Vec<String> {
    let (folder, prefix) = match Path::new(stem).parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => (folder, Path::new(stem).file_name().unwrap_or_default().to_string_lossy()),
        None => (Path::new("."), stem.into()),
    };
    let cpu = |name: &str| name.strip_prefix(&*prefix)?.strip_prefix(PER_CPU)?.parse::<u32>().ok();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut cpus: Vec<u32> = entries.filter_map(|entry| cpu(entry.file_name().to_str()?)).collect();
    cpus.sort_unstable();
    cpus.into_iter().map(|cpu| format!("{stem}{PER_CPU}{cpu}")).collect()
}
