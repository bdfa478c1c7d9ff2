//! Recorded compared with simulated latencies: the model's error, and the differences that it therefore cannot claim.

use blksched_measure::fio_json::FioResult;
use blksched_measure::{Quantity, Work};
use blksched_simulate::recording::Took;
use blksched_workloads::Plan;

use crate::runs::outcome::Outcome;
use crate::scene::Stage;

/// A model that misses the recorded latencies by a greater factor is not the disk of the trace.
const ANOTHER_DISK: f64 = 2.0;
/// A latency below this ends in memory \[ns\]. MEMORY: a page from the page cache takes a microsecond or two, no drive
/// of today less than ten.
pub(crate) const IN_MEMORY: f64 = 10_000.0;
/// A brief answer names no more jobs and directions than these.
const BRIEF_ROWS: usize = 4;

/// One direction; of one job, if fio measured it.
#[derive(Clone, Debug)]
pub struct RecordedRow {
    /// `read` or `write`, behind the job's name if there is one.
    pub word: String,
    /// What the trace says, or fio's result.
    pub recorded: Took,
    /// The mean over all I/Os of all seeds \[ns\].
    pub simulated: f64,
    /// I/Os per second, recorded and simulated, if fio measured them.
    pub rates: Option<[f64; 2]>,
}

/// Who recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedBy {
    /// A trace has its own latencies.
    Trace,
    /// fio's result, whose jobs are the load.
    Fio,
}

/// Recorded latencies beside those of the first scheduler's runs.
#[derive(Clone, Debug)]
pub struct RecordedComparison {
    /// Where they come from.
    pub by: RecordedBy,
    /// The scheduler of the simulated ones.
    pub scheduler: String,
    /// The disk of the simulated ones.
    pub disk: String,
    /// Direction by direction.
    pub rows: Vec<RecordedRow>,
}

impl RecordedComparison {
    /// `None` if there are no recorded latencies, or only of directions that were not simulated.
    pub fn of(stage: &Stage, runs: &[Outcome], scheduler: &str) -> Option<RecordedComparison> {
        let (by, rows) = match &stage.workload.measured {
            Some(result) => (RecordedBy::Fio, of_fio(result, &stage.plan, runs)),
            None => (RecordedBy::Trace, of_trace(&stage.workload.took, runs)),
        };
        let (scheduler, disk) = (scheduler.to_owned(), stage.disk.name.clone());
        (!rows.is_empty()).then_some(RecordedComparison { by, scheduler, disk, rows })
    }

    /// The model's greatest error as a ratio, in either direction. What ends in memory says nothing of a disk.
    pub fn worst(&self) -> f64 {
        let from_disk = self.rows.iter().filter(|row| row.recorded.mean.max(row.simulated) > IN_MEMORY);
        let misses = from_disk.map(|row| row.simulated / row.recorded.mean);
        misses.map(|times| times.max(1.0 / times.max(f64::MIN_POSITIVE))).fold(1.0, f64::max)
    }

    /// The means side by side: `Mean latency recorded and simulated: read 20.7ms, 27.3ms; write 44.3ms, 30.5ms`.
    pub fn brief(&self) -> String {
        let time = |ns| Quantity::Time.show(ns);
        let row = |row: &RecordedRow| {
            let rates = row.rates.map(|rates| rates.map(|rate| Quantity::Count.show(rate)));
            let rates = rates.map_or(String::new(), |[was, is]| format!(" at {was}, {is} IOPS"));
            format!("{} {}, {}{rates}", row.word, time(row.recorded.mean), time(row.simulated))
        };
        let rows: Vec<String> = self.rows.iter().take(BRIEF_ROWS).map(row).collect();
        let more = if self.rows.len() > BRIEF_ROWS { "; --details has the others" } else { "" };
        let what = match self.by {
            RecordedBy::Trace => "Mean latency recorded and simulated",
            RecordedBy::Fio => "Mean latency measured by fio and predicted",
        };
        format!("{what}: {}{more}.", rows.join("; "))
    }

    /// Why nothing can be said at all: the model is not the disk on which the trace was recorded. `None` if it may be.
    pub fn is_another_disk(&self) -> Option<String> {
        let worst = self.worst();
        (worst > ANOTHER_DISK).then(|| {
            let (disk, scheduler) = (&self.disk, &self.scheduler);
            match self.by {
                RecordedBy::Trace => format!(
                    "No verdict: simulated and recorded latencies differ by a factor of {worst:.1}, so {disk} is not \
                     the disk of this trace; --disk names another, and `blksched disk fit` makes one of the trace."
                ),
                RecordedBy::Fio => format!(
                    "No verdict: predicted latencies differ from those that fio measured by a factor of {worst:.1}, \
                     so {disk} under {scheduler} is not what it measured: --disk names another disk, `blksched disk \
                     fit` makes one of fio's results at several depths, and the first of --elevators is the scheduler."
                ),
            }
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

/// The mean latency of these processes' I/Os of all runs \[ns\]; `None` if they did none.
fn simulated(runs: &[Outcome], work: Work, is_one: &dyn Fn(usize) -> bool) -> Option<f64> {
    let jobs = || runs.iter().flat_map(|run| run.jobs.iter().enumerate());
    let done = || jobs().filter(|(job, _)| is_one(*job)).map(|(_, job)| job.done[work as usize]);
    let ios: u64 = done().map(|(ios, _)| ios).sum();
    let total: f64 = done().map(|(ios, mean)| if ios > 0 { mean * ios as f64 } else { 0.0 }).sum();
    (ios > 0).then(|| total / ios as f64)
}

fn word(work: Work) -> &'static str {
    match work {
        Work::Read => "read",
        Work::Write => "write",
        Work::Trim => "trim",
        Work::Sync => "sync",
    }
}

fn of_trace(recorded: &[(Work, Took)], runs: &[Outcome]) -> Vec<RecordedRow> {
    let row = |&(work, recorded): &(Work, Took)| {
        let simulated = simulated(runs, work, &|_| true).filter(|_| recorded.mean > 0.0)?;
        Some(RecordedRow { word: word(work).to_owned(), recorded, simulated, rates: None })
    };
    recorded.iter().filter_map(row).collect()
}

/// Job by job: processes of one name are taken together, as their rates add up.
fn of_fio(result: &FioResult, plan: &Plan, runs: &[Outcome]) -> Vec<RecordedRow> {
    let mut names: Vec<&str> = Vec::new();
    for row in &result.rows {
        if !names.contains(&row.job.as_str()) {
            names.push(&row.job);
        }
    }
    let rows = names.iter().flat_map(|name| [Work::Read, Work::Write, Work::Trim].map(|work| (*name, work)));
    rows.filter_map(|(name, work)| {
        let sides = || result.rows.iter().filter(|row| row.job == name).filter_map(|row| row.side(work));
        let ios: u64 = sides().map(|side| side.ios).sum();
        let total: f64 = sides().filter_map(|side| Some(side.lat.or(side.clat)? * side.ios as f64)).sum();
        let p99 = sides().filter_map(|side| side.percentile(99.0)).fold(f64::NAN, f64::max);
        let recorded = Took { ios, mean: total / ios as f64, p99 };
        let simulated = simulated(runs, work, &|job| plan.jobs[job].name == name).filter(|_| total > 0.0)?;
        let members = plan.members_by_row();
        let is_its = |row: &usize| members[*row].iter().any(|&job| plan.jobs[job].name == name);
        let of_run =
            |run: &Outcome| -> f64 { (0..members.len()).filter(is_its).map(|row| run.rows[row].work(work).iops).sum() };
        let predicted = runs.iter().map(of_run).sum::<f64>() / runs.len() as f64;
        let rates = Some([sides().map(|side| side.iops).sum(), predicted]);
        Some(RecordedRow { word: format!("{name} {}", word(work)), recorded, simulated, rates })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(recorded: f64, simulated: f64) -> RecordedComparison {
        // In microseconds.
        let recorded = Took { ios: 10, mean: recorded * 1e3, p99: recorded * 1e3 };
        let rows = vec![RecordedRow { word: "read".to_owned(), recorded, simulated: simulated * 1e3, rates: None }];
        let (scheduler, disk) = ("none".to_owned(), "fixed".to_owned());
        RecordedComparison { by: RecordedBy::Trace, scheduler, disk, rows }
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
