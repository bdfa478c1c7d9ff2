//! The tables of a single run.

mod memory;

use blksched::Dir;
use blksched_measure::{BeganBy, Cell, Column, Quantity, Reasons, Table, Work};
use blksched_simulate::{Findings, JobOutcome};

use crate::args::Scene;
use crate::input::{Contender, Stage};
use crate::output::{Look, render};

pub(super) fn text(contender: &Contender, stage: &Stage, scene: &Scene, findings: &Findings) -> String {
    let mut text = format!(
        "{} under {} on {}, seed {}: {} of simulated time, {} requests, trace {}\n\n",
        stage.workload,
        contender.name,
        stage.disk.name,
        scene.seed,
        Quantity::Time.show(findings.elapsed.as_ns() as f64),
        findings.requests,
        findings.hash,
    );
    let reasons = &findings.reasons;
    let tables =
        [jobs(stage, &findings.jobs), reasons.waiting_table(), reasons.disk_table(), batches(reasons), queue(reasons)];
    for table in memory::tables(&findings.host).iter().chain(&tables).filter(|table| !table.rows.is_empty()) {
        text += &render(table, Look::Text);
        text += "\n";
    }
    if !findings.finished {
        text += &format!("note: the run was cut off after {}: --time makes it longer\n", scene.time);
    }
    text
}

fn jobs(stage: &Stage, jobs: &[JobOutcome]) -> Table {
    let mut table = Table::new(
        "what the jobs saw",
        vec![
            Column::words("job", "job"),
            Column::words("direction", "dir"),
            Column::numbers("ios", "ios", Quantity::Count),
            Column::numbers("bw", "bw", Quantity::Bandwidth),
            Column::numbers("iops", "iops", Quantity::Iops),
            Column::numbers("slat", "slat mean", Quantity::Time),
            Column::numbers("clat", "clat mean", Quantity::Time),
            Column::numbers("p50", "p50", Quantity::Time),
            Column::numbers("p99", "p99", Quantity::Time),
            Column::numbers("p99.9", "p99.9", Quantity::Time),
            Column::numbers("max", "max", Quantity::Time),
            Column::numbers("waiting", "waiting", Quantity::Time),
            Column::numbers("service", "with the disk", Quantity::Time),
        ],
    );
    let shown = stage.plan.jobs.iter().zip(jobs).filter(|(job, _)| job.report.shown);
    for (_, JobOutcome { record, .. }) in shown {
        for (work, name) in [(Work::Read, "read"), (Work::Write, "write"), (Work::Trim, "trim"), (Work::Sync, "flush")]
        {
            let done = record.work(work);
            if done.ios == 0 {
                continue;
            }
            let percentile = |percent| Cell::from(done.clat.percentile(percent));
            table.row([
                record.job.name.as_str().into(),
                name.into(),
                done.ios.into(),
                record.bandwidth(work).into(),
                record.iops(work).into(),
                done.slat.mean().into(),
                done.clat.mean().into(),
                percentile(50.0),
                percentile(99.0),
                percentile(99.9),
                done.clat.max().into(),
                done.waiting.mean().into(),
                done.service.mean().into(),
            ]);
        }
    }
    table
}

fn batches(reasons: &Reasons) -> Table {
    let mut table = Table::new(
        "batches",
        vec![
            Column::words("direction", "dir"),
            Column::numbers("batches", "batches", Quantity::Count),
            Column::numbers("length", "mean length", Quantity::Ratio),
            Column::numbers("longest", "longest", Quantity::Count),
            Column::numbers("expired", "begun by expiry", Quantity::Count),
            Column::numbers("starved", "writes starved", Quantity::Count),
            Column::numbers("alone", "nothing else waited", Quantity::Count),
        ],
    );
    let batches = reasons.batches();
    for dir in Dir::BOTH.into_iter().filter(|&dir| batches.count(dir) > 0) {
        let lengths = batches.lengths(dir);
        table.row([
            dir.to_string().into(),
            batches.count(dir).into(),
            lengths.mean().into(),
            lengths.max().into(),
            batches.began_by(dir, BeganBy::Expired).into(),
            batches.began_by(dir, BeganBy::Starved).into(),
            batches.began_by(dir, BeganBy::Alone).into(),
        ]);
    }
    table
}

fn queue(reasons: &Reasons) -> Table {
    let mut table = Table::new(
        "the block queue",
        vec![Column::words("what", "what"), Column::numbers("count", "count", Quantity::Ratio)],
    );
    let sleeps = |dir: Dir| reasons.sleeps(dir).began as f64;
    table.row(["bios and requests merged away, per request".into(), reasons.entered().merges_per_request().into()]);
    table.row(["sleeps for want of a read slot".into(), sleeps(Dir::Read).into()]);
    table.row(["sleeps for want of a write slot".into(), sleeps(Dir::Write).into()]);
    table
}
