//! Verbs run as `cargo xtask` runs them.

use std::path::Path;
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace's folder")
}

fn verb(words: &[&str]) -> (Output, String) {
    let output =
        blksched_testkit::output(Command::new(env!("CARGO_BIN_EXE_workbench")).args(words).current_dir(root()))
            .expect("the program was built");
    let said = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
    (output, said)
}

/// With `BLESS=1` they are written anew.
#[test]
fn generated_documents_are_what_the_tables_say() {
    let check: &[&str] = if std::env::var_os("BLESS").is_some() { &["docs"] } else { &["docs", "--check"] };
    let (output, said) = verb(check);
    assert!(output.status.success(), "{said}");
}

/// A cell of docs/what-changed.md with a difference and one without, measured anew.
#[test]
fn what_the_page_of_upgrades_says_of_two_cells_is_what_the_program_finds() {
    let (output, said) = verb(&["what-changed", "--check"]);
    assert!(output.status.success() && said.contains(" on "), "{said}");
    let (output, said) = verb(&["what-changed", "deadlien"]);
    assert!(!output.status.success() && said.contains("deadlien: expected one of mq-deadline"), "{said}");
}

/// A knob with an effect and one without, measured anew.
#[test]
fn what_the_page_of_knobs_says_of_two_is_what_the_program_finds() {
    let (output, said) = verb(&["what-knobs-do", "--check"]);
    assert!(output.status.success() && said.contains("as written"), "{said}");
    let (output, said) = verb(&["what-knobs-do", "deadlien"]);
    assert!(!output.status.success() && said.contains("deadlien: expected one of deadline@2.5.38"), "{said}");
}

#[test]
fn recordings_are_replayed_and_counted() {
    let (output, said) = verb(&["transcripts", "testdata/transcripts/linus-2.4.21"]);
    assert!(output.status.success() && said.contains("linus-2.4.21"), "{said}");
    let (output, said) = verb(&["transcripts", "docs"]);
    assert!(!output.status.success() && said.contains("no .jsonl or .jsonl.gz at or below docs"), "{said}");
}

#[test]
fn an_unknown_verb_is_an_error_that_names_the_nearest() {
    let (output, said) = verb(&["transcript"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("transcript"), "{said}");
}
