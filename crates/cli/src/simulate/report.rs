//! The tables of a single run.

mod memory;

use blksched::Dir;
use blksched_measure::{BeganBy, Cell, Column, JobRecord, Quantity, Reasons, Table, Work};
use blksched_simulate::{DiskShare, Findings, Trial};

use crate::output::{self, TableStyle, render};
use crate::used;
use blksched_lab::Scene;
use blksched_lab::scene::{Contender, Stage};

pub(super) fn text(trial: &Trial, contender: &Contender, stage: &Stage, scene: &Scene, findings: &Findings) -> String {
    let mut text = format!(
        "{} under {} on {}, seed {}: {} of simulated time, {} requests, trace {}\n",
        stage.workload.name,
        contender.name,
        stage.on_what(),
        scene.seed,
        Quantity::Time.show(findings.elapsed.as_ns() as f64),
        findings.requests,
        findings.hash,
    );
    let used = used::line(&[(contender.name.clone(), trial.clone())], scene.host.cpu_name());
    text += &(output::paragraph(&used) + "\n");
    let (jobs, disks) = (jobs(stage, findings), disks(stage, findings));
    let reasons = reasons(findings, &stage.plan.disks);
    let all = [&jobs].into_iter().chain(&reasons).chain([&disks]);
    for table in all.filter(|table| !table.rows.is_empty()) {
        text += &render(table, TableStyle::Text);
        text += "\n";
    }
    if !findings.finished {
        text += &format!("note: the run was cut off after {}: --time makes it longer\n", findings.elapsed);
    }
    text
}

/// The reasons: what calls and requests waited for, what the disk did, how batches began, what the queue did.
pub(super) fn reasons(findings: &Findings, disks: &[String]) -> Vec<Table> {
    let reasons = &findings.reasons;
    let (queue, cpus) = (queue(reasons), processors(findings));
    let others = [reasons.waiting_table(), reasons.disk_table(), batches(reasons), queue, cpus];
    memory::tables(&findings.host, &findings.dirty_most, disks).into_iter().chain(others).collect()
}

/// One line per row of the report and direction; with how long each ran, if there are programs.
fn jobs(stage: &Stage, findings: &Findings) -> Table {
    let timed = stage.plan.has_programs();
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
            Column::numbers("service", "at the disk", Quantity::Time),
        ],
    );
    if timed {
        table.columns.insert(2, Column::numbers("ran", "ran", Quantity::Time));
    }
    let several = !stage.plan.disks.is_empty();
    if several {
        table.columns.insert(1, Column::words("disk", "disk"));
    }
    for members in (0..stage.plan.rows()).map(|row| stage.plan.members(row)) {
        if !members.iter().any(|&job| stage.plan.jobs[job].report.shown) {
            continue;
        }
        let (record, ran) = (findings.merged(&members), findings.ran(&members));
        for (nth, mut cells) in directions(&record).into_iter().enumerate() {
            if timed {
                cells.insert(2, if nth == 0 { ran.into() } else { Cell::Text(String::new()) });
            }
            if several {
                cells.insert(1, stage.plan.disks_of(&members).unwrap_or_default().into());
            }
            table.row(cells);
        }
    }
    table
}

/// Each disk's activity and what it was asked for, where there are several.
fn disks(stage: &Stage, findings: &Findings) -> Table {
    let columns = vec![
        Column::words("disk", "disk"),
        Column::words("elevator", "scheduler"),
        Column::numbers("busy", "utilisation", Quantity::Fraction),
        Column::numbers("depth", "requests in it", Quantity::Ratio),
        Column::numbers("requests", "requests", Quantity::Count),
    ];
    let mut table = Table::new("the disks", columns);
    if findings.beside.is_empty() {
        return table;
    }
    let others: u64 = findings.beside.iter().map(|other| other.requests).sum();
    let row = |name: &str, elevator: String, disk: &DiskShare, requests: u64| {
        let (busy, depth) = (Cell::Number(disk.busy), Cell::Number(disk.depth));
        [name.into(), elevator.into(), busy, depth, requests.into()]
    };
    let own = "the tables above".to_owned();
    table.row(row(&stage.among.name, own, &findings.disk, findings.requests - others));
    for (other, found) in stage.among.others.iter().zip(&findings.beside) {
        let alike = stage.among.is_fellow(other) && !other.is_named;
        let elevator = if alike { "the same".to_owned() } else { other.contender.label() };
        table.row(row(&other.name, elevator, &found.disk, found.requests));
    }
    table
}

/// The cells of each direction in which anything was done.
fn directions(record: &JobRecord) -> Vec<Vec<Cell>> {
    let name = match record.jobs {
        1 => record.job.name.clone(),
        n => format!("{} ×{n}", record.job.name),
    };
    let cells = |(work, word): (Work, &str)| {
        let done = record.work(work);
        let percentile = |percent| Cell::from(done.clat.percentile(percent));
        let cells = vec![
            name.as_str().into(),
            word.into(),
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
        ];
        (done.ios > 0).then_some(cells)
    };
    let all = [(Work::Read, "read"), (Work::Write, "write"), (Work::Trim, "trim"), (Work::Sync, "flush")];
    all.into_iter().filter_map(cells).collect()
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

/// The processor time of I/O; no rows if I/O cost none.
fn processors(findings: &Findings) -> Table {
    let mut table = Table::new(
        "the processors",
        vec![
            Column::numbers("cpus", "CPUs", Quantity::Count),
            Column::numbers("busy", "busy", Quantity::Fraction),
            Column::numbers("busiest", "the busiest", Quantity::Fraction),
            Column::numbers("spun", "waiting for the lock", Quantity::Fraction),
            Column::numbers("per_io", "per request", Quantity::Time),
        ],
    );
    let elapsed = findings.elapsed.as_ns().max(1) as f64;
    if let Some(cpu) = findings.cpu {
        let part = |ns: u64, of: u32| Cell::Number(ns as f64 / elapsed / f64::from(of));
        table.row([
            u64::from(cpu.cpus).into(),
            part(cpu.busy.as_ns(), cpu.cpus),
            part(cpu.busiest.as_ns(), 1),
            part(cpu.spun.as_ns(), cpu.cpus),
            Cell::Number(cpu.busy.as_ns() as f64 / findings.requests.max(1) as f64),
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
    table.row(["sleeps for lack of a read slot".into(), sleeps(Dir::Read).into()]);
    table.row(["sleeps for lack of a write slot".into(), sleeps(Dir::Write).into()]);
    table
}
