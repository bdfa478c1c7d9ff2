//! Groups whose files share a journal: whose fsync waits for whom.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_measure::Direction;
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::{FsKind, FsMount};

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

/// A database's log, and a pod that unpacks an image and makes small files: all need room in one short journal.
const HOST_AND_POD: &str = "\
[global]
directory=/mnt
rw=write
bs=4k
time_based
runtime=20
[host]
fsync=1
thinktime=20ms
size=16m
[image]
bs=1m
fsync=4
size=256m
cgroup=pod
[files]
numjobs=2
thinktime=2ms
nrfiles=200
filesize=4k
size=800k
openfiles=1
file_service_type=sequential
create_on_open=1
unlink_each_loop=1
cgroup=pod
";

/// The host's longest write and fsync, and the image's mean fsync \[ms\].
#[derive(Debug)]
struct Seen {
    write: f64,
    sync: f64,
    image: f64,
}

fn host_beside(cap: &str, fs: &str, elevator: &str) -> Seen {
    let disk = Arc::new(blksched_disks::load("sata-ssd-ideal").unwrap());
    let jobs = HOST_AND_POD.replace("cgroup=pod\n", &format!("cgroup=pod\n{cap}\n"));
    let fs = FsMount::named(fs).unwrap();
    let plan = JobFile::parse(&jobs, "jobs").unwrap().plan_on(disk.build(0).facts().sectors, fs).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings::default(),
        disk,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(20),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate().unwrap();
    let record = &found.jobs[0].record;
    let longest = |direction: &Direction| direction.clat.max().as_secs_f64() * 1e3;
    let image = found.jobs[1].record.sync.lat.mean() / 1e6;
    Seen { write: longest(&record.write), sync: longest(&record.sync), image }
}

/// Who needs room in the log writes the journal's superblock, and what is not at home, in its own name and group, and
/// everybody else waits for that. These are metadata. Since 6.18 `io.max` lets them pass, so the pod, whose own fsyncs
/// take 2 s under its cap, holds nobody up. Until 6.12 they wait behind the group's other writes, and so does the host,
/// as an operator saw it in 2026, whose queries took 2 s (on a kernel that the report does not name).
#[test]
fn a_capped_group_that_makes_room_in_the_log_holds_the_host_up_until_6_12_and_nobody_since_6_18() {
    let cap = "cgroup_files=io.max: wbps=2097152 wiops=100";
    let of = |elevator| ["", cap].map(|cap| host_beside(cap, "ext4:journal_size=4m", elevator));
    let [free, capped] = of("mq-deadline");
    assert!(capped.image > 1000.0, "the cap holds: {capped:?}");
    assert!(capped.write <= free.write && capped.sync <= free.sync, "{capped:?} with the cap, {free:?} without");
    let [free, capped] = of("mq-deadline@6.12");
    let longest = |seen: &Seen| seen.write.max(seen.sync);
    assert!(longest(&capped) > 1000.0 && longest(&free) < 100.0, "6.12: {capped:?} with the cap, {free:?} without");
}
