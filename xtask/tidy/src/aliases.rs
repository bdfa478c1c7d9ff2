//! Each mechanism of an elevator, of the queue and of a controller is found by its kernel's names:
//! `#![doc(alias = "cfq_arm_slice_timer")]`. The paragraph **In the kernel** of its head lists the same names, so that
//! a reader of the file and a search find the same; only the file's own name need not be repeated.

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
    let mut findings: Vec<Finding> = nameless.map(|file| file.finding(1, "aliases", message)).collect();
    tree.rust.iter().for_each(|file| findings.extend(differences(file)));
    findings
}

/// The aliases that a file's head does not list, and the names of its paragraph **In the kernel** without an alias.
fn differences(file: &RustFile) -> Vec<Finding> {
    let aliases: Vec<(usize, &str)> = file.text.lines().enumerate().filter_map(alias_of).collect();
    if aliases.is_empty() {
        return Vec::new();
    }
    let head: Vec<&str> = file.text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let head = head.join("\n");
    let own = file.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
    let listed = |alias: &str| alias == own || quoted(&head).any(|words| words.rsplit(' ').next() == Some(alias));
    let unlisted = aliases.iter().filter(|(_, alias)| !listed(alias)).map(|(line, alias)| {
        file.finding(*line, "aliases", format!("the head does not list `{alias}`: name it in **In the kernel**"))
    });
    let paragraph = head.split("**In the kernel**").nth(1).unwrap_or_default().split("**").next().unwrap_or_default();
    let is_name = |word: &str| word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    let is_known = |name: &str| name == own || aliases.iter().any(|(_, alias)| *alias == name);
    let without = quoted(paragraph).filter(|name| is_name(name) && !is_known(name));
    let without = without
        .map(|name| file.finding(1, "aliases", format!("no search finds `{name}`: add `#![doc(alias = \"{name}\")]`")));
    unlisted.chain(without).collect()
}

/// The line's number and its alias, if it gives the file one.
fn alias_of((nth, line): (usize, &str)) -> Option<(usize, &str)> {
    let alias = line.strip_prefix("#![doc(alias = \"")?.strip_suffix("\")]")?;
    Some((nth + 1, alias))
}

/// What is between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
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
        let named =
            "//! Idling.\n//! **In the kernel** `cfq_arm_slice_timer`.\n#![doc(alias = \"cfq_arm_slice_timer\")]\n";
        assert_eq!(found("crates/blksched/src/elevators/cfq/idle.rs", named), 0);
        assert_eq!(found("crates/blksched/src/elevators/cfq/idle.rs", "//! Idling.\n"), 1);
        assert_eq!(found("crates/blksched/src/queue/plug.rs", "//! The plug.\n"), 1);
        assert_eq!(found("crates/blksched/src/cgroup/blk_throttle.rs", "//! io.max.\n"), 1);
    }

    #[test]
    fn a_head_lists_its_aliases_and_each_name_that_it_lists_is_one() {
        let of = |head: &str, alias: &str| {
            let text = format!("//! Idling.\n//! {head}\n\n#![doc(alias = \"{alias}\")]\n");
            found("crates/blksched/src/queue/plug.rs", &text)
        };
        assert_eq!(of("**In the kernel** `cfq_arm`, `struct ioc`.", "ioc"), 1, "`cfq_arm` has no alias");
        assert_eq!(of("**In the kernel** `struct ioc`.\n//! **Origin** `cfq_arm`.", "ioc"), 0);
        assert_eq!(of("**In the kernel** nothing else.", "ioc"), 1, "`ioc` is not listed");
        assert_eq!(of("**In the kernel** nothing else.", "plug"), 0, "the file's own name");
        assert_eq!(of("**In the kernel** `blk-wbt.c` and `plug`.", "blk-wbt.c"), 0);
    }

    #[test]
    fn what_is_no_mechanism_needs_none() {
        assert_eq!(found("crates/blksched/src/elevators/cfq/presets.rs", "//! Rows.\n"), 0);
        assert_eq!(found("crates/blksched/src/elevators/noop.rs", "//! First in, first out.\n"), 0);
        assert_eq!(found("crates/blksched/src/queue/cancel.rs", "//! Taking I/O back.\n"), 0);
        assert_eq!(found("crates/blksched/src/time.rs", "//! Time.\n"), 0);
    }
}
