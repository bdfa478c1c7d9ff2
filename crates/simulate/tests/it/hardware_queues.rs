//! Hardware queues that have tags and submission queues of their own, as NVMe drives have.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::Attached;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{Findings, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

/// One read at a time on processor 0, beside four processes on processors 4 to 7.
fn run(elevator: &str, depth: u32, hardware_queues: Option<u32>) -> Findings {
    run_on(elevator, depth, Surroundings { hardware_queues, ..Surroundings::default() })
}

/// Eight processors on which everything takes this part of the usual time \[%\].
fn eight(percent: u64) -> HostCpus {
    HostCpus { cpus: 8, costs: CpuPreset::usual().costs.scaled(percent) }
}

/// The same with more said of the disk, or of the processors.
fn run_on(elevator: &str, depth: u32, around: Surroundings) -> Findings {
    let spec = blksched_disks::load("nvme-ssd-ideal").unwrap();
    let jobs = format!(
        "[global]\ndirect=1\nbs=4k\nsize=8g\nrw=randread\nioengine=libaio\ntime_based\nruntime=60\n\
         [alone]\ncpus_allowed=0\n\
         [deep]\ncpus_allowed=4-7\ncpus_allowed_policy=split\nnumjobs=4\niodepth={depth}\n"
    );
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings { cpus: around.cpus.or(Some(eight(100))), ..around },
        plan: Arc::new(JobFile::parse(&jobs, "jobs").unwrap().plan(spec.build(0).facts().sectors).unwrap()),
        disk: Arc::new(spec),
        seed: 1,
        limit: Span::from_ms(60),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    trial.simulate().unwrap()
}

/// The mean latency of the process that reads one at a time \[us\], and the thousands of reads of all.
fn alone(found: &Findings) -> (f64, f64) {
    let all: u64 = found.jobs.iter().map(|job| job.record.read.ios).sum();
    (found.jobs[0].record.read.lat.mean() / 1e3, all as f64 / 1e3)
}

#[test]
fn a_queue_with_one_command_does_not_wait_behind_the_others_thousand() {
    let (shared, of_all) = alone(&run("none", 512, None));
    let (own, still_of_all) = alone(&run("none", 512, Some(8)));
    assert!(shared > 1_000.0 && own < 0.2 * shared, "{own:.0} us with queues of its own, {shared:.0} us without");
    assert!(still_of_all > 0.95 * of_all, "{still_of_all:.1} and {of_all:.1} thousand");
}

#[test]
fn under_kyber_one_read_does_not_wait_behind_another_queues_list_for_a_token() {
    // The four have 1024 reads in the scheduler, more than its 256 tokens, where processors are faster than the disk.
    let on = |hardware_queues| Surroundings { hardware_queues, cpus: Some(eight(10)), ..Surroundings::default() };
    let [shared, own] = [None, Some(8)].map(|queues| alone(&run_on("kyber", 256, on(queues))).0);
    assert!(own < 0.6 * shared, "{own:.0} us with queues of its own, {shared:.0} us without");
}

#[test]
fn processes_that_share_a_queue_share_its_tags() {
    // With one queue the reader finds 1023 tags taken by the four; with two, those are of the other processors.
    let one = alone(&run("none", 512, Some(1))).0;
    let two = alone(&run("none", 512, Some(2))).0;
    assert!(one > 1_000.0 && two < 0.2 * one, "{one:.0} us with one queue, {two:.0} us with two");
}

#[test]
fn every_scheduler_does_as_much_with_queues_of_their_own() {
    for elevator in ["none", "mq-deadline", "kyber", "bfq"] {
        let [shared, own] = [None, Some(8)].map(|queues| run(elevator, 64, queues).requests as f64);
        assert!(own > 0.9 * shared && own < 1.1 * shared, "{elevator}: {own} requests, {shared} with what is shared");
    }
}

#[test]
fn runs_on_hardware_queues_are_the_same_for_the_same_seed() {
    let [first, again, other] = [Some(8), Some(8), Some(2)].map(|queues| run("none", 300, queues).hash);
    assert_eq!(first, again);
    assert_ne!(first, other);
}

/// A SCSI host's.
fn scsi(elevator: &str, shares_tags: bool) -> Findings {
    let attached = Some(Attached::Scsi);
    let around = Surroundings { attached, hardware_queues: Some(2), shares_tags, ..Surroundings::default() };
    run_on(elevator, 512, around)
}

#[test]
fn a_scsi_hosts_queues_have_tags_of_their_own_unless_it_shares_them() {
    // The four have 2048 I/Os, and a queue 1023 tags.
    let [own, shared] = [false, true].map(|shares| alone(&scsi("none", shares)).0);
    assert!(
        shared > 1_000.0 && own < 0.2 * shared,
        "{own:.0} us with tags of its own, {shared:.0} us with shared ones"
    );
}

#[test]
fn kybers_lock_is_a_hardware_queues_also_where_tags_are_shared() {
    let waits = |around: Surroundings| run_on("kyber", 64, around).cpu.unwrap().spun.as_ns();
    let attached = Some(Attached::Scsi);
    let one = waits(Surroundings { attached, ..Surroundings::default() });
    let of = |shares_tags| Surroundings { attached, hardware_queues: Some(8), shares_tags, ..Surroundings::default() };
    let (shared, own) = (waits(of(true)), waits(of(false)));
    assert!(one > 0 && shared == 0 && own == 0, "{one} ns with one queue, {shared} and {own} ns with eight");
}
