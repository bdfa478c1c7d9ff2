//! The anticipatory scheduler in the catalogue: one era, 2.6.0 to 2.6.32, its end.

use alloc::boxed::Box;

use super::scheduler::Anticipatory;
use super::tunables::{AnticipatoryTunables, V2_6_32};
use crate::elevators::hz::hz_without_300;
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Preset, Wait};
use crate::queue::{Plugging, Slots};
use crate::tunables::Tunables;

/// The anticipatory scheduler in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "anticipatory",
    summary: "waits a moment after each read for the next one nearby; batches of reads and writes, by time",
    presets: &[Preset {
        kernel: V2_6_32,
        source: "recordings of 2.6.32, the last kernel that had it",
        row: &[("hz", "1000")],
        plugging: Plugging::LINUX_2_6,
        slots: Slots::LINUX_2_6,
        max_sectors: 1024,
    }],
    home: Home::Mainline,
    mechanisms: &[hz_without_300("the kernel's ticks per second (CONFIG_HZ); the defaults are fractions of it")],
    knobs: AnticipatoryTunables::KNOBS,
    bound,
    build: |choice: &Choice| Box::new(Anticipatory::new(choice.hz())),
};

/// No request starves: at least once per expire time a batch takes its oldest request, and batches take turns. But
/// batches are bounded in time, and the number of requests in that time depends on the device.
fn bound(_: &Choice) -> Bound {
    let once_per = |expire| Wait::Bounded {
        ahead: Ahead::SameDirection,
        expire: Some(expire),
        batches: |_| 2,
        batch: as_many_as_the_device_can,
    };
    Bound { reads: once_per("read_expire"), writes: once_per("write_expire") }
}

fn as_many_as_the_device_can(_: &dyn Tunables) -> u64 {
    u64::MAX
}
