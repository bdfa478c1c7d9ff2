//! The kernel's worker (kblockd) that runs the queue after a completion, and the delays of all that a completion wakes.
//!
//! **Rule** If the queue has anything, a completion calls the worker. It runs at once, before any woken task, or, with
//! the host's probability, after all of them: then their I/O is already in the elevator when it is asked, and ahead of
//! a flush that is left to the worker. A submitter runs the queue itself.
//! **Origin** docs/behaviour/blk-mq-6.x.md#d and
//! #f; how often, traced on 6.18: `races.rs`.

use blksched::{Delivery, Listener, Span};

use super::mail::Letter;
use super::races::{Lap, Races};
use super::{Observer, World};

impl<L: Listener, O: Observer> World<L, O> {
    /// A completion leaves running the queue to the kernel's worker. False if the worker runs before any task that the
    /// completion woke, which is at once.
    pub(super) fn calls_worker(&mut self) -> bool {
        let is_idle = self.here.queue.queued() == 0 && !self.here.queue.needs_worker();
        if is_idle || self.deliveries.is_empty() {
            return false;
        }
        let Some(delay) = self.races.as_mut().and_then(Races::worker) else { return false };
        let others = self.labour.as_ref().map_or(Span::ZERO, |labour| labour.until_it_asks());
        self.here.workers_called += 1;
        self.mail.post(self.now + delay + others, Letter::Worker(self.here.number));
        true
    }

    /// The kernel's worker runs the queue.
    pub(super) fn run_worker(&mut self) {
        self.here.queue.run_worker(self.now);
        self.run_queue();
    }

    /// The delays of the deliveries of one completion.
    pub(super) fn lap(&mut self, deliveries: &[Delivery]) -> Option<Lap> {
        let races = self.races.as_mut()?;
        let any = |wanted: fn(&Delivery) -> bool| deliveries.iter().any(wanted);
        let contested = any(|delivery| matches!(delivery, Delivery::Runnable(_)))
            && any(|delivery| matches!(delivery, Delivery::Done { .. }));
        Some(races.lap(contested))
    }

    /// How long a woken task takes to run; `further` if the same completion woke another before it.
    pub(super) fn until_it_runs(&mut self, lap: Option<Lap>, further: bool) -> Span {
        let (Some(lap), Some(races)) = (lap, self.races.as_mut()) else {
            unreachable!("only a world with races leaves it to its driver when tasks run")
        };
        let drawn = if further { races.further_sleeper(lap) } else { lap.sleeper };
        match &self.labour {
            Some(labour) if lap.owner_first => drawn + labour.until_it_asks(),
            _ => drawn,
        }
    }

    /// Runs the queues that were given something by one that was run.
    #[inline(never)]
    pub(super) fn run_touched(&mut self) {
        while let Some(disk) = self.take_touched() {
            let home = self.turn_to(disk);
            self.run_here();
            self.turn_to(home);
        }
    }
}
