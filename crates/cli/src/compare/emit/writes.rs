//! What is written into a disk's files.

use blksched_lab::live::{LiveArm, Place};
use blksched_lab::runs::measured::Measured;

use super::target::EmitTarget;

/// The file with the queue depth of a disk that is driven as SCSI.
pub(super) const QUEUE_DEPTH: &str = "device/queue_depth";

/// A setting that is to be written.
pub(crate) struct EmitSetting {
    /// Its name, with its knobs.
    pub(super) label: String,
    /// The scheduler's name in sysfs.
    pub(super) scheduler: String,
    /// The other files below the disk's directory in sysfs, with their values.
    pub(super) files: Vec<(String, String)>,
}

impl EmitSetting {
    /// The setting of a simulated scheduler.
    pub(super) fn of(scheduler: &Measured) -> EmitSetting {
        let files = scheduler.controls.iter().map(|control| (control.file.clone(), control.value.clone()));
        EmitSetting { label: scheduler.label(), scheduler: scheduler.scheduler.to_owned(), files: files.collect() }
    }

    /// The setting of a trial.
    pub(super) fn of_arm(arm: &LiveArm) -> EmitSetting {
        // The memory's limits and the groups' are no files of a disk.
        let is_elsewhere = |place: &Place| matches!(place, Place::Memory(_) | Place::Group { .. });
        let own = arm.settings.iter().filter(|(place, _)| !is_elsewhere(place));
        let files = own.map(|(place, value)| (format!("queue/{}", place.path()), value.clone()));
        EmitSetting { label: arm.to_string(), scheduler: arm.scheduler.clone(), files: files.collect() }
    }

    /// Whether it writes this file.
    pub(super) fn has(&self, file: &str) -> bool {
        self.files.iter().any(|(own, _)| own == file)
    }
}

/// The files below the disk's directory in sysfs, with the values to write: the scheduler first.
pub(super) fn writes(setting: &EmitSetting, target: &EmitTarget) -> Vec<(String, String)> {
    let is_there = |file: &str| file != QUEUE_DEPTH || target.has_queue_depth;
    let others = setting.files.iter().filter(|(file, _)| is_there(file)).cloned();
    std::iter::once(("queue/scheduler".to_owned(), setting.scheduler.clone())).chain(others).collect()
}
