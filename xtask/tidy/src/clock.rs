//! No clock: time is an argument. Only the command line, the server, the Python package, this crate, benchmarks and
//! examples (which are drivers) may read a clock.

use super::Finding;
use super::tokens::{Token, lines_with};
use super::tree::{RustFile, Tree};

const MAY_ASK: &[&str] = &["cli", "serve", "python", "testkit", "xtask", "benches"];
const INSTEAD: &str = "time is an argument: take blksched::Instant from the driver";

/// Every use of a clock where it is forbidden.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().filter(|file| !may_ask(file)).flat_map(in_file).collect()
}

fn may_ask(file: &RustFile) -> bool {
    MAY_ASK.contains(&file.package()) || ["/benches/", "/examples/"].iter().any(|folder| file.path.contains(folder))
}

fn in_file(file: &RustFile) -> Vec<Finding> {
    let banned: [(&[&str], &str); 3] = [
        (&["std", ":", ":", "time"], "std::time"),
        (&["Instant", ":", ":", "now"], "Instant::now"),
        (&["SystemTime"], "SystemTime"),
    ];
    let mut found = Vec::new();
    for (words, name) in banned {
        found.extend(lines_with(&file.tokens, words).map(|line| (line, name)));
    }
    found.extend(grouped(&file.tokens, "time").map(|line| (line, "std::time")));
    found
        .into_iter()
        .map(|(line, name)| file.finding(line, "clock", format!("{name} reads a clock; {INSTEAD}")))
        .collect()
}

/// Lines of a module of `std` in a group: of `time` in `use std::{fmt, time::Instant}`.
pub(super) fn grouped<'t>(tokens: &'t [Token], module: &'t str) -> impl Iterator<Item = usize> + 't {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.text == word);
    (0..tokens.len())
        .filter(move |&at| is(at, "std") && is(at + 1, ":") && is(at + 2, ":") && is(at + 3, "{"))
        .flat_map(move |at| in_group(&tokens[at + 3..], module))
}

/// Lines of this module at the first level of the group that opens here.
fn in_group(tokens: &[Token], module: &str) -> Vec<usize> {
    let (mut depth, mut before, mut lines) = (0_usize, "", Vec::new());
    for token in tokens {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            word if word == module && depth == 1 && ["{", ","].contains(&before) => lines.push(token.line),
            _ => {}
        }
        before = &token.text;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::planted(&[(path, text)])).into_iter().map(|f| f.line).collect()
    }

    #[test]
    fn a_clock_in_the_library_is_found() {
        let path = "crates/blksched/src/a.rs";
        assert_eq!(lines(path, "use std::time::Duration;\n"), [1]);
        assert_eq!(lines(path, "\nfn a() { let _ = Instant::now(); }\n"), [2]);
        assert_eq!(lines(path, "fn a(_: SystemTime) {}\n"), [1]);
        assert_eq!(lines(path, "use std::{\n    fmt,\n    time::Instant,\n};\n"), [3]);
    }

    #[test]
    fn our_own_time_is_no_clock() {
        let text = "use crate::time::Instant;\nuse std::{fmt::{self, time}, io};\nfn a(t: Instant) -> Instant { t }\n";
        assert_eq!(lines("crates/blksched/src/a.rs", text), NONE);
    }

    #[test]
    fn the_command_line_and_benchmarks_may_ask() {
        for path in ["crates/cli/src/a.rs", "crates/serve/src/a.rs", "xtask/src/a.rs", "crates/disks/benches/a.rs"] {
            assert_eq!(lines(path, "use std::time::Instant;\n"), NONE);
        }
    }
}
