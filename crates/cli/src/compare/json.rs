//! A comparison for machines. The schema is `blksched/compare/1`; `tests/command.rs` holds it fast.

use blksched_measure::Quantity;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

use super::action::Action;
use super::measured::{JobMeasure, Measured};
use super::memory::MemoryMeasure;
use super::spread::spread;
use crate::args::CompareArguments;
use crate::input::Stage;

#[derive(Serialize)]
struct Comparison<'a> {
    schema: &'static str,
    version: &'static str,
    command: Vec<String>,
    seed: u64,
    disk: Value,
    seeds: u32,
    workload: &'a str,
    time_limit_ns: u64,
    elevators: Vec<Value>,
    verdict: &'a [String],
    action: Value,
    notes: Vec<String>,
}

pub(super) fn text(
    arguments: &CompareArguments,
    stage: &Stage,
    measured: &[Measured],
    sentences: &[String],
    action: Option<&Action<'_>>,
    notes: Vec<String>,
) -> String {
    let comparison = Comparison {
        schema: "blksched/compare/1",
        version: env!("CARGO_PKG_VERSION"),
        command: std::env::args().skip(1).collect(),
        seed: arguments.scene.seed,
        disk: json!({ "name": stage.disk.name, "description": stage.disk.description }),
        seeds: arguments.seeds,
        workload: &stage.workload.name,
        time_limit_ns: arguments.scene.time.as_ns(),
        elevators: measured.iter().map(elevator).collect(),
        verdict: sentences,
        action: action.map_or(Value::Null, proposal),
        notes,
    };
    serde_json::to_string_pretty(&comparison).expect("every key is a string") + "\n"
}

/// What to do; `use` is null if the default stays.
fn proposal(action: &Action<'_>) -> Value {
    let goal = action.goal.to_possible_value().map(|goal| goal.get_name().to_owned());
    json!({
        "goal": goal,
        "default": action.default.label(),
        "use": action.chosen.as_ref().map(|chosen| chosen.scheduler.label()),
        "times_better": action.chosen.as_ref().map(|chosen| chosen.times),
        "gains": action.chosen.as_ref().map(|chosen| &chosen.gains),
        "costs": action.chosen.as_ref().map(|chosen| &chosen.costs),
    })
}

fn elevator(measured: &Measured) -> Value {
    json!({
        "name": measured.name,
        "knobs": measured.knobs,
        "finished": measured.finished,
        "disk_busy": spread(measured.busy, Quantity::Fraction),
        "disk_seeking": spread(measured.seeking, Quantity::Fraction),
        "jain": spread(measured.jain, Quantity::Ratio),
        "in_present_kernels": measured.is_present,
        "misplaced_by_priority": measured.misplaced.map(|part| spread(part, Quantity::Fraction)),
        "page_cache": measured.memory.as_ref().map(MemoryMeasure::json),
        "trace_hashes": measured.hashes,
        "jobs": measured.jobs.iter().map(job).collect::<Vec<Value>>(),
    })
}

fn job(job: &JobMeasure) -> Value {
    let mut value = json!({
        "name": job.name,
        "processes": job.processes,
        "ran": job.ran.map(|ran| spread(ran, Quantity::Time)),
        "disk_time_asked": spread(job.asked, Quantity::Fraction),
        "disk_time_given": spread(job.given, Quantity::Fraction),
        "priority": job.priority.as_ref().map(|(name, _)| name),
        "disk_time_due": job.priority.as_ref().map(|(_, due)| spread(*due, Quantity::Fraction)),
    });
    for (work, measure) in &job.work {
        let [mean, p50, p99, p999, max] = measure.clat.map(|clat| spread(clat, Quantity::Time));
        let direction = work.name();
        value[direction] = json!({
            "bw": spread(measure.bandwidth, Quantity::Bandwidth),
            "iops": spread(measure.iops, Quantity::Iops),
            "clat": { "mean": mean, "p50": p50, "p99": p99, "p99.9": p999, "max": max },
        });
    }
    value
}
