//! Which disk I/O scheduler, which knobs, and why, for a load on a disk: the question and its answer as values.
//!
//! A [`Scene`] says what is run, a [`Comparison`] asks; runs, verdict and search answer. Nothing here reads a command
//! line, prints, opens a file or looks at the environment: names lead where [`Files`] says, and long work is followed
//! and interrupted through [`Watch`].

mod compare;
mod comparison;
mod error;
mod files;
pub mod runs;
pub mod scene;
pub mod search;
pub mod verdict;
mod watch;
pub mod why;

pub use compare::Compared;
pub use comparison::{Comparison, FitSearch};
pub use error::Error;
pub use files::{Files, NoFiles};
pub use scene::Scene;
pub use watch::Watch;
