//! The submission queues between the driver and an NVMe drive, one for each hardware queue.
//!
//! **Rule** A command waits in its hardware queue's submission queue until the drive fetches it. The drive goes round
//! the queues that have any, and fetches in a turn as many commands of one as its arbitration burst says, so a queue
//! with one command does not wait behind another's thousand. It fetches no more than it can hold; a turn that is
//! interrupted by that continues.
//! **Origin** NVM Express base specification, "Command Arbitration" (4.11 of 1.4, 3.4.4 of 2.0): round robin, which
//! every controller has, and after it has selected a queue the most commands that it may start from there before it
//! selects again. The burst is `[arbitration]` of the disk's file, one unless said (ASSUMED: no drive's own value is
//! known). Weighted round robin is optional, and a host must enable it: Linux' driver never does (READ: patches of 2019
//! and later were not taken, iokpp.de/2022/03/nvme-internal-queue-wrr), so it is refused.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use blksched::{Command, SubmitterId};

/// The queues, and whose turn it is.
#[derive(Debug)]
pub(super) struct SubmissionQueues {
    queues: Vec<VecDeque<Command>>,
    /// The queue of each submitter, ordered by submitter; others use the first.
    places: Vec<(SubmitterId, u32)>,
    turn: usize,
    /// How many commands it fetches in a turn, and still may in this one.
    burst: NonZeroU32,
    left: u32,
    waiting: u32,
}

impl SubmissionQueues {
    pub(super) fn new(queues: u32, burst: NonZeroU32, mut places: Vec<(SubmitterId, u32)>) -> SubmissionQueues {
        places.sort();
        let queues = (0..queues.max(1)).map(|_| VecDeque::new()).collect();
        SubmissionQueues { queues, places, turn: 0, burst, left: burst.get(), waiting: 0 }
    }

    pub(super) fn push(&mut self, command: Command) {
        let at = self.places.binary_search_by_key(&command.submitter, |&(id, _)| id);
        let queue = at.map_or(0, |at| self.places[at].1 as usize);
        self.queues[queue].push_back(command);
        self.waiting += 1;
    }

    /// The next command: from the queue whose turn it is, or from the next one that has any.
    pub(super) fn fetch(&mut self) -> Option<Command> {
        let all = self.queues.len();
        let turn = (0..all).map(|nth| (self.turn + nth) % all).find(|&queue| !self.queues[queue].is_empty())?;
        if turn != self.turn {
            (self.turn, self.left) = (turn, self.burst.get());
        }
        self.left -= 1;
        if self.left == 0 {
            (self.turn, self.left) = ((turn + 1) % all, self.burst.get());
        }
        self.waiting -= 1;
        self.queues[turn].pop_front()
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use blksched::author::RequestId;
    use blksched::{Op, Sector};

    use super::*;

    /// The starts of five commands of one queue, and one of each of two others, in the order in which they are fetched.
    fn fetched(burst: u32) -> Vec<u64> {
        let burst = NonZeroU32::new(burst).unwrap();
        let mut queues = SubmissionQueues::new(3, burst, vec![(SubmitterId(8), 2), (SubmitterId(7), 1)]);
        let command = |submitter: u32, start: u64| Command {
            rq: RequestId::from_index(0),
            op: Op::Read,
            start: Sector(start),
            sectors: 8,
            submitter: SubmitterId(submitter),
            fua: false,
        };
        (0..5).for_each(|nth| queues.push(command(7, nth)));
        queues.push(command(8, 100));
        queues.push(command(1, 200));
        core::iter::from_fn(|| queues.fetch()).map(|command| command.start.0).collect()
    }

    #[test]
    fn queues_are_served_in_turn_however_much_one_has() {
        assert_eq!(fetched(1), [200, 0, 100, 1, 2, 3, 4]);
    }

    #[test]
    fn a_turn_is_as_long_as_the_arbitration_burst_or_until_a_queue_is_empty() {
        assert_eq!(fetched(2), [200, 0, 1, 100, 2, 3, 4]);
        assert_eq!(fetched(u32::MAX), [200, 0, 1, 2, 3, 4, 100]);
    }
}
