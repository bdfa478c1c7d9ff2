//! Kyber in the catalogue.

use alloc::boxed::Box;

use super::domain::Domains;
use super::scheduler::{FeedbackRule, Kyber, Limited, Rules};
use super::tokens::Freed;
use super::tunables::KyberTunables;
use crate::elevators::hz::hz;
use crate::elevators::ioprio::MergePriorities;
use crate::elevators::tags::Tags;
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::{V4_19, V5_10, V5_15, V6_1, V6_12, V6_18, V7_3};
use crate::mechanism::{Pair, differing};
use crate::queue::{Plugging, Slots};
use crate::tunables::Tunables;

/// The row of 6.12 and 6.18; each other is that of a neighbour, and what differs.
const ROW_6_12: [Pair; 7] = [
    Domains::ByOp.row(),
    Freed::Later.row(),
    FeedbackRule::Percentiles.row(),
    Limited::Async.row(),
    Tags::All.row(),
    MergePriorities::Same.row(),
    ("hz", "250"),
];
const ROW_7_3: [Pair; 7] = differing(ROW_6_12, &[Limited::AllButReads.row()]);
const ROW_6_1: [Pair; 7] = differing(ROW_6_12, &[Tags::PerWord.row()]);
const ROW_4_19: [Pair; 7] = differing(
    ROW_6_1,
    &[Domains::ByWaiter.row(), Freed::AtOnce.row(), FeedbackRule::Means.row(), MergePriorities::Any.row()],
);

/// The preset of current kernels.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &ROW_6_12,
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_12,
    max_sectors: 2560,
};

/// 6.1 and before; the surroundings of 6.1 are assumed for earlier kernels, too.
const OLDER: Preset =
    Preset { kernel: V6_1, source: "recordings of 6.1.192", row: &ROW_6_1, slots: Slots::LINUX_6_1, ..LATEST };

/// Kyber in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "kyber",
    summary: "for fast disks: a number of tokens for each kind of operation, sized by measured latency",
    presets: &[
        Preset {
            kernel: V4_19,
            source: "recordings of 4.19.222: another algorithm, by mean latencies",
            row: &ROW_4_19,
            ..OLDER
        },
        Preset { kernel: V5_10, source: "recordings of 5.10.262; decides as 6.1", ..OLDER },
        Preset { kernel: V5_15, source: "recordings of 5.15.167; decides as 6.1", ..OLDER },
        OLDER,
        Preset { kernel: V6_12, source: "recordings of 6.12.117", ..LATEST },
        LATEST,
        Preset {
            kernel: V7_3,
            source: "recordings of 7.3.4: as 6.18, but limits synchronous writes, too",
            row: &ROW_7_3,
            ..LATEST
        },
    ],
    home: Home::Mainline,
    mechanisms: &[
        Domains::MECHANISM,
        Freed::MECHANISM,
        FeedbackRule::MECHANISM,
        Limited::MECHANISM,
        Tags::MECHANISM,
        MergePriorities::MECHANISM,
        hz("the kernel's ticks per second (CONFIG_HZ): when latencies are evaluated"),
    ],
    knobs: KyberTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let rules = Rules {
            domains: choice.way(),
            freed: choice.way(),
            feedback: choice.way(),
            limited: choice.way(),
            tags: choice.way(),
            merge_priorities: choice.way(),
        };
        Box::new(Kyber::new(KyberTunables::of(choice.kernel()), choice.hz(), rules))
    },
};

/// A round of turns is 16 reads, 8 writes, a discard and one of the rest (in 4.19 8 of the rest), and has at least one
/// request of each domain that has any. (A device that keeps a domain's last token in flight keeps that domain waiting;
/// it takes thousands of samples to get to so small a depth.)
fn bound(choice: &Choice) -> Bound {
    let batch: fn(&dyn Tunables) -> u64 = match choice.way() {
        Domains::ByOp => |_| 16 + 8 + 1 + 1,
        Domains::ByWaiter => |_| 16 + 8 + 8,
    };
    let wait = Wait::Bounded { ahead: Ahead::SameDirection, expire: None, batches: |_| 1, batch };
    Bound { reads: wait, writes: wait }
}
