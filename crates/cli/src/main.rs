//! The `blksched` command: the library's command line with the built-in elevators.

use std::process::ExitCode;

fn main() -> ExitCode {
    blksched_cli::main_with(&[])
}
