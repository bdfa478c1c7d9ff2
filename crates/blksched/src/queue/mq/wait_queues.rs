//! Sleeping for a tag: eight wait queues used round-robin, and a wake-up for every batch of completions.
//!
//! **Rule** A task that sleeps goes to the tail of the next queue, however long it has waited. Returned tags are
//! counted while any task waits; a batch of them wakes tasks from the heads of the queues, round-robin. A woken task
//! must ask again and has no privilege. "Waiting" ends when a woken task runs, not when it is woken.
//! **Origin** docs/behaviour/blk-mq-6.x.md#t, recorded from 6.1.192 and 6.12.117.
//! **In the kernel** `sbq_wait_state`, `sbitmap_queue_wake_up`, `bt_wait_ptr`, `sbq_wake_ptr`, `wake_batch`,
//! `ws_active`, `wait_cnt`, `completion_cnt`, `wakeup_cnt`.

#![doc(alias = "sbq_wait_state")]
#![doc(alias = "sbitmap_queue_wake_up")]

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::MqEra;

/// A task that can sleep, in the driver's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task(pub u32);

/// The number of wait queues of a tag set.
pub const WAIT_QUEUES: usize = 8;

/// The wait queues of a tag set.
#[derive(Clone, Debug, Default)]
pub struct WaitQueues {
    queues: [VecDeque<Task>; WAIT_QUEUES],
    /// Tasks asleep, or woken and not yet run.
    waiters: u32,
    /// Tags returned while a task waited.
    done: u64,
    /// The number of these for which wake-ups were made.
    credited: u64,
    /// The queue that is woken next.
    index: usize,
}

impl WaitQueues {
    /// The number of tasks asleep, or woken and not yet run.
    pub fn waiters(&self) -> u32 {
        self.waiters
    }

    /// Tags returned while a task waited, and the number of these for which wake-ups were made.
    pub fn counters(&self) -> (u64, u64) {
        (self.done, self.credited)
    }

    /// The queue that is woken next.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The sleeping tasks, queue by queue.
    pub fn asleep(&self) -> impl Iterator<Item = Task> + '_ {
        self.queues.iter().flatten().copied()
    }

    /// Adds a task to the tail of this queue.
    pub fn enter(&mut self, queue: usize, task: Task) {
        self.queues[queue].push_back(task);
        self.waiters += 1;
    }

    /// A task in this queue found a tag after all.
    pub fn leave(&mut self, queue: usize, task: Task) {
        let left = self.queues[queue].pop_back();
        assert_eq!(left, Some(task), "the task that leaves has just entered");
        self.waiters -= 1;
    }

    /// A task that waits in this queue found a tag in another way.
    pub(crate) fn withdraw(&mut self, queue: usize, task: Task) {
        let at = self.queues[queue].iter().position(|&waits| waits == task).expect("it waits there");
        self.queues[queue].remove(at);
        self.waiters -= 1;
    }

    /// A woken task runs.
    pub fn runs(&mut self) {
        self.waiters -= 1;
    }

    /// Tags were returned; adds the tasks that are woken, in order.
    #[inline(always)]
    pub fn returned(&mut self, era: MqEra, tags: u32, batch: u32, woke: &mut Vec<Task>) {
        // Without waiters tags are not even counted.
        if self.waiters > 0 {
            self.returned_to_waiters(era, tags, batch, woke);
        }
    }

    #[cold]
    fn returned_to_waiters(&mut self, era: MqEra, tags: u32, batch: u32, woke: &mut Vec<Task>) {
        self.done += u64::from(tags);
        if self.done - self.credited < u64::from(batch) {
            return;
        }
        // One batch per call, even if several are due; later calls catch up.
        self.credited += u64::from(batch);
        let mut left = batch as usize;
        for _ in 0..WAIT_QUEUES {
            let queue = &mut self.queues[self.index];
            self.index = (self.index + 1) % WAIT_QUEUES;
            let taken = queue.len().min(left);
            woke.extend(queue.drain(..taken));
            left -= taken;
            // 6.1 stops at the first queue with a sleeper. Few sleepers are spread over eight queues, so it often wakes
            // one task for a whole batch, and tags stay free while others sleep. 6.12 wakes the batch.
            let enough = match era {
                MqEra::Linux6_1 => taken > 0,
                MqEra::Linux6_12 => left == 0,
            };
            if enough {
                break;
            }
        }
    }

    /// Wakes one task of each queue, beginning with the queue that is next.
    pub fn wake_one_each(&mut self, woke: &mut Vec<Task>) {
        for nth in 0..WAIT_QUEUES {
            woke.extend(self.queues[(self.index + nth) % WAIT_QUEUES].pop_front());
        }
    }
}
