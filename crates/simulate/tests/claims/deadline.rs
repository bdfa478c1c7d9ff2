//! Controls of the experiments about the deadline scheduler of 2.5.

use crate::Change::{Elevator, Knob, Text};
use crate::{Control, Controls, every_claim_fails};

/// Experiment, seeds that its rows combine, controls.
pub const ALL: &[Controls] = &[
    ("horror", 1, HORROR),
    ("horror-scsi", 1, HORROR_SCSI),
    ("readers-vs-dd", 1, READERS_VS_DD),
    ("rbtree-scores", 1, RBTREE_SCORES),
    ("morton-2003", 1, MORTON_2003),
    ("axboe-2004", 1, AXBOE_2004),
];

/// Readers that keep several reads queued, beside the one that is measured.
const WITH_OTHER_READERS: crate::Change = Text(
    "[[run]]\nname = \"batch{",
    "[[workload]]\nprogram = \"tree-readers\"\ntrees = 10\n\n[[run]]\nname = \"batch{",
);

const HORROR: &[Control] = &[
    // Batches count requests, not points.
    Control {
        changes: &[Elevator("*", "deadline@2.6.33")],
        breaks: &[(0, &["fifo_batch 64, beside*", "fifo_batch 16", "fifo_batch 8", "16 to 8"])],
    },
    // No scheduler separates reads and writes.
    Control { changes: &[Elevator("*", "noop")], breaks: &[(0, &["64 to 32"])] },
    // There are other reads to decide between.
    Control { changes: &[WITH_OTHER_READERS], breaks: &[(1, &["slowest to fastest"]), (2, &["slowest to fastest"])] },
];

#[test]
fn horror() {
    every_claim_fails("horror");
}

const HORROR_SCSI: &[Control] = &[
    // A driver that does not look ahead: IDE's.
    Control {
        changes: &[Text("queue.peek = \"true\"", "queue.peek = \"false\"")],
        breaks: &[(0, &["32 to 16", "16 to 8", "8 to 4", "4 to 2"])],
    },
    // The drive holds four writes itself.
    Control { changes: &[Text("queue.depth = 1", "queue.depth = 4")], breaks: &[(0, &["64 to 32"])] },
];

#[test]
fn horror_scsi() {
    every_claim_fails("horror-scsi");
}

const READERS_VS_DD: &[Control] = &[
    Control {
        changes: &[Elevator("*", "noop")],
        breaks: &[
            (0, &["64: with dd, bi", "64: bi with dd to alone"]),
            (1, &["16: with dd, bi", "16: bi with dd to alone"]),
        ],
    },
    // The disk is kept idle for one reader after the other.
    Control {
        changes: &[Elevator("*", "cfq@2.6.33")],
        breaks: &[(0, &["64: readers alone, bi"]), (1, &["16: readers alone, bi"])],
    },
    // Writes are passed over eight times as often.
    Control {
        changes: &[Knob("batch64", "writes_starved", 16)],
        breaks: &[(0, &["64: with dd, bo", "64: with dd, interrupts"])],
    },
    // Writes are passed over twice as often.
    Control {
        changes: &[Knob("batch16", "writes_starved", 4)],
        breaks: &[(2, &["times reads went first, for each time writes were starved"])],
    },
    // A batch of writes may be longer.
    Control { changes: &[Knob("batch16", "fifo_batch", 64)], breaks: &[(2, &["writes in a batch behind reads"])] },
];

#[test]
fn readers_vs_dd() {
    every_claim_fails("readers-vs-dd");
}

const RBTREE_SCORES: &[Control] = &[
    // So little may be dirty that no queue is ever long.
    Control {
        changes: &[Text("dirty = \"10MiB\"", "dirty = \"256KiB\"")],
        breaks: &[(0, &["list: 512 to 128"]), (2, &["list over tree: 512 to 128", "list over tree: 4096 to 128"])],
    },
    // No scheduler sorts, however many wait.
    Control { changes: &[Elevator("list*", "noop")], breaks: &[(3, &["4096 to 128"])] },
    // Without the tree.
    Control {
        changes: &[Text("steps(tree)", "steps(list)"), Text("+order=tree", "")],
        breaks: &[(1, &["tree: 4096 to 128, comparisons"])],
    },
];

#[test]
fn rbtree_scores() {
    every_claim_fails("rbtree-scores");
}

const MORTON_2003: &[Control] = &[
    // No scheduler sorts, prefers reads or waits.
    Control {
        changes: &[Elevator("T1 *", "noop"), Elevator("T6 *", "noop")],
        breaks: &[(0, &["AS, first", "AS, last"]), (3, &["deadline", "AS"]), (4, &["deadline: bi"])],
    },
    // The disk is kept idle for the tree's next read.
    Control { changes: &[Elevator("T8 deadline*", "anticipatory")], breaks: &[(6, &["deadline"])] },
    // The disk is not kept idle.
    Control { changes: &[Elevator("T8 anticipatory", "deadline@2.5.45")], breaks: &[(6, &["AS"])] },
];

#[test]
fn morton_2003() {
    every_claim_fails("morton-2003");
}

const AXBOE_2004: &[Control] = &[
    // The disk is not kept idle for a reader's next request.
    Control { changes: &[Elevator("1, anticipatory, *", "deadline@2.6.33")], breaks: &[(1, &["*"])] },
    // The drive sorts what it drains.
    Control {
        changes: &[Text("time = \"30s\"\n", "time = \"30s\"\ndisk.write_cache.order = \"position\"\n")],
        breaks: &[(6, &["8 clients*"])],
    },
    // The scheduler does not turn back for near requests.
    Control { changes: &[Elevator("3, near, anticipatory", "deadline@2.6.33")], breaks: &[(13, &["AS: *"])] },
    Control {
        changes: &[Elevator("3, near, deadline@2.6.33", "anticipatory")],
        breaks: &[(13, &["deadline: best to worst"])],
    },
];

#[test]
fn axboe_2004() {
    every_claim_fails("axboe-2004");
}
