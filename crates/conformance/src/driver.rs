//! Drives a block queue through arbitrary operations, in every environment it knows.
//!
//! One driver serves the property tests, the fuzz targets and anyone's own elevator: bytes become a [`Script`], a
//! [`Run`] plays it, and a [`RunObserver`] sees all events. The same script always plays the same way.

mod decode;
mod run;
mod script;
mod seen;
mod trace;

pub use run::Run;
pub use script::{BioKind, BioPlace, BioPlan, KnobValue, Length, Pass, Script, ScriptStep, SleepPolicy, Successor};
pub use seen::{KeepingListener, RunObserver, Seen, View};
pub use trace::TraceHash;
