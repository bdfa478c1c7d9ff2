//! When a full queue takes completions, and when it may be filled again.
//!
//! **Rule** A job with `iodepth` I/Os out waits until `iodepth_batch_complete_min` of them are complete and takes up
//! to `iodepth_batch_complete_max`; it goes on so until at most `iodepth_low` are out. Only then it submits again,
//! `iodepth_batch` at a time, until `iodepth` are out. An I/O that is complete and not yet taken counts as out.

/// How a job submits and reaps \[I/Os\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub depth: u32,
    /// Submitted by one system call.
    pub submit: u32,
    pub complete_min: u32,
    pub complete_max: u32,
    pub low: u32,
}

impl Batch {
    /// One at a time.
    pub const fn of_one(depth: u32) -> Batch {
        Batch { depth, submit: 1, complete_min: 1, complete_max: 1, low: depth }
    }
}

/// The queue of one process.
#[derive(Clone, Debug)]
pub(super) struct Reaper {
    batch: Batch,
    /// Submitted and not taken.
    out: u32,
    /// Of these, complete.
    complete: u32,
    draining: bool,
}

impl Reaper {
    pub fn new(batch: Batch) -> Reaper {
        Reaper { batch, out: 0, complete: 0, draining: false }
    }

    /// How many may be out.
    pub fn depth(&self) -> u32 {
        self.batch.depth
    }

    /// From now on, at most so many.
    pub fn set_depth(&mut self, depth: u32) {
        let lower = |n: u32| n.min(depth).max(1);
        let Batch { submit, complete_min, complete_max, .. } = self.batch;
        let (submit, complete_min) = (lower(submit), lower(complete_min));
        self.batch = Batch { depth, submit, complete_min, complete_max: complete_max.max(complete_min), low: depth };
        self.draining = self.out >= depth;
    }

    pub fn submitted(&mut self) {
        self.out += 1;
        self.draining |= self.out >= self.batch.depth;
    }

    pub fn completed(&mut self) {
        assert!(self.complete < self.out, "a completion of nothing");
        self.complete += 1;
    }

    /// The disk has none of them.
    pub fn is_idle(&self) -> bool {
        self.complete == self.out
    }

    /// Another I/O may be submitted without taking completions first.
    pub fn is_filling(&self) -> bool {
        !self.draining
    }

    /// Another I/O may be submitted, if need be after completions have been taken.
    pub fn has_room(&self) -> bool {
        let mut after = self.clone();
        after.reap();
        !after.draining
    }

    /// Takes what a full queue may take.
    pub fn reap(&mut self) {
        while self.draining && self.complete >= self.batch.complete_min.min(self.out) {
            let taken = self.complete.min(self.batch.complete_max);
            self.complete -= taken;
            self.out -= taken;
            self.draining = self.out > self.batch.low.min(self.batch.depth - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drains_to_the_low_mark_in_batches() {
        let batch = Batch { depth: 8, submit: 1, complete_min: 2, complete_max: 4, low: 4 };
        let mut reaper = Reaper::new(batch);
        (0..8).for_each(|_| reaper.submitted());
        assert!(!reaper.has_room());
        (0..3).for_each(|_| reaper.completed());
        reaper.reap();
        assert!(!reaper.has_room() && reaper.out == 5);
        reaper.completed();
        assert!(!reaper.has_room(), "two at least");
        reaper.completed();
        assert!(reaper.has_room());
        reaper.reap();
        assert_eq!(reaper.out, 3);
    }
}
