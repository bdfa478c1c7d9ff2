//! What the processors did, and whether figures hang on it.

use blksched_measure::{Quantity, Sample, Work};
use blksched_simulate::Findings;

use super::measured::Measured;

/// One scheduler's.
pub(crate) struct CpuMeasure {
    /// The part of all processors' time that I/O took.
    pub(crate) busy: Sample,
    /// The same of the busiest one.
    pub(crate) busiest: Sample,
    /// The part spent waiting for the scheduler's lock.
    pub(crate) spun: Sample,
    /// Time per request of the disk \[ns\].
    pub(crate) per_io: Sample,
}

/// A processor that is busy for this part of the time limits rates.
const BUSY: f64 = 0.5;
/// Of a mean latency, so much may be the processor's before it is said.
const PART: f64 = 0.05;

impl CpuMeasure {
    /// None if processors cost nothing.
    pub(crate) fn of(runs: &[Findings]) -> Option<CpuMeasure> {
        let reports: Vec<_> = runs.iter().map(|run| Some((run, run.cpu?))).collect::<Option<_>>()?;
        let part = |run: &Findings, ns: u64, of: u32| {
            let all = run.elapsed.as_ns() as f64 * f64::from(of);
            if all > 0.0 { ns as f64 / all } else { 0.0 }
        };
        let over = |value: &dyn Fn(&Findings, &blksched_simulate::cpu::CpuReport) -> f64| {
            Sample::of(reports.iter().map(|(run, report)| value(run, report)).collect())
        };
        Some(CpuMeasure {
            busy: over(&|run, cpu| part(run, cpu.busy.as_ns(), cpu.cpus)),
            busiest: over(&|run, cpu| part(run, cpu.busiest.as_ns(), 1)),
            spun: over(&|run, cpu| part(run, cpu.spun.as_ns(), cpu.cpus)),
            per_io: over(&|run, cpu| cpu.busy.as_ns() as f64 / run.requests.max(1) as f64),
        })
    }

    /// The greatest part that it is of a job's mean latency, or none if there is no job.
    fn part_of_latency(&self, measured: &Measured) -> f64 {
        let works = measured.jobs.iter().flat_map(|job| &job.work).filter(|(work, _)| *work != Work::Sync);
        let means = works.map(|(_, measure)| measure.clat[0].mean()).filter(|mean| *mean > 0.0);
        // What takes less than an I/O costs is memory's, and no I/O.
        means.map(|mean| self.per_io.mean() / mean).filter(|part| *part < 1.0).fold(0.0, f64::max)
    }
}

/// What a reader should know of figures that hang on what I/O costs the processors; none: they do not.
pub(super) fn note(measured: &[Measured], preset: &str) -> Option<String> {
    let all = || measured.iter().filter_map(|one| Some((one, one.cpu.as_ref()?)));
    let (busiest, cpu) = all().max_by(|(_, a), (_, b)| a.busiest.mean().total_cmp(&b.busiest.mean()))?;
    let part = all().map(|(one, cpu)| cpu.part_of_latency(one)).fold(0.0, f64::max);
    let hangs = cpu.busiest.mean() >= BUSY || part >= PART;
    hangs.then(|| {
        let percent = |part: f64| Quantity::Fraction.show(part.min(1.0));
        let spun = match cpu.spun.mean() {
            spun if spun >= 0.01 => format!(", {} of all processors waiting for its lock", percent(spun)),
            _ => String::new(),
        };
        format!(
            "figures hang on what I/O costs the processors (cpu={preset}): the busiest is busy for {} under {}{spun}; \
             an I/O costs {}; --host cpu=off shows the disk alone",
            percent(cpu.busiest.mean()),
            busiest.label(),
            Quantity::Time.show(cpu.per_io.mean()),
        )
    })
}
