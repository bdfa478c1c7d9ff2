//! One simulation, and later queries about it. Rows per request are not kept by every run: if a caller needs them, the
//! run is repeated, with the same result.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use blksched::author::Entry;
use blksched::{Catalogue, Instant};
use blksched_lab::Scene;
use blksched_lab::scene::{Contender, Stage};
use blksched_lab::why::Explanation;
use blksched_lab::why::phrase::leg;
use blksched_measure::{Cause, DiskDecision};
use blksched_simulate::story::StoriesAsked;
use blksched_simulate::{Findings, Trial};

use super::Error;
use crate::failure::Failure;
use crate::input::OnDisk;
use crate::simulate::began;
use crate::sweep::RunRows;

/// One finished simulation.
pub struct Simulation {
    scene: Scene,
    stage: Stage,
    contender: Contender,
    trial: Trial,
    findings: Findings,
}

impl Simulation {
    /// Runs the scene under one scheduler, or under the kernel's default.
    ///
    /// # Errors
    /// If the scene or the scheduler is not understood, or the run stands still.
    pub fn run(scene: &Scene, elevator: Option<&String>, own: &[Entry]) -> Result<Simulation, Error> {
        let stage = Stage::load(scene, &OnDisk)?;
        stage.is_alone_for(&[(true, "simulate from a program")])?;
        let contender = stage.one_contender(elevator, scene, &Catalogue::builtin().with(own))?;
        let limit = stage.length_once(scene, &contender)?.limit;
        let trial = stage.trial(scene, &contender, limit);
        let findings = trial.simulate().map_err(Failure::input)?;
        Ok(Simulation { scene: scene.clone(), stage, contender, trial, findings })
    }

    /// What `sweep` would write about it, as JSON: the run as a whole, and a part per job and direction.
    pub fn json(&self) -> String {
        let (workload, disk) = (&self.stage.workload.name, &self.stage.disk.name);
        let rows = RunRows::new(0, workload, disk, &self.contender, self.trial.seed);
        let rows = rows.found(&self.stage.plan, self.trial.limit.as_ns(), &self.findings);
        serde_json::to_string(&rows).unwrap_or_default()
    }

    /// A row per request that the disk got: its job, its place, and its times.
    ///
    /// # Errors
    /// If the run cannot be repeated.
    pub fn requests(&self) -> Result<RecordBatch, Error> {
        let run = self.again()?;
        let rows = run.reasons.decisions();
        let ns = |at: Option<Instant>| at.map(Instant::as_ns);
        let ops = run.issued.iter().map(|command| format!("{:?}", command.op).to_lowercase());
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("nth", Arc::new(UInt64Array::from_iter_values(0..rows.len() as u64))),
            ("job", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| self.job(row))))),
            ("process", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.submitter.0)))),
            ("op", Arc::new(StringArray::from_iter_values(ops))),
            ("sector", Arc::new(UInt64Array::from_iter_values(run.issued.iter().map(|c| c.start.0)))),
            ("sectors", Arc::new(UInt32Array::from_iter_values(run.issued.iter().map(|c| c.sectors)))),
            ("fua", Arc::new(run.issued.iter().map(|c| Some(c.fua)).collect::<BooleanArray>())),
            ("queued_ns", Arc::new(rows.iter().map(|row| ns(row.queued_at)).collect::<UInt64Array>())),
            ("issued_ns", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.issued_at.as_ns())))),
            ("completed_ns", Arc::new(rows.iter().map(|row| ns(row.completed_at)).collect::<UInt64Array>())),
        ];
        batch(columns)
    }

    /// A row per request that the disk got: what it waited for, cause by cause \[ns\], and why its batch began.
    ///
    /// # Errors
    /// If the run cannot be repeated.
    pub fn decisions(&self) -> Result<RecordBatch, Error> {
        let run = self.again()?;
        let rows = run.reasons.decisions();
        let waited = rows.iter().map(|row| row.queued_at.map(|queued| row.issued_at.since(queued).as_ns()));
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("nth".to_owned(), Arc::new(UInt64Array::from_iter_values(0..rows.len() as u64))),
            ("at_ns".to_owned(), Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.issued_at.as_ns())))),
            ("job".to_owned(), Arc::new(StringArray::from_iter_values(rows.iter().map(|row| self.job(row))))),
            (
                "batch_began".to_owned(),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| began(row.serving)))),
            ),
            ("waited_ns".to_owned(), Arc::new(waited.collect::<UInt64Array>())),
        ];
        for cause in Cause::all() {
            let values = || rows.iter().map(|row| row.waited[cause.index()]);
            if values().any(|value| value > 0) {
                let dir = rows.iter().find(|row| row.waited[cause.index()] > 0).map(|row| row.dir);
                let name = dir.map(|dir| cause.name_for(dir).to_string()).unwrap_or_default();
                let mut name = format!("waited_for_{}_ns", name.replace([' ', '\'', '-'], "_"));
                if columns.iter().any(|(known, _)| *known == name) {
                    name = format!("waited_for_{}_ns", cause.index());
                }
                columns.push((name, Arc::new(UInt64Array::from_iter_values(values()))));
            }
        }
        batch(columns)
    }

    /// Where the time of this many I/Os went, the slowest first, and who waited for whom.
    ///
    /// # Errors
    /// If the run cannot be repeated.
    pub fn explain(&self, slowest: usize) -> Result<Explanation, Error> {
        let asked = StoriesAsked { slowest, ..StoriesAsked::nothing() };
        Ok(Explanation::run(&self.stage, &self.scene, &self.contender, &self.trial, asked)?)
    }

    fn again(&self) -> Result<Findings, Error> {
        Ok(self.trial.simulate_with_decisions().map_err(Failure::input)?)
    }

    /// Write-back belongs to no process.
    fn job(&self, row: &DiskDecision) -> &str {
        let job = self.stage.plan.jobs.iter().find(|job| job.submitter == row.submitter);
        job.map_or("kernel", |job| job.name.as_str())
    }
}

/// Who waited for whom: a row per process, rule and process waited for, the costliest first.
///
/// # Errors
/// If memory does not suffice.
pub fn blame(explanation: &Explanation) -> Result<RecordBatch, Error> {
    let rows = &explanation.blame.rows;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("who", Arc::new(StringArray::from_iter_values(rows.iter().map(|(key, ..)| &key.who)))),
        ("for_whom", Arc::new(rows.iter().map(|(key, ..)| key.whom.as_deref()).collect::<StringArray>())),
        ("rule", Arc::new(StringArray::from_iter_values(rows.iter().map(|(key, ..)| key.rule)))),
        ("where", Arc::new(StringArray::from_iter_values(rows.iter().map(|(key, ..)| leg(key.leg))))),
        ("ns", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(_, time, _)| time.as_ns())))),
        ("ios", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(.., ios)| *ios)))),
    ];
    batch(columns)
}

pub(super) fn batch(columns: Vec<(impl Into<String>, ArrayRef)>) -> Result<RecordBatch, Error> {
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for (name, array) in columns {
        let nullable = array.null_count() > 0 || *array.data_type() == DataType::UInt64;
        fields.push(Field::new(name, array.data_type().clone(), nullable));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::of_text(&error.to_string(), false))
}
