//! Recorded compared with simulated latencies: the model's error, and the differences that it therefore cannot claim.

use blksched_measure::{Cell, Column, Quantity, Table, Work};
use blksched_simulate::recording::Took;

use super::action::Action;
use super::outcome::Outcome;
use crate::input::Stage;

/// Compares recorded with simulated latencies, as a table; and why nothing can be recommended, if that shows it.
pub(super) fn judge(
    stage: &Stage,
    runs: &[Outcome],
    scheduler: &str,
    action: Option<&Action<'_>>,
) -> (Option<Table>, Option<String>) {
    let beside = Beside::of(&stage.workload.took, runs, scheduler, &stage.disk.name);
    let chosen = action.and_then(Action::chosen);
    let wrong = beside.as_ref().zip(chosen).and_then(|(beside, chosen)| beside.forbids(chosen.score.ratio));
    (beside.map(|beside| beside.table()), wrong)
}

/// One direction.
struct RecordedRow {
    word: &'static str,
    recorded: Took,
    /// The mean over all I/Os of all seeds \[ns\].
    simulated: f64,
}

/// A trace's own latencies beside those of the first scheduler's runs.
struct Beside {
    scheduler: String,
    disk: String,
    rows: Vec<RecordedRow>,
}

impl Beside {
    /// `None` if the trace holds no latencies, or only of directions that were not simulated.
    fn of(recorded: &[(Work, Took)], runs: &[Outcome], scheduler: &str, disk: &str) -> Option<Beside> {
        let row = |&(work, recorded): &(Work, Took)| {
            let jobs = || runs.iter().flat_map(|run| &run.jobs).map(|job| job.done[work as usize]);
            let ios: u64 = jobs().map(|(ios, _)| ios).sum();
            let total: f64 = jobs().map(|(ios, mean)| mean * ios as f64).sum();
            let word = if work == Work::Read { "read" } else { "write" };
            (ios > 0 && recorded.mean > 0.0).then(|| RecordedRow { word, recorded, simulated: total / ios as f64 })
        };
        let rows: Vec<RecordedRow> = recorded.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| Beside { scheduler: scheduler.to_owned(), disk: disk.to_owned(), rows })
    }

    fn table(&self) -> Table {
        let mut table = Table::new(
            format!("recorded, and simulated under {} on {}", self.scheduler, self.disk),
            vec![
                Column::words("what", "what"),
                Column::numbers("ios", "recorded I/Os", Quantity::Count),
                Column::numbers("recorded", "recorded mean", Quantity::Time),
                Column::numbers("recorded_p99", "recorded p99", Quantity::Time),
                Column::numbers("simulated", "simulated mean", Quantity::Time),
                Column::numbers("times", "simulated / recorded", Quantity::Ratio),
            ],
        );
        for RecordedRow { word, recorded, simulated } in &self.rows {
            table.row([
                (*word).into(),
                recorded.ios.into(),
                Cell::from(recorded.mean),
                Cell::from(recorded.p99),
                Cell::from(*simulated),
                Cell::from(simulated / recorded.mean),
            ]);
        }
        table
    }

    /// The model's greatest error as a ratio, in either direction.
    fn worst(&self) -> f64 {
        let misses = self.rows.iter().map(|row| row.simulated / row.recorded.mean);
        misses.map(|times| times.max(1.0 / times.max(f64::MIN_POSITIVE))).fold(1.0, f64::max)
    }

    /// Why a scheduler that looks this many times better cannot be recommended; `None` if it can.
    fn forbids(&self, times: f64) -> Option<String> {
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

    fn beside(recorded: f64, simulated: f64) -> Beside {
        let recorded = Took { ios: 10, mean: recorded, p99: recorded };
        let rows = vec![RecordedRow { word: "read", recorded, simulated }];
        Beside { scheduler: "none".to_owned(), disk: "fixed".to_owned(), rows }
    }

    #[test]
    fn a_difference_below_the_models_own_error_is_not_claimed() {
        let said = beside(100.0, 130.0).forbids(1.2).unwrap();
        assert!(said.contains("by a factor of 1.30") && said.contains("only by a factor of 1.20"), "{said}");
        assert!(beside(130.0, 100.0).forbids(1.2).is_some(), "too fast is as wrong as too slow");
        assert_eq!(beside(100.0, 110.0).forbids(1.2), None);
    }
}
