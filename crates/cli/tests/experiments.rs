//! Every experiment that comes with the program, run as a user runs it: all that is claimed holds, and the output is
//! what `experiments/NAME/expected.txt` says. Each is a test, so that they run side by side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

mod printed;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the command prints into a pipe.
fn blksched(arguments: &[&str]) -> Output {
    printed::printed(arguments, 120)
}

fn experiments() -> Vec<String> {
    let folders = fs::read_dir(root().join("experiments")).expect("experiments/ is there");
    let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.join("experiment.toml").exists());
    let mut names: Vec<String> =
        folders.map(|path| path.file_name().unwrap().to_str().expect("a plain name").to_owned()).collect();
    names.sort();
    names
}

/// All that is claimed of the experiment holds, and its table is as expected.
fn is_as_expected(name: &str) {
    let output = blksched(&["experiment", name]);
    let (text, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {complaint}\n{text}");
    let golden = root().join("experiments").join(name).join("expected.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, text.as_bytes()).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(text, expected, "{name}: `cargo xtask bless` renews it");
}

/// A test for each of these experiments, and their names.
macro_rules! experiments {
    ($($test:ident = $name:literal,)*) => {
        const TESTED: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                is_as_expected($name);
            }
        )*
    };
}

experiments! {
    async_ramp_up = "async-ramp-up",
    axboe_2004 = "axboe-2004",
    bfq_doc = "bfq-doc",
    bfq_video = "bfq-video",
    cfq_on_ssd = "cfq-on-ssd",
    dump = "dump",
    fairness_fio = "fairness-fio",
    four_dd = "four-dd",
    horror = "horror",
    horror_scsi = "horror-scsi",
    icpe24 = "icpe24",
    isol_bench = "isol-bench",
    morton_2003 = "morton-2003",
    nfs = "nfs",
    rbtree_scores = "rbtree-scores",
    readers_vs_dd = "readers-vs-dd",
    suite_clients = "suite-clients",
    suite_development = "suite-development",
    suite_fairness = "suite-fairness",
    suite_interleaved = "suite-interleaved",
    suite_throughput = "suite-throughput",
}

#[test]
fn every_folder_has_a_test_of_its_own() {
    assert_eq!(experiments(), TESTED, "name it in `experiments!` of this file");
}

#[test]
#[ignore = "slow: seven times every experiment"]
fn what_is_claimed_holds_with_seven_disjoint_groups_of_seeds() {
    let mut broken = String::new();
    for name in experiments() {
        let json = blksched(&["experiment", &name, "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        let seeds = json["seeds"].as_u64().expect("this many");
        for group in 1..7 {
            let output = blksched(&["experiment", &name, "--seed", &(1 + group * seeds).to_string()]);
            let complaint = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                broken += &format!("from seed {}: {}", 1 + group * seeds, complaint);
            }
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

/// What docs/mails.md says of their nulls is read from these files.
#[test]
#[ignore = "slow: every experiment of the mails under each null model, a minute and a half of processor time"]
fn the_nulls_of_each_experiment_of_the_mails_are_as_expected() {
    let file = |name: &str| root().join("experiments").join(name).join("null.csv");
    let with_nulls: Vec<String> = experiments().into_iter().filter(|name| file(name).exists()).collect();
    assert!(with_nulls.len() >= 11, "{with_nulls:?}");
    for name in with_nulls {
        let output = blksched(&["experiment", &name, "--null", "--csv"]);
        let text = String::from_utf8_lossy(&output.stdout);
        if std::env::var_os("BLESS").is_some() {
            fs::write(file(&name), text.as_bytes()).unwrap();
        }
        assert_eq!(text, fs::read_to_string(file(&name)).unwrap(), "{name}: BLESS=1 renews it");
    }
}

#[test]
fn every_folder_is_an_experiment_that_is_listed_and_says_what_it_does_not_claim() {
    let list = String::from_utf8(blksched(&["experiment"]).stdout).unwrap();
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
    let output = blksched(&["disk", "iocost", "nvme-ssd-ideal", "--qos"]);
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = lines.lines().nth(1).and_then(|line| line.split_once(' ')).expect("the line of io.cost.qos").1;
    let folder = root().join("experiments/isol-bench");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let rates = printed.split_once(" min=").expect("its rates stand at its end").1;
    assert!(read("README.md").contains(&format!("min={rates}")), "the README does not tell {printed}");
    assert!(read("experiment.toml").contains(&format!("io.cost.qos: {printed}\"")), "{printed}");
}
