//! Which era has what: the rows of the table.

use super::groups::Groups;
use super::scheduling::{Newcomer, Scheduling};
use super::state::Bfq;
use super::symmetry::Competition;
use super::tunables::{BfqTunables, V6_1};
use crate::elevators::tags::{self, Tags};
use crate::entry::{Bound, Choice, Entry, Home, Mechanism, Preset, Variant, Wait};
use crate::kernel::{V6_12, V6_18};
use crate::queue::{Plugging, Slots};

/// What present kernels have.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &[("groups", "on"), ("competition", "two_pending"), ("newcomer", "is_new"), ("tags", "all"), ("hz", "250")],
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_12,
    max_sectors: 2560,
};

/// BFQ in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "bfq",
    summary: "a budget of sectors and a share of the throughput per process, by weight; whoever starts goes first",
    presets: &[
        Preset {
            kernel: V6_1,
            source: "recordings of 6.1.192, with groups and without",
            row: &[
                ("groups", "on"),
                ("competition", "woken"),
                ("newcomer", "starts_anew"),
                ("tags", "per_word"),
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
    mechanisms: &[
        Mechanism {
            name: "groups",
            doc: "whether groups share by weight",
            variants: &[
                Variant { name: "off", doc: "all submitters stand side by side, as without CONFIG_BFQ_GROUP_IOSCHED" },
                Variant { name: "on", doc: "by weight, as a hierarchy: distributions' kernels" },
            ],
        },
        Mechanism {
            name: "competition",
            doc: "when groups compete, so that their shares need idling",
            variants: &[
                Variant { name: "woken", doc: "as soon as one is busy, alone or not: 6.1" },
                Variant {
                    name: "two_pending",
                    doc: "when two, the root included, have something to do: 6.6 and later",
                },
            ],
        },
        Mechanism {
            name: "newcomer",
            doc: "since when a new queue has had nothing injected",
            variants: &[
                Variant {
                    name: "starts_anew",
                    doc: "for ever: its first request ends whatever is being measured: 6.1",
                },
                Variant { name: "is_new", doc: "since it was made: 6.6 and later" },
            ],
        },
        tags::MECHANISM,
        Mechanism {
            name: "hz",
            doc: "the kernel's ticks per second",
            variants: &[
                Variant { name: "100", doc: "10 ms ticks: servers" },
                Variant { name: "250", doc: "4 ms ticks: Debian" },
                Variant { name: "1000", doc: "1 ms ticks: desktops" },
            ],
        },
    ],
    knobs: BfqTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let knobs = BfqTunables::defaults(choice.kernel(), choice.hz());
        let scheduling = Scheduling {
            groups: if choice.variant("groups") == "on" { Groups::On } else { Groups::Off },
            competition: Competition::of(choice.variant("competition")),
            newcomer: Newcomer::of(choice.variant("newcomer")),
            tags: Tags::of(choice.variant("tags")),
        };
        Box::new(Bfq::new(knobs, scheduling, choice.hz()))
    },
};

/// Turns come round in service, not in requests; and the real-time class is absolute.
fn bound(_: &Choice) -> Bound {
    let none = Wait::None("the real-time class goes before everybody else, as long as it has requests");
    Bound { reads: none, writes: none }
}
