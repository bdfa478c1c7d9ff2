//! Experiments: a published table beside ours, from one file, `experiment.toml`.
//!
//! * [`Experiment::parse`] reads and checks everything before anything runs.
//! * [`Experiment::simulations`] lists the simulations, [`ExperimentRun::simulate`] runs one of them (or only as much
//!   of it as is [needed](Experiment::asked)), and [`Experiment::answer`] judges them all: every row beside the
//!   published value, inside its bound or not, and why.
//! * [`Beside`] and [`Skill`] say what its published numbers prove beside models that know nothing of its subject.
//! * [`BUILTINS`] are the built-in experiments.
//!
//! An experiment may set anything (see the addresses in `scene.rs`) except how a scheduler decides.

mod asked;
mod beside;
mod builtin;
mod expand;
mod expression;
mod file;
mod machine;
mod measures;
mod null;
mod outcome;
pub(crate) mod reader;
mod result;
mod rows;
mod run;
mod scene;
mod skill;
mod spec;
mod tally;
mod timeline;

pub use asked::Asked;
pub use beside::Beside;
pub use builtin::{BUILTINS, BeyondNull, Builtin};
pub use expression::Expression;
pub use file::FileReader;
pub use measures::{Measure, measures};
pub use null::Null;
pub use outcome::{ProcessOutcome, RunOutcome};
pub use reader::ExperimentError;
pub use result::{ExperimentAnswer, RowAnswer, TableAnswer, short};
pub use scene::{Actor, Scene};
pub use skill::{Arm, MOVED, NEAR, Proof, Skill};
pub use spec::{Experiment, ExperimentRun, FittedSetting, PublishedRow, Sentence, SentencePart, Statistic, TableSpec};
pub use tally::Tally;
pub use timeline::{RunTimeline, Second};
