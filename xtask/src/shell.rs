//! Running other programs, and where things are.

use std::env;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow};

/// The repository's root folder.
pub fn root() -> PathBuf {
    // `cargo run` says where this package is now; the path of the build may have moved since.
    let package = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// The folder that cargo builds in; everything this package writes on its own account goes below it.
pub fn target() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// A command in the repository's root.
pub fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// The cargo that runs us, in the repository's root.
pub fn cargo(arguments: &[&str]) -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
}

/// What a command left behind.
pub struct Finished {
    /// Whether it exited with 0.
    pub good: bool,
    /// Standard output and standard error, in the order in which they were written.
    pub output: String,
}

/// Run to the end and keep what it prints.
///
/// # Errors
/// If it cannot be started.
pub fn capture(mut command: Command) -> Result<Finished> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("starting {}", shown(&command)))?;
    // The command still holds the pipe's other end: without this, reading would never end.
    drop(command);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let good = child.wait()?.success();
    Ok(Finished { good, output: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Run to the end with our own terminal.
///
/// # Errors
/// If it cannot be started or does not exit with 0.
pub fn attached(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", shown(&command)))?;
    if status.success() { Ok(()) } else { Err(anyhow!("{} ended with {status}", shown(&command))) }
}

/// The program of that name on the search path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Whoever owns this process is root.
#[cfg(unix)]
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// A command as one would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_are_kept_in_order() {
        let finished = capture(command("sh", &["-c", "echo one; echo two >&2; echo three; exit 3"])).unwrap();
        assert!(!finished.good);
        assert_eq!(finished.output, "one\ntwo\nthree\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = capture(command("no-such-program", &["--version"])).err().unwrap();
        assert!(format!("{error:#}").contains("no-such-program --version"), "{error:#}");
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").is_file());
        assert!(root().join("xtask/Cargo.toml").is_file());
    }
}
