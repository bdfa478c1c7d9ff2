//! Thousands of small files on a file system: made, synced, removed.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_measure::Work;
use blksched_simulate::{Findings, Surroundings, Trial};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::FsMount;

const FILES: u64 = 2000;

/// A job that writes so many files of 4 KiB, one after the other.
fn run(options: &str, fs: &str) -> Findings {
    let jobs = format!(
        "[a]\ndirectory=/mnt\nrw=write\nbs=4k\nfilesize=4k\nnrfiles={FILES}\nsize={}k\nopenfiles=1\n\
         file_service_type=sequential\n{options}\n",
        4 * FILES
    );
    let disk = Arc::new(blksched_disks::load("sata-ssd-ideal").unwrap());
    let fs = FsMount::named(fs).unwrap();
    let plan = JobFile::parse(&jobs, "jobs").unwrap().plan_on(disk.build(0).facts().sectors, fs).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse("mq-deadline").unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings::default(),
        disk,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(600),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    trial.simulate().unwrap()
}

fn written(found: &Findings) -> u64 {
    let by = found.host.written;
    by.background + by.expired + by.by_caller
}

#[test]
fn each_file_that_is_synced_when_it_is_closed_costs_a_commit() {
    for fs in ["ext4", "xfs", "ext4:data=journal", "ext4:no_journal"] {
        let found = run("create_on_open=1\nfsync_on_close=1", fs);
        let record = &found.jobs[0].record;
        assert_eq!((record.work(Work::Write).ios, record.sync.ios), (FILES, FILES), "{fs}");
        assert_eq!(written(&found), FILES, "{fs}: each page once");
        // Data, and the metadata after it: at least two commands one after the other.
        let least = 2.0 * 50e3 * FILES as f64;
        assert!(record.runtime.as_ns() as f64 > least, "{fs}: {:?}", record.runtime);
    }
}

#[test]
fn files_that_exist_cost_less_than_new_ones() {
    let of = |options: &str| run(options, "ext4").jobs[0].record.runtime;
    let (new, existing) = (of("create_on_open=1\nfsync_on_close=1"), of("overwrite=1\nfsync_on_close=1"));
    assert!(existing < new, "{existing:?}, and {new:?} with new files");
}

#[test]
fn what_is_removed_before_it_is_written_is_never_written() {
    for fs in ["ext4", "xfs", "ext4:data=journal"] {
        let found = run("create_on_open=1\nunlink=1", fs);
        assert_eq!(found.jobs[0].record.work(Work::Write).ios, FILES, "{fs}");
        assert_eq!((written(&found), found.host.dirty), (0, 0), "{fs}");
        let kept = run("create_on_open=1", fs);
        assert_eq!(kept.host.dirty, FILES * 4096, "{fs}: the control");
    }
}
