//! mq-deadline in the catalogue.

use alloc::boxed::Box;

use super::ageing::Ageing;
use super::at_head::AtHead;
use super::class::Classes;
use super::depth::{Depth, WriteLimit};
use super::position::PositionRule;
use super::scheduler::{MqDeadline, Rules};
use super::tunables::MqDeadlineTunables;
use crate::elevators::deadline::bounded;
use crate::elevators::hz::hz;
use crate::elevators::ioprio::MergePriorities;
use crate::elevators::tags::Tags;
use crate::entry::{Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::{V4_19, V5_10, V5_15, V6_1, V6_12, V6_18, V7_3};
use crate::mechanism::{Pair, differing};
use crate::queue::{Plugging, Slots};

/// The rows, newest first. A mechanism that would make no difference in an era is not in its row.
const ROW_6_12: [Pair; 8] = [
    Classes::Unfinished.row(),
    Ageing::On.row(),
    PositionRule::LatestPos.row(),
    AtHead::Queue.row(),
    WriteLimit::Part.row(),
    Tags::All.row(),
    MergePriorities::Same.row(),
    ("hz", "250"),
];
const ROW_6_1: [Pair; 8] = differing(ROW_6_12, &[PositionRule::NextRq.row(), AtHead::Class.row(), Tags::PerWord.row()]);
const ROW_5_15: [Pair; 7] = [
    Classes::Queued.row(),
    Ageing::Off.row(),
    PositionRule::NextRq.row(),
    AtHead::Class.row(),
    WriteLimit::Unscaled.row(),
    MergePriorities::Same.row(),
    ("hz", "250"),
];
/// With one class it makes no difference which returned requests precede what.
const ROW_5_10: [Pair; 6] = [
    Classes::One.row(),
    Ageing::Off.row(),
    PositionRule::NextRqOfBoth.row(),
    WriteLimit::Off.row(),
    MergePriorities::Same.row(),
    ("hz", "250"),
];
const ROW_4_19: [Pair; 6] = differing(ROW_5_10, &[MergePriorities::Any.row()]);

/// The preset of current kernels.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &ROW_6_12,
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_12,
    max_sectors: 2560,
};

/// The surroundings of 6.1, which are assumed for earlier kernels, too.
const OLDER: Preset = Preset { slots: Slots::LINUX_6_1, ..LATEST };

/// mq-deadline in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "mq-deadline",
    summary: "deadline for each priority class, higher classes first, but aged requests go first",
    presets: &[
        Preset {
            kernel: V4_19,
            source: "recordings of 4.19.222: one class, whatever the priority; requests of any priority merge",
            row: &ROW_4_19,
            ..OLDER
        },
        Preset {
            kernel: V5_10,
            source: "recordings of 5.10.262: one class, whatever the priority",
            row: &ROW_5_10,
            ..OLDER
        },
        Preset {
            kernel: V5_15,
            source: "recordings of 5.15.167: classes, but nothing ages, and only queued requests hold lower ones back",
            row: &ROW_5_15,
            ..OLDER
        },
        Preset { kernel: V6_1, source: "recordings of 6.1.192", row: &ROW_6_1, ..OLDER },
        Preset {
            kernel: V6_12,
            source: "recordings of 6.12.117: goes on from a place instead of with a request",
            ..LATEST
        },
        LATEST,
        Preset {
            kernel: V7_3,
            source: "recordings of 7.3.4; decides as 6.18; async_depth is an attribute of the queue",
            ..LATEST
        },
    ],
    home: Home::Mainline,
    mechanisms: &[
        Classes::MECHANISM,
        Ageing::MECHANISM,
        PositionRule::MECHANISM,
        AtHead::MECHANISM,
        WriteLimit::MECHANISM,
        Tags::MECHANISM,
        MergePriorities::MECHANISM,
        hz("the kernel's ticks per second (CONFIG_HZ): the unit to which expiry times are rounded"),
    ],
    knobs: MqDeadlineTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let rules = Rules {
            classes: choice.way(),
            ageing: choice.way(),
            position: choice.way(),
            at_head: choice.way_if_any().unwrap_or(AtHead::Class),
            depth: Depth { limit: choice.way(), tags: choice.way_if_any().unwrap_or(Tags::PerWord) },
            merge_priorities: choice.way(),
        };
        Box::new(MqDeadline::new(MqDeadlineTunables::of(choice.kernel()), choice.hz(), rules))
    },
};

/// Within a class waits are bounded as deadline's are (a test checks this). Between classes they are not.
fn bound(choice: &Choice) -> Bound {
    if matches!(choice.way(), Classes::One) {
        return bounded();
    }
    let why = "a lower class waits for the higher; ageing lets it in, but behind whatever else has aged above it";
    Bound { reads: Wait::None(why), writes: Wait::None(why) }
}
