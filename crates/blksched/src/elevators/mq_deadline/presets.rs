//! mq-deadline in the catalogue.

use super::at_head::AtHead;
use super::onward::Onward;
use super::scheduler::{MqDeadline, Rules};
use super::tunables::{MqDeadlineTunables, V6_1};
use crate::elevators::tags::Tags;
use crate::entry::{Bound, Choice, Entry, Home, Mechanism, Preset, Variant, Wait};
use crate::kernel::{V6_12, V6_18};
use crate::queue::{Plugging, Slots};

/// What present kernels have.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &[("onward", "place"), ("at_head", "queue"), Tags::All.row(), ("hz", "250")],
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_12,
    max_sectors: 2560,
};

/// mq-deadline in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "mq-deadline",
    summary: "deadline for each priority class, higher classes first, but aged requests go first",
    presets: &[
        Preset {
            kernel: V6_1,
            source: "recordings of 6.1.192",
            row: &[("onward", "request"), ("at_head", "class"), Tags::PerWord.row(), ("hz", "250")],
            slots: Slots::LINUX_6_1,
            ..LATEST
        },
        Preset {
            kernel: V6_12,
            source: "recordings of 6.12.117: goes on from a place instead of with a request",
            ..LATEST
        },
        LATEST,
    ],
    home: Home::Mainline,
    mechanisms: &[
        Mechanism {
            name: "onward",
            doc: "where a direction goes on",
            variants: &[
                Variant {
                    name: "request",
                    doc: "with the request that was behind the last one when that was taken: 6.1",
                },
                Variant {
                    name: "place",
                    doc: "with whatever is first at or behind the start of the last one: 6.6 and later",
                },
            ],
        },
        Mechanism {
            name: "at_head",
            doc: "where requests go that the device handed back",
            variants: &[
                Variant { name: "class", doc: "to the head of their class, to go when that is asked: 6.1 and 6.6" },
                Variant { name: "queue", doc: "ahead of ageing and classes: 6.12 and later" },
            ],
        },
        Tags::MECHANISM,
        Mechanism {
            name: "hz",
            doc: "the kernel's ticks per second: what expiry times are rounded to",
            variants: &[
                Variant { name: "100", doc: "10 ms ticks" },
                Variant { name: "250", doc: "4 ms ticks: Debian" },
                Variant { name: "300", doc: "3.3 ms ticks" },
                Variant { name: "1000", doc: "1 ms ticks: desktops" },
            ],
        },
    ],
    knobs: MqDeadlineTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let rules = Rules {
            onward: Onward::of(choice.variant("onward")),
            at_head: AtHead::of(choice.variant("at_head")),
            tags: choice.way(),
        };
        Box::new(MqDeadline::new(MqDeadlineTunables::of(choice.kernel()), choice.hz(), rules))
    },
};

/// Within a class waits are bounded as deadline's are (a test holds it to that). Between classes they are not.
fn bound(_: &Choice) -> Bound {
    let why = "a lower class waits for the higher; ageing lets it in, but behind whatever else has aged above it";
    Bound { reads: Wait::None(why), writes: Wait::None(why) }
}
