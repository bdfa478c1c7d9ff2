//! Recorded compared with simulated latencies: the model's error, and the differences that it therefore cannot claim.

use blksched_measure::Work;
use blksched_simulate::recording::Took;

use crate::runs::outcome::Outcome;
use crate::scene::Stage;

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
pub struct RecordedBeside {
    /// The scheduler of the simulated ones.
    pub scheduler: String,
    /// The disk of the simulated ones.
    pub disk: String,
    /// Direction by direction.
    pub rows: Vec<RecordedRow>,
}

impl RecordedBeside {
    /// `None` if the trace holds no latencies, or only of directions that were not simulated.
    pub fn of(stage: &Stage, runs: &[Outcome], scheduler: &str) -> Option<RecordedBeside> {
        let (recorded, disk) = (&stage.workload.took, &stage.disk.name);
        let row = |&(work, recorded): &(Work, Took)| {
            let jobs = || runs.iter().flat_map(|run| &run.jobs).map(|job| job.done[work as usize]);
            let ios: u64 = jobs().map(|(ios, _)| ios).sum();
            let total: f64 = jobs().map(|(ios, mean)| mean * ios as f64).sum();
            let word = if work == Work::Read { "read" } else { "write" };
            (ios > 0 && recorded.mean > 0.0).then(|| RecordedRow { word, recorded, simulated: total / ios as f64 })
        };
        let rows: Vec<RecordedRow> = recorded.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| RecordedBeside { scheduler: scheduler.to_owned(), disk: disk.to_owned(), rows })
    }

    /// The model's greatest error as a ratio, in either direction.
    pub fn worst(&self) -> f64 {
        let misses = self.rows.iter().map(|row| row.simulated / row.recorded.mean);
        misses.map(|times| times.max(1.0 / times.max(f64::MIN_POSITIVE))).fold(1.0, f64::max)
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

    fn beside(recorded: f64, simulated: f64) -> RecordedBeside {
        let recorded = Took { ios: 10, mean: recorded, p99: recorded };
        let rows = vec![RecordedRow { word: "read", recorded, simulated }];
        RecordedBeside { scheduler: "none".to_owned(), disk: "fixed".to_owned(), rows }
    }

    #[test]
    fn a_difference_below_the_models_own_error_is_not_claimed() {
        let said = beside(100.0, 130.0).forbids(1.2).unwrap();
        assert!(said.contains("by a factor of 1.30") && said.contains("only by a factor of 1.20"), "{said}");
        assert!(beside(130.0, 100.0).forbids(1.2).is_some(), "too fast is as wrong as too slow");
        assert_eq!(beside(100.0, 110.0).forbids(1.2), None);
    }
}
