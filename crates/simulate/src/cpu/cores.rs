//! Processors that do their work one piece at a time.
//!
//! **Rule** Interrupts go before processes; work that has begun is finished first. A piece of work takes the
//! scheduler's lock at its beginning, as often as its cost says, with what the scheduler does outside the lock in
//! between; its processor waits spinning. Which process is next is a rule of its own ([`TaskOrder`]); where that is by
//! consumed time, a processor chooses only after everything of the moment has happened ([`Cores::choose`]), so that a
//! process that has heard of its I/O may submit the next.
//! **Origin** A simplification: a real interrupt does not wait for the end of a piece of work (1 to 5 µs; a
//! worker's run of many requests is much longer).

use std::collections::VecDeque;

use blksched::{Instant, Span};

use super::costs::{CpuCosts, LockScope, TaskOrder};
use super::fair::{FairTask, RunQueue};
use super::locks::{LockReport, Locks};
use crate::disk_number::DiskNumber;

/// How long something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Inside the scheduler's lock.
    pub(crate) locked: Span,
    /// Outside, between one time in the lock and the next.
    pub(crate) between: Span,
    /// Outside, after the last.
    pub(crate) open: Span,
    /// How often the lock is taken, for an even share each; 0 is as good as 1.
    pub(crate) acquisitions: u32,
    /// The disk whose scheduler's lock it is.
    pub(crate) lock: DiskNumber,
}

/// What runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    Interrupt,
    /// The process, or worker, of this number.
    Task(u32),
}

/// How a piece of work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkProgress<W> {
    /// Its next part ends then.
    Part(Instant),
    /// It is done; and the end of the next piece, if that has begun.
    Done(W, Option<Instant>),
}

/// All processors of a host; `W` is the work that they do.
#[derive(Clone, Debug)]
pub(crate) struct Cores<W> {
    cores: Vec<Core<W>>,
    /// Of each disk's scheduler, by the disk's number.
    locks: Vec<Locks>,
    /// Where processes take turns by consumed time: all of them, by number.
    tasks: Vec<FairTask<(Cost, W)>>,
    /// Processors that have finished a piece of work and have not chosen the next.
    choosing: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Core<W> {
    running: Option<UnderWay<W>>,
    /// It has finished a piece and has not chosen the next.
    is_choosing: bool,
    since: Instant,
    /// Time spent on finished work.
    busy: Span,
    /// Switching to another process.
    switch: Span,
    interrupts: VecDeque<(Cost, W)>,
    processes: WaitingWork<W>,
}

/// A piece of work, and what is left of it.
#[derive(Clone, Copy, Debug)]
struct UnderWay<W> {
    work: W,
    left: Cost,
}

/// The processes' work that waits.
#[derive(Clone, Debug)]
enum WaitingWork<W> {
    Arrival(VecDeque<(Cost, W)>),
    ConsumedTime(RunQueue),
}

impl<W> Core<W> {
    /// How many pieces of work, or tasks, have it or wait for it.
    fn burden(&self) -> usize {
        let waiting = match &self.processes {
            WaitingWork::Arrival(waiting) => waiting.len(),
            WaitingWork::ConsumedTime(queue) => queue.waiting(),
        };
        usize::from(self.running.is_some()) + self.interrupts.len() + waiting
    }
}

impl<W: Copy> Cores<W> {
    /// This many idle processors, on a disk with this many hardware queues; `places` is the processor of each process.
    pub(crate) fn new(
        cpus: u32,
        (scope, hardware_queues): (LockScope, u32),
        costs: &CpuCosts,
        places: &[u32],
    ) -> Cores<W> {
        let idle = |cpu: u32| {
            let sharing = places.iter().filter(|&&place| place == cpu).count() as u32;
            Core {
                running: None,
                is_choosing: false,
                since: Instant::ZERO,
                busy: Span::ZERO,
                switch: costs.switch_among(sharing),
                interrupts: VecDeque::new(),
                processes: match costs.turns {
                    TaskOrder::Arrival => WaitingWork::Arrival(VecDeque::new()),
                    TaskOrder::ConsumedTime(class) => WaitingWork::ConsumedTime(RunQueue::new(class)),
                },
            }
        };
        let cpus = cpus.max(1);
        Cores {
            cores: (0..cpus).map(idle).collect(),
            locks: vec![Locks::new(scope, hardware_queues, cpus, costs.handover)],
            // Each processor may have a worker behind them.
            tasks: (0..places.len() + cpus as usize).map(|_| FairTask::default()).collect(),
            choosing: Vec::new(),
        }
    }

    /// A further disk's scheduler has locks of its own.
    pub(crate) fn add_locks(&mut self, scope: LockScope, hardware_queues: u32, costs: &CpuCosts) {
        self.locks.push(Locks::new(scope, hardware_queues, self.cores.len() as u32, costs.handover));
    }

    /// So many more tasks, which any processor may have; returns the number of the first.
    pub(crate) fn add_tasks(&mut self, count: u32) -> u32 {
        let first = self.tasks.len();
        self.tasks.resize_with(first + count as usize, FairTask::default);
        first as u32
    }

    /// Where a task runs that ran on `last`: there or on the next processor that is idle; a woken one, if there is
    /// none, where the fewest wait.
    pub(crate) fn for_task(&self, last: u32, woken: bool) -> u32 {
        let mut from_last = (0..self.cores.len()).map(|nth| (last as usize + nth) % self.cores.len());
        let chosen = match woken {
            true => from_last.min_by_key(|&cpu| self.cores[cpu].burden()),
            false => from_last.find(|&cpu| self.cores[cpu].burden() == 0),
        };
        chosen.map_or(last, |cpu| cpu as u32)
    }

    /// A process's weight where processes take turns by consumed time.
    pub(crate) fn set_nice(&mut self, task: usize, nice: i8) {
        self.tasks[task].set_nice(nice);
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        self.cores.len()
    }

    /// What switching to a process adds to the work given to it; 0 where a processor sees to that as it chooses.
    pub(crate) fn switch_of(&self, cpu: usize) -> Span {
        match self.cores[cpu].processes {
            WaitingWork::Arrival(_) => self.cores[cpu].switch,
            WaitingWork::ConsumedTime(_) => Span::ZERO,
        }
    }

    /// Gives work to `cpu`. Returns when its first part will be done, if it begins at once.
    pub(crate) fn give(&mut self, now: Instant, cpu: usize, rank: Rank, cost: Cost, work: W) -> Option<Instant> {
        let core = &mut self.cores[cpu];
        let is_idle = core.running.is_none() && !core.is_choosing;
        match (rank, &mut core.processes) {
            (Rank::Task(number), WaitingWork::ConsumedTime(queue)) => {
                queue.give(&mut self.tasks, number, (cost, work));
                is_idle.then(|| self.next(now, cpu)).flatten()
            }
            _ if is_idle => Some(self.begin(now, cpu, cost, work)),
            (Rank::Interrupt, _) => {
                core.interrupts.push_back((cost, work));
                None
            }
            (Rank::Task(_), WaitingWork::Arrival(waiting)) => {
                waiting.push_back((cost, work));
                None
            }
        }
    }

    /// `cpu` has come to the end of a part of its work.
    ///
    /// # Panics
    /// If it had nothing to do.
    pub(crate) fn progress(&mut self, now: Instant, cpu: usize) -> WorkProgress<W> {
        let core = &mut self.cores[cpu];
        let Some(running) = core.running.take() else { unreachable!("it was working") };
        if running.left.acquisitions > 0 {
            return WorkProgress::Part(self.begin_part(now, cpu, running));
        }
        let time = now.since(core.since);
        core.busy += time;
        match &mut core.processes {
            WaitingWork::Arrival(_) => WorkProgress::Done(running.work, self.next(now, cpu)),
            WaitingWork::ConsumedTime(queue) => {
                queue.charge(&mut self.tasks, time);
                core.is_choosing = true;
                self.choosing.push(cpu as u32);
                WorkProgress::Done(running.work, None)
            }
        }
    }

    /// A processor that has finished its work and has not chosen the next; and when that will be done, if there is any.
    /// To be called until there is none, at the end of each moment.
    pub(crate) fn choose(&mut self, now: Instant) -> Option<(u32, Option<Instant>)> {
        let cpu = self.choosing.pop()?;
        self.cores[cpu as usize].is_choosing = false;
        Some((cpu, self.next(now, cpu as usize)))
    }

    /// Time that each has worked by `now`, including waiting for the lock.
    pub(crate) fn worked(&self, now: Instant) -> impl Iterator<Item = Span> + '_ {
        let in_flight = move |core: &Core<W>| core.running.as_ref().map_or(Span::ZERO, |_| now.since(core.since));
        self.cores.iter().map(move |core| core.busy + in_flight(core))
    }

    /// Time that they have waited for the lock, up to the end of each wait that has begun.
    pub(crate) fn spun(&self) -> Span {
        self.locks.iter().map(Locks::spun).fold(Span::ZERO, |sum, spun| sum + spun)
    }

    /// What became of the busiest lock.
    pub(crate) fn busiest_lock(&self) -> LockReport {
        self.locks.iter().map(Locks::busiest).max_by_key(|report| report.held).unwrap_or_default()
    }

    /// An idle processor's next piece of work, and the end of its first part.
    fn next(&mut self, now: Instant, cpu: usize) -> Option<Instant> {
        let core = &mut self.cores[cpu];
        let (cost, work) = match (core.interrupts.pop_front(), &mut core.processes) {
            (Some(interrupt), _) => interrupt,
            (None, WaitingWork::Arrival(waiting)) => waiting.pop_front()?,
            (None, WaitingWork::ConsumedTime(queue)) => {
                let (number, is_new) = queue.choose(&self.tasks)?;
                let (cost, work) = self.tasks[number as usize].works.pop_front()?;
                let switch = if is_new { core.switch } else { Span::ZERO };
                (Cost { open: cost.open + switch, ..cost }, work)
            }
        };
        Some(self.begin(now, cpu, cost, work))
    }

    fn begin(&mut self, now: Instant, cpu: usize, cost: Cost, work: W) -> Instant {
        self.cores[cpu].since = now;
        let acquisitions = if cost.locked.is_zero() { 1 } else { cost.acquisitions.max(1) };
        let (between, open) =
            if acquisitions > 1 { (cost.between, cost.open) } else { (Span::ZERO, cost.between + cost.open) };
        self.begin_part(now, cpu, UnderWay { work, left: Cost { acquisitions, between, open, ..cost } })
    }

    /// Returns when the next part ends.
    fn begin_part(&mut self, now: Instant, cpu: usize, running: UnderWay<W>) -> Instant {
        let Cost { locked, between, open, acquisitions, lock } = running.left;
        let inside = locked / u64::from(acquisitions);
        let outside = if acquisitions > 1 { between / u64::from(acquisitions - 1) } else { open };
        let unlocked = if inside.is_zero() { now } else { self.locks[lock.index()].pass(now, cpu, inside) };
        let between = if acquisitions > 1 { between - outside } else { between };
        let left = Cost { locked: locked - inside, between, open, acquisitions: acquisitions - 1, lock };
        self.cores[cpu].running = Some(UnderWay { left, ..running });
        unlocked + outside
    }
}

#[cfg(test)]
mod tests {
    use super::super::costs::FairClass;
    use super::*;

    fn ns(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn cost(locked: u64, open: u64) -> Cost {
        Cost { locked: Span::from_ns(locked), open: Span::from_ns(open), ..Cost::default() }
    }

    fn cores<W: Copy>(cpus: u32, scope: LockScope, handover: u64, turns: TaskOrder, places: &[u32]) -> Cores<W> {
        let costs = CpuCosts { handover: Span::from_ns(handover), turns, ..CpuCosts::default() };
        Cores::new(cpus, (scope, cpus), &costs, places)
    }

    const TASK: Rank = Rank::Task(0);

    #[test]
    fn work_waits_for_its_processor_and_interrupts_go_first() {
        let mut cores = cores(1, LockScope::None, 0, TaskOrder::Arrival, &[0]);
        assert_eq!(cores.give(ns(10), 0, TASK, cost(0, 5), 'a'), Some(ns(15)));
        assert_eq!(cores.give(ns(11), 0, TASK, cost(0, 7), 'b'), None);
        assert_eq!(cores.give(ns(12), 0, Rank::Interrupt, cost(0, 2), 'c'), None);
        assert_eq!(cores.progress(ns(15), 0), WorkProgress::Done('a', Some(ns(17))));
        assert_eq!(cores.progress(ns(17), 0), WorkProgress::Done('c', Some(ns(24))));
        assert_eq!(cores.progress(ns(24), 0), WorkProgress::Done('b', None));
        assert_eq!(cores.worked(ns(30)).collect::<Vec<_>>(), [Span::from_ns(14)]);
    }

    #[test]
    fn a_lock_of_the_disk_is_waited_for_and_one_of_a_hardware_queue_is_not() {
        let run = |scope: LockScope| {
            let mut cores = cores(2, scope, 3, TaskOrder::Arrival, &[0, 1]);
            let first = cores.give(ns(0), 0, TASK, cost(10, 1), ());
            (first, cores.give(ns(4), 1, TASK, cost(10, 1), ()), cores.spun())
        };
        assert_eq!(run(LockScope::Disk), (Some(ns(11)), Some(ns(24)), Span::from_ns(6)));
        assert_eq!(run(LockScope::HardwareQueue), (Some(ns(11)), Some(ns(15)), Span::ZERO));
        assert_eq!(run(LockScope::None), (Some(ns(11)), Some(ns(15)), Span::ZERO));
    }

    #[test]
    fn no_more_is_worked_than_there_is_time() {
        let mut cores = cores(2, LockScope::Disk, 2, TaskOrder::Arrival, &[0, 1]);
        let (mut now, mut due): (Instant, Vec<(Instant, usize)>) = (ns(0), Vec::new());
        for nth in 0..500_u64 {
            let cpu = (nth % 3 % 2) as usize;
            due.extend(cores.give(now, cpu, TASK, cost(nth % 5, nth % 11), nth).map(|at| (at, cpu)));
            due.sort();
            if nth % 2 == 0 && !due.is_empty() {
                let (at, cpu) = due.remove(0);
                now = now.max(at);
                let WorkProgress::Done(_, next) = cores.progress(now, cpu) else { panic!("it has one part") };
                due.extend(next.map(|at| (at, cpu)));
            }
            assert!(cores.worked(now).all(|busy| busy.as_ns() <= now.as_ns()));
        }
        assert!(cores.spun() > Span::ZERO, "nobody waited for the lock");
    }

    #[test]
    fn a_lock_taken_three_times_lets_another_in_between_and_each_time_it_moves_costs_its_handover() {
        let mut cores = cores(2, LockScope::Disk, 5, TaskOrder::Arrival, &[0, 1]);
        let thrice = Cost { acquisitions: 3, between: Span::from_ns(40), ..cost(30, 20) };
        // 10 inside, 20 outside: alone it would take 90.
        assert_eq!(cores.give(ns(0), 0, TASK, thrice, 'a'), Some(ns(30)));
        assert_eq!(cores.give(ns(12), 1, TASK, cost(10, 1), 'b'), Some(ns(28)));
        // The lock is back from the other, and then stays.
        assert_eq!(cores.progress(ns(28), 1), WorkProgress::Done('b', None));
        assert_eq!(cores.progress(ns(30), 0), WorkProgress::Part(ns(65)));
        assert_eq!(cores.progress(ns(65), 0), WorkProgress::Part(ns(95)));
        assert_eq!(cores.progress(ns(95), 0), WorkProgress::Done('a', None));
        assert_eq!((cores.busiest_lock().acquired, cores.busiest_lock().moved), (4, 2));
    }

    const FAIR: TaskOrder =
        TaskOrder::ConsumedTime(FairClass { latency: Span::from_ns(800), wakeup: Span::from_ns(150) });

    #[test]
    fn by_consumed_time_the_one_that_had_least_is_next_and_interrupts_are_the_running_ones() {
        let mut cores = cores(1, LockScope::None, 0, FAIR, &[0, 0]);
        assert_eq!(cores.give(ns(0), 0, Rank::Task(0), cost(0, 10), 'a'), Some(ns(10)));
        assert_eq!(cores.give(ns(1), 0, Rank::Task(1), cost(0, 10), 'b'), None);
        assert_eq!(cores.give(ns(2), 0, Rank::Interrupt, cost(0, 30), 'i'), None);
        assert_eq!(cores.progress(ns(10), 0), WorkProgress::Done('a', None));
        // Within the moment the process may go on.
        assert_eq!(cores.give(ns(10), 0, Rank::Task(0), cost(0, 10), 'c'), None);
        assert_eq!(cores.choose(ns(10)), Some((0, Some(ns(40)))));
        assert_eq!(cores.choose(ns(10)), None);
        assert_eq!(cores.progress(ns(40), 0), WorkProgress::Done('i', None));
        assert_eq!(cores.choose(ns(40)), Some((0, Some(ns(50)))));
        assert_eq!(cores.progress(ns(50), 0), WorkProgress::Done('c', None));
        assert_eq!(cores.choose(ns(50)), Some((0, Some(ns(60)))));
        assert_eq!(cores.progress(ns(60), 0), WorkProgress::Done('b', None));
        // Both come back at once: the one that was interrupted has had 50, the other 10.
        assert_eq!(cores.give(ns(60), 0, Rank::Task(0), cost(0, 10), 'd'), None);
        assert_eq!(cores.give(ns(60), 0, Rank::Task(1), cost(0, 10), 'e'), None);
        assert_eq!(cores.choose(ns(60)), Some((0, Some(ns(70)))));
        assert_eq!(cores.progress(ns(70), 0), WorkProgress::Done('e', None));
    }

    #[test]
    fn a_slice_ends_and_a_sleeper_that_had_much_less_does_not_wait_for_that() {
        let run = |processes: u32, wakes_at: usize| {
            let mut cores = cores(1, LockScope::None, 0, FAIR, &[0, 0, 0]);
            let mut now = cores.give(ns(0), 0, Rank::Task(0), cost(0, 100), 0).unwrap();
            let others = (1..40).map(|nth| nth % processes);
            others.for_each(|who| assert_eq!(cores.give(ns(0), 0, Rank::Task(who), cost(0, 100), who), None));
            let mut order = Vec::new();
            for nth in 0..8 {
                if nth == wakes_at {
                    assert_eq!(cores.give(now, 0, Rank::Task(2), cost(0, 1), 2), None);
                }
                let WorkProgress::Done(who, None) = cores.progress(now, 0) else { panic!("it has one part") };
                order.push(who);
                now = cores.choose(now).unwrap().1.unwrap();
            }
            order
        };
        // Half of 800 each.
        assert_eq!(run(2, 99), [0, 0, 0, 0, 1, 1, 1, 1]);
        // The other has had 200, and 150 is enough: it is next after the piece of work under way.
        assert_eq!(run(1, 2), [0, 0, 0, 2, 0, 0, 0, 0]);
        // It has had 100: the slice is let run out.
        assert_eq!(run(1, 1), [0, 0, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn who_comes_late_is_given_half_a_period_and_not_all_that_the_others_had() {
        let mut cores = cores(1, LockScope::None, 0, FAIR, &[0, 0]);
        let mut now = cores.give(ns(0), 0, Rank::Task(0), cost(0, 100), 0).unwrap();
        (1..300).for_each(|_| assert_eq!(cores.give(ns(0), 0, Rank::Task(0), cost(0, 100), 0), None));
        let mut order = Vec::new();
        for nth in 0..120 {
            if nth == 100 {
                (0..50).for_each(|_| assert_eq!(cores.give(now, 0, Rank::Task(1), cost(0, 100), 1), None));
            }
            let WorkProgress::Done(who, None) = cores.progress(now, 0) else { panic!("it has one part") };
            order.push(who);
            now = cores.choose(now).unwrap().1.unwrap();
        }
        // 400 of credit, and then a slice of 400.
        let late = order[100..].iter().skip_while(|who| **who == 0).take_while(|who| **who == 1).count();
        assert!((4..=9).contains(&late), "{order:?}");
    }
}
