//! When a job reaps completions, and when it may submit again.
//!
//! **Rule** A job fills its queue without checking for completions. With `iodepth` I/Os outstanding it waits until
//! `iodepth_batch_complete_min` of them are complete and reaps up to `iodepth_batch_complete_max`, and repeats this
//! until at most `iodepth_low` are outstanding; then it submits again. With a minimum of 0 it checks after every
//! submission, and reaps one if there is one. An I/O that is complete but not yet reaped counts as outstanding: its
//! latency ends when it is reaped. Before it sleeps, for a rate or think time, and at its end, it reaps all outstanding
//! I/Os, one by one.
//! **Origin** docs/behaviour/fio-reaping.md#1

use std::collections::VecDeque;

use blksched::Tag;

/// How a job submits and reaps \[I/Os\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batching {
    pub depth: u32,
    /// How many are submitted by one system call.
    pub submit: u32,
    /// The least number to take; 0 to check after every submission.
    pub complete_min: u32,
    /// The most to take; at least 1.
    pub complete_max: u32,
    pub low: u32,
}

impl Batching {
    /// One at a time.
    pub const fn of_one(depth: u32) -> Batching {
        Batching { depth, submit: 1, complete_min: 1, complete_max: 1, low: depth }
    }
}

/// A completed I/O that is not yet taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CompleteIo {
    pub tag: Tag,
    pub failed: bool,
}

/// What a job takes before its next I/O, if its next step is one I/O; otherwise it takes more or waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReapStep {
    Submits,
    TakesAndSubmits(CompleteIo),
    Other,
}

/// What a job does with its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Filling,
    /// It was full.
    Draining,
    /// It is about to sleep.
    Emptying,
}

/// The queue of one process.
#[derive(Clone, Debug)]
pub(super) struct Reaper {
    batch: Batching,
    /// Submitted and not taken.
    out: u32,
    /// Those among them that are complete, in the order of completion.
    ring: VecDeque<CompleteIo>,
    mode: Mode,
}

impl Reaper {
    pub fn new(batch: Batching) -> Reaper {
        Reaper { batch, out: 0, ring: VecDeque::new(), mode: Mode::Filling }
    }

    /// The most that may be in flight.
    pub fn depth(&self) -> u32 {
        self.batch.depth
    }

    /// Limits those in flight from now on.
    pub fn set_depth(&mut self, depth: u32) {
        let lower = |n: u32| n.min(depth).max(1);
        let Batching { submit, complete_min, complete_max, .. } = self.batch;
        let (submit, complete_min) = (lower(submit), lower(complete_min));
        self.batch = Batching { depth, submit, complete_min, complete_max: complete_max.max(complete_min), low: depth };
        self.mode = if self.out >= depth { Mode::Draining } else { Mode::Filling };
    }

    pub fn submitted(&mut self) {
        self.out += 1;
        if self.out >= self.batch.depth {
            self.mode = Mode::Draining;
        }
    }

    #[inline]
    pub fn completed(&mut self, done: CompleteIo) {
        assert!(self.ring.len() < self.out as usize, "a completion of nothing");
        self.ring.push_back(done);
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.out == 0
    }

    /// One that needs no taking is complete: its call has returned.
    pub fn returned(&mut self) {
        self.out -= 1;
        self.settle();
    }

    /// Whether another I/O may be submitted.
    pub fn has_room(&self) -> bool {
        self.mode == Mode::Filling
    }

    /// Takes all before it submits again.
    pub fn empty(&mut self) {
        if self.out > 0 && self.mode == Mode::Filling {
            self.mode = Mode::Emptying;
        }
    }

    /// How many it takes now; `waits`: whether it waits for any.
    #[inline]
    pub fn takes(&self, waits: bool) -> usize {
        let (there, most) = (self.ring.len(), self.batch.complete_max as usize);
        let least = self.batch.complete_min.min(self.out) as usize;
        match self.mode {
            _ if waits || self.mode == Mode::Emptying || self.batch.complete_min == 0 => there.min(1),
            Mode::Draining if there >= least => there.min(most),
            Mode::Draining | Mode::Filling | Mode::Emptying => 0,
        }
    }

    /// Takes the oldest.
    pub fn take(&mut self) -> Option<CompleteIo> {
        let done = self.ring.pop_front()?;
        self.out -= 1;
        Some(done)
    }

    /// Continues a job that waits for nothing else. It takes completions in this call, except one that failed.
    #[inline]
    pub fn step(&mut self) -> ReapStep {
        let takes = self.takes(false);
        if takes == 0 && self.has_room() {
            return ReapStep::Submits;
        }
        let fills_again = match self.mode {
            Mode::Filling => true,
            Mode::Draining => self.out <= self.batch.low.min(self.batch.depth - 1) + 1,
            Mode::Emptying => self.out == 1,
        };
        if takes != 1 || !fills_again {
            return ReapStep::Other;
        }
        let Some(done) = self.ring.pop_front_if(|done| !done.failed) else { return ReapStep::Other };
        self.out -= 1;
        self.mode = Mode::Filling;
        ReapStep::TakesAndSubmits(done)
    }

    /// Updates the state after completions were taken.
    pub fn settle(&mut self) {
        let is_over = match self.mode {
            Mode::Filling => return,
            Mode::Draining => self.out <= self.batch.low.min(self.batch.depth - 1),
            Mode::Emptying => self.out == 0,
        };
        self.mode = if is_over { Mode::Filling } else { self.mode };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completes this many, and returns how many are taken at once, call by call.
    fn complete(reaper: &mut Reaper, count: u64) -> Vec<usize> {
        (0..count).for_each(|tag| reaper.completed(CompleteIo { tag: Tag(tag), failed: false }));
        let mut calls = Vec::new();
        loop {
            match reaper.takes(false) {
                0 => return calls,
                taken => {
                    (0..taken).for_each(|_| assert!(reaper.take().is_some()));
                    reaper.settle();
                    calls.push(taken);
                }
            }
        }
    }

    fn full(batch: Batching) -> Reaper {
        let mut reaper = Reaper::new(batch);
        (0..batch.depth).for_each(|_| reaper.submitted());
        assert!(!reaper.has_room());
        reaper
    }

    #[test]
    fn a_full_queue_drains_to_the_low_mark_in_batches() {
        let mut reaper = full(Batching { depth: 8, submit: 1, complete_min: 2, complete_max: 4, low: 4 });
        assert_eq!(complete(&mut reaper, 3), [3]);
        assert_eq!(complete(&mut reaper, 1), [], "two at least");
        assert_eq!(complete(&mut reaper, 1), [2]);
        assert!(reaper.has_room() && reaper.out == 3);
    }

    #[test]
    fn one_is_taken_of_many_that_are_complete() {
        let mut reaper = full(Batching { depth: 8, ..Batching::of_one(8) });
        assert_eq!(complete(&mut reaper, 5), [1]);
        assert!(reaper.has_room() && reaper.out == 7);
        assert_eq!(complete(&mut reaper, 0), [], "it is not full, and so it does not look");
        reaper.submitted();
        assert_eq!(complete(&mut reaper, 0), [1]);
    }

    #[test]
    fn with_a_minimum_of_none_it_looks_at_once() {
        let mut reaper = Reaper::new(Batching { complete_min: 0, ..Batching::of_one(8) });
        reaper.submitted();
        assert_eq!(complete(&mut reaper, 1), [1]);
    }

    #[test]
    fn who_is_about_to_sleep_takes_all_first() {
        let mut reaper = Reaper::new(Batching::of_one(8));
        (0..3).for_each(|_| reaper.submitted());
        reaper.empty();
        assert_eq!(complete(&mut reaper, 2), [1, 1]);
        assert!(!reaper.has_room());
        assert_eq!(complete(&mut reaper, 1), [1]);
        assert!(reaper.has_room() && reaper.is_empty());
    }
}
