//! A comparison for another language's package: the library's answer, its figures as Arrow, and its renderings.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use blksched::Catalogue;
use blksched::author::Entry;
use blksched_lab::runs::values::{Value, each};
use blksched_lab::scene::Stage;
use blksched_lab::{Compared, Comparison};

use super::one::batch;
use super::{Error, Rendered};
use crate::input::OnDisk;

/// Runs a comparison with these elevators besides the built-in ones; it ends early once `stop` is true.
///
/// # Errors
/// If a word is not understood, a run stands still, or it was stopped before the first seed was done.
pub fn compare(comparison: &Comparison, own: &[Entry], stop: &AtomicBool) -> Result<Compared, Error> {
    let stage = Stage::load(&comparison.scene, &OnDisk)?;
    Ok(comparison.run(stage, &Catalogue::builtin().with(own), stop)?)
}

/// A comparison as the command line prints it: text, JSON and HTML.
pub fn rendered(compared: &Compared) -> Rendered {
    let (text, json, html) = crate::compare::rendered(compared);
    Rendered { text: anstream::adapter::strip_str(&text).to_string(), json, html }
}

/// Every figure: a row per scheduler, seed, job, direction and figure, in base units, as in `compare --csv`.
///
/// # Errors
/// If memory does not suffice.
pub fn figures(compared: &Compared) -> Result<RecordBatch, Error> {
    let mut rows: Rows = Rows::default();
    each(&compared.measured, compared.first, &mut |value| rows.add(value));
    let Rows { texts: [scheduler, settings, job, role, what, figure, unit], seeds, processes, values } = rows;
    let text = |texts: Vec<String>| Arc::new(StringArray::from_iter_values(texts)) as ArrayRef;
    let (workload, disk) = (&compared.stage.workload.name, &compared.stage.disk.name);
    let same = |name: &str| text(vec![name.to_owned(); values.len()]);
    batch(vec![
        ("workload", same(workload)),
        ("disk", same(disk)),
        ("scheduler", text(scheduler)),
        ("settings", text(settings)),
        ("seed", Arc::new(UInt64Array::from(seeds))),
        ("job", text(job)),
        ("processes", Arc::new(UInt32Array::from(processes))),
        ("role", text(role)),
        ("what", text(what)),
        ("figure", text(figure)),
        ("unit", text(unit)),
        ("value", Arc::new(Float64Array::from(values))),
    ])
}

#[derive(Default)]
struct Rows {
    texts: [Vec<String>; 7],
    seeds: Vec<u64>,
    processes: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    fn add(&mut self, of: &Value<'_>) {
        let settings = of.scheduler.knobs.join(" ");
        let texts =
            [&of.scheduler.name, &settings, &of.job.name, of.job.role.0.name(), of.what, of.figure, of.unit.unit()];
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.push(text.to_owned());
        }
        self.seeds.push(of.seed);
        self.processes.push(of.job.processes as u32);
        self.values.push(of.value);
    }
}
