//! What is on its way to processes: news of their I/O, and processors for woken tasks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use blksched::surroundings::mq::Task;
use blksched::{Instant, Outcome, Tag};

/// Something that a process gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Letter {
    /// A processor, for a task that was woken in the queue.
    Run(u32),
    /// A processor, for the kernel's worker that runs the queue.
    Worker,
    /// The end of what this processor worked for.
    Worked(u32),
    /// The news that its I/O is complete: the world's name for it, how it ended, when its request was made and issued.
    Done { place: u64, failed: bool, queued_at: Instant, issued_at: Instant },
}

impl Letter {
    pub(super) fn run(task: Task) -> Letter {
        Letter::Run(task.0)
    }

    pub(super) fn done(place: Tag, outcome: Outcome, queued_at: Instant, issued_at: Instant) -> Letter {
        Letter::Done { place: place.0, failed: outcome == Outcome::Failed, queued_at, issued_at }
    }
}

/// Letters, the earliest first, first posted first delivered among equals.
#[derive(Debug, Default)]
pub(super) struct DeliveryQueue {
    heap: BinaryHeap<Reverse<(Instant, u64, Letter)>>,
    posted: u64,
}

impl DeliveryQueue {
    pub(super) fn post(&mut self, at: Instant, letter: Letter) {
        self.posted += 1;
        self.heap.push(Reverse((at, self.posted, letter)));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn take(&mut self, now: Instant) -> Option<Letter> {
        self.next().filter(|&at| at <= now)?;
        self.heap.pop().map(|Reverse((.., letter))| letter)
    }
}
