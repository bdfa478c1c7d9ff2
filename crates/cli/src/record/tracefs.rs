//! A separate instance of the kernel's tracing: created, enabled, read, removed.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use blksched_traces::machine::Machine;

/// The events that a replay needs.
pub(super) const EVENTS: [&str; 6] =
    ["block_bio_queue", "block_rq_insert", "block_rq_issue", "block_rq_merge", "block_rq_requeue", "block_rq_complete"];
/// What is needed beside those where a recorded device is a stacked one: which bio is a part of which, and the end of a
/// bio of a device without requests.
pub(super) const NESTED: [&str; 2] = ["block_bio_remap", "block_bio_complete"];
/// The usual mount point of tracefs.
const MOUNTED: &str = "/sys/kernel/tracing";
/// `O_NONBLOCK` of Linux (x86, Arm, RISC-V, POWER; MIPS and SPARC have other numbers).
const NONBLOCK: i32 = 0o4000;

/// The events to record of these devices.
pub(super) fn events(machine: &Machine) -> Vec<&'static str> {
    let is_stacked = machine.devices.values().any(|device| device.word("stack").is_some());
    EVENTS.into_iter().chain(NESTED.into_iter().filter(|_| is_stacked)).collect()
}

/// A tracefs instance, removed when this is dropped.
pub(crate) struct Instance {
    folder: PathBuf,
}

impl Instance {
    /// Makes a new instance, turned off.
    pub fn open(buffer_mib: u32, machine: &Machine, events: &[&str]) -> Result<Instance, String> {
        let tracefs = mounted()?;
        let folder = tracefs.join("instances").join(name(std::process::id()));
        fs::create_dir(&folder).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => "recording needs root (`--print` shows the commands)".to_owned(),
            _ => format!("{}: {error}", folder.display()),
        })?;
        let instance = Instance { folder };
        instance.write("tracing_on", "0")?;
        instance.write("buffer_size_kb", &(u64::from(buffer_mib) << 10).to_string())?;
        instance.write("trace_clock", "mono")?;
        let numbers: Vec<_> = machine.devices.keys().copied().collect();
        for event in events {
            instance.write(&format!("events/block/{event}/filter"), &filter(&numbers))?;
            instance.write(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(instance)
    }

    fn write(&self, file: &str, what: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        let mut open =
            OpenOptions::new().write(true).open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        open.write_all(what.as_bytes()).map_err(|error| format!("{} = {what}: {error}", path.display()))
    }

    pub fn turn(&self, on: bool) -> Result<(), String> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// The recorded events, to be read as they come.
    pub fn pipe(&self) -> Result<File, String> {
        let path = self.folder.join("trace_pipe");
        let open = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(&path);
        open.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// How many events did not fit into the kernel's buffers.
    pub fn lost(&self) -> u64 {
        let cpus = fs::read_dir(self.folder.join("per_cpu")).into_iter().flatten().flatten();
        let stats = cpus.filter_map(|cpu| fs::read_to_string(cpu.path().join("stats")).ok());
        let of = |text: &str, name: &str| -> u64 {
            let value =
                text.lines().find_map(|line| line.strip_prefix(name)?.trim_start_matches(':').trim().parse().ok());
            value.unwrap_or(0)
        };
        stats.map(|text| of(&text, "overrun") + of(&text, "dropped events")).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The instance's files are the kernel's: removing the directory is enough. If this fails, the next attempt to
        // record reports it.
        drop(self.turn(false));
        drop(fs::remove_dir(&self.folder));
    }
}

/// What the instance of this process is called.
fn name(process: u32) -> String {
    format!("blksched-{process}")
}

/// Removes the instance of a process that was killed, if there is one; for a moment that process may still read it.
pub(crate) fn remove_of(process: u32) {
    for tracefs in [MOUNTED, "/sys/kernel/debug/tracing"] {
        let folder = Path::new(tracefs).join("instances").join(name(process));
        for _ in 0..40 {
            if !folder.exists() || fs::remove_dir(&folder).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Whether this process may trace; why not.
pub(crate) fn available() -> Result<(), String> {
    let instances = mounted()?.join("instances");
    let probe = instances.join(format!("{}-probe", name(std::process::id())));
    match fs::create_dir(&probe) {
        Ok(()) => fs::remove_dir(&probe).map_err(|error| format!("{}: {error}", probe.display())),
        Err(error) => Err(format!("{}: {error}", instances.display())),
    }
}

/// tracefs's directory; tracefs is mounted if it was not yet.
fn mounted() -> Result<PathBuf, String> {
    let is_there = |path: &Path| path.join("instances").is_dir();
    for path in [MOUNTED, "/sys/kernel/debug/tracing"].map(Path::new) {
        if is_there(path) {
            return Ok(path.to_owned());
        }
    }
    let done = Command::new("mount").args(["-t", "tracefs", "nodev", MOUNTED]).output();
    let path = Path::new(MOUNTED);
    match done {
        Ok(_) if is_there(path) => Ok(path.to_owned()),
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().trim().to_owned();
            Err(format!(
                "{MOUNTED}: no tracefs there, and mounting it failed ({why}); recording needs root and a kernel with \
                         CONFIG_FTRACE"
            ))
        }
        Err(error) => Err(format!("mount: {error}")),
    }
}

/// A filter for these devices.
fn filter(devices: &[(u32, u32)]) -> String {
    let each: Vec<String> = devices.iter().map(|(major, minor)| format!("dev == {}", major << 20 | minor)).collect();
    each.join(" || ")
}

/// Copies everything that is now in the kernel's buffers; returns the number of bytes.
pub(crate) fn drain(pipe: &mut File, out: &mut impl Write) -> Result<u64, String> {
    let (mut buffer, mut bytes) = (vec![0; 64 << 10], 0);
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(read) => {
                out.write_all(&buffer[..read]).map_err(|error| format!("writing the trace: {error}"))?;
                bytes += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(bytes),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("trace_pipe: {error}")),
        }
    }
}
