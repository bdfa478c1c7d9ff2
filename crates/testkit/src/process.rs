//! Processes of a test: none outlives its test, and none is waited for without an end.

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use crate::Folder;

/// Processes started by a test take seconds, or a minute or two on a busy machine. A process that takes this long hangs
/// and is killed, so that whatever waits for it, for its output or at its sockets stops waiting, and the test fails.
pub const LONGEST: Duration = Duration::from_secs(600);
/// A killed process ends within this time, unless it is stuck in the kernel; then it is left there.
const KILLED: Duration = Duration::from_secs(20);

/// A process that is killed when dropped, and in any case after [`LONGEST`].
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Its thread kills the process unless this is dropped first.
    _leash: Sender<()>,
}

impl Process {
    /// Starts it.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn spawn(command: &mut Command) -> Process {
        Process::started(command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Starts it, if it is here.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn started(command: &mut Command) -> std::io::Result<Process> {
        command.spawn().map(Process::of)
    }

    /// One that runs already.
    fn of(child: Child) -> Process {
        let number = child.id().to_string();
        Process { child, _leash: leash(number, LONGEST) }
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end within [`LONGEST`].
    pub fn end(&mut self) -> ExitStatus {
        self.end_within(LONGEST)
    }

    /// The same, with a time limit.
    ///
    /// # Panics
    /// If it does not end in time.
    pub fn end_within(&mut self, limit: Duration) -> ExitStatus {
        end_within(&mut self.child, limit).unwrap_or_else(|| panic!("process {} does not end", self.child.id()))
    }

    /// All its output, which must have been piped, up to its end.
    ///
    /// # Panics
    /// If it does not end within [`LONGEST`], or its output cannot be read.
    pub fn output(mut self) -> Output {
        use std::io::Read;
        let err = self.child.stderr.take();
        let err = spawn(move || {
            let mut bytes = Vec::new();
            err.map(|mut err| err.read_to_end(&mut bytes)).transpose().map(|_| bytes)
        });
        let mut stdout = Vec::new();
        if let Some(mut out) = self.child.stdout.take() {
            out.read_to_end(&mut stdout).unwrap();
        }
        Output { status: self.end(), stdout, stderr: err.join().unwrap().unwrap() }
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = end_within(&mut self.child, KILLED);
    }
}

/// Runs the command and everything that it starts: its output, and how it ended. What it has left running is then
/// killed.
///
/// Its output goes through files: a leftover process with a pipe would keep us waiting for the pipe's end.
///
/// # Errors
/// If it cannot be started, or its output not be read.
///
/// # Panics
/// If it does not end within [`LONGEST`].
pub fn output(command: &mut Command) -> std::io::Result<Output> {
    output_within(command, LONGEST)
}

/// The same, with a time limit.
///
/// # Errors
/// As [`output`].
///
/// # Panics
/// If it does not end in time.
pub fn output_within(command: &mut Command, limit: Duration) -> std::io::Result<Output> {
    let folder = Folder::new();
    let (out, err) = (File::create(folder.path("out"))?, File::create(folder.path("err"))?);
    let mut child = command.process_group(0).stdin(Stdio::null()).stdout(out).stderr(err).spawn()?;
    let ended = end_within(&mut child, limit);
    kill(&format!("-{}", child.id()));
    let status = ended.or_else(|| end_within(&mut child, KILLED));
    let (stdout, stderr) = (std::fs::read(folder.path("out"))?, std::fs::read(folder.path("err"))?);
    let said = || format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(ended.is_some(), "{command:?} did not end in {limit:?}; it said: {}", said());
    Ok(Output { status: status.unwrap(), stdout, stderr })
}

/// Runs it with our own output; returns how it ended.
///
/// # Errors
/// If it cannot be started.
///
/// # Panics
/// If it does not end within [`LONGEST`].
pub fn status(command: &mut Command) -> std::io::Result<ExitStatus> {
    Ok(Process::of(command.spawn()?).end())
}

/// How it ended; `None` if it has not by then.
fn end_within(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return Some(status),
            None if begun.elapsed() >= limit => return None,
            None => sleep(Duration::from_millis(2)),
        }
    }
}

/// Kills this process if the returned sender still exists after the limit.
fn leash(number: String, limit: Duration) -> Sender<()> {
    let (leash, gone) = channel();
    spawn(move || {
        if gone.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("process {number} has not ended in {limit:?} and is killed");
            kill(&number);
        }
    });
    leash
}

/// Kills a process, or a process group; nothing happens if it is gone.
fn kill(number: &str) {
    let _ = Command::new("kill").args(["-KILL", "--", number]).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut sh = Command::new("sh");
        sh.args(["-c", script]);
        sh
    }

    fn is_there(number: u32) -> bool {
        // One that nobody has waited for yet is there no more.
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let asked = Command::new("kill").args(["-0", &number.to_string()]).stderr(Stdio::null()).status();
        asked.unwrap().success() && !stat.contains(") Z ")
    }

    #[test]
    fn a_process_ends_with_its_test() {
        let process = Process::spawn(&mut sh("exec sleep 600"));
        let number = process.id();
        assert!(is_there(number));
        drop(process);
        assert!(!is_there(number), "it was waited for, so it is gone");
    }

    #[test]
    fn how_it_ended_and_what_it_said_is_told() {
        let mut said = sh("echo out; echo err >&2; exit 3");
        let output = Process::spawn(said.stdout(Stdio::piped()).stderr(Stdio::piped())).output();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        assert!(status(&mut sh("exit 0")).unwrap().success());
    }

    #[test]
    fn what_is_left_running_keeps_nobody_waiting_and_is_killed() {
        let output = output(&mut sh("sleep 600 & echo $!")).unwrap();
        let number = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while is_there(number) {
            assert!(Instant::now() < end, "process {number} is still there");
            sleep(Duration::from_millis(5));
        }
    }

    #[test]
    #[should_panic(expected = "did not end in")]
    fn one_that_hangs_is_killed_and_fails_the_test() {
        let _ = output_within(&mut sh("sleep 600"), Duration::from_millis(50));
    }
}
