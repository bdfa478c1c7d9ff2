//! Each mechanism of an elevator, of the queue and of a controller is found by its kernel's names: the paragraph **In
//! the kernel** of its head lists them, so that a search for `cfq_arm_slice_timer` finds the file.

use super::Finding;
use super::tree::{RustFile, Tree};

/// Files that do not correspond to a mechanism of a kernel.
const WITHOUT: [&str; 12] = [
    "presets.rs",
    "tunables.rs",
    "rules.rs",
    "ids.rs",
    "tests.rs",
    // The tables of contents of layers.
    "state.rs",
    "decide.rs",
    "steps.rs",
    "device.rs",
    "hierarchy.rs",
    // Kernels have neither explanations in words nor a way to take queued I/O back.
    "answers.rs",
    "cancel.rs",
];

/// Every mechanism that a reader who knows the kernel would not find.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let nameless = tree.rust.iter().filter(|file| is_mechanism(file) && !names_one(file));
    let message = "a mechanism without its kernel's names: add a paragraph `**In the kernel** …` to its head";
    nameless.map(|file| file.finding(1, "kernel names", message)).collect()
}

/// Whether the head's paragraph **In the kernel** has a name between backticks.
fn names_one(file: &RustFile) -> bool {
    let head: Vec<&str> = file.text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let head = head.join("\n");
    let paragraph = head.split("**In the kernel**").nth(1).unwrap_or_default().split("**").next().unwrap_or_default();
    paragraph.split('`').skip(1).step_by(2).any(|name| !name.is_empty())
}

fn is_mechanism(file: &RustFile) -> bool {
    let Some(below) = file.path.strip_prefix("crates/blksched/src/") else { return false };
    let is_meant = match below.split_once('/') {
        // ADIOS is not in any mainline kernel: its own words are its names. Files beside the elevators' directories are
        // shared by several of them.
        Some(("elevators", rest)) => rest.split_once('/').is_some_and(|(elevator, _)| elevator != "adios"),
        Some((folder, _)) => matches!(folder, "queue" | "cgroup"),
        None => false,
    };
    is_meant && !WITHOUT.contains(&below.rsplit('/').next().unwrap_or(below)) && !file.is_test()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::planted(&[(path, text)])).len()
    }

    #[test]
    fn a_mechanism_has_a_name_of_the_kernels() {
        let named = "//! Idling.\n//! **In the kernel** `cfq_arm_slice_timer`.\n";
        assert_eq!(found("crates/blksched/src/elevators/cfq/idle.rs", named), 0);
        for nameless in
            ["//! Idling.\n", "//! `idle`. **In the kernel** others. **Origin** `cfq`.\n", "// **In the kernel** `a`\n"]
        {
            assert_eq!(found("crates/blksched/src/elevators/cfq/idle.rs", nameless), 1, "{nameless}");
        }
        assert_eq!(found("crates/blksched/src/queue/plug.rs", "//! The plug.\n"), 1);
        assert_eq!(found("crates/blksched/src/cgroup/blk_throttle.rs", "//! io.max.\n"), 1);
    }

    #[test]
    fn what_is_no_mechanism_needs_none() {
        assert_eq!(found("crates/blksched/src/elevators/cfq/presets.rs", "//! Rows.\n"), 0);
        assert_eq!(found("crates/blksched/src/elevators/noop.rs", "//! First in, first out.\n"), 0);
        assert_eq!(found("crates/blksched/src/queue/cancel.rs", "//! Taking I/O back.\n"), 0);
        assert_eq!(found("crates/blksched/src/time.rs", "//! Time.\n"), 0);
    }
}
