//! `cargo xtask tidy`: the few style rules that matter, as a test. One file per rule; each is a pure function of the
//! tree's text and is tested with a planted violation. A program of its own, since it parses Rust, and the parser takes
//! longer to compile than all of `xtask`.
//!
//! | rule | file | requirement |
//! |---|---|---|
//! | arrows | `arrows.rs` | crates depend on each other as the design says |
//! | clock | `clock.rs` | no clock where time is an argument |
//! | maps | `maps.rs` | no hash map whose order could show |
//! | head | `head.rs` | every file says what it is for |
//! | size | `size.rs` | files, functions and lines stay short |
//! | words | `words.rs` | no leftovers, no words that hide states |
//! | markdown | `markdown.rs` | one title, no trailing blanks, a short README |
//! | kernel names | `kernel_names.rs` | each mechanism of an elevator is found by its kernel's names |
//! | names | `names.rs` | few types share their name with two others |
//! | circles | `circles.rs` | no circular dependencies between files of a crate |
//! | knots | `knots.rs` | the methods of one struct call each other in few files |
//! | programs | `programs.rs` | few tests start our program as a process |
//! | outside | `outside.rs` | the crate that answers prints nothing, opens no file, reads no words |
//! | layers | `layers.rs` | state and decisions do not know the elevator |
//! | links | `links.rs` | every link, and every mention of a rule in docs/behaviour, lands |

mod arrows;
mod circles;
mod clock;
mod head;
mod kernel_names;
mod knots;
mod layers;
mod links;
mod maps;
mod markdown;
mod names;
mod outside;
mod programs;
mod size;
mod tokens;
mod tree;
mod words;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;
use xtask::{Verdict, shell};

use tree::Tree;

/// A broken rule, and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the repository's root, with `/`.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// The rule's name.
    pub rule: &'static str,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.rule, self.message)
    }
}

/// The result of checking the whole tree.
struct Outcome {
    /// Broken rules, by file and line.
    findings: Vec<Finding>,
    /// Lengths of files and functions, and how many types share their names, for information.
    figures: String,
}

/// Checks the repository.
///
/// # Errors
/// If a file cannot be read.
fn check() -> Result<Outcome> {
    let tree = Tree::read(&shell::root())?;
    let figures = [size::figures(&tree), names::figures(&tree), programs::figures(&tree)].join("\n");
    Ok(Outcome { findings: findings(&tree), figures })
}

fn main() -> ExitCode {
    Verdict::exit(run())
}

fn run() -> Result<Verdict> {
    let Outcome { findings, figures } = check()?;
    for finding in &findings {
        println!("{finding}");
    }
    println!("{figures}");
    match findings.len() {
        0 => println!("tidy: nothing to complain of"),
        n => println!("tidy: {n} to put right"),
    }
    Ok(Verdict::when(findings.is_empty()))
}

/// Applies every rule to the whole tree.
fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.unparsed().collect();
    findings.extend(kernel_names::check(tree));
    findings.extend(arrows::check(tree));
    findings.extend(circles::check(tree));
    findings.extend(knots::check(tree));
    findings.extend(clock::check(tree));
    findings.extend(maps::check(tree));
    findings.extend(head::check(tree));
    findings.extend(size::check(tree));
    findings.extend(words::check(tree));
    findings.extend(names::check(tree));
    findings.extend(outside::check(tree));
    findings.extend(programs::check(tree));
    findings.extend(markdown::check(tree));
    findings.extend(layers::check(tree));
    findings.extend(links::check(tree));
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_compilers_write_them() {
        let finding = Finding { file: "a/b.rs".into(), line: 3, rule: "clock", message: "no".into() };
        assert_eq!(finding.to_string(), "a/b.rs:3: clock: no");
    }

    #[test]
    fn every_rule_is_asked() {
        let planted = [
            ("crates/blksched/Cargo.toml", "[dependencies]\nblksched-cli.workspace = true\n"),
            ("crates/disks/src/a.rs", "//! A.\nfn a() { SystemTime::now(); }\n"),
            ("crates/disks/src/b.rs", "//! B.\nfn b(_: HashMap<u8, u8>) {}\n"),
            ("crates/disks/src/c.rs", "fn c() {}\n"),
            ("crates/disks/src/d.rs", "//! D.\nfn d() { todo!() }\n"),
            ("crates/disks/src/e.rs", "//! E.\nfn e( {}\n"),
            ("crates/blksched/src/elevators/cfq/f.rs", "//! F.\nuse super::state::g::G;\n"),
            ("crates/blksched/src/elevators/cfq/state/g.rs", "//! G.\nuse super::super::{Cfq, f::F};\n"),
            ("crates/lab/src/h.rs", "//! H.\nuse std::env;\n"),
            ("docs/a.md", "no title\n"),
            ("docs/b.md", "# B\n[there](nowhere.md)\n"),
        ];
        let mut rules: Vec<_> = findings(&Tree::planted(&planted)).into_iter().map(|f| f.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        assert_eq!(
            rules,
            [
                "arrows",
                "circles",
                "clock",
                "head",
                "kernel names",
                "layers",
                "links",
                "maps",
                "markdown",
                "outside",
                "parse",
                "words"
            ]
        );
    }
}
