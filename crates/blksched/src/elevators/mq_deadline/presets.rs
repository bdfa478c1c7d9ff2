//! mq-deadline in the catalogue.

use super::onward::Onward;
use super::scheduler::MqDeadline;
use super::tunables::{MqDeadlineTunables, V6_1};
use crate::entry::{Bound, Choice, Entry, Home, Mechanism, Preset, Variant, Wait};
use crate::queue::{Plugging, Slots};

/// mq-deadline in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "mq-deadline",
    summary: "deadline for each priority class, higher classes first; who waits too long goes first all the same",
    presets: &[Preset {
        kernel: V6_1,
        source: "recordings of 6.1.192; 6.5 and later decide as with +onward=place",
        row: &[("onward", "request"), ("hz", "250")],
        plugging: Plugging::LINUX_3,
        slots: Slots::LINUX_5,
        max_sectors: 2560,
    }],
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
                    doc: "with whatever is first behind its place: 6.5 and later (MEMORY; a 6.18 decides so)",
                },
            ],
        },
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
        Box::new(MqDeadline::new(
            MqDeadlineTunables::of(choice.kernel()),
            choice.hz(),
            Onward::of(choice.variant("onward")),
        ))
    },
};

/// Within a class waits are bounded as deadline's are (a test holds it to that). Between classes they are not.
fn bound(_: &Choice) -> Bound {
    let why = "a lower class waits for the higher; ageing lets it in, but behind whatever else has aged above it";
    Bound { reads: Wait::None(why), writes: Wait::None(why) }
}
