//! Controls of the experiments about cgroup controllers.

use crate::Change::Text;
use crate::{Control, Controls, every_claim_fails};

/// Experiment, seeds that its rows combine, controls.
pub const ALL: &[Controls] = &[("isol-bench", 1, ISOL_BENCH)];

const ISOL_BENCH: &[Control] = &[Control {
    // All weights are equal.
    changes: &[
        Text("io.weight: 100\"", "io.weight: 250\""),
        Text("io.weight: 200\"", "io.weight: 250\""),
        Text("io.weight: 300\"", "io.weight: 250\""),
        Text("io.weight: 400\"", "io.weight: 250\""),
    ],
    breaks: &[(2, &["io.cost: a*", "io.cost: b*", "io.cost: c*", "io.cost: d*"])],
}];

#[test]
fn isol_bench() {
    every_claim_fails("isol-bench");
}
