//! The rule that chooses between reads and writes, and ends a batch.
//!
//! **Rule** A batch continues while no request of the other class waits, otherwise until its time is up; a batch of
//! writes also ends when its count is used up. Then the other class is served. A change waits until the device has
//! completed everything, and the time of a batch of reads counts from the completion of its first, so that a write
//! cache's late work is not charged to readers.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.5, #a.9.
//!
//! "Reads" are the synchronous requests, direct writes among them; "writes" are the asynchronous ones.
//! **In the kernel** `as_batch_expired`, `as_change_batch`, `current_batch_expires`, `changed_batch`,
//! `read_batch_expire`.

use super::write_batch::WriteBatch;
use crate::request::{PerWaiter, Waiter};
use crate::time::Tick;

/// The stage of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchStage {
    /// It begins when the device has completed everything.
    Draining,
    /// A batch of reads of which none has completed: its time does not count yet.
    Opening,
    Running,
}

/// The current batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    pub(super) class: Waiter,
    pub(super) stage: BatchStage,
    /// The tick after which it is over, if the other class waits.
    pub(super) expires: Tick,
    pub(super) writes: WriteBatch,
    /// The number of its requests so far, for reasons.
    pub(super) taken: u32,
}

/// The maximum durations of batches.
pub(super) type Lengths = PerWaiter<Tick>;

impl Batch {
    /// The state at the start: an empty batch of writes.
    pub(super) fn first(now: Tick, lengths: Lengths) -> Batch {
        Batch {
            class: Waiter::Async,
            stage: BatchStage::Running,
            expires: now + lengths.sync,
            writes: WriteBatch::new(lengths.async_),
            taken: 0,
        }
    }

    /// Whether it may take another request.
    pub(super) fn goes_on(&self, now: Tick, waiting: PerWaiter<bool>) -> bool {
        !(waiting.sync && waiting.async_ && self.is_over(now))
    }

    fn is_over(&self, now: Tick) -> bool {
        let is_spent = self.class == Waiter::Async && self.writes.left == 0;
        self.stage == BatchStage::Running && (now > self.expires || is_spent)
    }

    /// Notes that a batch of writes has run with no read waiting, or has run dry: its duration then says nothing.
    pub(super) fn look(&mut self, waiting: PerWaiter<bool>) {
        let undisturbed = self.class == Waiter::Async && !waiting.sync;
        if undisturbed && (self.writes.left == 0 || !waiting.async_) {
            self.writes.idle();
        }
    }

    /// Begins another batch, of this class; the device has `in_flight` requests.
    pub(super) fn begin(&mut self, class: Waiter, now: Tick, in_flight: u32, lengths: Lengths) {
        if class != self.class {
            self.stage = BatchStage::Draining;
        }
        if class == Waiter::Async {
            self.writes.begin();
        }
        self.class = class;
        self.taken = 0;
        if self.stage == BatchStage::Draining && in_flight == 0 {
            self.open();
            if class == Waiter::Async {
                self.expires = now + lengths.async_;
            }
        }
    }

    /// Begins the batch that waited for the device, which has completed everything.
    pub(super) fn drained(&mut self, now: Tick, lengths: Lengths) {
        self.open();
        self.expires = now + lengths[self.class];
    }

    fn open(&mut self) {
        self.stage = match self.class {
            Waiter::Sync => BatchStage::Opening,
            Waiter::Async => BatchStage::Running,
        };
    }

    /// Notes a completion of this class. True if it was the first read of the batch, which shows how long the preceding
    /// batch of writes took.
    pub(super) fn completed(&mut self, class: Waiter, now: Tick, lengths: Lengths) -> bool {
        let is_first_read = self.stage == BatchStage::Opening && class == self.class;
        if is_first_read {
            // Measured until the first read is done: a write cache reports writes done before they are.
            let took = (now + lengths.async_).saturating_sub(self.expires);
            self.writes.fit(took, lengths.async_);
            self.expires = now + lengths.sync;
            self.stage = BatchStage::Running;
        }
        is_first_read
    }
}

/// The class of the next batch, if anything waits.
pub(super) fn next_class(last: Waiter, waiting: PerWaiter<bool>) -> Waiter {
    match (waiting.sync, waiting.async_) {
        (true, true) if last == Waiter::Sync => Waiter::Async,
        (true, _) => Waiter::Sync,
        (false, _) => Waiter::Async,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: Lengths = PerWaiter { sync: 500, async_: 125 };
    const BOTH: PerWaiter<bool> = PerWaiter { sync: true, async_: true };
    const READS: PerWaiter<bool> = PerWaiter { sync: true, async_: false };

    #[test]
    fn classes_take_turns_while_both_wait() {
        assert_eq!(next_class(Waiter::Sync, BOTH), Waiter::Async);
        assert_eq!(next_class(Waiter::Async, BOTH), Waiter::Sync);
        assert_eq!(next_class(Waiter::Sync, READS), Waiter::Sync);
        assert_eq!(next_class(Waiter::Sync, PerWaiter { sync: false, async_: true }), Waiter::Async);
    }

    #[test]
    fn a_batch_ends_when_its_time_is_up_and_the_other_class_waits() {
        let mut batch = Batch::first(0, LENGTHS);
        batch.begin(Waiter::Sync, 0, 0, LENGTHS);
        batch.completed(Waiter::Sync, 10, LENGTHS);
        assert!(batch.goes_on(510, BOTH) && !batch.goes_on(511, BOTH) && batch.goes_on(511, READS));
    }

    #[test]
    fn a_batch_of_writes_also_ends_when_its_count_is_used_up() {
        let mut batch = Batch::first(0, LENGTHS);
        assert!(!batch.goes_on(0, BOTH), "nothing is left of the empty one at the start");
        batch.begin(Waiter::Async, 0, 0, LENGTHS);
        for _ in 0..12 {
            assert!(batch.goes_on(0, BOTH));
            batch.writes.count();
        }
        assert!(!batch.goes_on(0, BOTH));
    }

    #[test]
    fn a_change_waits_for_the_device_and_a_batch_of_reads_for_its_first_completion() {
        let mut batch = Batch::first(0, LENGTHS);
        batch.begin(Waiter::Sync, 0, 3, LENGTHS);
        assert_eq!(batch.stage, BatchStage::Draining);
        batch.drained(40, LENGTHS);
        assert_eq!((batch.stage, batch.expires), (BatchStage::Opening, 540));
        assert!(batch.goes_on(10_000, BOTH), "its time does not count yet");
        assert!(!batch.completed(Waiter::Async, 50, LENGTHS));
        assert!(batch.completed(Waiter::Sync, 60, LENGTHS));
        assert_eq!((batch.stage, batch.expires), (BatchStage::Running, 560));
    }
}
