//! Every Rust file opens with `//!` and says what it is for.

use super::Finding;
use super::tree::Tree;

/// Every file without a head.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let headless = tree.rust.iter().filter(|file| !has_head(&file.text));
    headless.map(|file| file.finding(1, "head", "open the file with `//!` and say what it is for")).collect()
}

fn has_head(text: &str) -> bool {
    text.lines().next().and_then(|line| line.strip_prefix("//!")).is_some_and(|words| !words.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_head_is_found() {
        for text in ["fn a() {}\n", "\n//! Late.\n", "//!\nfn a() {}\n", "// No.\n", ""] {
            let found = check(&Tree::planted(&[("crates/disks/src/a.rs", text)]));
            assert_eq!(found.len(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_file_with_a_head_is_not() {
        assert_eq!(check(&Tree::planted(&[("crates/disks/src/a.rs", "//! What for.\n")])), []);
    }
}
