//! What each scheduler costs a load on a fast device, as measured on 6.18 (`testdata/nvme/loop-6.18.tsv`) and as
//! predicted with the preset that was fitted on five of its rows.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::Attached;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;

const ROWS: &str = include_str!("../../../../testdata/nvme/loop-6.18.tsv");

/// A row of the table.
struct Row<'a> {
    load: &'a str,
    /// Engine, depth, processes, and the kind of work.
    job: [&'a str; 4],
    scheduler: &'a str,
    rate: f64,
    is_fitted: bool,
}

fn rows() -> Vec<Row<'static>> {
    let row = |line: &'static str| match line.split('\t').collect::<Vec<_>>()[..] {
        [load, engine, depth, processes, rw, scheduler, _, rate, part] => Row {
            load,
            job: [engine, depth, processes, rw],
            scheduler,
            rate: rate.parse().unwrap(),
            is_fitted: part == "fitted",
        },
        _ => panic!("{line}"),
    };
    ROWS.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// Thousands of I/Os a second.
fn predicted(row: &Row<'_>, preset: &str) -> f64 {
    const MS: u64 = 20;
    let [engine, depth, processes, rw] = row.job;
    let text = format!(
        "[a]\nfilename=/dev/nvme0n1\nsize=64m\ndirect=1\nbs=4k\nioengine={engine}\niodepth={depth}\n\
         numjobs={processes}\nrw={rw}\ntime_based\nruntime=60\n"
    );
    let disk = blksched_disks::load("null").unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse(row.scheduler).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings {
            cpus: Some(HostCpus { cpus: 2, costs: CpuPreset::builtin(preset).unwrap().costs }),
            attached: Some(Attached::Loop),
            ..Surroundings::default()
        },
        plan: Arc::new(JobFile::parse(&text, "jobs").unwrap().plan(disk.build(0).facts().sectors).unwrap()),
        disk: Arc::new(disk),
        seed: 1,
        limit: Span::from_ms(MS),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    trial.simulate_for_shares().unwrap().requests as f64 / MS as f64
}

/// How many of the schedulers' ratios to none, of rows that nothing was fitted on, are within 15 %, and of how many.
fn within(preset: &str) -> (usize, usize) {
    let rows = rows();
    let (mut right, mut all) = (0, 0);
    for of_load in rows.chunks(4) {
        let none = predicted(&of_load[0], preset);
        for row in of_load[1..].iter().filter(|row| !row.is_fitted) {
            assert_eq!((of_load[0].scheduler, of_load[0].load), ("none", row.load));
            let (ours, theirs) = (none / predicted(row, preset), of_load[0].rate / row.rate);
            println!("{preset} {} {}: {ours:.2}, measured {theirs:.2}", row.load, row.scheduler);
            (right, all) = (right + usize::from((ours / theirs - 1.0).abs() <= 0.15), all + 1);
        }
    }
    (right, all)
}

#[test]
fn what_a_scheduler_costs_at_depth_is_as_measured_where_its_worker_runs_elsewhere() {
    assert_eq!(within("loop-6.18"), (9, 12), "docs/processors.md says so");
    let (usual, _) = within("epyc-6.18");
    assert!(usual <= 2, "the default charges every request's worker to its submitter: {usual} of 12");
}
