//! Stacked devices: device mapper's and md's, which have no medium of their own and map each bio to bios of members.
//!
//! **Rule** A [`Volume`] is a machine without a clock: bios go in, bios for its members and completions come out, each
//! told the time. Each member has a queue of its own, with its scheduler; the volume has none, as md and device mapper
//! have none in the kernel. The arithmetic is in `map.rs`, dm-crypt's work in `crypt.rs`, that of md RAID 4 to 6 in
//! `parity.rs`, both on a host's processors in `hosted.rs`, the words in `words.rs`; in `device.rs` a whole stack is
//! one disk.
//! **Origin** Documentation only: the kernel's `admin-guide/md.rst`, `admin-guide/device-mapper/{linear,striped,
//! dm-crypt}.rst` and `block/writeback_cache_control.rst`, md(4), and the message of the commit that added
//! `no_read_workqueue` (39d42fa96ba1, 2020).
//! **Left out** Resync, recovery, write-intent bitmaps, failed members, snapshots, thin volumes, caches
//! (bcache, dm-cache) and zoned disks: [`NOT_MODELLED`] and [`NO_SETTINGS`] say what is wrong with each.

mod crypt;
mod device;
mod file;
mod hosted;
mod map;
mod not_modelled;
mod parity;
mod volume;
mod words;

pub use crypt::CryptSpec;
pub use device::{DiskOrStack, StackedDisks};
pub use file::stack_file;
pub use hosted::{Doer, Toil, ToilTask, Wish};
pub use map::{MemberPlace, StackLayout, StackMap};
pub use not_modelled::{NO_SETTINGS, NOT_MODELLED};
pub use parity::ParitySpec;
pub use volume::{Below, Volume};
pub use words::{StackWord, StackedWord, stack_word};

use blksched::Span;

/// A stacked device without its members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackSpec {
    /// How sectors are mapped.
    pub layout: StackLayout,
    /// What dm-crypt does with each bio; `None` for other devices.
    pub crypt: Option<CryptSpec>,
    /// What md's thread has for parity; `None` for other devices.
    pub parity: Option<ParitySpec>,
    /// Whether the members' bios have the priority of the bio above.
    pub keeps_priority: bool,
}

/// A page \[512-byte sectors\].
const PAGE: u64 = 8;

impl StackSpec {
    /// A device of this layout that encrypts nothing.
    pub fn of(layout: StackLayout) -> StackSpec {
        let parity = (layout.parities() > 0).then(ParitySpec::default);
        StackSpec { layout, crypt: None, parity, keeps_priority: true }
    }

    /// The device above members of these lengths \[512-byte sectors\]. It ends with a whole page, so that nothing that
    /// is read page by page reaches beyond it.
    pub fn above(&self, members: &[u64]) -> StackMap {
        let whole: Vec<u64> = members.iter().map(|sectors| sectors / PAGE * PAGE).collect();
        StackMap::new(self.layout, &whole)
    }
}

/// The time that a figure of `cryptsetup benchmark`'s \[MiB/s\] means for so many sectors, to the nearest nanosecond.
pub(crate) fn takes(mib_per_second: u64, sectors: u32) -> Span {
    let (work, speed) = (u64::from(sectors) * 1_000_000_000, mib_per_second.max(1) * 2048);
    Span::from_ns((work + speed / 2) / speed)
}
