//! Whether figures depend on what I/O costs the processors.

use std::sync::Arc;

use blksched::Dir;
use blksched_measure::Quantity;
use blksched_simulate::cpu::{CpuPreset, HostCpus, LockScope};

use crate::runs::cpu::CpuMeasure;
use crate::runs::measured::{Measured, Total};

/// A processor that is busy, or a lock that is held, for at least this part of the time limits rates.
const BUSY: f64 = 0.5;
/// The processor's part of a mean request is mentioned from here on.
const PART: f64 = 0.05;

/// The greatest part that processor time takes of a disk request's mean latency; none if no I/O waited for a
/// request. I/O that ends in memory is shorter than that and depends on the processor alone, whichever scheduler is
/// used.
fn part_of_latency(cpu: &CpuMeasure, totals: &[(Dir, Total); 2]) -> f64 {
    let served = totals.iter().map(|(_, total)| total).filter(|total| total.service > 0.0);
    let way = |total: &Total| total.slept + total.service + total.waited.iter().map(|(_, ns)| ns).sum::<f64>();
    served.map(|total| cpu.per_io.mean() / way(total)).fold(0.0, f64::max)
}

/// Whether figures depend on the processor cost of I/O.
pub fn hangs(measured: &[Arc<Measured>]) -> bool {
    let all = || measured.iter().filter_map(|one| Some((one, one.cpu.as_ref()?)));
    all().any(|(one, cpu)| cpu.busiest.mean() >= BUSY || part_of_latency(cpu, &one.totals) >= PART)
}

/// What a reader should know where figures depend on the processor cost of I/O; nothing where they do not. `beyond`
/// knows what more processors would do.
pub fn notes(measured: &[Arc<Measured>], preset: Option<&CpuPreset>, beyond: &dyn Beyond) -> Vec<String> {
    let Some(preset) = preset.filter(|_| hangs(measured)) else { return Vec::new() };
    let all = || measured.iter().enumerate().filter_map(|(nth, one)| Some((nth, one, one.cpu.as_ref()?)));
    let busy = |cpu: &CpuMeasure| cpu.busiest.mean();
    let busiest = all().max_by(|(.., a), (.., b)| busy(a).total_cmp(&busy(b)));
    let busiest = busiest.map(|(_, one, cpu)| {
        format!(
            "figures depend on the processor cost of I/O (cpu={}): the busiest processor is busy {} of the time under \
             {}; --host cpu=off shows the disk alone",
            preset.name,
            percent(busy(cpu)),
            one.label(),
        )
    });
    let locks = all().filter_map(|(nth, one, cpu)| lock(nth, one, cpu, preset, beyond));
    busiest.into_iter().chain(price(measured)).chain(locks).collect()
}

/// What more processors would do.
pub trait Beyond {
    /// How many there are, and how many processes use them.
    fn there_are(&self) -> (u32, usize);

    /// The rate of the `nth` scheduler's requests on so many processors, for its rate on those that there are; `None`
    /// if that cannot be run.
    fn rate(&self, nth: usize, cpus: u32) -> Option<f64>;
}

/// What clouds bill: the processor time of a hundred thousand I/Os of the disk.
fn price(measured: &[Arc<Measured>]) -> Option<String> {
    let of = |one: &Arc<Measured>| Some(format!("{} {:.2}", one.label(), one.cpu.as_ref()?.seconds_per_100_000()));
    let each: Vec<String> = measured.iter().filter_map(of).collect();
    (!each.is_empty()).then(|| format!("processor seconds per 100,000 I/Os: {}", each.join(", ")))
}

/// Which lock of a scheduler's is busy, how much, and what that means for more processors; `None` if it is not busy.
fn lock(nth: usize, one: &Measured, cpu: &CpuMeasure, preset: &CpuPreset, beyond: &dyn Beyond) -> Option<String> {
    let held = cpu.lock_held.mean();
    let which = match preset.costs.of(one.scheduler).lock {
        LockScope::None => return None,
        LockScope::HardwareQueue => "lock (one per hardware queue, here the busiest)",
        LockScope::Disk => "lock (one for the disk)",
    };
    (held >= BUSY).then(|| {
        format!(
            "{}: its {which} is held {} of the time and comes from another processor {} times a request; {} of all \
             processors' time waits for it; {}",
            one.label(),
            percent(held),
            Quantity::Ratio.show(cpu.lock_moves.mean()),
            percent(cpu.spun.mean()),
            more(nth, beyond),
        )
    })
}

/// What more processors would do for a scheduler whose lock is busy.
fn more(nth: usize, beyond: &dyn Beyond) -> String {
    let (cpus, processes) = beyond.there_are();
    let twice = (2 * cpus).min(HostCpus::MOST);
    if processes <= cpus as usize {
        return format!("{processes} processes have no use for more than {cpus} processors");
    }
    match beyond.rate(nth, twice).filter(|_| twice > cpus) {
        Some(times) => format!("{twice} processors instead of {cpus} make {times:.2} times as many I/Os"),
        None => "more processors were not tried".to_owned(),
    }
}

fn percent(part: f64) -> String {
    Quantity::Fraction.show(part.min(1.0))
}

#[cfg(test)]
mod tests {
    use blksched_measure::Sample;

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

    fn cpu(per_io: f64, lock_held: f64) -> CpuMeasure {
        let [busy, busiest, spun] = [0.0; 3].map(|value| Sample::of(vec![value]));
        let [lock_held, lock_moves, per_io] = [lock_held, 1.5, per_io].map(|value| Sample::of(vec![value]));
        CpuMeasure { busy, busiest, spun, lock_held, lock_moves, per_io }
    }

    /// Eight processors, and as many processes as said.
    struct Eight(usize);

    impl Beyond for Eight {
        fn there_are(&self) -> (u32, usize) {
            (8, self.0)
        }

        fn rate(&self, nth: usize, cpus: u32) -> Option<f64> {
            assert_eq!((nth, cpus), (1, 16));
            Some(1.04)
        }
    }

    #[test]
    fn more_processors_are_tried_where_there_are_processes_for_them() {
        assert_eq!(more(1, &Eight(9)), "16 processors instead of 8 make 1.04 times as many I/Os");
        assert_eq!(more(1, &Eight(8)), "8 processes have no use for more than 8 processors");
    }

    #[test]
    fn what_an_io_costs_is_held_against_requests_of_the_disk_and_not_against_what_ends_in_memory() {
        let cpu = cpu(1300.0, 0.0);
        // Reads of 50 ms, and writes that never reached the disk, whose mean is 1.3 us.
        let slow = [(Dir::Read, total(50e6, 0.0)), (Dir::Write, total(0.0, 0.0))];
        assert!(part_of_latency(&cpu, &slow) < 1e-4);
        // Reads of 10 us.
        let fast = [(Dir::Read, total(9_000.0, 1_000.0)), (Dir::Write, total(0.0, 0.0))];
        assert!((part_of_latency(&cpu, &fast) - 0.13).abs() < 1e-9);
    }
}
