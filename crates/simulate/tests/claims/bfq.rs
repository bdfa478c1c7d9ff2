//! Controls of the experiments about BFQ.

use crate::Change::{Elevator, Knob};
use crate::{Control, Controls, every_claim_fails};

/// Experiment, seeds that its rows combine, controls.
pub const ALL: &[Controls] = &[("bfq-doc", 1, BFQ_DOC), ("bfq-video", 5, BFQ_VIDEO)];

const BFQ_DOC: &[Control] = &[
    // New queues are not weight-raised.
    Control { changes: &[Knob("*bfq", "low_latency", 0)], breaks: &[(1, &["beside reads: bfq / idle"])] },
    // The others are weight-raised too.
    Control {
        changes: &[Elevator("*", "bfq")],
        breaks: &[
            (1, &["beside reads: none / idle", "beside reads: mq-deadline / idle"]),
            (1, &["beside reads and writes: none / idle", "beside reads and writes: mq-deadline / idle"]),
            (1, &["SSD: none / idle", "SSD: mq-deadline / idle"]),
        ],
    },
    Control {
        changes: &[Knob("reads and writes: bfq, low_latency 0", "low_latency", 1)],
        breaks: &[(1, &["beside reads and writes: bfq, low_latency 0 / idle"])],
    },
    // One request at a time, and idling for every queue.
    Control {
        changes: &[Knob("*bfq", "strict_guarantees", 1)],
        breaks: &[(3, &["disk, at random: bfq / none", "SSD, at random: bfq / none"])],
    },
];

#[test]
fn bfq_doc() {
    every_claim_fails("bfq-doc");
}

const BFQ_VIDEO: &[Control] = &[
    Control {
        changes: &[Elevator("*", "none")],
        breaks: &[(0, &["disk: bfq", "disk: what bfq adds to none", "disk: what bfq adds to mq-deadline"])],
    },
    // CFQ does not recognise a player.
    Control { changes: &[Elevator("*", "cfq@2.6.33")], breaks: &[(0, &["SSD: bfq"])] },
];

#[test]
fn bfq_video() {
    every_claim_fails("bfq-video");
}
