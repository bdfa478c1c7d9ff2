//! Kyber in the catalogue.

use alloc::boxed::Box;

use super::scheduler::Kyber;
use super::tunables::{KyberTunables, V6_1};
use crate::elevators::hz::hz;
use crate::elevators::tags::Tags;
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::{V6_12, V6_18};
use crate::queue::{Plugging, Slots};

/// The preset of current kernels.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &[Tags::All.row(), ("hz", "250")],
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_12,
    max_sectors: 2560,
};

/// Kyber in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "kyber",
    summary: "for fast disks: a number of tokens for each kind of operation, sized by measured latency",
    presets: &[
        Preset {
            kernel: V6_1,
            source: "recordings of 6.1.192",
            row: &[Tags::PerWord.row(), ("hz", "250")],
            slots: Slots::LINUX_6_1,
            ..LATEST
        },
        Preset { kernel: V6_12, source: "recordings of 6.12.117", ..LATEST },
        LATEST,
    ],
    home: Home::Mainline,
    mechanisms: &[Tags::MECHANISM, hz("the kernel's ticks per second (CONFIG_HZ): when latencies are evaluated")],
    knobs: KyberTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let tags: Tags = choice.way();
        Box::new(Kyber::new(KyberTunables::of(choice.kernel()), choice.hz(), tags))
    },
};

/// A round of turns is 16 reads, 8 writes, a discard and one of the rest, and has at least one request of each domain
/// that has any. (A device that keeps a domain's last token in flight keeps that domain waiting; it takes thousands of
/// samples to get to so small a depth.)
fn bound(_: &Choice) -> Bound {
    let wait = Wait::Bounded { ahead: Ahead::SameDirection, expire: None, batches: |_| 1, batch: |_| 16 + 8 + 1 + 1 };
    Bound { reads: wait, writes: wait }
}
