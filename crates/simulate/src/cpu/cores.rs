//! Processors that do their work one piece at a time.
//!
//! **Rule** Interrupts go before processes; work that has begun is finished first. A piece of work begins with its part
//! inside the scheduler's lock, for which its processor waits spinning, first come first served; a lock that another
//! processor had last costs the handover of what it guards.
//! **Origin** A simplification: a real interrupt does not wait for the end of a piece of work (1 to 5 µs), and a real
//! lock is taken several times for one request.

use std::collections::VecDeque;

use blksched::{Instant, Span};

use super::costs::LockScope;

/// How long something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Inside the scheduler's lock.
    pub(crate) locked: Span,
    /// Outside.
    pub(crate) open: Span,
}

/// What runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    Interrupt,
    Process,
}

/// All processors of a host; `W` is the work that they do.
#[derive(Clone, Debug)]
pub(crate) struct Cores<W> {
    cores: Vec<Core<W>>,
    locks: Vec<Lock>,
    scope: LockScope,
    handover: Span,
    spun: Span,
}

#[derive(Clone, Debug)]
struct Core<W> {
    running: Option<W>,
    since: Instant,
    /// Time spent on finished work.
    busy: Span,
    interrupts: VecDeque<(Cost, W)>,
    processes: VecDeque<(Cost, W)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    free: Instant,
    holder: Option<usize>,
}

impl<W> Cores<W> {
    /// This many idle processors, on a disk with this many hardware queues.
    pub(crate) fn new(cpus: u32, scope: LockScope, hardware_queues: u32, handover: Span) -> Cores<W> {
        let idle = || Core {
            running: None,
            since: Instant::ZERO,
            busy: Span::ZERO,
            interrupts: VecDeque::new(),
            processes: VecDeque::new(),
        };
        let locks = match scope {
            LockScope::None => 0,
            LockScope::HardwareQueue => hardware_queues.max(1),
            LockScope::Disk => 1,
        };
        Cores {
            cores: (0..cpus.max(1)).map(|_| idle()).collect(),
            locks: vec![Lock::default(); locks as usize],
            scope,
            handover,
            spun: Span::ZERO,
        }
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        self.cores.len()
    }

    /// Gives work to `cpu`. Returns when it will be done, if it begins at once.
    pub(crate) fn give(&mut self, now: Instant, cpu: usize, rank: Rank, cost: Cost, work: W) -> Option<Instant> {
        if self.cores[cpu].running.is_none() {
            return Some(self.begin(now, cpu, cost, work));
        }
        let core = &mut self.cores[cpu];
        let waiting = if rank == Rank::Interrupt { &mut core.interrupts } else { &mut core.processes };
        waiting.push_back((cost, work));
        None
    }

    /// The work that `cpu` has just finished; and when the next work will be done, if there is any.
    ///
    /// # Panics
    /// If it had nothing to do.
    pub(crate) fn done(&mut self, now: Instant, cpu: usize) -> (W, Option<Instant>) {
        let core = &mut self.cores[cpu];
        let work = core.running.take().expect("it was working");
        core.busy += now.since(core.since);
        let next = core.interrupts.pop_front().or_else(|| core.processes.pop_front());
        (work, next.map(|(cost, work)| self.begin(now, cpu, cost, work)))
    }

    /// Time that each has worked by `now`, including waiting for the lock.
    pub(crate) fn worked(&self, now: Instant) -> impl Iterator<Item = Span> + '_ {
        let in_flight = move |core: &Core<W>| core.running.as_ref().map_or(Span::ZERO, |_| now.since(core.since));
        self.cores.iter().map(move |core| core.busy + in_flight(core))
    }

    /// Time that they have waited for the lock, up to the end of each wait that has begun.
    pub(crate) fn spun(&self) -> Span {
        self.spun
    }

    fn begin(&mut self, now: Instant, cpu: usize, cost: Cost, work: W) -> Instant {
        let unlocked = if cost.locked.is_zero() { now } else { self.pass_lock(now, cpu, cost.locked) };
        let core = &mut self.cores[cpu];
        (core.running, core.since) = (Some(work), now);
        unlocked + cost.open
    }

    /// Takes the lock as soon as it is free, and keeps it for this long; returns when it is released.
    fn pass_lock(&mut self, now: Instant, cpu: usize, locked: Span) -> Instant {
        if self.scope == LockScope::None {
            return now + locked;
        }
        let queue = cpu % self.locks.len();
        let lock = &mut self.locks[queue];
        let mut from = lock.free.max(now);
        self.spun += from.since(now);
        if lock.holder.is_some_and(|holder| holder != cpu) {
            from += self.handover;
        }
        *lock = Lock { free: from + locked, holder: Some(cpu) };
        lock.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn cost(locked: u64, open: u64) -> Cost {
        Cost { locked: Span::from_ns(locked), open: Span::from_ns(open) }
    }

    #[test]
    fn work_waits_for_its_processor_and_interrupts_go_first() {
        let mut cores = Cores::new(1, LockScope::None, 1, Span::ZERO);
        assert_eq!(cores.give(ns(10), 0, Rank::Process, cost(0, 5), 'a'), Some(ns(15)));
        assert_eq!(cores.give(ns(11), 0, Rank::Process, cost(0, 7), 'b'), None);
        assert_eq!(cores.give(ns(12), 0, Rank::Interrupt, cost(0, 2), 'c'), None);
        assert_eq!(cores.done(ns(15), 0), ('a', Some(ns(17))));
        assert_eq!(cores.done(ns(17), 0), ('c', Some(ns(24))));
        assert_eq!(cores.done(ns(24), 0), ('b', None));
        assert_eq!(cores.worked(ns(30)).collect::<Vec<_>>(), [Span::from_ns(14)]);
    }

    #[test]
    fn a_lock_of_the_disk_is_waited_for_and_one_of_a_hardware_queue_is_not() {
        let run = |scope: LockScope| {
            let mut cores = Cores::new(2, scope, 2, Span::from_ns(3));
            let first = cores.give(ns(0), 0, Rank::Process, cost(10, 1), ());
            (first, cores.give(ns(4), 1, Rank::Process, cost(10, 1), ()), cores.spun())
        };
        assert_eq!(run(LockScope::Disk), (Some(ns(11)), Some(ns(24)), Span::from_ns(6)));
        assert_eq!(run(LockScope::HardwareQueue), (Some(ns(11)), Some(ns(15)), Span::ZERO));
        assert_eq!(run(LockScope::None), (Some(ns(11)), Some(ns(15)), Span::ZERO));
    }

    #[test]
    fn no_more_is_worked_than_there_is_time() {
        let mut cores = Cores::new(2, LockScope::Disk, 1, Span::from_ns(2));
        let (mut now, mut due): (Instant, Vec<(Instant, usize)>) = (ns(0), Vec::new());
        for nth in 0..500_u64 {
            let cpu = (nth % 3 % 2) as usize;
            due.extend(cores.give(now, cpu, Rank::Process, cost(nth % 5, nth % 11), nth).map(|at| (at, cpu)));
            due.sort();
            if nth % 2 == 0 && !due.is_empty() {
                let (at, cpu) = due.remove(0);
                now = now.max(at);
                due.extend(cores.done(now, cpu).1.map(|at| (at, cpu)));
            }
            assert!(cores.worked(now).all(|busy| busy.as_ns() <= now.as_ns()));
        }
        assert!(cores.spun() > Span::ZERO, "nobody waited for the lock");
    }
}
