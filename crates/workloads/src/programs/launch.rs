//! The input of a program at its start, and the processes it creates.

use blksched::{Instant, Priority, SubmitterId};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::settings::Settings;
use crate::Source;

/// One start of a program.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// Its name in reports; a program with several processes numbers them.
    pub name: &'a str,
    /// Its parameters.
    pub settings: &'a Settings,
    /// The size of the disk \[512-byte sectors\].
    pub disk_sectors: u64,
    /// The number of its first process; the others follow.
    pub first: SubmitterId,
    /// When it is started.
    pub at: Instant,
    /// The run's seed.
    pub seed: u64,
}

/// One process of a program.
pub struct ProgramProcess {
    /// Its name in reports.
    pub name: String,
    /// Its I/O priority.
    pub priority: Priority,
    /// Its state machine.
    pub source: Box<dyn Source>,
}

impl ProgramProcess {
    /// A process without an I/O priority of its own.
    pub(super) fn new(name: String, source: Box<dyn Source>) -> ProgramProcess {
        ProgramProcess { name, priority: Priority::default(), source }
    }
}

impl<'a> Launch<'a> {
    /// A start at the beginning of a run, seed 1, submitters from 0.
    pub fn new(name: &'a str, settings: &'a Settings, disk_sectors: u64) -> Launch<'a> {
        Launch { name, settings, disk_sectors, first: SubmitterId(0), at: Instant::ZERO, seed: 1 }
    }

    /// The number of its `nth` process.
    pub fn submitter(&self, nth: u32) -> SubmitterId {
        SubmitterId(self.first.0 + nth)
    }

    /// The name of the `nth` of `count` processes: `cat`, or `tree-readers1`, `tree-readers2`, …
    pub fn process_name(&self, nth: u32, count: u32) -> String {
        if count == 1 { self.name.to_owned() } else { format!("{}{}", self.name, nth + 1) }
    }

    /// Random numbers for one purpose of one process; equal seeds give equal numbers, other purposes different ones.
    pub fn random(&self, nth: u32, purpose: u64) -> Pcg64Mcg {
        let mixed = [u64::from(self.submitter(nth).0), purpose]
            .into_iter()
            .fold(self.seed, |sum, part| mix(sum.wrapping_add(part.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        Pcg64Mcg::seed_from_u64(mixed)
    }

    /// The first sector of the place given by the parameter `name`, if `sectors` sectors fit there.
    ///
    /// # Errors
    /// If they do not.
    pub fn room(&self, name: &str, sectors: u64) -> Result<u64, String> {
        let start = self.settings.place(name).sector(self.disk_sectors);
        if start.checked_add(sectors).is_some_and(|end| end <= self.disk_sectors) {
            return Ok(start);
        }
        let gib = |sectors: u64| sectors as f64 / (1 << 21) as f64;
        let left = self.disk_sectors.saturating_sub(start);
        Err(format!("`{name}` leaves {:.1} GiB of the disk, and {:.1} GiB are needed", gib(left), gib(sectors)))
    }
}

/// Mixes the bits of a number (the finaliser of SplitMix64).
fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
