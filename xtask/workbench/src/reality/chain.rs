//! The path of one disk: its model behind FUSE, a loop device with direct I/O over it, the kernel's scheduler, fio.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use blksched_disks::{DiskSpec, Facts};
use blksched_simulate::reality::{RealitySetting, Row, Set, Switched};

use super::fio;
use super::groups::Groups;
use crate::loop_device::LoopDevice;
use crate::timed_disk::TimedDisk;

pub struct Chain<'a> {
    set: &'a Set,
    setting: &'a RealitySetting,
    disk: TimedDisk,
    folder: PathBuf,
    facts: Facts,
    /// A name that must be unique.
    name: String,
}

/// The result of a run, and how late the disk was meanwhile, on average.
pub struct Ran {
    pub rows: Vec<Row>,
    pub late: Duration,
}

impl<'a> Chain<'a> {
    pub fn make(
        set: &'a Set,
        setting: &'a RealitySetting,
        spec: &DiskSpec,
        folder: &Path,
        nth: usize,
    ) -> Result<Chain<'a>> {
        let name = format!("blksched-{}-{nth}", std::process::id());
        let folder = folder.join(&name);
        let disk = TimedDisk::mount(spec, &folder.join("disk"))?;
        Ok(Chain { set, setting, disk, folder, facts: spec.build(0).facts(), name })
    }

    pub fn run(&self, job: &str, text: &str, scheduler: &str, repeat: u32) -> Result<Ran> {
        let switched = self.set.switched.get(job).cloned().unwrap_or_default();
        let device = device(&self.disk, self.set, self.setting, self.facts, (scheduler, &switched))?;
        let groups = Groups::make(&self.name, &fio::groups(text))?;
        let file = self.folder.join(format!("{job}.fio"));
        fs::write(&file, fio::text(text, device.path(), &groups))?;
        let before = self.disk.late();
        let output = fio::run(&file)?;
        let after = self.disk.late();
        let place = Row {
            setting: self.setting.name.clone(),
            job: job.to_owned(),
            scheduler: scheduler.to_owned(),
            repeat,
            ..Row::default()
        };
        let rows = fio::rows(&output, &place);
        if rows.is_empty() {
            return Err(anyhow!("{job} under {scheduler} did nothing"));
        }
        let commands = (after.commands - before.commands).max(1);
        Ok(Ran { rows, late: (after.sum - before.sum) / commands as u32 })
    }
}

/// A new loop device for each run, so that nothing of the previous one is left: tags stay limited for good, and
/// throttling and page cache have memory.
pub fn device(
    disk: &TimedDisk,
    set: &Set,
    setting: &RealitySetting,
    facts: Facts,
    (scheduler, switched): (&str, &Switched),
) -> Result<LoopDevice> {
    let device = LoopDevice::over(disk.path())?;
    device.choose("none")?;
    device.set("nr_requests", &setting.tags.to_string())?;
    device.set("max_sectors_kb", &set.max_sectors_kb.to_string())?;
    // Over FUSE the kernel takes more (256 was seen), so that sequential readers get twice as much at a time.
    device.set("read_ahead_kb", "128")?;
    device.set("rotational", if facts.rotational { "1" } else { "0" })?;
    device.set("write_cache", if facts.volatile_cache { "write back" } else { "write through" })?;
    device.choose(scheduler)?;
    if scheduler != "none" {
        device.set("nr_requests", &set.nr_requests.to_string())?;
    }
    // On by default except with BFQ, by what the disk was when it was attached; -1 means by what it is now.
    match (switched.wbt_lat_usec, scheduler) {
        // The device's number has been used before, and what was written to it by hand stays on under BFQ.
        (_, "bfq") if device.number_in("wbt_lat_usec")? > 0 => device.set("wbt_lat_usec", "0")?,
        (_, "bfq") => {}
        (None, _) => device.set("wbt_lat_usec", "-1")?,
        (Some(us), _) => device.set("wbt_lat_usec", &us.to_string())?,
    }
    for (of, knob, raw) in &switched.knobs {
        if of == scheduler {
            device.set(&format!("iosched/{knob}"), &raw.to_string())?;
        }
    }
    Ok(device)
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        for left in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if left.path().extension().is_some_and(|ending| ending == "fio" || ending == "txt") {
                fs::remove_file(left.path()).ok();
            }
        }
    }
}
