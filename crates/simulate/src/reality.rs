//! Predictions compared with a real kernel's results: the same job file, the same disk, the same number of tags.
//!
//! A [`Row`] holds the figures of one process in one direction, measured or predicted; [`Cell`]s put both side by side,
//! and [`judge`] says how far the predictions can be trusted. `testdata/reality` has recorded rows, `docs/reality.md`
//! the comparison; `cargo xtask reality` and `blksched validate` measure their own.

mod judged;
mod predict;
mod row;
mod set;
pub mod so_far;

pub use judged::{Cell, Judged, Miss, judge};
pub use predict::{Bench, SYNC, probe, rows_of};
pub use row::{Row, read, write};
pub use set::{RealitySetting, Set, Switched};
