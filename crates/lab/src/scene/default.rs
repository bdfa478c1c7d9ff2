//! The scheduler that a kernel chooses for a disk.

use blksched_disks::{Attached, DiskSpec, Facts};

/// What a present kernel chooses for such a disk, attached in this way if not as it says.
pub(super) fn kernel_default_of(attached: Option<Attached>, disk: &DiskSpec, queues: Option<u32>) -> &'static str {
    match attached {
        Some(attached) => attached.default_scheduler(queues),
        // No disk is a file: what its description says of it decides.
        None if disk.attached == Attached::Loop => kernel_default(&disk.build(0).facts()),
        None => disk.attached.default_scheduler(queues),
    }
}

/// The schedulers of a present kernel.
pub const PRESENT: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The kernel's choice if the user makes none: `none` for a disk with more than one hardware queue, else `mq-deadline`.
/// SATA and SAS disks have one queue, of at most 32 commands as Linux drives them; a disk that accepts more is taken
/// for NVMe, which has one queue per CPU. (Distributions' udev rules may choose otherwise.)
pub fn kernel_default(facts: &Facts) -> &'static str {
    const ONE_QUEUE: u32 = 32;
    if facts.depth <= ONE_QUEUE { "mq-deadline" } else { "none" }
}
