//! The preset of each kernel: the mechanisms that it has.

use alloc::boxed::Box;

use super::data::Bfq;
use super::rules::{Competition, Grouping, Newcomer, Rules};
use super::tunables::{BfqTunables, V6_1};
use crate::elevators::tags::Tags;
use crate::entry::{Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::{V6_12, V6_18};
use crate::queue::{Plugging, Slots};

/// The preset of current kernels.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &[Grouping::On.row(), Competition::TwoPending.row(), Newcomer::IsNew.row(), Tags::All.row(), ("hz", "250")],
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_12,
    max_sectors: 2560,
};

/// BFQ in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "bfq",
    summary: "a budget of sectors and a share of throughput per process, by weight; newly active ones go first",
    presets: &[
        Preset {
            kernel: V6_1,
            source: "recordings of 6.1.192, with groups and without",
            row: &[
                Grouping::On.row(),
                Competition::Woken.row(),
                Newcomer::StartsAnew.row(),
                Tags::PerWord.row(),
                ("hz", "250"),
            ],
            plugging: Plugging::LINUX_6,
            slots: Slots::LINUX_6_1,
            max_sectors: 2560,
        },
        Preset {
            kernel: V6_12,
            source: "recordings of 6.12.117, with groups and without; disks with several actuators differ (README)",
            ..LATEST
        },
        LATEST,
    ],
    home: Home::Mainline,
    mechanisms: Rules::TABLE,
    knobs: BfqTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let knobs = BfqTunables::defaults(choice.kernel(), choice.hz());
        Box::new(Bfq::new(knobs, Rules::of(choice), choice.hz()))
    },
};

/// No bound in requests: slices are measured in service, and the real-time class is strict.
fn bound(_: &Choice) -> Bound {
    let none = Wait::None("the real-time class goes before everybody else, as long as it has requests");
    Bound { reads: none, writes: none }
}
