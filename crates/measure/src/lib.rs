//! The results of a run: this crate turns events into numbers, tables and sentences.
//!
//! Everything here is a pure function of its input: no clock, no I/O, the same bytes on every platform.
//!
//! * [`Recorder`] is told of every submission and completion and keeps, per job and direction, what fio would report.
//! * [`Reasons`] listens to the queue and splits every request's waiting over its causes.
//! * [`Histogram`], [`Moments`], [`Spread`] and [`jain`] are the arithmetic; [`Sample`], [`Paired`] and [`holm`] decide
//!   which differences over the seeds are significant.
//! * [`Series`] is what a job did by time, and [`mser5`] says where a run's beginning ends.
//! * [`Table`] is one value that prints as text, Markdown and JSON; [`Quantity`] formats its numbers.
//! * [`fio_json`] prints a run as `fio --output-format=json` would.

mod due;
mod fairness;
pub mod fio_json;
mod histogram;
mod moments;
mod paired;
mod quantity;
mod reasons;
mod record;
mod sample;
mod series;
mod spread;
mod steady;
mod table;

pub use due::{DiskClaim, due, misplaced};
pub use fairness::{AskedAndGiven, fairness, jain};
pub use histogram::{FIO_PERCENTILES, Histogram};
pub use moments::Moments;
pub use paired::{Paired, holm, logarithms};
pub use quantity::Quantity;
pub use reasons::{
    Arrivals, Away, Batches, BeganBy, Cause, DiskDecision, DiskTime, Effort, Entered, Found, IdleKind, Longest,
    Reasons, Serving, Sleeps, SubmitterTime, Turns, Waiting, WorksFor,
};
pub use record::{
    Completion, DEPTH_BOUNDS, DepthLevels, Direction, Engine, Job, JobId, JobLog, JobRecord, LATENCY_BOUNDS_NS,
    LatencyBuckets, LogColumns, LogKind, LogPlan, LogValue, OnError, Priorities, Rate, RateSummary, Recorder,
    ReportWishes, Shown, Tally, Unified, Work,
};
pub use sample::{Modes, Sample};
pub use series::{Series, Stretch};
pub use spread::{Spread, geometric_mean};
pub use steady::{Beginning, mser5};
pub use table::{Align, Borders, Cell, Column, Table, wrapped};
