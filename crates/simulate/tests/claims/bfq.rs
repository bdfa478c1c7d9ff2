//! Controls of the experiments about BFQ.

use crate::Change::{Elevator, Knob, Run};
use crate::{Control, every_claim_fails_under};

pub const NAMES: &[&str] = &["bfq-doc", "bfq-video"];

#[test]
fn bfq_doc() {
    let controls = [
        // Without raising what has just started.
        Control { changes: &[Knob("*bfq", "low_latency", 0)], breaks: &[(1, &["beside reads: bfq / idle"])] },
        // The others raise it too.
        Control {
            changes: &[Elevator("*", "bfq")],
            breaks: &[
                (1, &["beside reads: none / idle", "beside reads: mq-deadline / idle"]),
                (1, &["beside reads and writes: none / idle", "beside reads and writes: mq-deadline / idle"]),
                (1, &["SSD: none / idle", "SSD: mq-deadline / idle"]),
            ],
        },
        Control {
            changes: &[Run("reads and writes: bfq, low_latency 0", "reads and writes: bfq")],
            breaks: &[(1, &["beside reads and writes: bfq, low_latency 0 / idle"])],
        },
        // One request at a time, and idling for everybody.
        Control {
            changes: &[Knob("*bfq", "strict_guarantees", 1)],
            breaks: &[(3, &["disk, at random: bfq / none", "SSD, at random: bfq / none"])],
        },
    ];
    every_claim_fails_under("bfq-doc", &controls);
}

#[test]
fn bfq_video() {
    let controls = [
        Control {
            changes: &[Elevator("*", "none")],
            breaks: &[(0, &["disk: bfq", "disk: what bfq adds to none", "disk: what bfq adds to mq-deadline"])],
        },
        // A player is a stranger to it.
        Control { changes: &[Elevator("*", "cfq@2.6.33")], breaks: &[(0, &["SSD: bfq"])] },
    ];
    every_claim_fails_under("bfq-video", &controls);
}
