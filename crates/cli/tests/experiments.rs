//! Every experiment that comes with the program, run as a user runs it: all that is claimed holds, and the output is
//! what `experiments/NAME/expected.txt` says. The simulations are too many for a build without optimisation, so a
//! release build does them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the release build's command.
fn released(arguments: &[&str]) -> Output {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["run", "--quiet", "--release", "--package", "blksched-cli", "--"]);
    command.args(arguments).output().expect("cargo runs")
}

fn experiments() -> Vec<String> {
    let folders = fs::read_dir(root().join("experiments")).expect("experiments/ is there");
    let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.join("experiment.toml").exists());
    let mut names: Vec<String> =
        folders.map(|path| path.file_name().unwrap().to_str().expect("a plain name").to_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_is_claimed_holds_and_every_table_is_as_expected() {
    for name in experiments() {
        let output = released(&["experiment", &name]);
        let (text, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}: {complaint}\n{text}");
        let golden = root().join("experiments").join(&name).join("expected.txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, text.as_bytes()).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(text, expected, "{name}: `cargo xtask bless` renews it");
    }
}

#[test]
#[ignore = "slow: seven times every experiment"]
fn what_is_claimed_holds_with_seven_disjoint_groups_of_seeds() {
    let mut broken = String::new();
    for name in experiments() {
        let json = released(&["experiment", &name, "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        let seeds = json["seeds"].as_u64().expect("this many");
        for group in 1..7 {
            let output = released(&["experiment", &name, "--seed", &(1 + group * seeds).to_string()]);
            let complaint = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                broken += &format!("from seed {}: {}", 1 + group * seeds, complaint);
            }
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

#[test]
fn every_folder_is_an_experiment_that_is_listed_and_says_what_it_does_not_claim() {
    let list = Command::new(env!("CARGO_BIN_EXE_blksched")).arg("experiment").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    for name in experiments() {
        assert!(list.contains(&format!(" {name} ")), "{name} is not listed:\n{list}");
        let readme = fs::read_to_string(root().join("experiments").join(&name).join("README.md")).unwrap_or_default();
        for heading in ["## The claim", "## What is reproduced", "## What is not", "## Fitted"] {
            assert!(readme.contains(heading), "experiments/{name}/README.md lacks `{heading}`");
        }
    }
}

/// The experiment has the values that the search finds, over a flood and not over the experiment.
#[test]
fn isol_benchs_qos_is_what_the_search_prints() {
    let output = released(&["disk", "iocost", "nvme-ssd", "--qos"]);
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = lines.lines().nth(1).and_then(|line| line.split_once(' ')).expect("the line of io.cost.qos").1;
    let folder = root().join("experiments/isol-bench");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let rates = printed.split_once(" min=").expect("its rates stand at its end").1;
    assert!(read("README.md").contains(&format!("min={rates}")), "the README does not tell {printed}");
    assert!(read("experiment.toml").contains(&format!("io.cost.qos: {printed}\"")), "{printed}");
}
