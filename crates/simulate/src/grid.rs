//! Many runs at once: every elevator with every seed, on all cores, with results in the same order whichever finishes
//! first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::trial::{Findings, Trial, TrialError};

/// The runs to make: one row per thing compared, one column per seed.
#[derive(Clone, Debug)]
pub struct Grid {
    rows: Vec<Trial>,
    seeds: Vec<u64>,
}

impl Grid {
    /// `rows` × `seeds`; a row's own seed is ignored.
    pub fn new(rows: Vec<Trial>, seeds: Vec<u64>) -> Grid {
        Grid { rows, seeds }
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.rows.len() * self.seeds.len()
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes all runs, one seed after the other, each under every row; `keep` reduces each run as soon as it ends, and
    /// `done` is called after it. Returns what was kept of each row, seed by seed. Once `stop` is set, no run begins,
    /// and only complete seeds are returned.
    ///
    /// # Errors
    /// If a row's elevator has no such knob, or time stands still.
    pub fn run<T: Send>(
        &self,
        keep: impl Fn(Findings) -> T + Sync,
        done: impl Fn() + Sync,
        stop: impl Fn() -> bool + Sync,
    ) -> Result<Vec<Vec<T>>, TrialError> {
        let rows = self.rows.len();
        let slots: Vec<Mutex<Option<Result<T, TrialError>>>> = (0..self.len()).map(|_| Mutex::default()).collect();
        let next = AtomicUsize::new(0);
        rayon::scope(|scope| {
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|_| {
                    loop {
                        let nth = next.fetch_add(1, Ordering::Relaxed);
                        let Some(slot) = slots.get(nth).filter(|_| !stop()) else { break };
                        let trial = Trial { seed: self.seeds[nth / rows], ..self.rows[nth % rows].clone() };
                        *slot.lock().expect("nobody panics with it") = Some(trial.simulate().map(&keep));
                        done();
                    }
                });
            }
        });
        let mut results: Vec<Vec<T>> = (0..rows).map(|_| Vec::new()).collect();
        let mut slots = slots.into_iter().map(|slot| slot.into_inner().expect("nobody panics with it"));
        for _ in &self.seeds {
            let seed: Option<Vec<_>> = slots.by_ref().take(rows).collect();
            let Some(seed) = seed else { break };
            for (row, findings) in results.iter_mut().zip(seed) {
                row.push(findings?);
            }
        }
        Ok(results)
    }
}
