//! A disk's attachment to its host: how many commands the host gives it, and how it handles a flush.
//!
//! MEMORY of Linux 6.x; values marked so were read from a running 6.18 (`/sys/kernel/debug/block/*/hctx0`).

use blksched::surroundings::mq::TagOrder;
use blksched::surroundings::{DispatchAhead, Driver, FlushCommand};

/// The entries of a virtio ring, each of which is a tag (READ of a running 6.18; other hosts offer 128).
const RING: u32 = 256;

/// The requests that the driver of SD cards and eMMC prepares tags for (MEMORY).
const SD_TAGS: u32 = 64;

/// What a disk is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// AHCI with command queueing: 32 tags, used in turn; the drive holds as many commands as it accepts; a flush
    /// drains it.
    Sata,
    /// A host that offers one command at a time (IDE).
    Ide,
    /// SCSI or SAS, and what presents itself so (RAID controllers): the host's tags, at least 128.
    Scsi,
    /// NVMe: as many tags as a queue has entries, a queue per processor.
    Nvme,
    /// virtio-blk: the ring's tags, and as many queues as the host offers, often one.
    Virtio,
    /// USB, which is driven as SCSI: one command at a time (bulk-only), or, if the disk takes several, as many as it
    /// takes (UAS). The driver has no more tags than that, so a scheduler has two requests for each (MEMORY:
    /// `nr_requests` of a stick is 2).
    Usb,
    /// SD cards and eMMC: the driver prepares one request while the card works on another.
    Sd,
    /// The loop driver, and null_blk.
    Loop,
}

impl Attached {
    /// Every kind, by the word that a disk's file uses.
    pub const WORDS: [(&'static str, Attached); 8] = [
        ("sata", Attached::Sata),
        ("ide", Attached::Ide),
        ("scsi", Attached::Scsi),
        ("nvme", Attached::Nvme),
        ("virtio", Attached::Virtio),
        ("usb", Attached::Usb),
        ("sd", Attached::Sd),
        ("loop", Attached::Loop),
    ];

    /// The word that a disk's file uses.
    pub fn word(self) -> &'static str {
        Attached::WORDS.iter().find(|(_, kind)| *kind == self).expect("every kind has one").0
    }

    /// Whether such a disk has a `device/queue_depth` in sysfs: only disks driven as SCSI do, including ATA disks
    /// through libata.
    pub fn has_queue_depth(self) -> bool {
        matches!(self, Attached::Sata | Attached::Ide | Attached::Scsi | Attached::Usb)
    }

    /// Tags of one hardware queue, for a disk that accepts `depth` commands: what `nr_requests` shows without a
    /// scheduler.
    pub fn tags(self, depth: u32) -> u32 {
        match self {
            Attached::Sata => 32,
            Attached::Ide => 1,
            Attached::Scsi => depth.max(128),
            Attached::Virtio => depth.min(RING),
            Attached::Sd => depth.max(SD_TAGS),
            Attached::Nvme | Attached::Loop | Attached::Usb => depth,
        }
    }

    /// The number of hardware queues on a host with this many processors, unless something else is known of it.
    pub fn hardware_queues(self, cpus: u32) -> u32 {
        if self == Attached::Nvme { cpus } else { 1 }
    }

    /// Whether it may have several hardware queues, each with tags of its own (of SCSI hosts some have).
    pub fn has_hardware_queues(self) -> bool {
        matches!(self, Attached::Nvme | Attached::Virtio | Attached::Scsi)
    }

    /// The scheduler that the kernel chooses if nobody does: `none` with several hardware queues and for the loop
    /// driver, which asks for it (a null_blk with one queue, also [`Attached::Loop`], does not), else `mq-deadline`.
    /// `queues`: their number, if it is known; 1 where they share their tags.
    pub fn default_scheduler(self, queues: Option<u32>) -> &'static str {
        match self {
            Attached::Loop => "none",
            Attached::Nvme if queues != Some(1) => "none",
            Attached::Virtio | Attached::Scsi if queues.is_some_and(|queues| queues > 1) => "none",
            _ => "mq-deadline",
        }
    }

    /// The order in which tags are allocated.
    pub fn tag_order(self) -> TagOrder {
        match self {
            Attached::Sata | Attached::Ide => TagOrder::RoundRobin,
            Attached::Scsi | Attached::Nvme | Attached::Virtio | Attached::Usb | Attached::Sd | Attached::Loop => {
                TagOrder::Lowest
            }
        }
    }

    /// How its driver behaves.
    pub fn driver(self) -> Driver {
        let (ahead, flush) = match self {
            Attached::Sata | Attached::Ide => (DispatchAhead::Budget, FlushCommand::Alone),
            Attached::Scsi | Attached::Usb => (DispatchAhead::Budget, FlushCommand::Queued),
            Attached::Sd => (DispatchAhead::OneMore, FlushCommand::Alone),
            Attached::Nvme | Attached::Virtio | Attached::Loop => (DispatchAhead::OneMore, FlushCommand::Queued),
        };
        Driver { ahead, flush }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_word_and_the_budget_is_of_those_that_have_one() {
        for (word, kind) in Attached::WORDS {
            assert_eq!(kind.word(), word);
        }
        assert_eq!((Attached::Sata.tags(31), Attached::Scsi.tags(31), Attached::Nvme.tags(1023)), (32, 128, 1023));
        assert_eq!([255, 256, 257].map(|depth| Attached::Virtio.tags(depth)), [255, 256, 256]);
        assert_eq!([1, 30].map(|depth| Attached::Usb.tags(depth)), [1, 30], "bulk-only, and UAS");
        assert_eq!([1, 64, 65].map(|depth| Attached::Sd.tags(depth)), [64, 64, 65]);
        assert!(Attached::Usb.has_queue_depth() && !Attached::Sd.has_queue_depth());
        assert_eq!(Attached::Nvme.hardware_queues(8), 8);
    }

    #[test]
    fn one_hardware_queue_has_a_scheduler_and_several_have_none() {
        let default = |kind: Attached| [None, Some(1), Some(2)].map(|queues| kind.default_scheduler(queues));
        assert_eq!(default(Attached::Nvme), ["none", "mq-deadline", "none"]);
        assert_eq!(default(Attached::Virtio), ["mq-deadline", "mq-deadline", "none"]);
        assert_eq!(default(Attached::Loop), ["none"; 3]);
        assert_eq!(default(Attached::Scsi), ["mq-deadline", "mq-deadline", "none"]);
        for kind in [Attached::Sata, Attached::Ide, Attached::Usb, Attached::Sd] {
            assert_eq!(default(kind), ["mq-deadline"; 3], "{}", kind.word());
        }
    }
}
