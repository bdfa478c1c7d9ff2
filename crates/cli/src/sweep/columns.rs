//! Rows as columns: Arrow's record batches, the basis of Parquet files and Python's data frames. docs/schema.md says
//! what each column holds.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::row::{DoneWork, JobPart, RunFacts, RunRows};

/// The columns; each knob that the plan changes has one, `knob_NAME`.
#[derive(Clone, Debug)]
pub(crate) struct SweepColumns {
    knobs: Vec<String>,
    schema: SchemaRef,
}

/// A row: a run and one part of it; a failed run has no part.
type SweepRow<'r> = (&'r RunRows, Option<&'r JobPart>);

impl SweepColumns {
    pub(crate) fn new(knobs: Vec<String>) -> SweepColumns {
        let of_knobs = knobs.iter().map(|name| Field::new(format!("knob_{name}"), DataType::Int64, true));
        let mut fields = vec![
            text("key", false),
            text("workload", false),
            text("disk", false),
            text("scheduler", false),
            text("settings", false),
        ];
        fields.extend(of_knobs);
        let number = |name: &str| Field::new(name, DataType::UInt64, true);
        let real = |name: &str| Field::new(name, DataType::Float64, true);
        fields.extend([
            Field::new("seed", DataType::UInt64, false),
            text("error", true),
            number("time_limit_ns"),
            number("elapsed_ns"),
            Field::new("finished", DataType::Boolean, true),
            number("requests"),
            real("utilisation"),
            real("seeking"),
            real("fairness"),
            text("trace_hash", true),
            text("job", true),
            Field::new("processes", DataType::UInt32, true),
            number("stall_ns"),
            text("what", true),
            number("ios"),
            number("bytes"),
            real("bw"),
            real("iops"),
            real("clat_mean_ns"),
            number("clat_p50_ns"),
            number("clat_p90_ns"),
            number("clat_p99_ns"),
            number("clat_p99_9_ns"),
            number("clat_max_ns"),
        ]);
        SweepColumns { knobs, schema: Arc::new(Schema::new(fields)) }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The rows of these runs.
    pub(crate) fn batch(&self, runs: &[RunRows]) -> Result<RecordBatch, ArrowError> {
        let rows: Vec<SweepRow<'_>> = runs.iter().flat_map(rows_of).collect();
        let words = |pick: fn(&RunRows) -> &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows.iter().map(|(run, _)| pick(run))))
        };
        let mut arrays: Vec<ArrayRef> = vec![
            words(|run| &run.key),
            words(|run| &run.workload),
            words(|run| &run.disk),
            words(|run| &run.scheduler),
            words(|run| &run.settings),
        ];
        for knob in &self.knobs {
            let value =
                |(run, _): &SweepRow<'_>| run.knobs.iter().find(|(name, _)| name == knob).map(|(_, value)| *value);
            arrays.push(Arc::new(rows.iter().map(value).collect::<Int64Array>()));
        }
        arrays.push(Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(run, _)| run.seed))));
        arrays.push(Arc::new(rows.iter().map(|(run, _)| run.error.as_deref()).collect::<StringArray>()));
        of_run(&rows, &mut arrays);
        of_part(&rows, &mut arrays);
        RecordBatch::try_new(self.schema.clone(), arrays)
    }
}

fn text(name: &str, nullable: bool) -> Field {
    Field::new(name, DataType::Utf8, nullable)
}

fn rows_of(run: &RunRows) -> Vec<SweepRow<'_>> {
    if run.parts.is_empty() { vec![(run, None)] } else { run.parts.iter().map(|part| (run, Some(part))).collect() }
}

fn of_run(rows: &[SweepRow<'_>], arrays: &mut Vec<ArrayRef>) {
    let facts = || rows.iter().map(|(run, _)| run.run.as_ref());
    let number =
        |pick: fn(&RunFacts) -> u64| -> ArrayRef { Arc::new(facts().map(|f| f.map(pick)).collect::<UInt64Array>()) };
    let real = |pick: fn(&RunFacts) -> Option<f64>| -> ArrayRef {
        Arc::new(facts().map(|f| f.and_then(pick)).collect::<Float64Array>())
    };
    arrays.push(number(|f| f.time_limit_ns));
    arrays.push(number(|f| f.elapsed_ns));
    arrays.push(Arc::new(facts().map(|f| f.map(|f| f.finished)).collect::<BooleanArray>()));
    arrays.push(number(|f| f.requests));
    arrays.push(real(|f| Some(f.utilisation)));
    arrays.push(real(|f| Some(f.seeking)));
    arrays.push(real(|f| f.fairness));
    arrays.push(Arc::new(facts().map(|f| f.map(|f| f.trace_hash.as_str())).collect::<StringArray>()));
}

fn of_part(rows: &[SweepRow<'_>], arrays: &mut Vec<ArrayRef>) {
    let parts = || rows.iter().map(|(_, part)| *part);
    let done = || parts().map(|part| part.and_then(|part| part.done.as_ref()));
    let number = |pick: &dyn Fn(&DoneWork) -> Option<u64>| -> ArrayRef {
        Arc::new(done().map(|done| done.and_then(pick)).collect::<UInt64Array>())
    };
    let real = |pick: fn(&DoneWork) -> Option<f64>| -> ArrayRef {
        Arc::new(done().map(|done| done.and_then(pick)).collect::<Float64Array>())
    };
    arrays.push(Arc::new(parts().map(|part| part.map(|part| part.job.as_str())).collect::<StringArray>()));
    arrays.push(Arc::new(parts().map(|part| part.map(|part| part.processes)).collect::<UInt32Array>()));
    arrays.push(Arc::new(parts().map(|part| part.map(|part| part.stall_ns)).collect::<UInt64Array>()));
    arrays.push(Arc::new(done().map(|done| done.map(|done| done.what.as_str())).collect::<StringArray>()));
    arrays.push(number(&|done| Some(done.ios)));
    arrays.push(number(&|done| Some(done.bytes)));
    arrays.push(real(|done| Some(done.bw)));
    arrays.push(real(|done| Some(done.iops)));
    arrays.push(real(|done| done.mean_ns));
    for nth in 0..super::row::PERCENTILES.len() {
        arrays.push(number(&move |done| done.percentiles_ns[nth]));
    }
    arrays.push(number(&|done| done.max_ns));
}
