//! Controls of the experiments about the deadline scheduler of 2.5.

use crate::Change::{Elevator, Knob, Run, Text};
use crate::{Control, every_claim_fails_under};

pub const NAMES: &[&str] = &["horror", "horror-scsi", "readers-vs-dd", "rbtree-scores", "morton-2003"];

/// Readers that keep several reads queued, beside the one that is measured.
const WITH_OTHER_READERS: crate::Change = Text(
    "[[run]]\nname = \"batch{",
    "[[workload]]\nprogram = \"tree-readers\"\ntrees = 40\napart = \"1GiB\"\n\n[[run]]\nname = \"batch{",
);

#[test]
fn horror() {
    let controls = [
        // Batches count requests, not points.
        Control {
            changes: &[Elevator("*", "deadline@2.6.33")],
            breaks: &[(0, &["*"]), (1, &["read_expire 500", "read_expire 300", "read_expire 200", "read_expire 50"])],
        },
        // A sequential write costs a revolution.
        Control {
            changes: &[Text("disk.preset =", "disk.write_cache.order = \"off\"\ndisk.preset =")],
            breaks: &[(0, &["fifo_batch 64", "fifo_batch 32"])],
        },
        // Nobody keeps reads and writes apart.
        Control {
            changes: &[Elevator("*", "noop")],
            breaks: &[
                (1, &["read_expire 400", "read_expire 100"]),
                (
                    2,
                    &[
                        "writes_starved 1",
                        "writes_starved 2",
                        "writes_starved 4",
                        "writes_starved 8",
                        "writes_starved 16",
                    ],
                ),
            ],
        },
        // There are other reads to decide between.
        Control { changes: &[WITH_OTHER_READERS], breaks: &[(2, &["slowest to fastest"])] },
        // A read_expire that did what fifo_batch does: nothing else that was tried makes it matter here.
        Control { changes: &[Run("expire50", "batch16")], breaks: &[(1, &["slowest to fastest"])] },
    ];
    every_claim_fails_under("horror", &controls);
}

#[test]
fn horror_scsi() {
    let controls = [
        // A driver that does not look ahead: IDE's.
        Control {
            changes: &[Text("queue.peek = \"true\"", "queue.peek = \"false\"")],
            breaks: &[(0, &["32 to 16", "16 to 8", "8 to 4", "4 to 2"])],
        },
        // The drive holds four writes itself.
        Control { changes: &[Text("queue.depth = 1", "queue.depth = 4")], breaks: &[(0, &["64 to 32"])] },
    ];
    every_claim_fails_under("horror-scsi", &controls);
}

#[test]
fn readers_vs_dd() {
    let controls = [
        Control {
            changes: &[Elevator("*", "noop")],
            breaks: &[
                (0, &["64: with dd, bi", "64: with dd, bo", "64: bi with dd to alone"]),
                (1, &["16: with dd, bi", "16: bi with dd to alone"]),
            ],
        },
        // The disk is kept idle for one reader after the other.
        Control {
            changes: &[Elevator("*", "cfq@2.6.33")],
            breaks: &[(0, &["64: readers alone, bi", "64: with dd, interrupts"]), (1, &["16: readers alone, bi"])],
        },
        // Writes are passed over twice as often.
        Control {
            changes: &[Knob("batch16", "writes_starved", 4)],
            breaks: &[(2, &["times reads went first, for each time writes were starved"])],
        },
        // A batch of writes may be longer.
        Control { changes: &[Knob("batch16", "fifo_batch", 64)], breaks: &[(2, &["writes in a batch behind reads"])] },
    ];
    every_claim_fails_under("readers-vs-dd", &controls);
}

#[test]
fn rbtree_scores() {
    let controls = [
        // Longer queues that are no longer.
        Control {
            changes: &[Run("list512", "list128"), Run("list4096", "list512"), Run("tree512", "tree128")],
            breaks: &[(0, &["list: 512 to 128", "list: 4096 to 128"]), (1, &["tree: 512 to 128"])],
        },
        Control { changes: &[Run("tree4096", "tree128")], breaks: &[(1, &["tree: 4096 to 128, comparisons"])] },
        // Without the tree.
        Control {
            changes: &[Text("steps(tree)", "steps(list)"), Text("+order=tree", "")],
            breaks: &[(1, &["tree: 512 to 128", "tree: 4096 to 128, comparisons"])],
        },
        // Without the limit to what is dirty.
        Control { changes: &[Run("list4096", "unbounded")], breaks: &[(0, &["list: 4096 to 128"])] },
    ];
    every_claim_fails_under("rbtree-scores", &controls);
}

#[test]
fn morton_2003() {
    let controls = [
        // Nobody sorts, prefers reads or waits.
        Control {
            changes: &[Elevator("T1 *", "noop"), Elevator("T6 *", "noop")],
            breaks: &[(0, &["AS, first", "AS, last"]), (1, &["deadline", "AS"]), (2, &["2.4.21: bi", "deadline: bi"])],
        },
        // The disk is kept idle for the tree's next read.
        Control { changes: &[Elevator("T8 deadline*", "anticipatory")], breaks: &[(4, &["deadline"])] },
    ];
    every_claim_fails_under("morton-2003", &controls);
}
