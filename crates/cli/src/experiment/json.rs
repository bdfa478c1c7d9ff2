//! The answer for machines: one object, or a list of them if several experiments were run. The schema is
//! `blksched/experiment/1` (docs/schema.md).

use blksched::Dir;
use blksched_measure::{Cause, Sample};
use blksched_simulate::experiment::{ExperimentRun, FittedSetting, RowAnswer, RunOutcome};
use serde::Serialize;
use serde_json::{Value, json};

use super::answered::Answered;
use crate::compare::json::number_or_text;
use crate::scene::{host_settings, in_its_unit};

#[derive(Serialize)]
struct JsonReport<'a> {
    schema: &'static str,
    version: &'static str,
    experiment: &'a str,
    source: &'a str,
    machine: Option<&'a str>,
    seed: u64,
    seeds: u32,
    rows: Vec<JsonRow<'a>>,
    /// Values that were fitted, that the source gives, and that no source gives.
    fitted: Vec<Reason<'a>>,
    given: Vec<Reason<'a>>,
    assumed: Vec<Reason<'a>>,
    /// Output in the source's own layout; left out if there is none.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    show: &'a [String],
    why: &'a [String],
    runs: Vec<Value>,
}

/// A value, and the reason for it.
#[derive(Serialize)]
struct Reason<'a> {
    what: &'a str,
    value: Value,
    why: &'a str,
}

fn reasons(all: &[FittedSetting]) -> Vec<Reason<'_>> {
    all.iter().map(|FittedSetting { what, value, why }| Reason { what, value: number_or_text(value), why }).collect()
}

/// A value that does not exist (of a run that did not end) is `null`.
#[derive(Serialize)]
struct JsonRow<'a> {
    /// Unique in the program: experiment, table and row, counted from 1.
    id: String,
    table: &'a str,
    label: &'a str,
    unit: &'a str,
    mail: Option<f64>,
    ours: f64,
    ours_min: f64,
    ours_max: f64,
    n: usize,
    ci95: Option<[f64; 2]>,
    values: &'a [f64],
    /// How the seeds' values are combined, and what the bound applies to.
    statistic: &'static str,
    bound: Option<&'static str>,
    low: Option<f64>,
    high: Option<f64>,
    inside: Option<bool>,
    claimed: bool,
}

pub(super) fn text(answered: &[Answered]) -> String {
    let all: Vec<JsonReport<'_>> = answered.iter().map(report).collect();
    let text = match &all[..] {
        [one] => serde_json::to_string_pretty(one),
        many => serde_json::to_string_pretty(many),
    };
    text.expect("a report is JSON") + "\n"
}

fn report(answered: &Answered) -> JsonReport<'_> {
    let Answered { experiment, seeds, outcomes, .. } = answered;
    let runs = experiment.runs.iter().zip(outcomes.chunks(*seeds as usize));
    JsonReport {
        schema: "blksched/experiment/1",
        version: env!("CARGO_PKG_VERSION"),
        experiment: &experiment.name,
        source: &experiment.source,
        machine: experiment.machine.as_deref(),
        seed: experiment.first_seed,
        seeds: *seeds,
        rows: rows(answered),
        fitted: reasons(&experiment.fits),
        given: reasons(&experiment.given),
        assumed: reasons(&experiment.assumed),
        show: &answered.answer.shows,
        why: &answered.answer.why,
        runs: runs.map(|(run, outcomes)| run_of(run, outcomes)).collect(),
    }
}

/// One run, with all its settings, and what its requests waited for over all seeds.
fn run_of(run: &ExperimentRun, outcomes: &[RunOutcome]) -> Value {
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
            "settings": host_settings(&around.host, &[]),
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

/// Where a request's time in the queue went, as a mean over all requests of this direction.
fn waits(dir: Dir, outcomes: &[RunOutcome]) -> Value {
    let requests: u64 = outcomes.iter().map(|outcome| outcome.reasons.waiting(dir).requests()).sum();
    let on = |cause: Cause| {
        let ns = outcomes.iter().map(|outcome| outcome.reasons.waiting(dir).on(cause).as_ns() as f64).sum::<f64>();
        (cause, ns / requests.max(1) as f64)
    };
    let queued = Cause::all().map(on).filter(|(_, ns)| *ns > 0.0);
    let queued = queued.map(|(cause, ns)| json!({ "for": cause.to_string(), "ns": ns }));
    json!({ "direction": dir.to_string(), "requests": requests, "queued_ns": queued.collect::<Vec<_>>() })
}

fn rows(answered: &Answered) -> Vec<JsonRow<'_>> {
    let mut all = Vec::new();
    for (nth, table) in answered.answer.tables.iter().enumerate() {
        for (place, one) in table.rows.iter().enumerate() {
            let id = format!("{}/{}/{}", answered.experiment.name, nth + 1, place + 1);
            all.push(row(id, &table.title, one));
        }
    }
    all
}

/// What a row's bound applies to; `None` if it has none.
fn bound(row: &RowAnswer) -> Option<&'static str> {
    let has_ends = row.low.is_some() || row.high.is_some();
    match (row.covers_mail, row.each_seed, has_ends) {
        (true, ..) => Some("the seeds' range holds the published value"),
        (false, true, true) => Some("each seed"),
        (false, false, true) => Some("statistic"),
        (false, _, false) => None,
    }
}

fn row<'a>(id: String, table: &'a str, row: &'a RowAnswer) -> JsonRow<'a> {
    JsonRow {
        id,
        table,
        statistic: row.statistic.name(),
        bound: bound(row),
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
