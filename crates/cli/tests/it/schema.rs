//! What programs read is what docs/schema.md says: every key is there with its type, and every key that is there comes.

use std::collections::BTreeSet;

use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/schema.md");

/// A documented key.
struct Key {
    path: Vec<String>,
    types: Vec<String>,
}

impl Key {
    fn fits(&self, path: &[String]) -> bool {
        self.path.len() == path.len() && self.path.iter().zip(path).all(|(known, here)| known == "*" || known == here)
    }

    fn says(&self, what: &str) -> bool {
        self.types.iter().any(|known| known == what)
    }
}

/// The parts of `a.b[].p99.9`; a percentile's point separates nothing.
fn parts(path: &str) -> Vec<String> {
    let path = path.replace("p99.9", "p99_9").replace("[]", ".[]");
    path.split('.').map(|part| part.replace("p99_9", "p99.9")).collect()
}

/// The keys of one section.
fn documented(section: &str) -> Vec<Key> {
    let heading = format!("## {section}\n");
    let (_, rest) = PAGE.split_once(&heading).unwrap_or_else(|| panic!("no section {heading}"));
    let text = rest.split("\n## ").next().expect("it has a text");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let types: Vec<String> = cells[1].split(" or ").map(str::to_owned).collect();
        // "yes or no" is one type.
        let types: Vec<String> = types.into_iter().filter(|word| word != "no").collect();
        let keys = cells[0].split(", ").map(|key| key.trim_matches('`').to_owned());
        keys.map(move |key| Key { path: parts(&key), types: types.clone() }).collect::<Vec<_>>()
    })
    .collect()
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().map(|object| object.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The name of a type that has keys of its own.
fn compound(value: &Value) -> Option<&'static str> {
    let known = [
        ("sample", &["unit", "n", "mean", "ci95", "min", "max", "stddev", "values"][..]),
        ("ratio", &["ratio", "ci95", "n", "p"]),
        ("table", &["title", "columns", "rows", "notes"]),
    ];
    known.into_iter().find(|(_, own)| keys(value) == own.iter().copied().collect()).map(|(name, _)| name)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "yes",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "numbers",
        Value::Object(_) => compound(value).unwrap_or("object"),
    }
}

/// Every leaf with its path; a documented list is a leaf.
fn leaves<'v>(value: &'v Value, path: &[String], keys: &[Key], found: &mut Vec<(Vec<String>, &'v Value)>) {
    let is_leaf = keys.iter().any(|key| key.fits(path) && (key.says("numbers") || key.types[0].starts_with("as ")));
    match value {
        _ if is_leaf || compound(value).is_some() => found.push((path.to_vec(), value)),
        Value::Array(all) => {
            all.iter().for_each(|one| leaves(one, &[path, &["[]".to_owned()]].concat(), keys, found));
        }
        Value::Object(all) => {
            all.iter().for_each(|(key, one)| leaves(one, &[path, std::slice::from_ref(key)].concat(), keys, found));
        }
        _ => found.push((path.to_vec(), value)),
    }
}

/// Checks documents against a section.
fn hold(section: &str, documents: &[Value]) {
    let keys = documented(section);
    let mut seen = vec![false; keys.len()];
    for document in documents {
        let mut found = Vec::new();
        leaves(document, &[], &keys, &mut found);
        for (path, value) in found {
            let nth = keys.iter().position(|key| key.fits(&path));
            let nth = nth.unwrap_or_else(|| panic!("{section}: {} is not in docs/schema.md", path.join(".")));
            seen[nth] = true;
            let key = &keys[nth];
            let is_right = key.says(type_of(value)) || key.types[0].starts_with("as ");
            assert!(is_right, "{section}: {} is {}: {value}", path.join("."), type_of(value));
        }
    }
    let missing: Vec<String> = keys
        .iter()
        .zip(seen)
        .filter(|(key, seen)| !seen && !key.says("left out"))
        .map(|(k, _)| k.path.join("."))
        .collect();
    assert!(missing.is_empty(), "{section}: documented, and not there: {missing:?}");
}

fn json(arguments: &str) -> Value {
    let output = crate::printed::printed(&arguments.split_whitespace().collect::<Vec<_>>(), 120);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

const COMPARE: &str = "`blksched/compare/2`";

#[test]
fn comparisons_are_as_documented() {
    let usual = json("compare --time 3 --disk ide-2002 --seeds 2 --elevators none,deadline:fifo_batch=4 --json");
    let asked =
        json("compare priorities --time 3 --disk ide-2002 --seeds 1 --elevators mq-deadline:nr_requests=64,bfq --json");
    let halves_differ = json(
        "compare --time 10 --disk ide-2002 --seeds 3 --elevators none,mq-deadline --json --filename=/dev/sda \
         --time_based --name=a --rw=randread --runtime=10 --name=b --rw=randread --direct=1 --ioengine=libaio \
         --iodepth=8 --startdelay=5 --runtime=5",
    );
    assert_eq!(usual["schema"], "blksched/compare/2");
    hold(COMPARE, &[usual, asked, halves_differ]);
}

#[test]
fn a_single_run_is_as_documented() {
    let run = json("simulate --time 3 --disk ide-2002 --wbt-lat-usec 75000 --json");
    assert_eq!(run["schema"], "blksched/simulate/1");
    assert!(run["reasons"][0]["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "why is told");
    hold("`blksched/simulate/1`", std::slice::from_ref(&run));
    let as_in_a_comparison = serde_json::json!({ "schedulers": [run["scheduler"]] });
    let keys = documented(COMPARE);
    let mut found = Vec::new();
    leaves(&as_in_a_comparison, &[], &keys, &mut found);
    for (path, value) in found {
        let key = keys.iter().find(|key| key.fits(&path)).unwrap_or_else(|| panic!("{} is new", path.join(".")));
        assert!(key.says(type_of(value)), "{}: {value}", path.join("."));
    }
}

#[test]
fn experiments_are_as_documented() {
    let one = json("experiment rbtree-scores --seeds 2 --json");
    assert_eq!(one["schema"], "blksched/experiment/1");
    assert_eq!(one["rows"][0]["values"].as_array().map(Vec::len), Some(2));
    hold("`blksched/experiment/1`", &[one]);
}

#[test]
fn samples_ratios_and_tables_have_the_documented_keys() {
    let all = documented("sample, ratio, table");
    let names: BTreeSet<String> = all.iter().map(|key| key.path.join(".")).collect();
    for of in ["unit n mean ci95 min max stddev values", "ratio ci95 n p", "title columns.[].key rows.[].* notes.[]"] {
        assert!(of.split(' ').all(|key| names.contains(key)), "{of}");
    }
}

#[test]
fn advice_is_as_documented() {
    let folder = blksched_testkit::Folder::new();
    let whole = crate::advise::recorded(0);
    let of = |name: &str, text: &str, more: &[&str]| -> Value {
        let file = folder.written(name, text);
        let words = ["advise", file.to_str().expect("UTF-8"), "--seeds", "1", "--effort", "0.1", "--json"];
        let output = crate::printed::printed(&[&words[..], more].concat(), 120);
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let described = of("a.txt", &whole, &[]);
    let bare: String = whole.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let undescribed = of("b.txt", &bare, &["--disk", "hdd-7200"]);
    let other = of("c.txt", &whole, &["--disk", "null"]);
    hold("`blksched/advise/1`", &[described, undescribed, other]);
}

#[test]
fn a_guess_at_a_disk_is_as_documented() {
    let folder = blksched_testkit::Folder::new();
    let of = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a file");
        json(&format!("disk guess {} --json", folder.join(name).display()))
    };
    let told = of("a.txt", "smartctl 7.3\nDevice Model: X\nRotation Rate: 7200 rpm\nUser Capacity: 2,000 bytes\n");
    let vague = of("b.json", r#"{"blockdevices": [{"name": "sda", "type": "disk", "rota": true, "tran": "sata"}]}"#);
    hold("`blksched/disk-guess/1`", &[told, vague]);
}

#[test]
fn curves_over_processors_are_as_documented() {
    let load = "compare --name=a --rw=randread --filename=/dev/nvme0n1 --size=64m --iodepth=8 --ioengine=libaio \
                --direct=1 --time_based --runtime=60 --disk=null --elevators none,mq-deadline:fifo_batch=4 --seeds 1 \
                --time 2ms --host cpus=1..2 --json";
    hold("`blksched/curve/1`", &[json(load)]);
}
