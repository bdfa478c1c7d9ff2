//! Controls of the experiments about CFQ.

use crate::Change::{Elevator, Knob, Run, Text};
use crate::{Control, every_claim_fails_under};

pub const NAMES: &[&str] = &["dump", "nfs", "four-dd", "fairness-fio", "async-ramp-up", "cfq-on-ssd"];

#[test]
fn dump() {
    let controls = [
        // Without idling.
        Control {
            changes: &[Run("jump", "jump, slice_idle 0ms")],
            breaks: &[(0, &["vanilla: a cooperator is served next, once", "patched / vanilla"])],
        },
        // Without merging.
        Control {
            changes: &[Run("merge", "jump")],
            breaks: &[
                (0, &["patched: cooperators share a queue", "patched / vanilla", "patched / deadline"]),
                (1, &["in order: readers that changed to a shared queue"]),
            ],
        },
        // Without jumping.
        Control { changes: &[Run("jump", "none")], breaks: &[(0, &["no cooperators / vanilla"])] },
        // Access turns random, and where it should it does not.
        Control {
            changes: &[Run("merge", "random"), Run("random", "merge")],
            breaks: &[
                (1, &["in order: readers that got one of their own again"]),
                (1, &["then at random: readers that got one of their own again"]),
            ],
        },
    ];
    every_claim_fails_under("dump", &controls);
}

#[test]
fn nfs() {
    let controls = [
        // Without idling for the wrong thread.
        Control { changes: &[Elevator("jump*", "cfq@2.6.33")], breaks: &[(0, &["4 nfsds", "4 / 2 nfsds"])] },
    ];
    every_claim_fails_under("nfs", &controls);
}

#[test]
fn four_dd() {
    let controls = [
        // Nobody's readers are kept together.
        Control {
            changes: &[Elevator("*", "noop")],
            breaks: &[(0, &["*"]), (1, &["10 seeky reads first"]), (2, &["*"])],
        },
        // A seeky start where there should be none, and the tunable off.
        Control {
            changes: &[Run("vivek, fairness", "vivek"), Run("vivek, 0 seeky reads", "vivek"), Run("jeff", "vivek")],
            breaks: &[
                (1, &["the same, fairness = 1: median", "no seeky reads"]),
                (2, &["last / first", "last, fairness 1 / fairness 0"]),
            ],
        },
        Control { changes: &[Run("vivek", "vivek, 0 seeky reads")], breaks: &[(1, &["10 seeky reads first"])] },
        Control {
            changes: &[Text("outer = \"104MB/s\"", "outer = \"90MB/s\"")],
            breaks: &[(2, &["first", "second", "third", "last"])],
        },
    ];
    every_claim_fails_under("four-dd", &controls);
}

#[test]
fn fairness_fio() {
    let controls = [
        // A disk that is equally fast everywhere.
        Control {
            changes: &[Text("inner = \"56.5MB/s\"", "inner = \"113MB/s\"")],
            breaks: &[
                (0, &["job 1", "job 2", "job 6", "job 7"]),
                (1, &["job 7"]),
                (4, &["from the least to the most"]),
            ],
        },
        // Nobody's readers are kept together.
        Control { changes: &[Elevator("*", "noop")], breaks: &[(2, &["*"]), (3, &["*"]), (4, &["total transferred"])] },
        // Readers that seek first, so that idling is lost.
        Control {
            changes: &[Text("runtime = \"10s\"", "runtime = \"10s\"\nmetadata = 8")],
            breaks: &[(0, &["job 2", "job 3", "job 8"]), (1, &["job 1", "job 2", "job 4"]), (4, &["*"])],
        },
        Control { changes: &[Run("vanilla", "seeky")], breaks: &[(0, &["job 4", "job 8"])] },
        Control { changes: &[Run("fairness", "seeky")], breaks: &[(1, &["job 1", "job 3", "job 4", "job 8"])] },
    ];
    every_claim_fails_under("fairness-fio", &controls);
}

/// Write-back's depth is not limited, though it should be.
const UNLIMITED: &[crate::Change] = &[Knob("*, old", "low_latency", 0), Knob("*, new", "low_latency", 0)];

#[test]
fn async_ramp_up() {
    let controls = [
        // The drive's write cache makes depth worthless.
        Control {
            changes: &[
                Run("gitk, old", "gitk, cache, old"),
                Run("gitk, new", "gitk, cache, new"),
                Run("gitk, off", "gitk, cache, off"),
            ],
            breaks: &[(0, &["new / old", "off / old", "new is faster than old, with every seed: new / old"])],
        },
        Control {
            changes: &[Run("gitk, off", "gitk, new")],
            breaks: &[(0, &["off is faster than new, with every seed: off / new"])],
        },
        // Nor is it limited with the patch.
        Control {
            changes: &[Knob("*, new", "low_latency", 0)],
            breaks: &[
                (2, &["2, 4, 6, 8, 12, 16 threads, mean: new / old"]),
                (3, &["new, last read < 100 ms ago: writes", "new, last read < 100 ms ago: until they are done"]),
                (3, &["new, last read 100-200 ms ago: writes"]),
            ],
        },
        Control {
            changes: UNLIMITED,
            breaks: &[
                (2, &["2, 4, 6, 8, 12, 16 threads, mean: off / old"]),
                (3, &["old, last read < 100 ms ago: writes", "old, last read < 100 ms ago: until they are done"]),
                (3, &["old, last read 100-200 ms ago: writes", "old, last read 100-200 ms ago: until they are done"]),
            ],
        },
        // The old formula where the new one should be.
        Control {
            changes: &[Elevator("*, new", "cfq@2.6.32")],
            breaks: &[(3, &["new, last read 100-200 ms ago: until they are done"])],
        },
        // No scheduler that knows of write-back.
        Control {
            changes: &[Elevator("*, off", "noop")],
            breaks: &[(3, &["off: writes", "off: the longest that a read took"])],
        },
        Control { changes: &[Knob("*, new", "low_latency", 0)], breaks: &[(4, &["*off / new"])] },
        // Another thread: nothing that a scheduler does moves the one's figure.
        Control { changes: &[Run("sysbench 1, off", "sysbench 2, off")], breaks: &[(2, &["1 threads: off / old"])] },
    ];
    every_claim_fails_under("async-ramp-up", &controls);
}

#[test]
fn cfq_on_ssd() {
    let controls = [
        Control {
            changes: &[
                Run("local, slice_idle 8ms", "local, slice_idle 0ms"),
                Run("cloud, slice_idle 8ms", "cloud, slice_idle 0ms"),
            ],
            breaks: &[(0, &["off / on"]), (1, &["off / on, at least twice"])],
        },
        // One process fills the disk.
        Control {
            changes: &[
                Run("local, slice_idle 0ms", "local, 64 requests, slice_idle 0ms"),
                Run("local, slice_idle 8ms", "local, 64 requests, slice_idle 8ms"),
            ],
            breaks: &[(0, &["off / on"])],
        },
    ];
    every_claim_fails_under("cfq-on-ssd", &controls);
}
