//! The processors' load, and whether figures depend on it.

use blksched::Dir;
use blksched_measure::{Quantity, Sample};

use super::measured::{Measured, Total};
use super::outcome::Outcome;

/// The processor load under one scheduler.
pub(crate) struct CpuMeasure {
    /// The part of all processors' time that I/O took.
    pub(crate) busy: Sample,
    /// The same for the busiest processor.
    pub(crate) busiest: Sample,
    /// The part spent waiting for the scheduler's lock.
    pub(crate) spun: Sample,
    /// Processor time per request sent to the disk \[ns\].
    pub(crate) per_io: Sample,
}

/// A processor that is busy for at least this part of the time limits rates.
const BUSY: f64 = 0.5;
/// The processor's part of a mean request is mentioned from here on.
const PART: f64 = 0.05;

impl CpuMeasure {
    /// `None` if I/O costs no processor time.
    pub(crate) fn of(runs: &[Outcome]) -> Option<CpuMeasure> {
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
            per_io: over(&|run, cpu| cpu.busy.as_ns() as f64 / run.requests.max(1) as f64),
        })
    }

    /// The greatest part that processor time takes of a disk request's mean latency; none if no I/O waited for a
    /// request. I/O that ends in memory is shorter than that and depends on the processor alone, whichever scheduler is
    /// used.
    fn part_of_latency(&self, totals: &[(Dir, Total); 2]) -> f64 {
        let served = totals.iter().map(|(_, total)| total).filter(|total| total.service > 0.0);
        let way = |total: &Total| total.slept + total.service + total.waited.iter().map(|(_, ns)| ns).sum::<f64>();
        served.map(|total| self.per_io.mean() / way(total)).fold(0.0, f64::max)
    }
}

/// What a reader should know where figures depend on the processor cost of I/O; `None` where they do not.
pub(super) fn note(measured: &[Measured], preset: &str) -> Option<String> {
    let all = || measured.iter().filter_map(|one| Some((one, one.cpu.as_ref()?)));
    let (busiest, cpu) = all().max_by(|(_, a), (_, b)| a.busiest.mean().total_cmp(&b.busiest.mean()))?;
    let part = all().map(|(one, cpu)| cpu.part_of_latency(&one.totals)).fold(0.0, f64::max);
    let hangs = cpu.busiest.mean() >= BUSY || part >= PART;
    hangs.then(|| {
        let percent = |part: f64| Quantity::Fraction.show(part.min(1.0));
        let spun = match cpu.spun.mean() {
            spun if spun >= 0.01 => format!(", {} of all processors waiting for its lock", percent(spun)),
            _ => String::new(),
        };
        format!(
            "figures depend on the processor cost of I/O (cpu={preset}): the busiest processor is busy {} of the \
             time under {}{spun}; an I/O costs {}; --host cpu=off shows the disk alone",
            percent(cpu.busiest.mean()),
            busiest.label(),
            Quantity::Time.show(cpu.per_io.mean()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(service: f64, slept: f64) -> Total {
        let sample = || Sample::of(vec![1300.0]);
        Total {
            bandwidth: sample(),
            mean: sample(),
            p99: sample(),
            slept,
            waited: Vec::new(),
            service,
            in_memory: None,
        }
    }

    #[test]
    fn what_an_io_costs_is_held_against_requests_of_the_disk_and_not_against_what_ends_in_memory() {
        let sample = |value| Sample::of(vec![value]);
        let cpu = CpuMeasure { busy: sample(0.0), busiest: sample(0.0), spun: sample(0.0), per_io: sample(1300.0) };
        // Reads of 50 ms, and writes that never reached the disk, whose mean is 1.3 us.
        let slow = [(Dir::Read, total(50e6, 0.0)), (Dir::Write, total(0.0, 0.0))];
        assert!(cpu.part_of_latency(&slow) < 1e-4);
        // Reads of 10 us.
        let fast = [(Dir::Read, total(9_000.0, 1_000.0)), (Dir::Write, total(0.0, 0.0))];
        assert!((cpu.part_of_latency(&fast) - 0.13).abs() < 1e-9);
    }
}
