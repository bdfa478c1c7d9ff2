//! **What for**: interrupt coalescing: a controller that completes many commands interrupts its host once for several.
//!
//! **Rule**: while fewer than `from` commands are in the controller, each completion is reported at once. Otherwise the
//! first is held, and it and those after it are reported together, when there are `most` of them or the first has
//! waited for `time`.
//!
//! **Origin**: NVMe's Interrupt Coalescing feature has this threshold and this time; network adapters and RAID
//! controllers have the same two. That it is off at low depth is an inference from grids measured behind an HP H420i:
//! for two of three drives there four commands in flight take longer, and do fewer per second, than two.
//!
//! **Costs when wrong**: such a controller would be as fast at depth 4 as its drive, and it is half as fast.

use std::collections::VecDeque;

use blksched::{Command, Instant};

use crate::{CoalescingSpec, Disk, Facts, Finished};

/// A disk whose completions are reported in groups.
pub(crate) struct Coalescing {
    inner: Box<dyn Disk>,
    spec: CoalescingSpec,
    /// Complete, not reported.
    held: VecDeque<Finished>,
    /// When they are.
    due: Instant,
    /// Reported by the controller, not yet returned; all with the time of the interrupt.
    told: VecDeque<Finished>,
}

impl Coalescing {
    pub(crate) fn new(inner: Box<dyn Disk>, spec: &CoalescingSpec) -> Coalescing {
        Coalescing { inner, spec: *spec, held: VecDeque::new(), due: Instant::NEVER, told: VecDeque::new() }
    }

    fn hold(&mut self, finished: Finished) {
        let in_controller = self.inner.in_flight() + self.held.len() as u32 + 1;
        if self.held.is_empty() {
            let is_few = in_controller < self.spec.from;
            self.due = if is_few { finished.at } else { finished.at + self.spec.time };
        }
        self.held.push_back(finished);
        if self.held.len() >= self.spec.most as usize {
            self.due = finished.at;
        }
    }

    fn interrupt(&mut self) {
        let at = core::mem::replace(&mut self.due, Instant::NEVER);
        self.told.extend(self.held.drain(..).map(|finished| Finished { at, ..finished }));
    }
}

impl Disk for Coalescing {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(self.in_flight() < self.facts().depth, "command started with the disk full");
        self.inner.start(now, command);
    }

    fn next(&self) -> Option<Instant> {
        let told = self.told.front().map_or(Instant::NEVER, |finished| finished.at);
        let next = self.inner.next().unwrap_or(Instant::NEVER).min(self.due).min(told);
        (next != Instant::NEVER).then_some(next)
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        loop {
            if let Some(finished) = self.told.pop_front() {
                return Some(finished);
            }
            let inside = self.inner.next().unwrap_or(Instant::NEVER);
            // What completes at the moment of the interrupt is not in it: the host reads the queue's end first.
            match self.due.min(inside) {
                then if then > now => return None,
                then if then == self.due => self.interrupt(),
                then => {
                    if let Some(finished) = self.inner.finish(then) {
                        self.hold(finished);
                    }
                }
            }
        }
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + (self.held.len() + self.told.len()) as u32
    }

    as_inside!(with its trace);
}
