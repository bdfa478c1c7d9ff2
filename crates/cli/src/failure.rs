//! Failures, and their exit codes.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use blksched_lab::Error;
use blksched_workloads::fio::Style;

use crate::output::{Paint, paint, warn};

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input was not understood; the text says where and what was expected.
    Input(String),
    /// The same, laid out with excerpts of the input, which already say that they are errors.
    Excerpts(String),
    /// Something outside failed.
    Outside(String),
    /// A command that was run for the user ended with this code, and has printed why.
    #[cfg_attr(not(all(feature = "serve", target_os = "linux")), allow(dead_code))]
    Command(u8),
    /// The reader of our output has closed it, so there is no one to tell.
    NobodyReads,
}

impl Failure {
    pub(crate) fn input(text: impl ToString) -> Failure {
        Failure::Input(text.to_string())
    }

    /// The message, without colours.
    #[cfg(feature = "sweep")]
    pub(crate) fn text(&self) -> String {
        match self {
            Failure::Input(text) | Failure::Excerpts(text) | Failure::Outside(text) => {
                anstream::adapter::strip_str(text).to_string()
            }
            Failure::Command(code) => format!("a command ended with code {code}"),
            Failure::NobodyReads => "the reader of the output has gone".to_owned(),
        }
    }

    /// Prints the message, and returns its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        ExitCode::from(self.print())
    }

    /// Prints the message, and returns the exit code as a number.
    pub(crate) fn print(&self) -> u8 {
        let (text, code) = match self {
            Failure::Input(text) => (format!("{} {text}", paint("error:", Paint::Red)), 2),
            Failure::Excerpts(text) => (text.clone(), 2),
            Failure::Outside(text) => (format!("{} {text}", paint("error:", Paint::Red)), 1),
            Failure::Command(code) => return *code,
            Failure::NobodyReads => return 0,
        };
        warn(&text);
        code
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Jobs(errors) => Failure::Excerpts(errors.render(style())),
            Error::Interrupted(text) | Error::Outside(text) => Failure::Outside(text),
            other => Failure::Input(other.to_string()),
        }
    }
}

/// How excerpts of job files look.
pub(crate) fn style() -> Style {
    if io::stderr().is_terminal() { Style::Coloured } else { Style::Plain }
}

/// An error of our own output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Outside(format!("standard output: {error}")),
        }
    }
}
