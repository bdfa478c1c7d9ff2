//! Which era has what: the rows of the table.

use super::batch::Cost;
use super::expiry::Expiry;
use super::moving::{Arm, Moving};
use super::order::Order;
use super::stepping::{Alias, Stepping};
use super::tunables::DeadlineTunables;
use crate::elevator::Elevator;
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Mechanism, Preset, Variant, Wait};
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
            row: &[("order", "list"), ("cost", "per_request"), ("arm", "last_issued"), ("hz", "1000")],
            plugging: Plugging::LINUX_2_5,
            slots: Slots::LINUX_2_5,
            max_sectors: 256,
        },
        Preset {
            kernel: Kernel::new(2, 5, 45),
            source: "its published text; the tree is the patch of 2002-10-31 (mail of 2002-11-01)",
            row: &[("order", "list"), ("cost", "per_size"), ("arm", "last_chosen"), ("hz", "1000")],
            plugging: Plugging::LINUX_2_5,
            slots: Slots::LINUX_2_5,
            max_sectors: 256,
        },
        Preset {
            kernel: Kernel::new(2, 6, 33),
            source: "recordings of 2.6.33; 2.6.31 and 2.6.32 decide alike",
            row: &[("expiry", "after"), ("alias", "force"), ("hz", "1000")],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
        Preset {
            kernel: Kernel::new(4, 20, 0),
            source: "recordings of 4.20; 4.19 decides alike",
            row: &[("expiry", "at"), ("alias", "behind"), ("hz", "250")],
            plugging: Plugging::LINUX_3,
            slots: Slots::LINUX_2_6,
            max_sectors: 2560,
        },
    ],
    home: Home::Mainline,
    mechanisms: &[
        Mechanism {
            name: "order",
            doc: "how requests are kept in sector order (2.5)",
            variants: &[
                Variant { name: "list", doc: "a list scanned from its tail: 2.5.38, 2.5.45" },
                Variant { name: "tree", doc: "a red-black tree: the patch of 2002-10-31 (mail of 2002-11-01)" },
            ],
        },
        Mechanism {
            name: "cost",
            doc: "what a contiguous request costs a batch (2.5)",
            variants: &[
                Variant { name: "per_request", doc: "1: 2.5.38 (mail of 2002-09-26)" },
                Variant { name: "per_size", doc: "1 per 128 KiB begun: 2.5.45" },
            ],
        },
        Mechanism {
            name: "arm",
            doc: "where the disk's arm is taken to be when a new request is placed (2.5)",
            variants: &[
                Variant { name: "last_issued", doc: "behind the last request issued: 2.5.38" },
                Variant { name: "last_chosen", doc: "behind the last request chosen: 2.5.45" },
            ],
        },
        Mechanism {
            name: "expiry",
            doc: "when exactly a request's time is up",
            variants: &[
                Variant { name: "after", doc: "after the tick: 2.6" },
                Variant { name: "at", doc: "at the tick: 4.20" },
            ],
        },
        Mechanism {
            name: "alias",
            doc: "what happens to two requests with one first sector",
            variants: &[
                Variant { name: "force", doc: "the older is forced out at once: 2.6" },
                Variant { name: "behind", doc: "the newer queues behind: 4.20" },
            ],
        },
        Mechanism {
            name: "hz",
            doc: "the kernel's ticks per second",
            variants: &[
                Variant { name: "100", doc: "10 ms ticks" },
                Variant { name: "250", doc: "4 ms ticks: Debian" },
                Variant { name: "300", doc: "3.3 ms ticks" },
                Variant { name: "1000", doc: "1 ms ticks: 2.5, desktops" },
            ],
        },
    ],
    knobs: DeadlineTunables::KNOBS,
    bound,
    build,
};

fn build(choice: &Choice) -> Box<dyn Elevator> {
    let defaults = DeadlineTunables::of(choice.kernel());
    if choice.kernel() < V2_6 {
        let order = if choice.variant("order") == "tree" { Order::Tree } else { Order::List };
        let cost = if choice.variant("cost") == "per_size" { Cost::PerSize } else { Cost::PerRequest };
        let arm = if choice.variant("arm") == "last_issued" { Arm::LastIssued } else { Arm::LastChosen };
        let fifo_batch = if choice.kernel() == V2_5_38 { 64 } else { 32 };
        return Box::new(Moving::new(DeadlineTunables { fifo_batch, ..defaults }, choice.hz(), order, cost, arm));
    }
    let expiry = if choice.variant("expiry") == "at" { Expiry::At } else { Expiry::After };
    let alias = if choice.variant("alias") == "force" { Alias::Force } else { Alias::Behind };
    Box::new(Stepping::new(defaults, choice.hz(), expiry, alias))
}

/// A request whose time is up begins the next batch of its direction, unless older ones are late too.
fn bound(choice: &Choice) -> Bound {
    let expired = |expire, batches| Wait::Bounded {
        ahead: Ahead::SameDirection,
        expire: Some(expire),
        batches,
        batch: batch_length,
    };
    let writes = if choice.kernel() < V2_6 {
        Wait::None("in 2.5 writes never expire, and a batch of them begins at the lowest sector")
    } else {
        expired("write_expire", batches_between_writes)
    };
    Bound { reads: expired("read_expire", batches_between_reads), writes }
}

/// Between two batches of reads: the one that runs, and one of writes. At `writes_starved` 0 and below writes go first
/// for as long as there are any.
fn batches_between_reads(tunables: &dyn Tunables) -> u64 {
    if tunables.get("writes_starved").unwrap_or(1) > 0 { 2 } else { u64::MAX }
}

/// Between two batches of writes: the one that runs, and `writes_starved` of reads.
fn batches_between_writes(tunables: &dyn Tunables) -> u64 {
    tunables.get("writes_starved").unwrap_or(0).max(0) as u64 + 1
}

/// A batch has at most `fifo_batch` requests, and at least one; in 2.5 as many as there are if seeks cost nothing.
fn batch_length(tunables: &dyn Tunables) -> u64 {
    if tunables.get("seek_cost") == Some(0) {
        return u64::MAX;
    }
    tunables.get("fifo_batch").unwrap_or(1).max(1) as u64
}
