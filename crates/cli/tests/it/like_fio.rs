//! The same job file by real fio and by ours: the same keys, in the same order, with the same kinds of values.
//!
//! Skipped, saying so, where fio is not installed; `BLKSCHED_REQUIRE_FIO=1` makes that a failure. Of what real fio
//! measures nothing is compared but whether it is there.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use blksched_testkit::{Folder, is_here, output_within};
use serde_json::Value;

mod calling;
mod counts;

/// Whether real fio is installed.
fn fio_is_here() -> bool {
    is_here("fio", "fio", "BLKSCHED_REQUIRE_FIO")
}

/// No run of these tests takes longer than this, on the busiest machine.
const LONGEST: Duration = Duration::from_secs(300);

/// What it prints.
fn run(folder: &Path, program: &str, arguments: &[&str], text: &str) -> String {
    std::fs::write(folder.join("job.fio"), text).expect("a job file");
    let output = output_within(Command::new(program).current_dir(folder).args(arguments), LONGEST).expect("it runs");
    assert!(output.status.success(), "{program}: {}\n{text}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn theirs(folder: &Path, text: &str) -> Value {
    let printed = run(folder, "fio", &["--output-format=json", "job.fio"], text);
    let json = &printed[printed.find('{').expect("an object")..];
    serde_json::from_str(json).expect("JSON")
}

fn ours(folder: &Path, text: &str) -> Value {
    let job = folder.join("job.fio");
    std::fs::write(&job, text).expect("a job file");
    let job = job.to_str().expect("a plain path");
    let output = crate::printed::printed(&["simulate", job, "--output-format", "json", "--disk", "null"], 120);
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Every key with its place and the kind of its value. Keys of an object are sorted by `serde_json`; the measures' own
/// tests compare their order with a recording.
fn shape(value: &Value, place: &str, out: &mut Vec<String>) {
    let kind = match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| shape(value, &format!("{place}/{key}"), out));
            "object"
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(nth, item)| shape(item, &format!("{place}[{nth}]"), out));
            "array"
        }
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::Bool(_) | Value::Null => "something else",
    };
    out.push(format!("{place}: {kind}"));
}

/// `ENGINE` becomes null for fio and psync here, so that neither waits for a disk.
fn the_same(name: &str, jobs: &str) {
    if !fio_is_here() {
        return;
    }
    let folder = Folder::new();
    let theirs = theirs(&folder, &jobs.replace("ENGINE", "null"));
    let ours = ours(&folder, &jobs.replace("ENGINE", "psync"));
    let [mut their_shape, mut our_shape] = [Vec::new(), Vec::new()];
    // fio reports disk activity only for real disks.
    let without_disks = |mut value: Value| {
        value.as_object_mut().map(|members| members.remove("disk_util"));
        value
    };
    shape(&without_disks(theirs), "", &mut their_shape);
    shape(&without_disks(ours), "", &mut our_shape);
    let missing: Vec<_> = their_shape.iter().filter(|line| !our_shape.contains(line)).collect();
    let more: Vec<_> = our_shape.iter().filter(|line| !their_shape.contains(line)).collect();
    assert!(missing.is_empty() && more.is_empty(), "{name}: missing {missing:#?}, more {more:#?}");
}

const GLOBAL: &str = "[global]\nioengine=ENGINE\ndirect=1\nsize=1m\nbs=4k\n";

#[test]
fn reads_writes_and_trims_look_alike() {
    the_same("plain", &format!("{GLOBAL}[a]\nrw=read\n[b]\nrw=write\nfsync=16\n[c]\nrw=randrw\n[d]\nrw=randtrim\n"));
    the_same("trimwrite", &format!("{GLOBAL}[a]\nrw=trimwrite\ndescription=some words\n"));
}

#[test]
fn groups_look_alike() {
    let jobs = "[a]\nrw=read\nnumjobs=3\ngroup_reporting\n[b]\nrw=write\nnew_group\n[c]\nrw=write\nstonewall\n";
    the_same("groups", &format!("{GLOBAL}{jobs}"));
}

#[test]
fn percentiles_look_alike() {
    for (nth, options) in [
        "percentile_list=50:99:99.9",
        "clat_percentiles=0",
        "lat_percentiles=1",
        "slat_percentiles=1\nlat_percentiles=1\nclat_percentiles=0",
        "disable_clat=1",
        "disable_lat=1\ndisable_slat=1",
        "disable_bw_measurement=1",
        "gtod_reduce=1",
    ]
    .iter()
    .enumerate()
    {
        the_same(&format!("percentiles-{nth}"), &format!("{GLOBAL}[a]\nrw=randrw\nfsync=8\n{options}\n"));
    }
}

#[test]
fn directions_as_one_look_alike() {
    for mode in ["none", "mixed", "both"] {
        let text = format!("{GLOBAL}[a]\nrw=randrw\nunified_rw_reporting={mode}\n");
        the_same(&format!("unified-{mode}"), &text);
    }
}

#[test]
fn jobs_that_go_on_after_errors_and_ramps_look_alike() {
    the_same("errors", &format!("{GLOBAL}[a]\nrw=randrw\ncontinue_on_error=all\n"));
    the_same("ramp", &format!("{GLOBAL}[a]\nrw=read\nrate_iops=2000\nramp_time=50ms\n"));
}

/// The columns of a log's first line, with the kinds of its values.
fn columns(line: &str) -> usize {
    let number = |value: &&str| match value.strip_prefix("0x") {
        Some(digits) => digits.len() == 4 && u64::from_str_radix(digits, 16).is_ok(),
        None => value.parse::<u64>().is_ok(),
    };
    let values = line.split(", ").filter(number);
    assert_eq!(values.clone().count(), line.split(", ").count(), "{line}");
    values.count()
}

#[test]
fn logs_have_the_same_names_and_columns() {
    if !fio_is_here() {
        return;
    }
    for options in ["", "log_offset=1\nlog_prio=1", "log_avg_msec=20", "per_job_logs=0"] {
        let logs = "write_bw_log=x\nwrite_lat_log\nwrite_iops_log=z";
        let text = format!("{GLOBAL}[a]\nrw=randrw\nrate_iops=1000\n{logs}\n{options}\n");
        let list = |run: &dyn Fn(&Path)| {
            let folder = Folder::new();
            run(&folder);
            let entries = std::fs::read_dir(&*folder).expect("a folder").map(|entry| entry.expect("an entry").path());
            let mut found: Vec<(String, Option<usize>)> = entries
                .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
                .map(|path| {
                    let text = std::fs::read_to_string(&path).expect("a log");
                    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                    (name, text.lines().next().map(columns))
                })
                .collect();
            found.sort();
            found
        };
        let theirs = list(&|folder| drop(theirs(folder, &text.replace("ENGINE", "null"))));
        // Logs are written where a program is started.
        let words = ["simulate", "job.fio", "--disk", "null"];
        let program = env!("CARGO_BIN_EXE_blksched");
        let ours = list(&|folder| drop(run(folder, program, &words, &text.replace("ENGINE", "psync"))));
        let names = |logs: &[(String, Option<usize>)]| logs.iter().map(|log| log.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&theirs), "{options}");
        // Whether a short run of fio fills a window depends on the machine.
        for (ours, theirs) in ours.iter().zip(&theirs).filter(|(_, theirs)| theirs.1.is_some()) {
            assert_eq!(ours, theirs, "{options}");
        }
        assert_eq!(ours.len(), 5);
    }
}
