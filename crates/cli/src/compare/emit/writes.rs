//! What is written into a disk's files.

use blksched_lab::runs::measured::Measured;

use super::target::EmitTarget;

/// The file with the queue depth of a disk that is driven as SCSI.
pub(super) const QUEUE_DEPTH: &str = "device/queue_depth";

/// The files below the disk's directory in sysfs, with the values to write: the scheduler first.
pub(super) fn writes(scheduler: &Measured, target: &EmitTarget) -> Vec<(String, String)> {
    let is_there = |file: &str| file != QUEUE_DEPTH || target.has_queue_depth;
    let controls = scheduler.controls.iter().filter(|control| is_there(&control.file));
    let knobs = controls.map(|control| (control.file.clone(), control.value.clone()));
    std::iter::once(("queue/scheduler".to_owned(), scheduler.scheduler.to_owned())).chain(knobs).collect()
}
