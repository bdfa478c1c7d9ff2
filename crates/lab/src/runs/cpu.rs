//! The processors' load.

use blksched_measure::Sample;

use crate::runs::outcome::Outcome;

/// The processor load under one scheduler.
#[derive(Clone, Debug)]
pub struct CpuMeasure {
    /// The part of all processors' time that I/O took.
    pub busy: Sample,
    /// The same for the busiest processor.
    pub busiest: Sample,
    /// The part spent waiting for the scheduler's lock.
    pub spun: Sample,
    /// The part of the run for which the scheduler's lock was held, its way from one processor to another included; of
    /// several locks, the busiest.
    pub lock_held: Sample,
    /// How often a request's lock came from another processor.
    pub lock_moves: Sample,
    /// Processor time per request sent to the disk \[ns\].
    pub per_io: Sample,
}

impl CpuMeasure {
    /// Processor time of a hundred thousand requests \[s\]: what clouds bill.
    pub fn seconds_per_100_000(&self) -> f64 {
        self.per_io.mean() * 100_000.0 / 1e9
    }

    /// `None` if I/O costs no processor time.
    pub fn of(runs: &[Outcome]) -> Option<CpuMeasure> {
        let reports: Vec<_> = runs.iter().map(|run| Some((run, run.cpu?))).collect::<Option<_>>()?;
        let part = |run: &Outcome, ns: u64, of: u32| {
            let all = run.elapsed.as_ns() as f64 * f64::from(of);
            if all > 0.0 { ns as f64 / all } else { 0.0 }
        };
        let over = |value: &dyn Fn(&Outcome, &blksched_simulate::cpu::CpuReport) -> f64| {
            Sample::of(reports.iter().map(|(run, report)| value(run, report)).collect())
        };
        Some(CpuMeasure {
            busy: over(&|run, cpu| part(run, cpu.busy.as_ns(), cpu.cpus)),
            busiest: over(&|run, cpu| part(run, cpu.busiest.as_ns(), 1)),
            spun: over(&|run, cpu| part(run, cpu.spun.as_ns(), cpu.cpus)),
            lock_held: over(&|run, cpu| part(run, cpu.lock.held.as_ns(), 1)),
            lock_moves: over(&|run, cpu| cpu.lock.moved as f64 / run.requests.max(1) as f64),
            per_io: over(&|run, cpu| cpu.busy.as_ns() as f64 / run.requests.max(1) as f64),
        })
    }
}
