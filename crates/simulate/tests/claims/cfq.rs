//! Controls of the experiments about CFQ.

use crate::Change::{Elevator, Knob, Set, Text};
use crate::{Control, Controls, every_claim_fails};

/// Experiment, seeds that its rows combine, controls.
pub const ALL: &[Controls] = &[
    ("dump", 1, DUMP),
    ("nfs", 1, NFS),
    ("four-dd", 10, FOUR_DD),
    ("fairness-fio", 7, FAIRNESS_FIO),
    ("async-ramp-up", 1, ASYNC_RAMP_UP),
    ("cfq-on-ssd", 1, CFQ_ON_SSD),
];

const DUMP: &[Control] = &[
    // Without idling.
    Control {
        changes: &[Knob("jump", "slice_idle", 0)],
        breaks: &[(0, &["vanilla: a cooperator is served next, once", "patched / vanilla"])],
    },
    // Without merging.
    Control {
        changes: &[Elevator("merge", "cfq@2.6.32")],
        breaks: &[
            (0, &["patched: cooperators share a queue", "patched / vanilla", "patched / deadline"]),
            (3, &["in order: readers that changed to a shared queue"]),
        ],
    },
    // Without jumping.
    Control {
        changes: &[Elevator("jump", "cfq@2.6.32+cooperation=none")],
        breaks: &[(0, &["no cooperators / vanilla"])],
    },
    // Access becomes random where it should not, and stays sequential where it should not.
    Control {
        changes: &[Set("merge", "dump.random_chunks", "250")],
        breaks: &[(3, &["in order: readers that got one of their own again"])],
    },
    Control {
        changes: &[Text("random_chunks = 250", "random_chunks = 0")],
        breaks: &[(3, &["then at random: readers that got one of their own again"])],
    },
];

#[test]
fn dump() {
    every_claim_fails("dump");
}

const NFS: &[Control] = &[
    // Without idling for the wrong thread.
    Control { changes: &[Elevator("jump*", "cfq@2.6.33")], breaks: &[(0, &["4 nfsds", "4 / 2 nfsds"])] },
];

#[test]
fn nfs() {
    every_claim_fails("nfs");
}

const MOYERS_DISK_IS_SLOW: crate::Change = Text(
    "machine = \"../machines/moyer-2009.toml\"\n",
    "machine = \"../machines/moyer-2009.toml\"\ndisk.zones.outer = \"90MB/s\"\n",
);
const MOYERS_DISK_IS_EVEN: crate::Change = Text(
    "machine = \"../machines/moyer-2009.toml\"\n",
    "machine = \"../machines/moyer-2009.toml\"\ndisk.zones.inner = \"104MB/s\"\n",
);

const FOUR_DD: &[Control] = &[
    // No scheduler keeps readers together.
    Control { changes: &[Elevator("*", "noop")], breaks: &[(0, &["*"]), (1, &["10 seeky reads first"]), (2, &["*"])] },
    // The tunable does nothing.
    Control { changes: &[Knob("vivek, fairness", "fairness", 0)], breaks: &[(1, &["the same, fairness = 1: median"])] },
    // A start with a seek where there should be none, and none where there should be one.
    Control {
        changes: &[Text("set.dd.metadata = 0", "set.dd.metadata = 10")],
        breaks: &[(2, &["last / first", "last, fairness 1 / fairness 0"])],
    },
    // A process's first request is a seek, except for the one whose file begins where the disk does.
    Control {
        changes: &[Elevator("vivek, 0 seeky reads", "cfq@2.6.31+first_seek=from_zero")],
        breaks: &[(1, &["no seeky reads"])],
    },
    Control { changes: &[Text("metadata = 10\n\n", "metadata = 0\n\n")], breaks: &[(1, &["10 seeky reads first"])] },
    Control { changes: &[MOYERS_DISK_IS_SLOW], breaks: &[(2, &["first", "second", "third", "last"])] },
];

#[test]
fn four_dd() {
    every_claim_fails("four-dd");
}

const FAIRNESS_FIO: &[Control] = &[
    // A disk that is equally fast everywhere.
    Control { changes: &[MOYERS_DISK_IS_EVEN], breaks: &[(0, &["from the least to the most"])] },
    // Slices of another length.
    Control { changes: &[Knob("*", "slice_sync", 40)], breaks: &[(2, &["a turn, mean"])] },
    // Readers that seek first, so that idling is lost.
    Control {
        changes: &[Text("runtime = \"10s\"", "runtime = \"10s\"\nmetadata = 8")],
        breaks: &[(0, &["total transferred", "what fairness = 1 changes*"]), (2, &["the furthest from the mean*"])],
    },
    // A slice ends as soon as its reader thinks.
    Control {
        changes: &[Text("thinker.runtime = \"30s\"", "thinker.runtime = \"30s\"\nset.knob.slice_idle = 0")],
        breaks: &[(5, &["it thinks 1 ms: disk time", "it thinks 4 ms: disk time"])],
    },
    // A think time within slice_idle.
    Control {
        changes: &[Text("thinker.runtime = \"30s\"", "thinker.runtime = \"30s\"\nset.knob.slice_idle = 16")],
        breaks: &[(5, &["it thinks 10 ms: disk time"])],
    },
];

#[test]
fn fairness_fio() {
    every_claim_fails("fairness-fio");
}

/// The depth of write-back is not limited, though it should be.
const UNLIMITED: &[crate::Change] = &[Knob("*, old", "low_latency", 0), Knob("*, new", "low_latency", 0)];

const ASYNC_RAMP_UP: &[Control] = &[
    // Nor is it where a read comes only every 250 ms; and the formula of before the patch in its place.
    Control {
        changes: &[
            Knob("read every 250ms, alone, cfq@2.6.32", "low_latency", 0),
            Elevator("read every 250ms, alone, cfq@2.6.32+async_depth=remaining_slice", "cfq@2.6.32"),
        ],
        breaks: &[(3, &["old, a read every 250 ms*", "new, a read every 250 ms*"])],
    },
    // The drive's write cache makes depth worthless.
    Control {
        changes: &[Text("disk.write_cache.order = \"off\"", "disk.write_cache.order = \"position\"")],
        breaks: &[(0, &["new / old", "off / old", "new is faster than old, with every seed: new / old"])],
    },
    Control {
        changes: &[
            Elevator("gitk, off", "cfq@2.6.32+async_depth=remaining_slice"),
            Knob("gitk, off", "low_latency", 1),
        ],
        breaks: &[(0, &["off is faster than new, with every seed: off / new"])],
    },
    // Nor is it limited with the patch.
    Control {
        changes: &[Knob("*, new", "low_latency", 0)],
        breaks: &[
            (2, &["2, 4, 6, 8, 12, 16 threads, mean: new / old"]),
            (3, &["new, last read < 100 ms ago: writes"]),
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
    // A scheduler that does not distinguish write-back.
    Control {
        changes: &[Elevator("*, off", "noop")],
        breaks: &[(3, &["off: writes", "off: the longest that a read took"])],
    },
    Control { changes: &[Knob("*, new", "low_latency", 0)], breaks: &[(4, &["*off / new"])] },
    // A disk that takes many requests at a time after all; a kernel that limits depth.
    Control {
        changes: &[Text("set.queue.depth = 1\n", "set.queue.depth = 31\n")],
        breaks: &[(5, &["depth 1: new / old", "depth 1: off / old"])],
    },
    Control { changes: &[Elevator("gitk, 2.6.31", "cfq@2.6.32")], breaks: &[(5, &["2.6.31 / off"])] },
    // A kernel that has no workload slices, with the patch and without; a workload slice as long as the slice.
    Control {
        changes: &[
            Elevator("2.6.33 and the patch, short slices", "cfq@2.6.32+async_depth=remaining_slice"),
            Knob("2.6.33 and the patch, long slices", "slice_sync", 100),
            Elevator("2.6.33 and the patch, a read every *", "cfq@2.6.32"),
        ],
        breaks: &[(
            6,
            &[
                "a new slice begins*",
                "a read in a workload slice waits*",
                "behind its end it preempts at once*",
                "Vivek: writes that the first read*",
            ],
        )],
    },
    // 2.6.33 without the patch.
    Control {
        changes: &[Elevator("2.6.33 and the patch, a read every *", "cfq@2.6.33")],
        breaks: &[(6, &["Vivek: writes that each of many*"])],
    },
];

#[test]
fn async_ramp_up() {
    every_claim_fails("async-ramp-up");
}

const CFQ_ON_SSD: &[Control] = &[
    Control { changes: &[Knob("* 8ms", "slice_idle", 0)], breaks: &[(0, &["off / on"])] },
    // One process fills the disk.
    Control {
        changes: &[Set("local, slice_idle {knob.slice_idle}", "queue.nr_requests", "64")],
        breaks: &[(0, &["off / on"])],
    },
];

#[test]
fn cfq_on_ssd() {
    every_claim_fails("cfq-on-ssd");
}
