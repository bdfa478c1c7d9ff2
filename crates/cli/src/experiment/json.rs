//! The answer for machines: one object, or a list of them if several experiments were run. The schema is
//! `blksched/experiment/1` (docs/schema.md).

use blksched::Dir;
use blksched_measure::{Cause, Sample};
use blksched_simulate::experiment::{Outcome, RowAnswer, Run};
use serde::Serialize;
use serde_json::{Value, json};

use super::Answered;
use crate::scene::{host_settings, in_its_unit};

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: &'static str,
    experiment: &'a str,
    source: &'a str,
    seed: u64,
    seeds: u32,
    rows: Vec<Row<'a>>,
    /// What is printed in its source's own layout; left out if there is nothing.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    show: &'a [String],
    why: &'a [String],
    runs: Vec<Value>,
}

/// A number that is none (a run that did not end) is `null`.
#[derive(Serialize)]
struct Row<'a> {
    label: &'a str,
    unit: &'a str,
    mail: Option<f64>,
    ours: f64,
    ours_min: f64,
    ours_max: f64,
    n: usize,
    ci95: Option<[f64; 2]>,
    values: &'a [f64],
    low: Option<f64>,
    high: Option<f64>,
    inside: Option<bool>,
    claimed: bool,
}

pub(super) fn text(answered: &[Answered]) -> String {
    let all: Vec<Report<'_>> = answered.iter().map(report).collect();
    let text = match &all[..] {
        [one] => serde_json::to_string_pretty(one),
        many => serde_json::to_string_pretty(many),
    };
    text.expect("a report is JSON") + "\n"
}

fn report(answered: &Answered) -> Report<'_> {
    let Answered { experiment, seeds, outcomes, .. } = answered;
    let runs = experiment.runs.iter().zip(outcomes.chunks(*seeds as usize));
    Report {
        schema: "blksched/experiment/1",
        version: env!("CARGO_PKG_VERSION"),
        experiment: &experiment.name,
        source: &experiment.source,
        seed: experiment.first_seed,
        seeds: *seeds,
        rows: answered.answer.rows().map(row).collect(),
        show: &answered.answer.shows,
        why: &answered.answer.why,
        runs: runs.map(|(run, outcomes)| run_of(run, outcomes)).collect(),
    }
}

/// One run, with all its settings, and what its requests waited for over all seeds.
fn run_of(run: &Run, outcomes: &[Outcome]) -> Value {
    let scene = &run.scene;
    let built = scene.elevator.build();
    let tunables = built.elevator.tunables();
    let knob = |(name, raw): &(String, i64)| {
        let shown = |raw: i64| tunables.find(name).map_or(Value::from(raw), |knob| in_its_unit(knob, raw));
        json!({ "name": name, "set": shown(*raw), "default": tunables.get(name).map(shown) })
    };
    let around = &scene.surroundings;
    let facts = scene.disk.build(0).facts();
    json!({
        "name": run.name,
        "scheduler": scene.elevator.to_string(),
        "knobs": scene.knobs.iter().map(knob).collect::<Vec<_>>(),
        "disk": {
            "name": scene.disk.name,
            "bytes": facts.sectors * 512,
            "rotational": facts.rotational,
            "depth": facts.depth,
        },
        "host": {
            "settings": host_settings(&around.host),
            "nr_requests": around.nr_requests,
            "queue_depth": around.depth,
            "max_sectors_kb": around.max_sectors.map(|sectors| sectors / 2),
            "wbt_lat_usec": around.wbt_latency.map(|target| target.as_ns() / 1000),
            "cpus": around.cpus.as_ref().map(|cpus| cpus.cpus),
        },
        "time_limit_ns": scene.time.as_ns(),
        "elapsed_ns": outcomes.iter().map(|outcome| outcome.elapsed.as_ns()).collect::<Vec<_>>(),
        "trace_hashes": outcomes.iter().map(|outcome| outcome.hash.to_string()).collect::<Vec<_>>(),
        "waits": Dir::BOTH.map(|dir| waits(dir, outcomes)),
    })
}

/// Where a request's time in the queue went, mean over all of this direction.
fn waits(dir: Dir, outcomes: &[Outcome]) -> Value {
    let requests: u64 = outcomes.iter().map(|outcome| outcome.reasons.waiting(dir).requests()).sum();
    let on = |cause: Cause| {
        let ns = outcomes.iter().map(|outcome| outcome.reasons.waiting(dir).on(cause).as_ns() as f64).sum::<f64>();
        (cause, ns / requests.max(1) as f64)
    };
    let queued = Cause::all().map(on).filter(|(_, ns)| *ns > 0.0);
    let queued = queued.map(|(cause, ns)| json!({ "for": cause.to_string(), "ns": ns }));
    json!({ "direction": dir.to_string(), "requests": requests, "queued_ns": queued.collect::<Vec<_>>() })
}

fn row(row: &RowAnswer) -> Row<'_> {
    Row {
        label: &row.label,
        unit: &row.unit,
        mail: row.mail,
        ours: row.ours,
        ours_min: row.ours_min,
        ours_max: row.ours_max,
        n: row.values.iter().filter(|value| value.is_finite()).count(),
        ci95: Sample::of(row.values.clone()).interval().map(|(low, high)| [low, high]),
        values: &row.values,
        low: row.low,
        high: row.high,
        inside: row.inside,
        claimed: row.claimed,
    }
}
