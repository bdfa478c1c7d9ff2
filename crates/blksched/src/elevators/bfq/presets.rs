//! Which era has what: the rows of the table.

use super::books::Bfq;
use super::groups::Groups;
use super::tunables::{BfqTunables, V6_1};
use crate::entry::{Bound, Choice, Entry, Home, Mechanism, Preset, Variant, Wait};
use crate::queue::{Plugging, Slots};

/// BFQ in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "bfq",
    summary: "a budget of sectors and a share of the throughput per process, by weight; whoever starts goes first",
    presets: &[Preset {
        kernel: V6_1,
        source: "recordings of 6.1.192, without groups; since 6.3 disks with several actuators differ (README)",
        row: &[("groups", "on"), ("hz", "250")],
        plugging: Plugging::LINUX_3,
        slots: Slots::LINUX_5,
        max_sectors: 2560,
    }],
    home: Home::Mainline,
    mechanisms: &[
        Mechanism {
            name: "groups",
            doc: "whether groups share by weight (not decision-checked: no recording has groups)",
            variants: &[
                Variant { name: "off", doc: "all submitters stand side by side, as without CONFIG_BFQ_GROUP_IOSCHED" },
                Variant { name: "on", doc: "by weight, as a hierarchy: distributions' kernels" },
            ],
        },
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
        let groups = if choice.variant("groups") == "on" { Groups::On } else { Groups::Off };
        Box::new(Bfq::new(knobs, groups, choice.hz()))
    },
};

/// Turns come round in service, not in requests; and the real-time class is absolute.
fn bound(_: &Choice) -> Bound {
    let none = Wait::None("the real-time class goes before everybody else, as long as it has requests");
    Bound { reads: none, writes: none }
}
