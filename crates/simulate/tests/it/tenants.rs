//! Four unlike tenants of one slow disk: what the scheduler keeps of shares and waits in simulated time. The server is
//! held to the same with real clients, in wider bounds: there machines are late.

mod controllers;

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_measure::jain;
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;

/// A stream, random reads one at a time and many at a time, and a writer, of equal weight.
const TENANTS: &str = "\
[global]
direct=1
ioengine=libaio
size=1g
cgroup_weight=100
[stream]
rw=read
bs=64k
iodepth=4
cgroup=a
[shallow]
rw=randread
iodepth=1
offset=2g
cgroup=b
[deep]
rw=randread
iodepth=32
offset=4g
cgroup=c
[writer]
rw=randwrite
iodepth=16
offset=6g
cgroup=d
";
/// A medium that takes 0.8 ms for any request.
const SLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/serve/slow.toml");

/// Jain's index of the disk's time, and the longest 99th percentile of a tenant's latency.
fn shares(disk: &str, elevator: &str, knobs: &[(&str, i64)]) -> (f64, Span) {
    let spec = Arc::new(blksched_disks::load(disk).unwrap());
    let plan = JobFile::parse(TENANTS, "tenants").unwrap().plan(spec.build(0).facts().sectors).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: knobs.iter().map(|&(knob, raw)| (knob.to_owned(), raw)).collect(),
        surroundings: Surroundings { depth: Some(1), nr_requests: Some(256), ..Surroundings::default() },
        disk: spec,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(20),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate().unwrap();
    let given: Vec<f64> = found.jobs.iter().map(|job| job.share.given.as_ns() as f64).collect();
    let waits = found.jobs.iter().flat_map(|job| [&job.record.read, &job.record.write]);
    let longest = waits.map(|direction| direction.clat.percentile(99.0)).max().unwrap();
    (jain(&given), longest)
}

#[test]
fn four_unlike_tenants_share_alike_and_none_waits_long() {
    let (fair, p99) = shares(SLOW, "cfq@4.20+groups", &[("slice_sync", 8_000_000), ("target_latency", 32_000_000)]);
    assert!(fair >= 0.95 && p99 <= Span::from_ms(600), "Jain's index {fair:.3}, p99 {p99}");
    // The control: without a scheduler the deepest gets nearly all.
    let (fair, _) = shares(SLOW, "noop", &[]);
    assert!(fair < 0.6, "{fair:.3}");
}

/// Measured by the time for which the head works for each; by the time that requests spend in the drive it is 0.95 and
/// more.
#[test]
fn bfq_counts_sectors_so_a_spinning_disks_time_is_shared_only_roughly() {
    let (bfq, _) = shares("sata-2009", "bfq", &[("low_latency", 0)]);
    let (noop, _) = shares("sata-2009", "noop", &[]);
    assert!(bfq >= 0.75 && noop < bfq - 0.2, "{bfq:.3}, without {noop:.3}");
}
