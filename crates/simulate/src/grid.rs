//! Many runs at once: every elevator with every seed, on all cores, in the same order whoever finishes first.

use blksched::KnobError;
use rayon::prelude::*;

use crate::trial::{Findings, Trial};

/// Runs to be made: one row per thing compared, one column per seed.
#[derive(Clone, Debug)]
pub struct Grid {
    rows: Vec<Trial>,
    seeds: Vec<u64>,
}

impl Grid {
    /// `rows` × `seeds`; a row's own seed does not count.
    pub fn new(rows: Vec<Trial>, seeds: Vec<u64>) -> Grid {
        Grid { rows, seeds }
    }

    /// How many runs it takes.
    pub fn len(&self) -> usize {
        self.rows.len() * self.seeds.len()
    }

    /// True if there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Run them all; `done` hears after each. The results of each row, seed by seed.
    ///
    /// # Errors
    /// If a row's elevator has no such knob.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Vec<Vec<Findings>>, KnobError> {
        let all: Vec<(usize, u64)> =
            (0..self.rows.len()).flat_map(|row| self.seeds.iter().map(move |&seed| (row, seed))).collect();
        let results: Vec<Findings> = all
            .par_iter()
            .map(|&(row, seed)| {
                let result = Trial { seed, ..self.rows[row].clone() }.simulate();
                done();
                result
            })
            .collect::<Result<_, _>>()?;
        let mut results = results.into_iter();
        Ok(self.rows.iter().map(|_| results.by_ref().take(self.seeds.len()).collect()).collect())
    }
}
