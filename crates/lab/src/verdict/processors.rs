//! Whether figures depend on what I/O costs the processors.

use std::sync::Arc;

use blksched::Dir;
use blksched_measure::Quantity;

use crate::runs::cpu::CpuMeasure;
use crate::runs::measured::{Measured, Total};

/// A processor that is busy for at least this part of the time limits rates.
const BUSY: f64 = 0.5;
/// A lock that is held for at least this part of the time is all that limits.
const FULL: f64 = 0.95;
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
/// What a reader should know where figures depend on the processor cost of I/O; `None` where they do not.
pub fn note(measured: &[Arc<Measured>], preset: &str) -> Option<String> {
    let all = || measured.iter().filter_map(|one| Some((one, one.cpu.as_ref()?)));
    let (busiest, cpu) = all().max_by(|(_, a), (_, b)| a.busiest.mean().total_cmp(&b.busiest.mean()))?;
    let part = all().map(|(one, cpu)| part_of_latency(cpu, &one.totals)).fold(0.0, f64::max);
    let hangs = cpu.busiest.mean() >= BUSY || part >= PART;
    hangs.then(|| {
        let percent = |part: f64| Quantity::Fraction.show(part.min(1.0));
        let spun = match cpu.spun.mean() {
            spun if spun >= 0.01 => {
                format!(", {} of all processors waiting for its lock{}", percent(spun), lock(cpu))
            }
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

/// How busy a scheduler's lock is, and what that means for more processors.
fn lock(cpu: &CpuMeasure) -> String {
    let held = cpu.lock_held.mean();
    if held < BUSY {
        return String::new();
    }
    let percent = Quantity::Fraction.show(held.min(1.0));
    let moves = Quantity::Ratio.show(cpu.lock_moves.mean());
    let full = if held >= FULL { ", so more processors would not help" } else { "" };
    format!(" (held {percent} of the time; it comes from another processor {moves} times a request{full})")
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

    #[test]
    fn a_busy_lock_is_told_and_a_full_one_that_more_processors_would_not_help() {
        assert_eq!(lock(&cpu(1.0, 0.49)), "");
        let busy = lock(&cpu(1.0, 0.6));
        assert!(busy.starts_with(" (held 60.0% of the time; it comes from another processor 1.50 times a"), "{busy}");
        assert!(!busy.contains("more processors"), "{busy}");
        assert!(lock(&cpu(1.0, 0.95)).ends_with("so more processors would not help)"));
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
