//! Controls of the experiments about cgroup controllers.

use crate::Change::Run;
use crate::{Control, every_claim_fails_under};

pub const NAMES: &[&str] = &["isol-bench"];

#[test]
fn isol_bench() {
    // Nobody keeps the shares.
    let controls = [Control {
        changes: &[Run("io.cost: weights", "none: weights")],
        breaks: &[(2, &["io.cost: a*", "io.cost: b*", "io.cost: c*", "io.cost: d*"])],
    }];
    every_claim_fails_under("isol-bench", &controls);
}
