//! Runs that were made.

use crate::runs::outcome::Outcome;

/// Every contender's runs with so many seeds.
pub struct DoneRuns {
    pub(super) done: Vec<Vec<Outcome>>,
    pub(super) seeds: u32,
}
