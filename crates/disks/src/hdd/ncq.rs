//! **What for**: with several commands in hand the drive chooses which to do next.
//!
//! **Rule**: `arrival` takes the oldest. `positioning` takes the one whose first sector can be under the head soonest
//! (seek, settle and rotation); a read that continues what has just been read costs nothing; equal costs go to the
//! older. A command that has waited longer than `age_limit` goes first.
//!
//! **Shown by**: random reads at depth 32 run more than 1.7 times as fast as at depth 1; a queued reader beside others
//! can wait long without the age limit.

use blksched::{Command, Instant, Op, Span};

use super::geometry::Place;
use super::mechanism::{Access, Mechanism};
use super::targets::{Targets, cheapest};
use crate::{NcqSpec, QueueOrder};

/// A command that needs the medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) command: Command,
    /// Where it begins.
    pub(super) place: Place,
    pub(super) arrived: Instant,
    /// Decoded.
    pub(super) ready: Instant,
}

impl Queued {
    pub(super) fn access(&self) -> Access {
        if self.command.op == Op::Read { Access::Read } else { Access::Write }
    }
}

/// The commands waiting for the medium, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    order: QueueOrder,
    age_limit: Span,
    queued: Vec<Queued>,
    /// Of each its first sector, if it is a read: what a look at the buffer needs, close together.
    reads: Vec<u64>,
    /// Of each what its cost depends on, close together.
    targets: Targets,
    /// Scratch.
    costs: Vec<f32>,
    /// When the last of them has been decoded.
    all_ready: Instant,
}

/// Stands for "not a read" in [`Queue::reads`]; no disk has so many sectors.
const NO_READ: u64 = u64::MAX;

impl Queue {
    pub(super) fn new(spec: Option<&NcqSpec>) -> Queue {
        let (order, age_limit, depth) =
            spec.map_or((QueueOrder::Arrival, Span::MAX, 1), |ncq| (ncq.order, ncq.age_limit, ncq.depth));
        Queue {
            order,
            age_limit,
            queued: Vec::with_capacity(depth as usize),
            reads: Vec::with_capacity(depth as usize),
            targets: Targets::with_capacity(depth as usize),
            costs: Vec::with_capacity(depth as usize),
            all_ready: Instant::ZERO,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    pub(super) fn push(&mut self, queued: Queued) {
        let access = queued.access();
        self.reads.push(if access == Access::Read { queued.command.start.0 } else { NO_READ });
        self.targets.push(&queued.place, access);
        self.all_ready = self.all_ready.max(queued.ready);
        self.queued.push(queued);
    }

    pub(super) fn remove(&mut self, index: usize) -> Queued {
        self.reads.remove(index);
        self.targets.remove(index);
        self.queued.remove(index)
    }

    /// Which command is next at `at`, and what it costs \[ns\]. `window` is what has just been read; `oldest_rival` is
    /// when the oldest command arrived that waits for a drain. `None` if there is none, or the drain must go first.
    pub(super) fn choose(
        &mut self,
        at: Instant,
        mechanism: &Mechanism,
        window: Option<(u64, u64)>,
        oldest_rival: Option<Instant>,
    ) -> Option<(usize, f32)> {
        let oldest = self.queued.first()?;
        let rival_is_older = oldest_rival.is_some_and(|rival| rival < oldest.arrived);
        let oldest_arrived = oldest_rival.map_or(oldest.arrived, |rival| rival.min(oldest.arrived));
        if self.order == QueueOrder::Arrival || at.since(oldest_arrived) > self.age_limit {
            return (!rival_is_older).then_some((0, 0.0));
        }
        let continues = window.and_then(|(first, end)| {
            let reach = end - first;
            self.reads.iter().position(|start| start.wrapping_sub(first) <= reach)
        });
        Some(match continues {
            Some(index) => (index, 0.0),
            None => self.cheapest(at, mechanism),
        })
    }

    fn cheapest(&mut self, at: Instant, mechanism: &Mechanism) -> (usize, f32) {
        if self.all_ready <= at {
            mechanism.costs(at, &self.targets, &mut self.costs);
        } else {
            let angle = mechanism.angle(at);
            let cost = |queued: &Queued| {
                let delay_ns = queued.ready.since(at).as_ns().min(LONGEST_DELAY_NS) as i32;
                mechanism.cost(angle, delay_ns, &queued.place, queued.access()) as f32
            };
            self.costs.clear();
            self.costs.extend(self.queued.iter().map(cost));
        }
        cheapest(&self.costs)
    }
}

/// Longer delays are all the same to a choice.
const LONGEST_DELAY_NS: u64 = 1_000_000_000;
