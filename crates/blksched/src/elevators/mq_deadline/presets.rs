//! mq-deadline in the catalogue.

use alloc::boxed::Box;

use super::at_head::AtHead;
use super::position::{Position, PositionRule};
use super::scheduler::{MqDeadline, Rules};
use super::tunables::{MqDeadlineTunables, V6_1};
use crate::elevators::hz::hz;
use crate::elevators::tags::Tags;
use crate::entry::{Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::{V6_12, V6_18};
use crate::queue::{Plugging, Slots};

/// The preset of current kernels.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &[PositionRule::LatestPos.row(), AtHead::Queue.row(), Tags::All.row(), ("hz", "250")],
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
            row: &[PositionRule::NextRq.row(), AtHead::Class.row(), Tags::PerWord.row(), ("hz", "250")],
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
        PositionRule::MECHANISM,
        AtHead::MECHANISM,
        Tags::MECHANISM,
        hz("the kernel's ticks per second (CONFIG_HZ): the unit to which expiry times are rounded"),
    ],
    knobs: MqDeadlineTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let rules =
            Rules { position: Position::of(choice.way::<PositionRule>()), at_head: choice.way(), tags: choice.way() };
        Box::new(MqDeadline::new(MqDeadlineTunables::of(choice.kernel()), choice.hz(), rules))
    },
};

/// Within a class waits are bounded as deadline's are (a test checks this). Between classes they are not.
fn bound(_: &Choice) -> Bound {
    let why = "a lower class waits for the higher; ageing lets it in, but behind whatever else has aged above it";
    Bound { reads: Wait::None(why), writes: Wait::None(why) }
}
