//! The `blksched` command: the library's command line with the built-in elevators.

use std::process::ExitCode;

/// For the static program alone: other targets keep their C library's allocator.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    blksched_cli::main_with(&[])
}
