//! Running other programs, and where things are.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, anyhow};

/// The repository's root folder: the one with the lock file.
pub fn root() -> PathBuf {
    // `cargo run` gives the present path of the package; the build's path may have moved since.
    let package = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.map_or_else(|| package.clone(), Path::to_path_buf)
}

/// The directory in which cargo builds; everything that this package writes by itself goes below it.
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

/// The result of a command.
pub struct Finished {
    /// Whether it exited with 0.
    pub good: bool,
    /// Standard output and standard error, in the order in which they were written.
    pub output: String,
}

/// The time limit of a command: one that takes longer has hung.
const LONGEST: Duration = Duration::from_secs(40 * 60);
/// How often a running command is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Runs it to the end and keeps its output. A hung command is killed after 40 minutes.
///
/// # Errors
/// If it cannot be started.
pub fn capture(command: Command) -> Result<Finished> {
    capture_within(command, LONGEST)
}

/// Like [`capture`], with its own limit. A command beyond it is killed with everything that it started; the last line
/// of its output says so.
///
/// Its output goes through a file: a leftover process keeps the file open without delaying us, as the end of a pipe
/// would.
///
/// # Errors
/// If it cannot be started.
pub fn capture_within(mut command: Command, limit: Duration) -> Result<Finished> {
    let (path, file) = log_of_its_own()?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let spawned = command.spawn().inspect_err(|_| drop(fs::remove_file(&path)));
    let mut child = spawned.with_context(|| format!("starting {}", shown(&command)))?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if begun.elapsed() >= limit => break None,
            None => std::thread::sleep(LOOK),
        }
    };
    if status.is_none() {
        kill_family(child.id());
        child.wait()?;
    }
    let mut output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    fs::remove_file(&path)?;
    if status.is_none() {
        let _ = writeln!(output, "\n{} had not ended after {} s and was killed", shown(&command), limit.as_secs());
    }
    Ok(Finished { good: status.is_some_and(|status| status.success()), output })
}

/// An empty file below the target folder that no other command of this process writes.
fn log_of_its_own() -> Result<(PathBuf, fs::File)> {
    static COMMANDS: AtomicU64 = AtomicU64::new(0);
    let folder = target().join("xtask");
    fs::create_dir_all(&folder)?;
    let nth = COMMANDS.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("output-{}-{nth}.log", std::process::id()));
    let file = fs::File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    Ok((path, file))
}

/// Kills a process, everything that it started, and so on.
fn kill_family(eldest: u32) {
    let mut family = vec![eldest];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(children(parent));
        next += 1;
    }
    let numbers = family.iter().map(u32::to_string);
    // Some may have ended by themselves meanwhile.
    let _ = Command::new("kill").arg("-KILL").args(numbers).stderr(Stdio::null()).status();
}

/// A process's children, of any of its threads. Empty where there is no `/proc`.
fn children(parent: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{parent}/task")) else { return vec![] };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Runs it to the end with our own terminal.
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

/// Whether this process runs as root.
#[cfg(unix)]
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// The processor time so far of this process and of all that it started and waited for \[s\]; 0 where there is no
/// `/proc`.
pub fn processor_seconds() -> f64 {
    fs::read_to_string("/proc/self/stat").ok().and_then(|stat| in_stat(&stat)).unwrap_or(0.0)
}

/// Of the four times: own and children's, in programs and in the kernel, by the clock of a hundred ticks.
fn in_stat(stat: &str) -> Option<f64> {
    // The program's name stands in parentheses and may contain anything.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = words.get(11..15)?.iter().map(|word| word.parse::<u64>());
    Some(ticks.sum::<Result<u64, _>>().ok()? as f64 / 100.0)
}

/// A command as typed.
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
    fn what_hangs_is_killed_with_its_children_and_what_it_left_behind_keeps_nobody_waiting() {
        let script = "echo before; sleep 600 & echo $! > \"$0\"; sh -c 'sleep 600; true'";
        let child = target().join(format!("xtask/child-{}", std::process::id()));
        fs::create_dir_all(child.parent().unwrap()).unwrap();
        let path = child.display().to_string();
        let finished = capture_within(command("sh", &["-c", script, &path]), Duration::from_secs(1)).unwrap();
        assert!(!finished.good);
        assert!(finished.output.starts_with("before\n") && finished.output.contains("had not ended after 1 s"));
        let number = fs::read_to_string(&child).unwrap();
        fs::remove_file(child).unwrap();
        // They have been killed; on a busy machine it takes a moment until they are gone.
        let end = Instant::now() + Duration::from_secs(60);
        while is_running(number.trim()) {
            assert!(Instant::now() < end, "its children are gone");
            std::thread::sleep(Duration::from_millis(10));
        }
        let finished = capture(command("sh", &["-c", "sleep 600 & echo $!"])).unwrap();
        assert!(finished.good);
        let left = finished.output.trim();
        assert!(is_running(left), "it runs on, and we are here");
        assert!(Command::new("kill").arg(left).status().unwrap().success());
    }

    fn is_running(number: &str) -> bool {
        fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn the_time_of_children_counts() {
        let stat = "42 (a (b) c) R 1 42 42 0 -1 4194304 100 0 0 0 10 20 300 4000 20 0 1 0 5 6 7";
        assert_eq!(in_stat(stat), Some(43.3));
        assert_eq!(in_stat("42 (a)"), None);
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
