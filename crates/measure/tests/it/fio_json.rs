//! Our JSON beside a recording of fio's own: same keys, same order, same kinds of values.

use blksched::{Instant, Op, Priority, Sector, Span, SubmitterId, Tag};
use blksched_measure::fio_json::{DiskUtil, Output};
use blksched_measure::{Completion, Engine, FIO_PERCENTILES, Job, JobRecord, Recorder};

const RECORDED: &str = include_str!("../data/fio-3.33.json");

fn at(us: u64) -> Instant {
    Instant::ZERO + Span::from_us(us)
}

/// 2.001 s in which `mixed` reads and writes 4 KiB at a time and `streaming` writes 64 KiB at a time.
fn records() -> Vec<JobRecord> {
    let mut recorder = Recorder::new();
    let job = |name: &str, depth| Job { name: name.into(), depth, engine: Engine::Queueing, ..Job::default() };
    let jobs = [recorder.add_job(job("mixed", 8)), recorder.add_job(job("streaming", 1))];
    let (mixed, streaming) = (SubmitterId(1), SubmitterId(2));
    recorder.owns(jobs[0], mixed);
    recorder.owns(jobs[1], streaming);
    jobs.into_iter().for_each(|job| recorder.started(job, at(0)));
    let mut one = |submitter, tag, op, bytes, us: u64, took: u64| {
        recorder.submitted(at(us), submitter, op);
        let (submitted_at, queued_at, issued_at) = (at(us), at(us), at(us + took / 2));
        let (start, priority) = (Sector(0), Priority::default());
        let done = Completion {
            submitter,
            tag: Tag(tag),
            op,
            start,
            bytes,
            priority,
            submitted_at,
            queued_at,
            accepted_at: queued_at,
            issued_at,
            finished_at: at(us + took),
        };
        recorder.completed(at(us + took), &done);
    };
    for nth in 0..2000 {
        one(mixed, 2 * nth, Op::Read, 4096, nth * 1000, 300);
        one(mixed, 2 * nth + 1, Op::Write, 4096, nth * 1000 + 400, 100);
        if nth % 16 == 0 {
            one(streaming, nth, Op::Write, 65536, nth * 1000, 3000);
        }
    }
    jobs.into_iter().for_each(|job| recorder.ended(job, at(2_001_000)));
    recorder.into_records().map(|record| *record).collect()
}

fn pairs(options: &[(&str, &str)]) -> Vec<(String, String)> {
    options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn output() -> Output {
    let options = [
        pairs(&[("rw", "randrw"), ("bs", "4k"), ("iodepth", "8")]),
        pairs(&[("rw", "write"), ("bs", "64k"), ("rate", "4m")]),
    ];
    let jobs: Vec<_> = records().into_iter().zip(options).collect();
    let global =
        pairs(&[("ioengine", "libaio"), ("direct", "1"), ("size", "16m"), ("runtime", "2"), ("filename", "f.dat")]);
    Output::new(global, &jobs, vec![DiskUtil { name: "sda".into(), util: 76.4, ..DiskUtil::default() }])
}

/// A line with its value replaced by the value's kind: ` "iops" : 1.5` is ` "iops" : float`.
fn shape(line: &str) -> String {
    let line = line.trim_end().trim_end_matches(',');
    let Some((key, value)) = line.split_once(" : ") else { return line.to_owned() };
    let kind = match value {
        "{" | "[" => value,
        _ if value.starts_with('"') => "string",
        _ if value.split_once('.').is_some_and(|(_, places)| places.len() == 6) => "float",
        _ if value.bytes().all(|b| b.is_ascii_digit()) => "integer",
        _ => "something else",
    };
    format!("{key} : {kind}")
}

#[test]
fn every_key_has_its_place_and_kind_as_in_fio() {
    let printed = output().print();
    let ours: Vec<String> = printed.lines().map(shape).collect();
    let theirs: Vec<String> = RECORDED.lines().map(shape).collect();
    for (nth, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "line {}", nth + 1);
    }
    assert_eq!(ours.len(), theirs.len());
    assert!(!ours.iter().any(|line| line.contains("something else")));
}

#[test]
fn what_is_printed_is_json_and_the_same_each_time() {
    let printed = output().print();
    let read_back: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(read_back["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(printed, output().print());
}

#[test]
fn values_are_in_fios_units() {
    let printed: serde_json::Value = serde_json::from_str(&output().print()).unwrap();
    let (mixed, streaming) = (&printed["jobs"][0], &printed["jobs"][1]);
    let read = &mixed["read"];
    assert_eq!((&read["io_bytes"], &read["io_kbytes"]), (&8_192_000.into(), &8000.into()));
    assert_eq!((&read["bw_bytes"], &read["bw"], &read["runtime"]), (&4_093_953.into(), &3998.into(), &2001.into()));
    assert_eq!(read["iops"].as_f64(), Some(999.50025));
    assert_eq!((&read["clat_ns"]["min"], &read["clat_ns"]["N"]), (&300_000.into(), &2000.into()));
    assert_eq!(read["clat_ns"]["percentile"].as_object().unwrap().len(), FIO_PERCENTILES.len());
    assert_eq!((&read["bw_samples"], &read["bw_max"]), (&4.into(), &4000.into()));
    assert_eq!(mixed["latency_us"]["250"].as_f64(), Some(50.0));
    assert_eq!(mixed["latency_us"]["500"].as_f64(), Some(50.0));
    assert_eq!(streaming["latency_ms"]["4"].as_f64(), Some(100.0));
    assert_eq!(streaming["iodepth_level"]["1"].as_f64(), Some(100.0));
    assert_eq!((&streaming["read"]["runtime"], &streaming["read"]["bw_samples"]), (&0.into(), &0.into()));
    assert_eq!((&mixed["elapsed"], &mixed["job_runtime"]), (&3.into(), &2001.into()));
}

/// Numbers that fio printed itself, put through our arithmetic.
#[test]
fn fios_own_figures_hold_together_as_ours_do() {
    let theirs: serde_json::Value = serde_json::from_str(RECORDED).unwrap();
    for job in theirs["jobs"].as_array().unwrap() {
        for dir in ["read", "write"].map(|dir| &job[dir]).into_iter().filter(|dir| dir["total_ios"] != 0) {
            let (bytes, ms) = (dir["io_bytes"].as_u64().unwrap(), dir["runtime"].as_u64().unwrap());
            assert_eq!(dir["bw_bytes"].as_u64().unwrap(), bytes * 1000 / ms);
            assert_eq!(dir["bw"].as_u64().unwrap(), bytes * 1000 / ms / 1024);
            let iops = dir["total_ios"].as_u64().unwrap() as f64 * 1000.0 / ms as f64;
            assert!((dir["iops"].as_f64().unwrap() - iops).abs() < 1e-5);
        }
    }
}
