//! Disks beside the trial's own, in one world with it: each has a queue of its own, with its scheduler, knobs, slots
//! and throttling; processes, processors and memory are the same for all.

use std::sync::Arc;

use blksched::{Choice, Sector};
use blksched_disks::DiskSpec;
use blksched_disks::stack::StackSpec;
use blksched_measure::Reasons;
use blksched_workloads::host::{DeviceLimits, MemoryDevice, PAGE_SECTORS};

use crate::disk_share::DiskShare;
use crate::surroundings::Surroundings;

/// The disks beside the trial's own, and where in the common space of sectors its own begins.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The first sector of the trial's own disk, in which the plan counts.
    pub first: Sector,
    /// The others; no two overlap.
    pub disks: Vec<BesideDisk>,
    /// Stacked devices above them, members before what is above them.
    pub volumes: Vec<BesideVolume>,
    /// What may be dirty for single devices, by their first sector; for the others the host's settings count.
    pub dirty_limits: Vec<(Sector, DeviceLimits)>,
}

impl Beside {
    /// The devices that processes see, in the order of their places, as the host's memory tells them apart.
    pub fn memory_devices(&self) -> Vec<MemoryDevice> {
        let is_below =
            |first: &Sector| self.volumes.iter().any(|volume| volume.members.iter().any(|(member, _)| member == first));
        let disks = self.disks.iter().map(|disk| disk.first);
        let all = disks.chain([self.first]).chain(self.volumes.iter().map(|volume| volume.first));
        let mut seen: Vec<Sector> = all.filter(|first| !is_below(first)).collect();
        seen.sort_unstable();
        let limits = |first: &Sector| self.dirty_limits.iter().find(|(of, _)| of == first).map(|(_, limits)| *limits);
        let device = |first: Sector| MemoryDevice { first_page: first.0 / PAGE_SECTORS, limits: limits(&first) };
        seen.into_iter().map(device).collect()
    }

    /// The disk at the beginning of the common space, or the first one below what is there: 0 for the trial's own, or
    /// one more than its place among the others.
    pub fn first_disk(&self) -> usize {
        let mut at = Sector(0);
        while let Some(volume) = self.volumes.iter().find(|volume| volume.first == at) {
            at = volume.members[0].0;
        }
        self.disks.iter().position(|disk| disk.first == at).map_or(0, |nth| nth + 1)
    }
}

/// A stacked device.
#[derive(Clone, Debug)]
pub struct BesideVolume {
    /// Its first sector in the common space.
    pub first: Sector,
    /// What it is.
    pub spec: StackSpec,
    /// Where each member begins in the common space, and its length \[512-byte sectors\].
    pub members: Vec<(Sector, u64)>,
}

impl BesideVolume {
    /// Its length \[512-byte sectors\].
    pub fn sectors(&self) -> u64 {
        let lengths: Vec<u64> = self.members.iter().map(|(_, sectors)| *sectors).collect();
        self.spec.above(&lengths).sectors()
    }
}

/// One of them.
#[derive(Clone, Debug)]
pub struct BesideDisk {
    /// Its name.
    pub name: String,
    /// Its first sector in the common space.
    pub first: Sector,
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// Whether it is below the same stacked device as the trial's own.
    pub is_fellow: bool,
    /// Whether it has the elevator, knobs and surroundings of the trial's own, whatever they become: a fellow that was
    /// not given others.
    pub is_alike: bool,
    /// Its elevator.
    pub elevator: Choice,
    /// Knobs that differ from the era's defaults: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// The settings around it. What concerns the host (memory, processors, races, starts) is the trial's.
    pub surroundings: Surroundings,
}

/// What became of a disk beside the trial's own.
#[derive(Clone, Debug)]
pub struct BesideFindings {
    /// Its name.
    pub name: String,
    /// What it did.
    pub disk: DiskShare,
    /// Why its requests waited.
    pub reasons: Reasons,
    /// How many bios `io.max` held back; `None` if no group has a limit.
    pub capped: Option<u64>,
    /// How many requests it completed.
    pub requests: u64,
}
