//! The program without its features stays small: every crate in it has to be trusted, fetched and built.

use std::collections::BTreeSet;
use std::process::Command;

/// The most crates of the program without features, its own among them.
const MOST: usize = 70;

fn crates(features: &[&str]) -> BTreeSet<String> {
    let words = ["tree", "--offline", "--package", "blksched-cli", "--edges", "normal", "--prefix", "none"];
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(words).args(["--format", "{p}"]).args(features);
    let output = blksched_testkit::output(&mut cargo).expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    // The name and the version.
    text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn without_features_the_program_has_few_crates_and_none_for_parquet_stores_or_encryption() {
    let few = crates(&["--no-default-features"]);
    assert!(few.len() <= MOST, "{} crates: {few:?}", few.len());
    let has = |all: &BTreeSet<String>, name: &str| all.iter().any(|one| one.split(' ').next() == Some(name));
    let all = crates(&[]);
    for name in ["parquet", "arrow-array", "object_store", "rustls", "plotters", "prost", "clap_complete", "indicatif"]
    {
        assert!(has(&all, name) && !has(&few, name), "{name}");
    }
    assert!(has(&few, "blksched-lab") && has(&few, "clap"));
}
