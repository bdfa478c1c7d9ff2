//! A disk by the word for it.

use blksched_disks::{Attached, DiskSpec, IDEAL};

use super::disks::AskedDisk;
use super::which::{BY_DEVICE, WhichDisk};
use super::workload::Workload;
use super::{Scene, Tails};
use crate::error::Error;
use crate::files::Files;

/// A disk that was found, and why this one.
pub(super) struct FoundDisk {
    pub(super) disk: DiskSpec,
    pub(super) disk_name: String,
    pub(super) attached: Option<Attached>,
    pub(super) chosen: Option<String>,
    pub(super) is_ideal_anyway: bool,
}

impl FoundDisk {
    pub(super) fn of(
        asked: &AskedDisk,
        workload: &Workload,
        scene: &Scene,
        files: &dyn Files,
    ) -> Result<FoundDisk, Error> {
        let WhichDisk { name, attached, note: chosen } = match &asked.device {
            Some(device) if asked.word == BY_DEVICE => WhichDisk::by_device(device, files)?,
            _ => WhichDisk::of(&asked.word, workload, files)?,
        };
        let disk = files.disk(&name)?;
        let is_ideal_anyway = scene.tails == Tails::Off && !disk.has_tails();
        let (mut disk, disk_name) = match scene.tails {
            Tails::On => (disk, name),
            // By its own name, so that whatever changes the disk again changes the ideal one.
            Tails::Off => {
                let name = format!("{IDEAL}{name}");
                (files.disk(&name)?, name)
            }
        };
        disk.attached = attached.unwrap_or(disk.attached);
        Ok(FoundDisk { disk, disk_name, attached, chosen, is_ideal_anyway })
    }

    /// Its length \[512-byte sectors\].
    pub(super) fn sectors(&self, scene: &Scene) -> u64 {
        self.disk.build(scene.seed).facts().sectors
    }
}
