//! Jobs behind others that their `runtime` ends come to their turn in a run that is shorter than that.

use super::{done, job_file};

/// A database for an hour, then a backup beside a log for another, then the time that a fill of 1 MiB takes.
const THREE: &str = "[global]\nioengine=libaio\nsize=1g\ntime_based\nruntime=3600\nbs=4k\n\
    [database]\nrw=randread\niodepth=4\n\
    [backup]\nstonewall\nrw=read\n\
    [log]\nrw=write\n\
    [fill]\nstonewall\nrw=write\ntime_based=0\nruntime=0\nio_size=1m\n";

fn ios(value: &serde_json::Value, job: usize) -> f64 {
    let job = &value["schedulers"][0]["jobs"][job];
    ["read", "write"].iter().filter_map(|way| job[way]["ios"]["mean"].as_f64()).sum()
}

#[test]
fn every_phase_has_its_part_of_a_run() {
    let name = job_file("phases.fio", THREE);
    let said = ["compare", "--disk", "sata-ssd", "--seeds", "1", "--elevators", "none"];
    let text = done(&[&said[..], &["--details", &name]].concat());
    assert!(!text.contains("did nothing"), "{text}");
    assert!(text.contains("in 3 phases of at most"), "{text}");
    let value: serde_json::Value =
        serde_json::from_str(&done(&[&said[..], &["--json", &name]].concat())).expect("JSON");
    assert_eq!(value["phases"], 3);
    let limit = value["time_limit_ns"].as_u64().expect("a number");
    let warm_up = value["warm_up_ns"].as_u64().expect("a number");
    assert!((limit / 60..=limit / 30).contains(&warm_up), "a tenth of each phase as it went: {warm_up} of {limit}");
    let all = [0, 1, 2, 3].map(|job| ios(&value, job));
    assert!(all.iter().all(|ios| *ios >= 100.0), "{all:?}");
    assert_eq!(all[3], 256.0, "what is not timed is whole");
}

/// fio's own example for an SSD: each job has an amount, and a runtime that ends it earlier.
#[test]
fn an_amount_beside_a_runtime_keeps_no_phase_waiting() {
    let text = "[global]\nbs=4k\nioengine=libaio\niodepth=4\nsize=10g\ndirect=1\nruntime=60\n\
        [seq-read]\nrw=read\nstonewall\n[rand-read]\nrw=randread\nstonewall\n\
        [seq-write]\nrw=write\nstonewall\n[rand-write]\nrw=randwrite\nstonewall\n";
    let name = job_file("phases-ssd.fio", text);
    for disk in ["sata-ssd", "hdd-7200"] {
        let said = ["compare", "--disk", disk, "--seeds", "1", "--elevators", "none", "--json", &name];
        let value: serde_json::Value = serde_json::from_str(&done(&said)).expect("JSON");
        let all = [0, 1, 2, 3].map(|job| ios(&value, job));
        assert!(all.iter().all(|ios| *ios >= 100.0), "{disk}: {all:?}");
    }
    // A single run takes the whole amounts, if they are not too large.
    let name = job_file("phases-small.fio", &text.replace("10g", "1m"));
    let text = done(&["simulate", &name, "--disk", "sata-ssd", "--output-format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let done = |job: &serde_json::Value| ["read", "write"].map(|way| job[way]["total_ios"].as_u64().unwrap_or(0));
    let jobs: Vec<_> = value["jobs"].as_array().expect("jobs").iter().map(done).collect();
    assert_eq!(jobs, [[256, 0], [256, 0], [0, 256], [0, 256]]);
}

#[test]
fn a_time_that_is_said_is_shared_too_and_a_runtime_that_fits_is_kept() {
    let text = "[a]\nrw=randread\nsize=1g\ntime_based\nruntime=1\nramp_time=0\n\
        [b]\nstonewall\nrw=randread\nsize=1g\ntime_based\nruntime=100\n";
    let name = job_file("phases-said.fio", text);
    let value = |time: &str| -> serde_json::Value {
        let said = ["compare", "--disk", "ide-2002", "--starts", "as-said", "--seeds", "1", "--elevators", "noop"];
        serde_json::from_str(&done(&[&said[..], &["--time", time, "--json", &name]].concat())).expect("JSON")
    };
    let (short, long) = (value("1"), value("10"));
    assert!(ios(&short, 0) > 0.0 && ios(&short, 1) > 0.0, "{short}");
    assert!(ios(&long, 1) > 5.0 * ios(&long, 0), "one second of the first, nine of the second: {long}");
}
