//! What went wrong, and the exit code it ends with.

use std::io;
use std::process::ExitCode;

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input was not understood; the text says where and what was expected.
    Input(String),
    /// Something outside failed.
    Outside(String),
    /// A command that was run for the user ended with this code; it has said why itself.
    #[cfg_attr(not(all(feature = "serve", target_os = "linux")), allow(dead_code))]
    Command(u8),
    /// Whoever read our output has gone: nobody is left to tell.
    NobodyReads,
}

impl Failure {
    pub(crate) fn input(text: impl ToString) -> Failure {
        Failure::Input(text.to_string())
    }

    /// Say it, and end with its code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Input(text) => {
                let prefix = if text.trim_start_matches("\u{1b}[").contains("error") { "" } else { "error: " };
                anstream::eprintln!("{prefix}{text}");
                ExitCode::from(2)
            }
            Failure::Outside(text) => {
                anstream::eprintln!("error: {text}");
                ExitCode::from(1)
            }
            Failure::Command(code) => ExitCode::from(*code),
            Failure::NobodyReads => ExitCode::SUCCESS,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Outside(error.to_string()),
        }
    }
}
