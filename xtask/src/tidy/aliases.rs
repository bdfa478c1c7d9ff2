//! Each mechanism of an elevator, of the queue and of a controller is found by its kernel's names:
//! `#![doc(alias = "cfq_arm_slice_timer")]`.

use super::Finding;
use super::tree::{RustFile, Tree};

/// Files that do not correspond to a mechanism of a kernel.
const WITHOUT: [&str; 13] = [
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
    // Nor does one track whether anything rare is going on.
    "calm.rs",
];

/// Every mechanism that a reader who knows the kernel would not find.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mechanisms = tree.rust.iter().filter(|file| is_mechanism(file));
    let nameless = mechanisms.filter(|file| !file.text.contains("#![doc(alias = "));
    let message =
        "a mechanism without its kernel's names: add `**In the kernel** …` and `#![doc(alias = \"function\")]`";
    nameless.map(|file| file.finding(1, "aliases", message)).collect()
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
        let named = "//! Idling.\n#![doc(alias = \"cfq_arm_slice_timer\")]\n";
        assert_eq!(found("crates/blksched/src/elevators/cfq/idle.rs", named), 0);
        assert_eq!(found("crates/blksched/src/elevators/cfq/idle.rs", "//! Idling.\n"), 1);
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
