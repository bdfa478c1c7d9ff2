//! The real fio: a job file on a device, and its results.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow};
use blksched_simulate::reality::{Row, SYNC};
use serde_json::Value;

use super::groups::Groups;
use crate::shell;

/// A job file in the form for fio: on `device`, with each process put into its group by us (fio 3.33 writes a weight to
/// a file that kernels with BFQ do not have), and with the I/O priority of an ordinary process, because [`run`] removes
/// it. (fio appends its own redirection to the command, hence the parentheses.)
pub fn text(job: &str, device: &Path, groups: &Groups) -> String {
    let line = |line: &str| match line.trim().split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
        Some(("filename", _)) => format!("filename={}\n", device.display()),
        Some(("cgroup", name)) => format!("exec_prerun=(echo $PPID > {})\n", groups.tasks(name).display()),
        Some(("cgroup_weight", _)) => String::new(),
        _ if line.trim() == "[global]" => "[global]\nprioclass=2\nprio=4\n".to_owned(),
        _ => format!("{line}\n"),
    };
    job.lines().map(line).collect()
}

/// Names and weights of the groups that a job file has.
pub fn groups(job: &str) -> Vec<(String, u32)> {
    let mut found: Vec<(String, u32)> = Vec::new();
    for line in job.lines() {
        match line.trim().split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("cgroup", name)) => found.push((name.to_owned(), 100)),
            Some(("cgroup_weight", weight)) => {
                if let (Some(last), Ok(weight)) = (found.last_mut(), weight.parse()) {
                    last.1 = weight;
                }
            }
            _ => {}
        }
    }
    found
}

/// Runs it, with priority on a busy processor, but after the disk and the kernel's workers.
pub fn run(file: &Path) -> Result<Value> {
    let mut fio = Command::new("chrt");
    fio.args(["-f", "40", "fio", "--output-format=json"]).arg(file);
    // It leaves the output of `exec_prerun` in its working directory.
    fio.current_dir(file.parent().unwrap_or(file));
    let done = shell::capture(fio)?;
    let output = parsed(&done.output)?;
    if done.good { Ok(output) } else { Err(wrong(&done.output)) }
}

fn wrong(output: &str) -> anyhow::Error {
    anyhow!("fio: {}", output.lines().take(3).collect::<Vec<_>>().join("; "))
}

/// fio's JSON; the output of jobs and of fio itself may surround it.
pub fn parsed(output: &str) -> Result<Value> {
    let json = output.find("\n{").map_or(output, |at| &output[at..]);
    let json = json.rfind("\n}").map_or(json, |at| &json[..at + 2]);
    serde_json::from_str(json.trim()).map_err(|_| wrong(output))
}

/// One row per process and direction.
pub fn rows(output: &Value, place: &Row) -> Vec<Row> {
    let mut rows = Vec::new();
    for process in output["jobs"].as_array().into_iter().flatten() {
        for dir in ["read", "write"] {
            let done = &process[dir];
            let us = |value: &Value| value.as_f64().unwrap_or(0.0) / 1e3;
            let percentile = &done["clat_ns"]["percentile"];
            let ios = done["total_ios"].as_u64().unwrap_or(0);
            let row = Row {
                process: process["jobname"].as_str().unwrap_or_default().to_owned(),
                dir: dir.to_owned(),
                ios,
                bandwidth: done["bw_bytes"].as_f64().unwrap_or(0.0),
                latency_us: us(&done["lat_ns"]["mean"]),
                p50_us: us(&percentile["50.000000"]),
                p99_us: us(&percentile["99.000000"]),
                ..place.clone()
            };
            rows.extend((ios > 0).then_some(row));
        }
    }
    rows
}

/// One row per process that syncs.
pub fn syncs(output: &Value, place: &Row) -> Vec<Row> {
    let row = |process: &Value| {
        let done = &process["sync"];
        let us = |value: &Value| value.as_f64().unwrap_or(0.0) / 1e3;
        // fio counts those of `fsync` only, but times those of `fdatasync` too.
        let ios = done["lat_ns"]["N"].as_u64().filter(|ios| *ios > 0)?;
        Some(Row {
            process: process["jobname"].as_str().unwrap_or_default().to_owned(),
            dir: SYNC.to_owned(),
            ios,
            latency_us: us(&done["lat_ns"]["mean"]),
            p50_us: us(&done["lat_ns"]["percentile"]["50.000000"]),
            p99_us: us(&done["lat_ns"]["percentile"]["99.000000"]),
            ..place.clone()
        })
    };
    output["jobs"].as_array().into_iter().flatten().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_file_keeps_everything_but_its_disk_and_groups() {
        let job = "[global]\nbs=4k\nfilename=/dev/sda\n[a]\ncgroup=heavy\ncgroup_weight=300\n[b]\ncgroup=light\n";
        let wanted = groups(job);
        assert_eq!(wanted, [("heavy".to_owned(), 300), ("light".to_owned(), 100)]);
        let groups = Groups::make("us", &[]).unwrap();
        let folder = "/sys/fs/cgroup/blkio/us-";
        let expected = format!(
            "[global]\nprioclass=2\nprio=4\nbs=4k\nfilename=/dev/loop7\n[a]\n\
             exec_prerun=(echo $PPID > {folder}heavy/cgroup.procs)\n[b]\n\
             exec_prerun=(echo $PPID > {folder}light/cgroup.procs)\n"
        );
        assert_eq!(text(job, Path::new("/dev/loop7"), &groups), expected);
    }

    #[test]
    fn every_process_and_direction_with_io_is_a_row() {
        let output = serde_json::json!({ "jobs": [{ "jobname": "a",
            "read": { "total_ios": 7, "bw_bytes": 4096, "lat_ns": { "mean": 2000.0 },
                      "clat_ns": { "percentile": { "50.000000": 1000, "99.000000": 3000 } } },
            "write": { "total_ios": 0 } }] });
        let rows = rows(&output, &Row { job: "j".into(), ..Row::default() });
        assert_eq!(rows.len(), 1);
        let Row { job, process, dir, ios, latency_us, p99_us, .. } = &rows[0];
        assert_eq!((job.as_str(), process.as_str(), dir.as_str(), *ios), ("j", "a", "read", 7));
        assert_eq!((*latency_us, *p99_us), (2.0, 3.0));
    }
}
