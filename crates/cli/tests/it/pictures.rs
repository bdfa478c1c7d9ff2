//! Reports and pictures: what a verb writes holds what it says, and the pictures of the documentation are current.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The pages with the commands and the pictures that they make.
const PAGES: [&str; 2] = [include_str!("../../../../docs/report.md"), include_str!("../../../../README.md")];
/// The prompts before a command's words.
const PROMPTS: [&str; 2] = ["    blksched ", "    cargo run --release -- "];
/// The greatest size of a report \[bytes\].
const MOST: usize = 8 << 20;

fn blksched(words: &[&str]) -> Output {
    crate::printed::printed(words, 120)
}

/// A file, removed when the test ends.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("blksched-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a temporary name is text")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("it was written")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // A failed test may not have written it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs these words with `--report`, and returns the file's text.
fn report(name: &str, words: &str) -> String {
    let file = File::new(name);
    let words: Vec<&str> = words.split(' ').chain(["--report", file.path()]).collect();
    let output = blksched(&words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = file.text();
    assert!(text.starts_with("<!DOCTYPE html>") && text.len() <= MOST, "{} bytes", text.len());
    assert!(text.contains("default-src 'none'"), "it may ask nobody for anything");
    text
}

/// The first part of the report.
fn answer(text: &str) -> &str {
    text.split_once("</header>").expect("there is an answer").0.split_once("<header").expect("there is an answer").1
}

#[test]
fn a_comparison_is_reported_with_its_verdict_and_how_it_was_made() {
    let text = report("c.html", "compare --elevators none,deadline:fifo_batch=4 --seeds 2 --time 3 --disk ide-2002");
    let answer = answer(&text);
    for word in ["none", "deadline", "reader", "fsync p99", "class=\"action", "ide-2002", "fifo_batch=4", "2 from 1"] {
        assert!(answer.contains(word), "{word}: {answer}");
    }
}

#[test]
fn one_run_and_its_slowest_ios_are_reported() {
    let text = report("s.html", "simulate --elevator cfq --time 3 --disk ide-2002");
    assert!(answer(&text).contains("under cfq"));
    let text = report("e.html", "explain --elevator deadline --time 3 --disk ide-2002 --slowest 2");
    assert!(answer(&text).contains("I/O ") && answer(&text).contains("who waited for whom"));
}

#[test]
fn a_picture_wants_a_file_and_a_file_that_cannot_be_written_is_said() {
    let output = blksched(&["simulate", "--plot", "lba"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--out"));
    let usual = ["--time", "1", "--disk", "ide-2002", "--report", "/no/such/folder/a.html"];
    let output = blksched(&[&["simulate"], &usual[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/folder/a.html"));
    let output = blksched(&["simulate", "--plot", "lbas", "--out", "x.svg"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("lba, latency, timeline, blame, shares"), "{said}");
}

#[test]
fn the_pictures_of_the_documentation_are_what_their_commands_make() {
    // A command may continue on the next line.
    let pages = PAGES.map(|page| page.replace(" \\\n        ", " "));
    let words_of = |line| PROMPTS.into_iter().find_map(|prompt| str::strip_prefix(line, prompt));
    let lines = pages.iter().flat_map(|page| page.lines()).filter_map(words_of);
    let commands: BTreeSet<&str> = lines.filter(|line| line.contains("--out docs/")).collect();
    let mut seen = 0;
    for line in commands {
        let words: Vec<&str> = line.split(' ').collect();
        let made = File::new(&format!("{seen}.svg"));
        let (last, before) = words.split_last().expect("a command has words");
        let is_shown = |page: &String| {
            page.contains(line) && page.contains(&format!("]({last})"))
                || page.contains(&format!("]({})", last.trim_start_matches("docs/")))
        };
        assert!(pages.iter().any(is_shown), "{last} is shown nowhere");
        let output = blksched(&[before, &[made.path()]].concat());
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(last);
        let kept = std::fs::read_to_string(kept).expect("the documentation has it");
        assert!(kept == made.text(), "{last} is stale: `cargo xtask docs` makes it anew");
        seen += 1;
    }
    assert!(seen >= 3, "docs/report.md names its pictures' commands");
    assert!(PAGES[1].contains("](docs/report/lba.svg)"), "README has a picture");
}
