//! The submission queues between the driver and an NVMe drive, one for each hardware queue.
//!
//! **Rule** A command waits in its hardware queue's submission queue until the drive fetches it. The drive fetches one
//! command after the other, round robin from the queues that have any, so a queue with one command does not wait behind
//! another's thousand. It fetches no more than it can hold.
//! **Origin** NVM Express base specification, 3.4.4 "Command Arbitration": round robin, which every controller has;
//! with an arbitration burst of one (ASSUMED: no drive's own value is known). Weighted round robin is optional; Linux'
//! driver enables round robin whatever a controller offers (MEMORY), so no drive weighs its queues there.

use std::collections::VecDeque;

use blksched::{Command, SubmitterId};

/// The queues, and whose turn it is.
#[derive(Debug)]
pub(super) struct SubmissionQueues {
    queues: Vec<VecDeque<Command>>,
    /// The queue of each submitter, ordered by submitter; others use the first.
    places: Vec<(SubmitterId, u32)>,
    turn: usize,
    waiting: u32,
}

impl SubmissionQueues {
    pub(super) fn new(queues: u32, mut places: Vec<(SubmitterId, u32)>) -> SubmissionQueues {
        places.sort();
        let queues = (0..queues.max(1)).map(|_| VecDeque::new()).collect();
        SubmissionQueues { queues, places, turn: 0, waiting: 0 }
    }

    pub(super) fn push(&mut self, command: Command) {
        let at = self.places.binary_search_by_key(&command.submitter, |&(id, _)| id);
        let queue = at.map_or(0, |at| self.places[at].1 as usize);
        self.queues[queue].push_back(command);
        self.waiting += 1;
    }

    /// The next command, from the queue after the one that was served last.
    pub(super) fn fetch(&mut self) -> Option<Command> {
        let all = self.queues.len();
        let turn = (0..all).map(|nth| (self.turn + nth) % all).find(|&queue| !self.queues[queue].is_empty())?;
        self.turn = (turn + 1) % all;
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

    #[test]
    fn queues_are_served_in_turn_however_much_one_has() {
        let mut queues = SubmissionQueues::new(3, vec![(SubmitterId(8), 2), (SubmitterId(7), 1)]);
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
        let order: Vec<u64> = core::iter::from_fn(|| queues.fetch()).map(|command| command.start.0).collect();
        assert_eq!(order, [200, 0, 100, 1, 2, 3, 4]);
    }
}
