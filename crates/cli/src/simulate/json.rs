//! A single run for machines: its jobs' results in the form of a comparison, and the reasons, table by table. The
//! schema is `blksched/simulate/1` (docs/schema.md).

use blksched_measure::Table;
use blksched_simulate::{Findings, Trial};
use serde_json::{Value, json};

use super::report;
use crate::compare::json::{JsonRun, document, scheduler};
use blksched_lab::Scene;
use blksched_lab::runs::measured::Measured;
use blksched_lab::runs::outcome::Outcome;
use blksched_lab::scene::{Contender, Stage};
use blksched_lab::verdict::validation::Validation;

pub(super) fn text(
    (contender, stage, scene): (&Contender, &Stage, &Scene),
    trial: &Trial,
    findings: &Findings,
    notes: &[String],
) -> String {
    let validation = Validation::of(stage);
    let run = JsonRun { stage, scene, seed: scene.seed, seeds: 1, limit: trial.limit, validation: &validation };
    let measured = Measured::of(contender, &stage.plan, &[Outcome::of(&stage.plan, findings)]);
    let rest = json!({
        "elapsed_ns": findings.elapsed.as_ns(),
        "requests": findings.requests,
        "scheduler": scheduler(&measured, trial),
        "reasons": report::reasons(findings, &stage.plan.disks).iter().map(Table::json).collect::<Vec<Value>>(),
        "notes": notes,
    });
    document("blksched/simulate/1", &run, rest)
}
