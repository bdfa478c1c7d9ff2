//! Controls of the experiments about NVMe.

use crate::Change::{Elevator, Text};
use crate::{Control, every_claim_fails_under};

pub const NAMES: &[&str] = &["icpe24"];

#[test]
fn icpe24() {
    let controls = [
        // Processors that cost nothing.
        Control {
            changes: &[Text("host.cpu = \"epyc-6.18\"", "host.cpu = \"off\"")],
            breaks: &[(1, &["bfq against none: the most"])],
        },
        // A cheaper scheduler.
        Control { changes: &[Elevator("one: bfq@6.1", "kyber@6.1")], breaks: &[(1, &["bfq against none: the most"])] },
        // Nobody keeps the writers back.
        Control {
            changes: &[Elevator("beside: *", "none")],
            breaks: &[(2, &["kyber lower than none, up to", "bfq lower than none, up to"])],
        },
        // Somebody does who should not.
        Control {
            changes: &[Elevator("beside: mq-deadline@6.1", "bfq@6.1")],
            breaks: &[(2, &["mq-deadline lower than none, up to"])],
        },
    ];
    every_claim_fails_under("icpe24", &controls);
}
