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

#[test]
fn a_model_that_is_off_by_more_than_a_quarter_is_given_to_nobody() {
    let folder = blksched_testkit::Folder::new();
    // Half of it takes as long as anywhere, the other half much longer: no class of disks is like that.
    let fault = "[[fault]]\naction = \"slow\"\nafter = \"3ms\"\nfirst_sector = 0\nlast_sector = 900000000\n";
    let disk = "kind = \"fixed\"\ndescription = \"odd\"\nattached = \"loop\"\ncapacity = \"1TB\"\ndepth = 31\n\
                max_command = \"1MiB\"\nchannels = 8\nservice = \"100us\"\n";
    let disk = folder.written("odd.toml", format!("{disk}rate = \"500MB/s\"\n{fault}"));
    let (disk, out) = (format!("model:{}", disk.display()), folder.path("mine.toml"));
    let words = ["disk", "measure", &disk, "--destroy"];
    let printed = crate::printed::printed(&words, 120);
    let said = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(printed.status.code() == Some(1) && printed.stdout.is_empty(), "{printed:?}");
    assert!(said.contains("no model: off by") && said.contains("25 % is the most: not printed"), "{said}");
    std::fs::write(&out, "one that was there").expect("a file");
    let kept = crate::printed::printed(&[&words[..], &["--out", out.to_str().expect("UTF-8")]].concat(), 120);
    let said = String::from_utf8_lossy(&kept.stderr).into_owned();
    assert!(kept.status.code() == Some(1) && said.contains("mine.toml.rejected, for a look at it"), "{said}");
    let read = |file: &str| std::fs::read_to_string(folder.path(file)).unwrap_or_default();
    assert_eq!(read("mine.toml"), "one that was there", "what it had before stays");
    assert!(read("mine.toml.rejected").contains("kind = "), "{}", read("mine.toml.rejected"));
}
