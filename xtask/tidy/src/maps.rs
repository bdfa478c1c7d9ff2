//! No hash map whose order could show: same input, same bytes. A map that is only used for look-ups (`rustc-hash`) is
//! allowed in a file that promises this in the comment `// tidy: never iterated`.

use super::Finding;
use super::tokens::lines_with;
use super::tree::{RustFile, Tree};

const MAY_HASH: &[&str] = &["cli", "xtask"];
const PROMISE: &str = "// tidy: never iterated";

/// Every hash map in a deterministic crate.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().filter(|file| !MAY_HASH.contains(&file.package())).flat_map(in_file).collect()
}

fn in_file(file: &RustFile) -> Vec<Finding> {
    let mut found = Vec::new();
    for word in ["HashMap", "HashSet", "RandomState"] {
        let message = format!("{word} has an order that differs from run to run; use BTreeMap, BTreeSet or Vec");
        found.extend(lines_with(&file.tokens, &[word]).map(|line| file.finding(line, "maps", message.clone())));
    }
    if !file.text.contains(PROMISE) {
        let message =
            format!("a rustc-hash map is for look-ups only; promise it here with `{PROMISE}`, or use BTreeMap");
        let maps = ["FxHashMap", "FxHashSet"].iter().flat_map(|&word| first_line_with(file, word));
        found.extend(maps.map(|line| file.finding(line, "maps", message.clone())));
    }
    found
}

fn first_line_with(file: &RustFile, word: &str) -> Option<usize> {
    lines_with(&file.tokens, &[word]).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::planted(&[(path, text)])).into_iter().map(|f| f.line).collect()
    }

    #[test]
    fn a_hash_map_in_a_deterministic_crate_is_found() {
        assert_eq!(lines("crates/measure/src/a.rs", "\nuse std::collections::HashMap;\n"), [2]);
        assert_eq!(lines("crates/simulate/src/a.rs", "use std::collections::{BTreeMap, HashSet};\n"), [1]);
    }

    #[test]
    fn a_map_that_is_only_looked_up_needs_a_promise() {
        let path = "crates/blksched/src/index/hash.rs";
        let text = "use rustc_hash::FxHashMap;\nstruct A {\n    by_end: FxHashMap<u64, u32>,\n}\n";
        assert_eq!(lines(path, text), [1]);
        assert_eq!(lines(path, &text.replace("u32>,", "u32>, // tidy: never iterated")), NONE);
    }

    #[test]
    fn the_command_line_may_hash() {
        assert_eq!(lines("crates/cli/src/a.rs", "use std::collections::HashMap;\n"), NONE);
    }
}
