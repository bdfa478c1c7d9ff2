//! A disk model as a file that takes as long as the model says, by the wall clock: behind FUSE, in this process.
//!
//! It stores nothing unless it is given a file for it: reads return zeros. A loop device over it is a disk with a real
//! kernel in front ([`LoopDevice`]).
//!
//! [`LoopDevice`]: crate::loop_device::LoopDevice

mod clock;
pub mod file;
mod thread;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use blksched_disks::DiskSpec;
use fuser::{BackgroundSession, Config, MountOption};

use crate::Verdict;
use crate::shell;
use clock::Clock;
pub use clock::Lateness;
use file::{DiskFile, NAME, Reply};
pub use thread::real_time;

/// The mounted file; unmounted when dropped.
pub struct TimedDisk {
    folder: PathBuf,
    clock: Arc<Clock<Reply>>,
    session: Option<BackgroundSession>,
}

impl TimedDisk {
    /// Mounts it in `folder`.
    pub fn mount(spec: &DiskSpec, folder: &Path) -> Result<TimedDisk> {
        TimedDisk::mount_over(spec, folder, None)
    }

    /// The same, with what it stores in this file.
    pub fn mount_over(spec: &DiskSpec, folder: &Path, contents: Option<fs::File>) -> Result<TimedDisk> {
        fs::create_dir_all(folder)?;
        let own = folder.to_owned();
        let spec = spec.clone();
        // Threads inherit their class, and I/O priority may depend on it: only the disk's own threads get it.
        let mounting = std::thread::spawn(move || {
            thread::hurry();
            let clock = Arc::new(Clock::start(&spec)?);
            let mut config = Config::default();
            config.mount_options = vec![MountOption::FSName("blksched-timed-disk".to_owned())];
            let file = DiskFile::new(clock.clone(), contents);
            let session = fuser::spawn_mount(file, &own, &config).context("mounting the disk's file")?;
            Ok(TimedDisk { folder: own, clock, session: Some(session) })
        });
        mounting.join().unwrap_or_else(|_| Err(anyhow!("the disk's thread failed")))
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// How late its completions have been so far.
    pub fn late(&self) -> Lateness {
        self.clock.late()
    }
}

impl Drop for TimedDisk {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.session.take().map(BackgroundSession::umount_and_join) {
            eprintln!("the disk stays mounted at {}: {error}", self.folder.display());
        }
    }
}

/// What this machine lacks for it.
pub fn missing() -> Option<String> {
    match () {
        () if !shell::is_root() => Some("only root can mount it and make a loop device".to_owned()),
        () if !Path::new("/dev/fuse").exists() => Some("no FUSE here (/dev/fuse)".to_owned()),
        () => None,
    }
}

/// `timed-disk`: mounts, runs a command, unmounts.
///
/// # Errors
/// If there is no such disk, or it cannot be mounted.
pub fn run(disk: &str, command: &str) -> Result<Verdict> {
    if let Some(missing) = missing() {
        println!("skipped: {missing}");
        return Ok(Verdict::Good);
    }
    let spec = blksched_disks::load(disk)?;
    let folder = shell::target().join(format!("xtask/timed-disk-{}", std::process::id()));
    let mounted = TimedDisk::mount(&spec, &folder)?;
    let status = Command::new("sh").args(["-c", command]).env("file", mounted.path()).status()?;
    let Lateness { commands, sum, most } = mounted.late();
    let mean = sum.as_secs_f64() / commands.max(1) as f64;
    println!("{commands} commands; answers {:.0} us late on average, {most:.1?} at most", mean * 1e6);
    drop(mounted);
    fs::remove_dir(&folder).ok();
    Ok(Verdict::when(status.success()))
}
