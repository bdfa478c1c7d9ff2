//! A disk's own model is as good as the disk: `disk measure` on the default disk gives a file under which the default
//! comparison says the same and gives the same numbers, within 10 %. The files lie all over the disk, which is
//! measured, and not at one end of it, as on a fresh file system.

use serde_json::Value;

fn blksched(arguments: &[&str]) -> String {
    let output = crate::printed::printed(arguments, 120);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The default comparison: load, schedulers and seeds.
fn compared(disk: &str) -> Value {
    serde_json::from_str(&blksched(&["compare", "--json", "--fs", "none", "--disk", disk])).expect("JSON")
}

/// What jobs got under each scheduler: scheduler, job, direction, figure; and the value.
fn numbers(compared: &Value) -> Vec<(String, f64)> {
    let mut numbers = Vec::new();
    for scheduler in compared["schedulers"].as_array().expect("schedulers") {
        for job in scheduler["jobs"].as_array().expect("jobs") {
            for dir in ["read", "write", "sync"] {
                let place = format!("{} {} {dir}", scheduler["name"], job["name"]);
                let done = &job[dir];
                for (figure, sample) in [("iops", &done["iops"]), ("bw", &done["bw"]), ("mean", &done["clat"]["mean"])]
                {
                    numbers.extend(sample["mean"].as_f64().map(|value| (format!("{place} {figure}"), value)));
                }
            }
        }
    }
    numbers
}

#[test]
fn a_measured_disk_gives_the_default_comparisons_verdict_and_numbers() {
    let file = std::env::temp_dir().join(format!("blksched-measured-{}.toml", std::process::id()));
    let path = file.to_str().expect("UTF-8");
    blksched(&["disk", "measure", "model:hdd-7200-ideal", "--destroy", "--out", path]);
    let (real, ours) = (compared("hdd-7200-ideal"), compared(path));
    std::fs::remove_file(&file).expect("it was written");
    let verdict = |compared: &Value| compared["action"]["use"].clone();
    assert_eq!(verdict(&ours), verdict(&real), "{}\n{}", ours["verdict"], real["verdict"]);
    let (ours, real) = (numbers(&ours), numbers(&real));
    assert!(real.len() >= 40, "{real:?}");
    for ((name, real), (same, ours)) in real.iter().zip(&ours) {
        assert_eq!(name, same);
        assert!((ours / real - 1.0).abs() <= 0.1, "{name}: {ours} under the measured disk, {real} under its own");
    }
}
