//! The JSON Schemas of docs/schema hold for what every command prints: by Debian's python3-jsonschema. Skipped, saying
//! so, where it is not installed; `BLKSCHED_REQUIRE_SCHEMA=1` makes that a failure. No number is said as a text.

#[path = "../schemas/mod.rs"]
mod schemas;

use schemas::{root, validated};
use serde_json::Value;

/// Commands that print JSON, each in several ways; `load` needs a server (`loaded`), and `validate` a disk, for which
/// there is a test of its own (`command/validate.rs`).
const COMMANDS: [&str; 18] = [
    "compare --time 3 --disk ide-2002 --seeds 2 --elevators none,deadline:fifo_batch=4 --json",
    "compare --time 2 --disk ide-2002 --seeds 1 --elevators none,bfq --json",
    "compare priorities --time 3 --disk ide-2002 --seeds 2 --elevators mq-deadline:nr_requests=64,bfq --json",
    "compare --time 2 --disk ide-2002 --seeds 2 --elevators none,cfq --sensitivity --json",
    "compare --time 2 --disk ide-2002 --tune deadline --budget 8 --seeds 2 --json",
    "compare --time 3 --disk ide-2002 --why none,cfq --json",
    "compare --time 1 --disk ide-2002 --why none,none --json",
    "simulate --time 3 --disk ide-2002 --wbt-lat-usec 75000 --json",
    "simulate --time 1 --disk nvme-ssd --elevator kyber --json",
    "experiment rbtree-scores --seeds 2 --json",
    "explain --time 2 --disk ide-2002 --json",
    "explain --time 2 --disk ide-2002 --blame --json",
    "list --json",
    "list bfq --json",
    "list hdd-7200 --json",
    "list programs --json",
    "list iocost --json",
    "trace info testdata/traces/mq-deadline.blktrace.0 --json",
];

fn printed(words: &str) -> Value {
    let recorded = format!("{}/testdata", root().display());
    let words: Vec<String> = words.split(' ').map(|word| word.replace("testdata", &recorded)).collect();
    answered(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn answered(words: &[&str]) -> Value {
    let output = crate::printed::printed(words, 120);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// A load on our server.
#[cfg(all(feature = "serve", target_os = "linux"))]
fn loaded() -> Option<Value> {
    let folder = blksched_testkit::Folder::new();
    let (socket, switch) = (folder.text("s"), blksched_serve::StopSwitch::new().expect("a switch"));
    std::thread::scope(|scope| {
        let (serve, stopped) = (["serve", "--export", "a=mem:4M", "--unix", &socket], switch.clone());
        let server = scope.spawn(move || blksched_cli::served(&serve, stopped));
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(!server.is_finished(), "the server has ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let uri = format!("nbd+unix:///a?socket={socket}");
        let load = ["load", &uri, "--time", "200ms", "--clients", "1", "--depth", "2", "--json"];
        let loaded = std::panic::catch_unwind(|| answered(&load));
        switch.stop().expect("it runs");
        Some(loaded.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(not(all(feature = "serve", target_os = "linux")))]
fn loaded() -> Option<Value> {
    None
}

/// Words that a user typed and names of kernels stay as they are.
const WORDS: [&str; 2] = ["command", "kernels"];

fn no_number_is_a_text(words: &str, value: &Value, path: &str) {
    match value {
        Value::String(text) => assert!(text.parse::<f64>().is_err(), "{words}: {path} is the text {text:?}"),
        Value::Array(all) => all.iter().for_each(|one| no_number_is_a_text(words, one, &format!("{path}[]"))),
        Value::Object(all) => all
            .iter()
            .filter(|(key, _)| !WORDS.contains(&key.as_str()))
            .for_each(|(key, one)| no_number_is_a_text(words, one, &format!("{path}.{key}"))),
        _ => {}
    }
}

#[test]
fn every_document_is_valid_by_its_schema_and_says_no_number_as_a_text() {
    let documents = COMMANDS.map(printed);
    for (words, value) in COMMANDS.iter().zip(&documents) {
        no_number_is_a_text(words, value, "");
    }
    let all: Vec<Value> = documents.iter().cloned().chain(loaded()).collect();
    let Some(result) = validated(&all) else {
        let reason = "no python3-jsonschema here";
        assert!(std::env::var_os("BLKSCHED_REQUIRE_SCHEMA").is_none(), "{reason}");
        println!("skipped: {reason}");
        return;
    };
    let seen = result.unwrap_or_else(|wrong| panic!("{wrong}"));
    for name in ["compare/2", "experiment/1", "explain/1", "list/1", "simulate/1", "trace-info/1", "why/1"] {
        assert!(seen.contains(&format!("blksched/{name}")), "{name}: {seen}");
    }
    assert!(cfg!(not(all(feature = "serve", target_os = "linux"))) || seen.contains("blksched/load/2"), "{seen}");
    // A wrong document is noticed: a number as a text, a missing key.
    let mut wrong = documents[0].clone();
    wrong["seeds"] = "2".into();
    wrong["schedulers"][0]["jobs"][0].as_object_mut().expect("a job").remove("processes");
    let said = validated(&[wrong]).expect("it was here").expect_err("it is wrong");
    assert!(said.contains("$.seeds") && said.contains("'processes' is a required property"), "{said}");
}
