//! Predicted and measured figures, and their difference.

use blksched_measure::Quantity;
use blksched_report::{Grid, PublishedRow};
use blksched_simulate::reality::{Cell, Row, SYNC};
use blksched_workloads::host::fs::FsKind;
use serde_json::json;

use super::history::USABLE;
use super::{Compared, ValidationPlan};

fn kib(row: &Row) -> f64 {
    row.bandwidth / 1024.0
}

fn ratio(cell: &Cell) -> f64 {
    cell.predicted.bandwidth / cell.measured.bandwidth.max(1.0)
}

/// The typical error: in percent, or as a ratio where percentages say nothing. The disk's model is blamed only for what
/// is the disk's and the scheduler's alone.
fn typical(plan: &ValidationPlan, compared: &Compared) -> String {
    let Compared { cells, judged, raw, .. } = compared;
    let error = judged.error(0.5);
    if error <= USABLE {
        return format!("median error {:.0} %", error * 100.0);
    }
    let mut times: Vec<f64> = cells.iter().map(ratio).map(|ratio| ratio.max(1.0 / ratio)).collect();
    times.sort_by(f64::total_cmp);
    let times = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    let through = if plan.fs == FsKind::None { "a file system".to_owned() } else { plan.fs.kind.to_string() };
    let whose = match (raw.within, raw.error(0.5) > USABLE) {
        ((_, 0), _) => format!(
            "all of it goes through {through}, so this says nothing of the disk's model (a job on the raw disk, or one \
             with direct reads, does)"
        ),
        (_, true) => "this model is not that disk (blksched disk measure makes one)".to_owned(),
        ((near, all), false) => format!(
            "its direct reads, which are the disk's alone, are within 20 % in {near} of {all}, so it is {} or the \
             memory that is predicted wrongly, not the disk (docs/host.md)",
            plan.fs.kind
        ),
    };
    format!("half of them {times:.1} times off or more: {whose}")
}

pub(super) fn text(plan: &ValidationPlan, compared: &Compared) -> String {
    let mut lines = vec![format!(
        "{:<14} {:<16} {:>12} {:>12} {:>6} {:>12} {:>12} {:>10} {:>10}",
        "scheduler", "job", "KiB/s real", "predicted", "ratio", "mean ms real", "predicted", "p99 ms", "predicted"
    )];
    for cell in compared.cells.iter().chain(&compared.syncs) {
        let (real, ours) = (&cell.measured, &cell.predicted);
        let rates = match real.dir == SYNC {
            true => format!("{:>12} {:>12} {:>6}", "-", "-", "-"),
            false => format!("{:>12.1} {:>12.1} {:>6.2}", kib(real), kib(ours), ratio(cell)),
        };
        lines.push(format!(
            "{:<14} {:<16} {rates} {:>12.2} {:>12.2} {:>10.2} {:>10.2}",
            real.scheduler,
            format!("{} {}", real.process, real.dir),
            real.latency_us / 1e3,
            ours.latency_us / 1e3,
            real.p99_us / 1e3,
            ours.p99_us / 1e3
        ));
    }
    lines.extend(sentences(plan, compared));
    lines.join("\n") + "\n"
}

/// How good predictions were, and the verdict.
fn sentences(plan: &ValidationPlan, compared: &Compared) -> Vec<String> {
    let mut lines = Vec::new();
    let judged = &compared.judged;
    let (near, all) = judged.within;
    lines.push(format!("Bandwidth: {near} of {all} within 20 %, {}.", typical(plan, compared)));
    let is_near = |cell: &&Cell| (cell.predicted.latency_us / cell.measured.latency_us - 1.0).abs() <= 0.2;
    if !compared.syncs.is_empty() {
        let near = compared.syncs.iter().filter(is_near).count();
        lines.push(format!("Mean sync: {near} of {} within 20 %.", compared.syncs.len()));
    }
    if let Some(target) = compared.throttled {
        lines.push(format!(
            "bfq ran, and was predicted, with write-back throttling: somebody wrote wbt_lat_usec on this queue \
             ({target}), and BFQ leaves that on."
        ));
    }
    for (_, ours, real, regret) in &judged.verdicts {
        lines.push(match *regret <= 0.05 {
            true => format!("Verdict right: {ours} was predicted to be best, and is within 5 % of {real}, the best."),
            false => format!(
                "Verdict WRONG: {ours} was predicted to be best, and is {:.0} % worse than {real}.",
                regret * 100.0
            ),
        });
    }
    if plan.schedulers.len() == 1 {
        lines.push("One scheduler was measured: there is no verdict to be right or wrong.".to_owned());
    }
    lines
}

/// The beginning of a report: title, what was done, and the sentences.
pub(super) fn summary(plan: &ValidationPlan, compared: &Compared) -> (String, String, Vec<String>) {
    let title = format!("{} on {}: predicted and measured", plan.job.name, plan.on);
    (title, plan.told().lines().next().unwrap_or_default().to_owned(), sentences(plan, compared))
}

/// All figures as a table, and the bandwidths as a picture.
pub(super) fn pictured(cells: &[Cell]) -> (Grid, Vec<PublishedRow>) {
    let names =
        ["scheduler", "job", "rate measured", "predicted", "mean measured", "predicted", "p99 measured", "predicted"];
    let columns = names.iter().enumerate().map(|(nth, name)| ((*name).to_owned(), nth > 1)).collect();
    let figures = |cell: &Cell| {
        let (real, ours) = (&cell.measured, &cell.predicted);
        let times =
            [real.latency_us, ours.latency_us, real.p99_us, ours.p99_us].map(|us| Quantity::Time.show(us * 1e3));
        let rates = [real.bandwidth, ours.bandwidth].map(|rate| Quantity::Bandwidth.show(rate));
        let names = [real.scheduler.clone(), format!("{} {}", real.process, real.dir)];
        names.into_iter().chain(rates).chain(times).collect()
    };
    let row = |cell: &Cell| {
        let (real, ours) = (kib(&cell.measured), kib(&cell.predicted));
        PublishedRow {
            label: format!("{}: {} {}", cell.measured.scheduler, cell.measured.process, cell.measured.dir),
            unit: "KiB/s".to_owned(),
            published: Some(real),
            ours: Some(ours),
            spread: None,
            bound: Some((real * 0.8, real * 1.2)),
            inside: Some((real * 0.8..=real * 1.2).contains(&ours)),
            claimed: false,
        }
    };
    let grid = Grid { columns, rows: cells.iter().map(figures).collect(), ..Grid::default() };
    (grid, cells.iter().map(row).collect())
}

pub(super) fn json(plan: &ValidationPlan, compared: &Compared) -> String {
    let Compared { cells, judged, syncs, .. } = compared;
    let figures = |row: &Row| {
        json!({
            "ios": row.ios, "bandwidth_bytes_per_s": row.bandwidth, "mean_latency_us": row.latency_us,
            "p50_us": row.p50_us, "p99_us": row.p99_us,
        })
    };
    let cells: Vec<_> = cells
        .iter()
        .map(|cell| {
            json!({
                "scheduler": cell.measured.scheduler, "job": cell.measured.process, "direction": cell.measured.dir,
                "runs": cell.measured.repeat, "measured": figures(&cell.measured),
                "predicted": figures(&cell.predicted), "bandwidth_ratio": ratio(cell),
            })
        })
        .collect();
    let sync_figures = |row: &Row| json!({ "syncs": row.ios, "mean_us": row.latency_us, "p99_us": row.p99_us });
    let sync = |cell: &Cell| {
        json!({
            "scheduler": cell.measured.scheduler, "job": cell.measured.process, "runs": cell.measured.repeat,
            "measured": sync_figures(&cell.measured), "predicted": sync_figures(&cell.predicted),
        })
    };
    let syncs: Vec<_> = syncs.iter().map(sync).collect();
    let verdict = judged.verdicts.first().map(|(_, ours, real, regret)| {
        json!({ "predicted_best": ours, "measured_best": real, "regret": regret, "right": *regret <= 0.05 })
    });
    let value = json!({
        "schema": "blksched/validate/1", "job": plan.job.name, "on": plan.on, "disks": plan.disks(),
        "fs": plan.fs.to_string(), "notes": plan.notes, "cells": cells, "syncs": syncs,
        "within_20_percent": judged.within.0, "verdict": verdict,
        "median_error": judged.error(0.5), "p90_error": judged.error(0.9),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}
