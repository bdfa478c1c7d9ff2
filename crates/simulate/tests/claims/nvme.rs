//! Controls of the experiments about NVMe.

use crate::Change::{Elevator, Text};
use crate::{Control, Controls, every_claim_fails};

/// Experiment, seeds that its rows combine, controls.
pub const ALL: &[Controls] = &[("icpe24", 1, ICPE24)];

const ICPE24: &[Control] = &[
    // A drive of 5,000 commands a second.
    Control {
        changes: &[Text("disk.overhead.interval = \"1272ns\"", "disk.overhead.interval = \"200us\"")],
        breaks: &[(0, &["*"]), (1, &["*"]), (2, &["*"]), (3, &["*"]), (4, &["*"]), (5, &["*"])],
    },
    // No scheduler in any column: nobody waits for a lock.
    Control {
        changes: &[Elevator("*", "none")],
        breaks: &[
            (0, &["32: bfq", "64: bfq", "128: bfq"]),
            (
                1,
                &[
                    "32: bfq",
                    "64: bfq",
                    "128: bfq",
                    "256: bfq",
                    "64: mq-deadline",
                    "128: mq-deadline",
                    "256: mq-deadline",
                ],
            ),
            (2, &["*: bfq", "4: mq-deadline", "5: mq-deadline", "8: mq-deadline", "15: mq-deadline", "2: kyber"]),
            (6, &["*"]),
            (7, &["*"]),
        ],
    },
];

#[test]
fn icpe24() {
    every_claim_fails("icpe24");
}
