//! Recorded compared with simulated latencies: the model's error, and the differences that it therefore cannot claim.

use blksched_measure::{Quantity, Work};
use blksched_simulate::recording::Took;

use crate::runs::outcome::Outcome;
use crate::scene::Stage;

/// A model that misses the recorded latencies by a greater factor is not the disk of the trace.
const ANOTHER_DISK: f64 = 2.0;

/// One direction.
#[derive(Clone, Debug)]
pub struct RecordedRow {
    /// `read` or `write`.
    pub word: &'static str,
    /// What the trace says.
    pub recorded: Took,
    /// The mean over all I/Os of all seeds \[ns\].
    pub simulated: f64,
}

/// A trace's own latencies beside those of the first scheduler's runs.
#[derive(Clone, Debug)]
pub struct RecordedComparison {
    /// The scheduler of the simulated ones.
    pub scheduler: String,
    /// The disk of the simulated ones.
    pub disk: String,
    /// Direction by direction.
    pub rows: Vec<RecordedRow>,
}

impl RecordedComparison {
    /// `None` if the trace holds no latencies, or only of directions that were not simulated.
    pub fn of(stage: &Stage, runs: &[Outcome], scheduler: &str) -> Option<RecordedComparison> {
        let (recorded, disk) = (&stage.workload.took, &stage.disk.name);
        let row = |&(work, recorded): &(Work, Took)| {
            let jobs = || runs.iter().flat_map(|run| &run.jobs).map(|job| job.done[work as usize]);
            let ios: u64 = jobs().map(|(ios, _)| ios).sum();
            let total: f64 = jobs().map(|(ios, mean)| mean * ios as f64).sum();
            let word = if work == Work::Read { "read" } else { "write" };
            (ios > 0 && recorded.mean > 0.0).then(|| RecordedRow { word, recorded, simulated: total / ios as f64 })
        };
        let rows: Vec<RecordedRow> = recorded.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| RecordedComparison { scheduler: scheduler.to_owned(), disk: disk.to_owned(), rows })
    }

    /// The model's greatest error as a ratio, in either direction.
    pub fn worst(&self) -> f64 {
        let misses = self.rows.iter().map(|row| row.simulated / row.recorded.mean);
        misses.map(|times| times.max(1.0 / times.max(f64::MIN_POSITIVE))).fold(1.0, f64::max)
    }

    /// The means side by side: `Mean latency recorded and simulated: read 20.7ms, 27.3ms; write 44.3ms, 30.5ms`.
    pub fn brief(&self) -> String {
        let time = |ns| Quantity::Time.show(ns);
        let row = |row: &RecordedRow| format!("{} {}, {}", row.word, time(row.recorded.mean), time(row.simulated));
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        format!("Mean latency recorded and simulated: {}.", rows.join("; "))
    }

    /// Why nothing can be said at all: the model is not the disk on which the trace was recorded. `None` if it may be.
    pub fn is_another_disk(&self) -> Option<String> {
        let worst = self.worst();
        (worst > ANOTHER_DISK).then(|| {
            let disk = &self.disk;
            format!(
                "No verdict: simulated and recorded latencies differ by a factor of {worst:.1}, so {disk} is not the \
                 disk of this trace; --disk names another, and `blksched disk fit` makes one of the trace."
            )
        })
    }

    /// Why a scheduler that looks this many times better cannot be recommended; `None` if it can.
    pub fn forbids(&self, times: f64) -> Option<String> {
        let worst = self.worst();
        (worst >= times).then(|| {
            format!(
                "No ranking: the model misses the recorded latencies by a factor of {worst:.2}, and the best \
                 scheduler looks better only by a factor of {times:.2}. The model can be right only for the disk \
                 (--disk) and the scheduler (the first one) that the trace was recorded on."
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(recorded: f64, simulated: f64) -> RecordedComparison {
        let recorded = Took { ios: 10, mean: recorded, p99: recorded };
        let rows = vec![RecordedRow { word: "read", recorded, simulated }];
        RecordedComparison { scheduler: "none".to_owned(), disk: "fixed".to_owned(), rows }
    }

    #[test]
    fn a_difference_below_the_models_own_error_is_not_claimed() {
        let said = comparison(100.0, 130.0).forbids(1.2).unwrap();
        assert!(said.contains("by a factor of 1.30") && said.contains("only by a factor of 1.20"), "{said}");
        assert!(comparison(130.0, 100.0).forbids(1.2).is_some(), "too fast is as wrong as too slow");
        assert_eq!(comparison(100.0, 110.0).forbids(1.2), None);
    }

    #[test]
    fn a_model_that_misses_by_more_than_a_factor_of_two_is_another_disk() {
        assert_eq!(comparison(100.0, 200.0).is_another_disk(), None);
        assert_eq!(comparison(200.0, 100.0).is_another_disk(), None);
        let said = comparison(100.0, 201.0).is_another_disk().unwrap();
        assert!(said.contains("a factor of 2.0") && said.contains("`blksched disk fit`"), "{said}");
        assert!(comparison(201.0, 100.0).is_another_disk().is_some(), "too fast is as wrong as too slow");
    }
}
