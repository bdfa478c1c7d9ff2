//! The preset of each kernel: the mechanisms that it has.

use alloc::boxed::Box;

use super::batch::Cost;
use super::expiry::Expiry;
use super::moving::{Arm, Moving};
use super::order::Order;
use super::stepping::{Alias, Stepping};
use super::tunables::DeadlineTunables;
use crate::elevator::Elevator;
use crate::elevators::hz::hz;
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::Kernel;
use crate::queue::{Plugging, Slots};
use crate::tunables::Tunables;

const V2_5_38: Kernel = Kernel::new(2, 5, 38);
const V2_6: Kernel = Kernel::new(2, 6, 0);

/// deadline in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "deadline",
    summary: "batches in sector order, reads before writes, and no request waits past its deadline for long",
    presets: &[
        Preset {
            kernel: V2_5_38,
            source: "the mail of 2002-09-26; the rest as 2.5.45, an assumption",
            row: &[Order::List.row(), Cost::PerRequest.row(), Arm::LastIssued.row(), ("hz", "1000")],
            plugging: Plugging::LINUX_2_5,
            slots: Slots::LINUX_2_5,
            max_sectors: 256,
        },
        Preset {
            kernel: Kernel::new(2, 5, 45),
            source: "its published text; the tree is the patch of 2002-10-31 (mail of 2002-11-01)",
            row: &[Order::List.row(), Cost::PerSize.row(), Arm::LastChosen.row(), ("hz", "1000")],
            plugging: Plugging::LINUX_2_5,
            slots: Slots::LINUX_2_5,
            max_sectors: 256,
        },
        Preset {
            kernel: Kernel::new(2, 6, 33),
            source: "recordings of 2.6.33; 2.6.31 and 2.6.32 decide alike",
            row: &[Expiry::After.row(), Alias::Force.row(), ("hz", "1000")],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
        Preset {
            kernel: Kernel::new(4, 20, 0),
            source: "recordings of 4.20; 4.19 decides alike",
            row: &[Expiry::At.row(), Alias::Behind.row(), ("hz", "250")],
            plugging: Plugging::LINUX_3,
            slots: Slots::LINUX_2_6,
            max_sectors: 2560,
        },
    ],
    home: Home::Mainline,
    mechanisms: &[
        Order::MECHANISM,
        Cost::MECHANISM,
        Arm::MECHANISM,
        Expiry::MECHANISM,
        Alias::MECHANISM,
        hz("the kernel's ticks per second (CONFIG_HZ)"),
    ],
    knobs: DeadlineTunables::KNOBS,
    bound,
    build,
};

fn build(choice: &Choice) -> Box<dyn Elevator> {
    let defaults = DeadlineTunables::of(choice.kernel());
    if choice.kernel() < V2_6 {
        let (order, cost, arm) = (choice.way(), choice.way(), choice.way());
        let fifo_batch = if choice.kernel() == V2_5_38 { 64 } else { 32 };
        return Box::new(Moving::new(DeadlineTunables { fifo_batch, ..defaults }, choice.hz(), order, cost, arm));
    }
    Box::new(Stepping::new(defaults, choice.hz(), choice.way(), choice.way()))
}

/// An expired request begins the next batch of its direction, unless older ones have expired too.
fn bound(choice: &Choice) -> Bound {
    if choice.kernel() < V2_6 {
        let why = "in 2.5 writes never expire, and a batch of them begins at the lowest sector";
        return Bound { writes: Wait::None(why), ..bounded() };
    }
    bounded()
}

/// The bound of two queues of one class each, whose expired requests begin the next batch: mq-deadline's, too, before
/// it knew classes.
pub(in crate::elevators) fn bounded() -> Bound {
    let expired = |expire, batches| Wait::Bounded {
        ahead: Ahead::SameDirection,
        expire: Some(expire),
        batches,
        batch: batch_length,
    };
    Bound {
        reads: expired("read_expire", batches_between_reads),
        writes: expired("write_expire", batches_between_writes),
    }
}

/// Between two batches of reads: the one that runs, and one of writes. With `writes_starved` 0 or less, writes go first
/// as long as there are any.
fn batches_between_reads(tunables: &dyn Tunables) -> u64 {
    if tunables.get("writes_starved").unwrap_or(1) > 0 { 2 } else { u64::MAX }
}

/// Between two batches of writes: the one that runs, and `writes_starved` of reads.
fn batches_between_writes(tunables: &dyn Tunables) -> u64 {
    tunables.get("writes_starved").unwrap_or(0).max(0) as u64 + 1
}

/// A batch has at most `fifo_batch` requests, and at least one; in 2.5 it is unlimited if seeks cost nothing.
fn batch_length(tunables: &dyn Tunables) -> u64 {
    if tunables.get("seek_cost") == Some(0) {
        return u64::MAX;
    }
    tunables.get("fifo_batch").unwrap_or(1).max(1) as u64
}
