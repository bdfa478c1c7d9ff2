//! The disks beneath a path, their queues, and their other users.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use blksched_workloads::host::fs::{FsKind, FsMount};

use super::ValidateArguments;
use super::mounted::{self, Mounted};
use crate::failure::Failure;

/// Whether others use the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A device that is not mounted, nor are its partitions.
    Alone,
    /// A file system, or a partition beside others.
    Shared,
}

/// The file, folder or device that a job runs on.
#[derive(Debug)]
pub(super) struct JobTarget {
    pub path: PathBuf,
    /// Its length \[bytes\]; `None` for a file that does not exist yet.
    pub bytes: Option<u64>,
    pub is_device: bool,
    pub is_folder: bool,
    pub used: Use,
    /// The names of the disks beneath.
    pub disks: Vec<String>,
    /// `/sys/block/…/queue` of the only disk beneath.
    pub queue: Option<PathBuf>,
}

/// The directory below `/sys` of a block device by its number; for a partition, its disk's.
fn of_number(number: u64) -> Option<PathBuf> {
    let major = (number >> 8 & 0xfff) | (number >> 32 & !0xfff);
    let minor = (number & 0xff) | (number >> 12 & !0xff);
    let own = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if own.join("partition").exists() { own.parent().map(Path::to_path_buf) } else { Some(own) }
}

fn name(sys: &Path) -> String {
    sys.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The devices beneath a stacked one (dm, md), or the device itself.
fn bottoms(sys: &Path, found: &mut Vec<PathBuf>) {
    let slaves = entries(&sys.join("slaves"));
    if slaves.is_empty() {
        found.push(sys.to_path_buf());
    }
    for slave in slaves {
        let Ok(slave) = fs::canonicalize(slave) else { continue };
        let disk = if slave.join("partition").exists() {
            slave.parent().map_or(slave.clone(), Path::to_path_buf)
        } else {
            slave
        };
        bottoms(&disk, found);
    }
}

impl JobTarget {
    /// Whether it exists.
    pub(super) fn is_there(&self) -> bool {
        self.bytes.is_some() || self.is_folder || self.is_device
    }

    /// # Errors
    /// If it is no file and no block device.
    pub fn inspect(path: &Path) -> Result<JobTarget, Failure> {
        let wrong = |error: std::io::Error| Failure::Input(format!("--on {}: {error}", path.display()));
        let (there, number) = match fs::metadata(path) {
            Ok(there) if there.file_type().is_block_device() => (Some(true), there.rdev()),
            Ok(there) if there.is_file() || there.is_dir() => (Some(false), there.dev()),
            Ok(_) => {
                let expected = "expected a file, a folder or a block device";
                return Err(Failure::Input(format!("--on {}: {expected}", path.display())));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                (None, fs::metadata(folder).map_err(wrong)?.dev())
            }
            Err(error) => return Err(wrong(error)),
        };
        let is_device = there == Some(true);
        let sys = of_number(number);
        let mut disks = Vec::new();
        sys.iter().for_each(|sys| bottoms(sys, &mut disks));
        disks.sort();
        disks.dedup();
        let is_folder = path.is_dir();
        let bytes = match (is_device, there.filter(|_| !is_folder)) {
            (true, _) => {
                let own = own_sys(number);
                let sectors = own.and_then(|own| fs::read_to_string(own.join("size")).ok());
                sectors.and_then(|sectors| sectors.trim().parse::<u64>().ok()).map(|sectors| sectors * 512)
            }
            (false, Some(_)) => fs::metadata(path).ok().map(|there| there.len()),
            (false, None) => None,
        };
        let is_whole = own_sys(number).is_some_and(|own| !own.join("partition").exists());
        let used = if is_device && is_whole { Use::Alone } else { Use::Shared };
        let queue = match disks.as_slice() {
            [only] => Some(only.join("queue")).filter(|queue| queue.is_dir()),
            _ => None,
        };
        let disks = disks.iter().map(|disk| name(disk)).collect();
        Ok(JobTarget { path: path.to_path_buf(), bytes, is_device, is_folder, used, disks, queue })
    }

    /// The file system that it is on, if it is no device: what was said, or else what is mounted there.
    pub fn file_system(&self, said: Option<FsMount>) -> Result<Mounted, Failure> {
        let on = self.path.display();
        let given = |fs: FsMount| Mounted { fs, notes: Vec::new() };
        match (said, self.is_device) {
            (Some(fs), true) if fs != FsKind::None => {
                Err(Failure::Input(format!("--fs {fs}: --on {on} is a raw device, below any file system")))
            }
            (_, true) => Ok(given(FsKind::None.into())),
            (Some(fs), false) => Ok(given(fs)),
            (None, false) => {
                let whole = |path: &Path| fs::canonicalize(path);
                let parent = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let path = whole(&self.path).or_else(|_| whole(parent.unwrap_or(Path::new("."))));
                let path = path.map_err(|error| Failure::Input(format!("--on {on}: {error}")))?;
                let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
                mounted::of(&path, &mounts).map_err(|why| Failure::Input(format!("--on {on}: {why}")))
            }
        }
    }

    /// Refuses a device that is in use.
    pub fn refuse(&self, arguments: &ValidateArguments) -> Result<(), Failure> {
        if !self.is_device {
            return match self.bytes {
                None if !arguments.destroy && !self.is_folder => {
                    let what = format!("--on {}: there is no such file", self.path.display());
                    Err(Failure::Input(format!("{what}; with --destroy fio creates it")))
                }
                _ => Ok(()),
            };
        }
        let number = fs::metadata(&self.path).map(|there| there.rdev()).unwrap_or_default();
        if let Some(why) = in_use(number) {
            return Err(Failure::Input(format!("--on {}: {why}", self.path.display())));
        }
        Ok(())
    }

    /// Refuses a folder whose file system has too little space for these files \[bytes\].
    ///
    /// # Errors
    /// That it has too little, in MiB; a file system that does not say how much it has is not asked further.
    pub fn has_space(&self, bytes: u64) -> Result<(), Failure> {
        let Ok(there) = rustix::fs::statvfs(&self.path) else { return Ok(()) };
        let free = there.f_bavail.saturating_mul(there.f_frsize);
        if bytes <= free {
            return Ok(());
        }
        let (needed, free) = (in_mib(bytes), free >> 20);
        let what = format!("--on {}: the job's files need {needed}, and {free} MiB are free", self.path.display());
        Err(Failure::Input(format!("{what}: expected a folder with more space, or a smaller size= in the job")))
    }

    fn words(&self) -> Vec<String> {
        let read = self.queue.as_ref().and_then(|queue| fs::read_to_string(queue.join("scheduler")).ok());
        read.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// The schedulers that sysfs lists.
    pub fn schedulers(&self) -> Vec<String> {
        self.words().iter().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
    }

    /// The scheduler in use.
    pub fn current(&self) -> Option<String> {
        let own = |word: &String| word.strip_prefix('[')?.strip_suffix(']').map(str::to_owned);
        self.words().iter().find_map(own)
    }

    pub fn may_change(&self) -> bool {
        let file = self.queue.as_ref().map(|queue| queue.join("scheduler"));
        file.is_some_and(|file| fs::OpenOptions::new().write(true).open(file).is_ok())
    }

    pub fn number(&self, knob: &str) -> Option<u32> {
        fs::read_to_string(self.queue.as_ref()?.join(knob)).ok()?.trim().parse().ok()
    }

    /// How many commands the device accepts, if sysfs says.
    pub fn tags(&self) -> Option<u32> {
        let depth = self.queue.as_ref()?.parent()?.join("device/queue_depth");
        fs::read_to_string(depth).ok()?.trim().parse().ok()
    }
}

/// An amount of data, as people say it.
pub(super) fn in_mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn own_sys(number: u64) -> Option<PathBuf> {
    let major = (number >> 8 & 0xfff) | (number >> 32 & !0xfff);
    let minor = (number & 0xff) | (number >> 12 & !0xff);
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()
}

/// What uses a device or a part of it; `None` if nothing does.
fn in_use(number: u64) -> Option<String> {
    let own = own_sys(number)?;
    let parts = entries(&own).into_iter().filter(|entry| entry.join("partition").exists());
    let all: Vec<PathBuf> = std::iter::once(own.clone()).chain(parts).collect();
    for device in &all {
        let id = fs::read_to_string(device.join("dev")).unwrap_or_default();
        let id = id.trim();
        if let Some(place) = mounted_on(id) {
            return Some(format!("{} is mounted on {place}", name(device)));
        }
        if let Some(holder) = entries(&device.join("holders")).first() {
            return Some(format!("{} is part of {}", name(device), name(holder)));
        }
        let swap = fs::read_to_string("/proc/swaps").unwrap_or_default();
        if swap.lines().skip(1).any(|line| line.split_whitespace().next() == Some(&format!("/dev/{}", name(device)))) {
            return Some(format!("{} is swap space", name(device)));
        }
    }
    None
}

/// Where the device of this number is mounted in this namespace.
fn mounted_on(id: &str) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(id))?;
    line.split(' ').nth(4).map(str::to_owned)
}

/// The kernel's release, as `uname -r` prints it.
pub(super) fn kernel() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}
