//! The command line in this process: what its words print, without a program to start.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Output};

/// What these words print into a pipe of this width, and their exit code.
pub fn printed(words: &[&str], columns: u16) -> Output {
    let (code, stdout, stderr) = blksched_cli::printed(words, columns);
    Output {
        status: ExitStatus::from_raw(i32::from(code) << 8),
        stdout: stdout.into_bytes(),
        stderr: stderr.into_bytes(),
    }
}
