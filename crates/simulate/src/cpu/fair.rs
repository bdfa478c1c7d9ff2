//! Linux' fair class on one processor: the process that has had the least runs.
//!
//! **Rule** A process runs until it sleeps or its slice is over. Then the one that has had the least time is next,
//! among equals the one that has waited longest. Whatever the processor does while a process is on it is that process's
//! time, interrupts too. A process that slept is not given more for it than half a period. One that wakes takes the
//! processor from one that has had more by the wake-up granularity. Each step of `nice` makes its time count a quarter
//! more (scheduler/sched-nice-design: some tenth of a processor a step); slices are not weighted.
//! **Origin** Linux' documentation, scheduler/sched-design-CFS (kernels until 6.5). Interrupts are what makes the times
//! of equal processes differ, and with them the waits: ICPE'24's 256 processes on one processor have a p99 of 1.8 times
//! the mean, where taking turns in order of arrival would give all the same wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use blksched::Span;

use super::costs::FairClass;

/// With more runnable processes than this, each has an eighth of the period.
const SLICES: u64 = 8;

/// A process, on whichever processor, with its pieces of work.
#[derive(Clone, Debug)]
pub(super) struct FairTask<W> {
    pub(super) works: VecDeque<W>,
    /// What it has had of its processor, by its weight.
    consumed: Span,
    /// What a second of its processor counts for it, in thousandths: the higher its `nice`, the more.
    counts: u64,
}

impl<W> Default for FairTask<W> {
    fn default() -> FairTask<W> {
        FairTask { works: VecDeque::new(), consumed: Span::ZERO, counts: 1000 }
    }
}

impl<W> FairTask<W> {
    /// Gives it a quarter more or less for each step of `nice`.
    pub(super) fn set_nice(&mut self, nice: i8) {
        self.counts = (1000.0 * 1.25_f64.powi(i32::from(nice))).round() as u64;
    }
}

/// The processes of one processor.
#[derive(Clone, Debug)]
pub(super) struct RunQueue {
    class: FairClass,
    /// Those that wait for the processor: what they have had, and since when in order.
    waiting: BinaryHeap<Reverse<(Span, u64, u32)>>,
    arrivals: u64,
    /// The one that has the processor, and what it had had when it got it.
    current: Option<(u32, Span)>,
    /// What those that run have had at least; it only grows.
    least: Span,
    preempted: bool,
}

impl RunQueue {
    pub(super) fn new(class: FairClass) -> RunQueue {
        let (waiting, arrivals, least) = (BinaryHeap::new(), 0, Span::ZERO);
        RunQueue { class, waiting, arrivals, current: None, least, preempted: false }
    }

    /// How many wait for the processor.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The processor has worked for this long.
    pub(super) fn charge<W>(&mut self, tasks: &mut [FairTask<W>], time: Span) {
        let Some((current, _)) = self.current else { return };
        let FairTask { consumed, counts, .. } = &mut tasks[current as usize];
        *consumed += if *counts == 1000 { time } else { time * *counts / 1000 };
        // It grows also while one process keeps the processor: who slept all the while is given no more than the rule.
        let least = self.waiting.peek().map_or(*consumed, |Reverse((had, ..))| (*consumed).min(*had));
        self.least = self.least.max(least);
    }

    /// A process gets work.
    pub(super) fn give<W>(&mut self, tasks: &mut [FairTask<W>], number: u32, work: W) {
        let task = &mut tasks[number as usize];
        task.works.push_back(work);
        let is_current = self.current.is_some_and(|(current, _)| current == number);
        if is_current || task.works.len() > 1 {
            return;
        }
        let credit = self.class.latency / 2;
        task.consumed = task.consumed.max(Span::from_ns(self.least.as_ns().saturating_sub(credit.as_ns())));
        let had = task.consumed;
        self.wait(number, had);
        if let Some((current, _)) = self.current {
            self.preempted |= had + self.class.wakeup < tasks[current as usize].consumed;
        }
    }

    /// The process that runs now, and whether it is another one than before or one that slept.
    pub(super) fn choose<W>(&mut self, tasks: &[FairTask<W>]) -> Option<(u32, bool)> {
        if let Some((current, had)) = self.current {
            let task = &tasks[current as usize];
            if task.works.is_empty() {
                self.current = None;
            } else if self.stays(task.consumed, had) {
                return Some((current, false));
            } else {
                self.wait(current, task.consumed);
            }
        }
        self.preempted = false;
        let Reverse((had, _, next)) = self.waiting.pop()?;
        self.least = self.least.max(had);
        self.current = Some((next, had));
        Some((next, true))
    }

    fn stays(&self, consumed: Span, had: Span) -> bool {
        let Some(Reverse((least, ..))) = self.waiting.peek() else { return true };
        let runnable = (self.waiting.len() as u64 + 1).min(SLICES);
        let slice_over = consumed >= had + self.class.latency / runnable;
        !(self.preempted || slice_over && *least < consumed)
    }

    fn wait(&mut self, number: u32, had: Span) {
        self.arrivals += 1;
        self.waiting.push(Reverse((had, self.arrivals, number)));
    }
}
