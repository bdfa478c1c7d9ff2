//! Controls of the experiments about NVMe.

use crate::Change::{Elevator, Text};
use crate::{Control, Controls, every_claim_fails};

/// Experiment, seeds that its rows combine, controls.
pub const ALL: &[Controls] = &[("icpe24", 1, ICPE24)];

const ICPE24: &[Control] = &[
    // Processors whose time costs nothing.
    Control {
        changes: &[Text("host.cpu = \"epyc-6.18\"", "host.cpu = \"off\"")],
        breaks: &[(1, &["bfq against none: the most"])],
    },
    // A cheaper scheduler.
    Control { changes: &[Elevator("one: bfq@6.1", "kyber@6.1")], breaks: &[(1, &["bfq against none: the most"])] },
    // No controller holds the writers back.
    Control {
        changes: &[Elevator("beside: *", "none")],
        breaks: &[(2, &["kyber lower than none, up to", "bfq lower than none, up to"])],
    },
    // A controller that should not hold them back does.
    Control {
        changes: &[Elevator("beside: mq-deadline@6.1", "bfq@6.1")],
        breaks: &[(2, &["mq-deadline lower than none, up to"])],
    },
];

#[test]
fn icpe24() {
    every_claim_fails("icpe24");
}
