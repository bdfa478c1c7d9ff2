//! Published throughput of the schedulers on an NVMe drive (`testdata/nvme`), predicted with the preset that was fitted
//! on other rows of the same tables. `cargo xtask nvme-tables` predicts all of them.

use std::path::PathBuf;
use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_simulate::cpu::{CpuCosts, CpuPreset, DispatchIn, HostCpus};
use blksched_simulate::{Findings, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const WARM: u64 = 5;
const MS: u64 = 25;

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nvme")).join(name)
}

/// Thousands of random reads per second, as published.
fn published(figure: &str, n: u32, scheduler: &str) -> f64 {
    let text = std::fs::read_to_string(file("icpe24.tsv")).unwrap();
    let begins = format!("{figure}\t{n}\t{scheduler}\t");
    let line = text.lines().find(|line| line.starts_with(&begins)).expect("a published cell");
    line.split('\t').nth(3).unwrap().parse().unwrap()
}

/// Processes that read 4 KiB at random.
fn run((processes, depth): (u32, u32), cpus: u32, scheduler: &str, costs: CpuCosts) -> Findings {
    let disk = blksched_disks::load(&file("980-pro-reads.toml").to_string_lossy()).unwrap();
    let jobs = format!(
        "[a]\nfilename=/dev/nvme0n1\nrw=randread\ndirect=1\nbs=4k\nnorandommap\nioengine=io_uring\niodepth={depth}\n\
         numjobs={processes}\ntime_based\nramp_time={WARM}ms\nruntime=60\n"
    );
    let trial = Trial {
        elevator: Catalogue::builtin().parse(&format!("{scheduler}@6.1")).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings { cpus: Some(HostCpus { cpus, costs }), ..Surroundings::default() },
        plan: Arc::new(JobFile::parse(&jobs, "jobs").unwrap().plan(disk.build(0).facts().sectors).unwrap()),
        disk: Arc::new(disk),
        seed: 1,
        limit: Span::from_ms(WARM + MS),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    trial.simulate_for_shares().unwrap()
}

fn rate(found: &Findings) -> f64 {
    found.jobs.iter().map(|job| job.record.read.ios).sum::<u64>() as f64 / MS as f64
}

fn icpe() -> CpuCosts {
    CpuPreset::builtin("icpe-10core").unwrap().costs
}

#[test]
fn processes_of_depth_128_lose_to_each_scheduler_what_was_published() {
    // At 2 and 3 processes mq-deadline is predicted 20 to 24 % too slow (docs/processors.md).
    for n in [4, 8] {
        let rates = SCHEDULERS.map(|scheduler| {
            let ours = rate(&run((n, 128), 10, scheduler, icpe()));
            let theirs = published("fig7", n, scheduler);
            assert!((ours / theirs - 1.0).abs() <= 0.15, "{scheduler}, {n}: {ours:.0} k/s, published {theirs} k/s");
            ours
        });
        let [none, mq_deadline, kyber, bfq] = rates;
        assert!(none > 1.1 * mq_deadline && kyber > 1.1 * mq_deadline && mq_deadline > 1.1 * bfq, "{rates:?}");
    }
}

#[test]
fn a_lock_that_moves_for_nothing_or_is_taken_once_loses_far_less_than_was_published() {
    let theirs = published("fig7", 8, "mq-deadline");
    let cheap = CpuCosts { handover: Span::from_ns(100), ..icpe() };
    let mut once = icpe();
    once.mq_deadline.acquisitions = 1;
    for costs in [cheap, once] {
        let ours = rate(&run((8, 128), 10, "mq-deadline", costs));
        assert!(ours > 1.2 * theirs, "{ours:.0} k/s, published {theirs} k/s");
    }
}

#[test]
fn switching_costs_more_the_more_processes_share_a_processor() {
    for n in [64, 128] {
        for scheduler in ["none", "bfq"] {
            let (ours, theirs) = (rate(&run((n, 1), 1, scheduler, icpe())), published("fig3", n, scheduler));
            assert!((ours / theirs - 1.0).abs() <= 0.15, "{scheduler}, {n}: {ours:.0} k/s, published {theirs} k/s");
        }
    }
    let flat = CpuCosts { switch_doubling: Span::ZERO, wake_doubling: Span::ZERO, ..icpe() };
    let ours = rate(&run((128, 1), 1, "none", flat));
    assert!(ours > 1.2 * published("fig3", 128, "none"), "{ours:.0} k/s");
}

#[test]
fn a_worker_costs_what_dispatching_in_the_submitter_does_not() {
    let with = |dispatch, depth| {
        let costs = CpuCosts { dispatch, worker: Span::from_us(2), ..icpe() };
        rate(&run((1, depth), 1, "mq-deadline", costs))
    };
    for (depth, most) in [(128, 0.7), (1, 0.99)] {
        let submitter = with(DispatchIn::Submitter, depth);
        for dispatch in [DispatchIn::Charged, DispatchIn::Worker] {
            let worker = with(dispatch, depth);
            assert!(worker < most * submitter, "{dispatch:?}, {depth}: {worker:.0} and {submitter:.0} k/s");
        }
    }
}
