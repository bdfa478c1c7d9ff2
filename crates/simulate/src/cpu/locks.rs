//! The locks of a scheduler: who holds them, and what it costs to take one.
//!
//! **Rule** A lock is taken in the order in which it is asked for; a processor that waits for it spins. A processor
//! that takes a lock which another had last pays its handover, whether it waited or not: the lines of the cache that
//! the lock guards are the other's.
//! **Origin** Figures 5 and 7 of ICPE'24 (docs/processors.md): on ten processors mq-deadline and BFQ lose what one
//! handover for each of their acquisitions takes, the same for both. They do not show whether a handover takes longer
//! the more processors wait.

use blksched::{Instant, Span};

use super::costs::LockScope;

/// What became of a lock in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockReport {
    /// How often it was taken.
    pub acquired: u64,
    /// How often by another processor than before.
    pub moved: u64,
    /// How often somebody waited for it.
    pub contended: u64,
    /// Time that it was held, handovers included.
    pub held: Span,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    free: Instant,
    holder: Option<usize>,
    report: LockReport,
}

/// The hardware queue of a processor: neighbouring processors share one if there are fewer queues than processors, and
/// queues beyond the processors are unused.
pub(crate) fn hardware_queue(cpu: usize, cpus: usize, queues: usize) -> usize {
    if queues >= cpus { cpu } else { cpu * queues / cpus }
}

/// All locks of one scheduler on one disk.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    locks: Vec<Lock>,
    /// Processors, of which neighbours share a hardware queue if there are fewer queues.
    cpus: usize,
    handover: Span,
    spun: Span,
}

impl Locks {
    pub(super) fn new(scope: LockScope, hardware_queues: u32, cpus: u32, handover: Span) -> Locks {
        let locks = match scope {
            LockScope::None => 0,
            LockScope::HardwareQueue => hardware_queues.max(1),
            LockScope::Disk => 1,
        };
        Locks { locks: vec![Lock::default(); locks as usize], cpus: cpus as usize, handover, spun: Span::ZERO }
    }

    /// `cpu` takes its lock as soon as it is free, and keeps it for this long; returns when it is released.
    pub(super) fn pass(&mut self, now: Instant, cpu: usize, locked: Span) -> Instant {
        if self.locks.is_empty() {
            return now + locked;
        }
        let nth = hardware_queue(cpu, self.cpus, self.locks.len());
        let lock = &mut self.locks[nth];
        let from = lock.free.max(now);
        let moves = lock.holder.is_some_and(|holder| holder != cpu);
        let held = if moves { self.handover + locked } else { locked };
        self.spun += from.since(now);
        lock.report.acquired += 1;
        lock.report.moved += u64::from(moves);
        lock.report.contended += u64::from(from > now);
        lock.report.held += held;
        (lock.free, lock.holder) = (from + held, Some(cpu));
        lock.free
    }

    /// Time that processors have waited, up to the end of each wait that has begun.
    pub(super) fn spun(&self) -> Span {
        self.spun
    }

    /// The busiest.
    pub(super) fn busiest(&self) -> LockReport {
        self.locks.iter().map(|lock| lock.report).max_by_key(|report| report.held).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_processors_share_a_hardware_queue() {
        let all = |cpus: usize, queues: usize| -> Vec<usize> {
            (0..cpus).map(|cpu| hardware_queue(cpu, cpus, queues)).collect()
        };
        assert_eq!(all(4, 1), [0, 0, 0, 0]);
        assert_eq!(all(4, 2), [0, 0, 1, 1]);
        assert_eq!(all(4, 3), [0, 0, 1, 2]);
        assert_eq!(all(4, 4), [0, 1, 2, 3]);
        assert_eq!(all(4, 8), [0, 1, 2, 3]);
    }

    #[test]
    fn a_handover_is_paid_whenever_another_had_it_last_and_not_only_by_those_who_wait() {
        let ns = Instant::from_ns;
        let mut locks = Locks::new(LockScope::Disk, 4, 2, Span::from_ns(650));
        let mut pass = |at: u64, cpu: usize| locks.pass(ns(at), cpu, Span::from_ns(100)).as_ns();
        assert_eq!(pass(0, 0), 100, "nobody had it");
        assert_eq!(pass(1_000, 0), 1_100, "the same processor");
        assert_eq!(pass(5_000, 1), 5_750, "another, long after");
        assert_eq!(pass(5_700, 0), 6_500, "another, which waits 50 ns");
        let report = locks.busiest();
        assert_eq!((report.acquired, report.moved, report.contended), (4, 2, 1));
        assert_eq!((report.held, locks.spun()), (Span::from_ns(1_700), Span::from_ns(50)));
    }
}
