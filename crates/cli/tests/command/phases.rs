//! Jobs behind others that only their `runtime` ends come to their turn in a run that is shorter than that.

use super::{done, job_file};

/// A database for an hour, then a backup beside a log for another, then what a fill of 1 MiB takes.
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
    let text = done(&[&said[..], &[&name]].concat());
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
