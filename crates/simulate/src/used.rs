//! The settings around a run's scheduler: tags, hardware queues, limits, as sysfs would show them.

use blksched::QueueConfig;
use blksched::surroundings::rq_qos::OwnThrottling;
use blksched::surroundings::{DispatchAhead, wbt};
use blksched_disks::Attached;

use crate::trial::Trial;

/// The settings in force around a scheduler in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// How the disk is attached to its host.
    pub attached: Attached,
    /// With blk-mq: the number of hardware queues, and of tags in each. Earlier kernels have neither.
    pub queues: Option<(u32, u32)>,
    /// The most requests (before blk-mq: per direction).
    pub nr_requests: u32,
    /// The most requests at the disk.
    pub depth: u32,
    /// The same as a budget, which is asked for before the scheduler (SCSI, and so SATA).
    pub budget: Option<u32>,
    /// The largest request \[KiB\].
    pub max_sectors_kb: u32,
    /// Writeback throttling's target \[us\]; 0 for off.
    pub wbt_lat_usec: u64,
    /// Processors whose time I/O costs; 0 if I/O is free.
    pub cpus: u32,
}

impl Trial {
    /// The settings around the scheduler in this run.
    pub fn used(&self) -> Used {
        let QueueConfig { limits, depth, slots, driver, .. } = self.around();
        let built = self.elevator.build();
        let facts = self.disk.build(self.seed).facts();
        let attached = self.surroundings.attached.unwrap_or(self.disk.attached);
        let cpus = self.surroundings.cpus_under(&built).map_or(0, |cpus| cpus.cpus);
        let is_mq = slots.era().is_some();
        let target = match (self.surroundings.wbt_latency, built.elevator.own_throttling()) {
            (Some(said), _) => said.as_ns() / 1000,
            (None, OwnThrottling::Yes) => 0,
            (None, OwnThrottling::No) => wbt::Config::default_target(facts.rotational).as_ns() / 1000,
        };
        Used {
            attached,
            queues: is_mq.then(|| {
                let tags = attached.tags(facts.depth);
                let tags = self.surroundings.depth.map_or(tags, |depth| tags.min(depth));
                let queues = self.surroundings.several_queues(attached);
                (queues.unwrap_or_else(|| attached.hardware_queues(cpus.max(1))), tags)
            }),
            nr_requests: slots.nr_requests(),
            depth,
            budget: (is_mq && driver.ahead == DispatchAhead::Budget).then_some(depth),
            max_sectors_kb: limits.max_sectors / 2,
            wbt_lat_usec: if is_mq { target } else { 0 },
            cpus,
        }
    }
}
