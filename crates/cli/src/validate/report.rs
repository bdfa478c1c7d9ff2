//! Predicted, measured, and how far apart.

use blksched_simulate::reality::{Cell, Judged, Row};
use serde_json::json;

use super::Plan;
use super::history::USABLE;

fn kib(row: &Row) -> f64 {
    row.bandwidth / 1024.0
}

fn ratio(cell: &Cell) -> f64 {
    cell.predicted.bandwidth / cell.measured.bandwidth.max(1.0)
}

/// How far off half of them are: in percent, or how many times, where percents say nothing any more.
fn typical(cells: &[Cell], judged: &Judged) -> String {
    let error = judged.error(0.5);
    if error <= USABLE {
        return format!("median error {:.0} %", error * 100.0);
    }
    let mut times: Vec<f64> = cells.iter().map(ratio).map(|ratio| ratio.max(1.0 / ratio)).collect();
    times.sort_by(f64::total_cmp);
    let times = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    format!("half of them {times:.1} times off or more: this model is not that disk (blksched disk measure makes one)")
}

pub(super) fn text(plan: &Plan, cells: &[Cell], judged: &Judged) -> String {
    let mut lines = vec![format!(
        "{:<14} {:<16} {:>12} {:>12} {:>6} {:>12} {:>12} {:>10} {:>10}",
        "scheduler", "job", "KiB/s real", "predicted", "ratio", "mean ms real", "predicted", "p99 ms", "predicted"
    )];
    for cell in cells {
        let (real, ours) = (&cell.measured, &cell.predicted);
        lines.push(format!(
            "{:<14} {:<16} {:>12.1} {:>12.1} {:>6.2} {:>12.2} {:>12.2} {:>10.2} {:>10.2}",
            real.scheduler,
            format!("{} {}", real.process, real.dir),
            kib(real),
            kib(ours),
            ratio(cell),
            real.latency_us / 1e3,
            ours.latency_us / 1e3,
            real.p99_us / 1e3,
            ours.p99_us / 1e3
        ));
    }
    let (near, all) = judged.within;
    lines.push(format!("Bandwidth: {near} of {all} within 20 %, {}.", typical(cells, judged)));
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
    lines.join("\n") + "\n"
}

pub(super) fn json(plan: &Plan, cells: &[Cell], judged: &Judged) -> String {
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
    let verdict = judged.verdicts.first().map(|(_, ours, real, regret)| {
        json!({ "predicted_best": ours, "measured_best": real, "regret": regret, "right": *regret <= 0.05 })
    });
    let value = json!({
        "schema": "blksched/validate/1", "job": plan.job.name, "on": plan.target.path, "disks": plan.target.disks,
        "notes": plan.notes, "cells": cells, "within_20_percent": judged.within.0, "verdict": verdict,
        "median_error": judged.error(0.5), "p90_error": judged.error(0.9),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}
