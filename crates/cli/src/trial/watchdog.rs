//! Gives everything back when the trial itself cannot: a process of its own, which waits until the trial has ended.
//!
//! **Rule** The trial holds the only other end of this process's standard input, which the kernel closes however the
//! trial ends. A journal that is still there then says that nothing was given back.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use blksched_lab::live::Saved;

use super::journal::Journal;
use super::machine::QueueFiles;
use crate::failure::Failure;
use crate::output;

/// The process.
pub(super) struct Watchdog(Child);

/// Starts it, in a process group of its own: Ctrl-C is not meant for it.
pub(super) fn start(journal: &Path) -> Result<Watchdog, Failure> {
    let outside = |error: std::io::Error| Failure::Outside(format!("the process that watches over the trial: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(outside)?);
    command.args(["trial", "--watchdog"]).arg(journal).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(outside)?;
    // It is ready when it has said so: signals no longer end it.
    let mut ready = [0];
    child.stdout.take().map_or(Ok(()), |mut said| said.read_exact(&mut ready)).map_err(outside)?;
    Ok(Watchdog(child))
}

impl Watchdog {
    /// The trial is over; what it has given back is not given back twice.
    pub fn end(mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

/// Waits for the trial's end.
pub(super) fn wait(journal: &Path) -> Result<(), Failure> {
    let (_ignored, trial) = (super::machine::signals(), std::os::unix::process::parent_id());
    output::print(".")?;
    let mut nothing = Vec::new();
    // Whatever ends the reading, the trial is over.
    drop(std::io::stdin().read_to_end(&mut nothing));
    crate::record::tracefs::remove_of(trial);
    // It may be another trial's, because of which this one has refused to begin.
    let is_its_own = |journal: Option<Journal>| journal.is_none_or(|journal| journal.process == trial);
    if journal.exists() && Journal::read(journal).is_ok_and(is_its_own) {
        restore(journal)?;
    }
    Ok(())
}

/// Gives back what one journal says; its disk.
fn restore(path: &Path) -> Result<String, Failure> {
    let journal = Journal::read(path)?;
    let said = match &journal {
        None => format!("{}: cut off before anything was changed", path.display()),
        Some(journal) => {
            crate::record::tracefs::remove_of(journal.process);
            let mut files = QueueFiles::of(&journal.disk);
            journal.saved.put(&mut files, None).map_err(|why| Failure::Outside(format!("{}: {why}", journal.disk)))?;
            let scheduler = Saved::read(&mut files).map_err(Failure::Outside)?.scheduler().to_owned();
            format!("{}: {scheduler} and its settings are as they were before the trial", journal.disk)
        }
    };
    fs::remove_file(path).map_err(|error| Failure::Outside(format!("{}: {error}", path.display())))?;
    Ok(said)
}

/// `--restore`: of this disk, or of all that have a journal.
pub(super) fn restore_all(folder: &Path, disk: Option<&str>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of = |path: &Path| Some(path.file_name()?.to_str()?.strip_prefix("trial-")?.to_owned());
    let mut all: Vec<_> =
        // Of an array's journal any of its members.
        entries.filter(|path| of(path).is_some_and(|name| disk.is_none_or(|disk| is_about(&name, disk)))).collect();
    all.sort();
    if all.is_empty() {
        return Ok(output::print(&format!("{}: no trial was cut off, nothing to give back\n", folder.display()))?);
    }
    let mut failed = Vec::new();
    for path in all {
        let running = Journal::read(&path)?.is_some_and(|journal| is_running(journal.process));
        let done = match running {
            true => Err(Failure::Input(format!("{}: that trial is still running: end it by Ctrl-C", path.display()))),
            false => restore(&path),
        };
        match done {
            Ok(said) => output::print(&format!("{said}\n"))?,
            Err(failure) => failed.push(failure),
        }
    }
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Whether a journal of this name is about this disk, or about all of these.
fn is_about(name: &str, asked: &str) -> bool {
    asked.split(',').all(|disk| name.split(',').any(|own| own == crate::record::machine::name_of(disk.trim())))
}

/// Whether this process is one of ours.
fn is_running(process: u32) -> bool {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).any(|word| word == b"trial")
}
