//! The cost of a command: the processor time of it and all its children, and its peak memory.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell;

/// How often a running command is checked.
const LOOK: Duration = Duration::from_millis(10);
/// Linux's unit of processor time, on any machine.
const TICKS_PER_SECOND: u64 = 100;

/// The cost of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// User's and kernel's processor time, exact to 10 ms.
    pub processor: Duration,
    /// Its peak memory \[bytes\], as last observed before the end.
    pub memory: u64,
}

impl Cost {
    /// Measures a command that must succeed within `limit`; its output is discarded.
    ///
    /// # Errors
    /// If it cannot be started, fails or takes longer, or this system does not report what processes take.
    pub fn of(mut command: Command, limit: Duration) -> Result<Cost> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (before, begun) = (of_children()?, Instant::now());
        let mut child = command.spawn().with_context(|| format!("starting {}", shell::shown(&command)))?;
        let mut memory = 0;
        let status = loop {
            memory = peak_of(child.id()).unwrap_or(0).max(memory);
            match child.try_wait()? {
                Some(status) => break status,
                None if begun.elapsed() > limit => {
                    child.kill()?;
                    child.wait()?;
                    bail!("{} had not ended after {} s", shell::shown(&command), limit.as_secs());
                }
                None => std::thread::sleep(LOOK),
            }
        };
        if !status.success() {
            bail!("{} ended with {status}", shell::shown(&command));
        }
        Ok(Cost { processor: of_children()?.saturating_sub(before), memory })
    }

    /// The time of one of this many things \[ns\].
    pub fn each(&self, things: u64) -> f64 {
        self.processor.as_nanos() as f64 / things as f64
    }
}

/// What a running process has taken so far, without its children.
///
/// # Errors
/// If it has ended, or this system does not report it.
pub fn so_far(process: u32) -> Result<Cost> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).context("it has ended")?;
    let processor = ticks(&text, OWN).map(of_ticks).context("/proc/PID/stat is not as proc(5) says")?;
    Ok(Cost { processor, memory: peak_of(process).unwrap_or(0) })
}

/// The processor time of all children that have ended, and of theirs.
fn of_children() -> Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat").context("this system has no /proc to read what processes take")?;
    ticks(&text, CHILDREN).map(of_ticks).context("/proc/self/stat is not as proc(5) says")
}

/// How many words are between a process's name, which is in brackets, and `utime`, which `stime` follows.
const OWN: usize = 11;
/// How many are before `cutime`, which `cstime` follows.
const CHILDREN: usize = 13;

/// The sum of two times.
fn ticks(stat: &str, before: usize) -> Option<u64> {
    let behind = stat.rsplit_once(')')?.1;
    let mut words = behind.split_whitespace().skip(before);
    Some(words.next()?.parse::<u64>().ok()? + words.next()?.parse::<u64>().ok()?)
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// A process's peak memory so far \[bytes\]; `None` once it has ended.
fn peak_of(process: u32) -> Option<u64> {
    high_water(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

/// Parses `VmHWM: 12345 kB`.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_memory_are_read_as_the_kernel_writes_them() {
        let stat = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 150 30 20 0 1";
        assert_eq!(ticks(stat, OWN).map(of_ticks), Some(Duration::from_millis(230)));
        assert_eq!(ticks(stat, CHILDREN).map(of_ticks), Some(Duration::from_millis(1800)));
        assert_eq!(ticks("12 a S 1", OWN), None);
        assert_eq!(high_water("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2 << 20));
        assert_eq!(high_water("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_command_that_works_costs_something_and_one_that_fails_or_hangs_is_an_error() {
        let script = |text: &str| shell::command("sh", &["-c", text]);
        let works = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let cost = Cost::of(script(works), Duration::from_secs(60)).unwrap();
        assert!(cost.processor > Duration::ZERO && cost.memory > 0, "{cost:?}");
        assert!(Cost::of(script("exit 3"), Duration::from_secs(60)).is_err());
        let error = Cost::of(script("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("had not ended"), "{error}");
    }
}
