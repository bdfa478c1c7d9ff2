//! Groups whose files share a journal: whose fsync waits for whom.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::FsKind;

/// A log of nine tenths of the weight, and a reader of one.
const JOBS: &str = "\
[global]
directory=/mnt
bs=4k
time_based
runtime=10
[log]
rw=write
fsync=1
size=64m
fallocate=none
cgroup=heavy
cgroup_weight=900
[reader]
rw=randread
direct=1
ioengine=libaio
iodepth=4
size=256m
cgroup=light
cgroup_weight=100
";

/// The mean fsync \[ms\] and the reader's rate \[1/s\].
fn log_and_reader(fs: FsKind, elevator: &str) -> (f64, f64) {
    let disk = Arc::new(blksched_disks::load("hdd-7200-ideal").unwrap());
    let plan = JobFile::parse(JOBS, "jobs").unwrap().plan_on(disk.build(0).facts().sectors, fs).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings::default(),
        disk,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(10),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate().unwrap();
    let (log, reader) = (&found.jobs[0].record, &found.jobs[1].record);
    (log.sync.lat.mean() / 1e6, reader.read.ios as f64 / 10.0)
}

/// jbd2 writes everybody's metadata in the root group, outside the group that pays for them; xfs's callers write the
/// log themselves. So the heavy group's weight counts for nothing where its fsync waits for jbd2.
#[test]
fn under_bfq_a_heavy_groups_fsync_waits_for_jbd2_which_is_not_in_the_group() {
    let [raw, ext4, xfs] = [FsKind::None, FsKind::Ext4, FsKind::Xfs].map(|fs| log_and_reader(fs, "bfq"));
    assert!(xfs.0 < 2.0 * raw.0, "an fsync takes {:.0} ms on xfs, {:.0} on the raw disk", xfs.0, raw.0);
    assert!(ext4.0 > 10.0 * xfs.0, "an fsync takes {:.0} ms on ext4, {:.0} on xfs", ext4.0, xfs.0);
    assert!(ext4.1 > 2.0 * xfs.1, "the light reader has {:.0} reads/s beside ext4, {:.0} beside xfs", ext4.1, xfs.1);
    // The control: where nobody waits for a group's turn, the journal's thread makes no such difference.
    let (sorted, _) = log_and_reader(FsKind::Ext4, "mq-deadline");
    assert!(sorted < ext4.0 / 2.0, "an fsync takes {sorted:.0} ms under mq-deadline, {:.0} under bfq", ext4.0);
}
