//! **What for**: a faulty disk: bad sectors, commands that fail once, commands that take seconds.
//!
//! **Rule**: every fault matches commands by their operation, their number among those of that operation (`nth`, and
//! every one from there on if it says so) and the sectors they touch, and is used up after `times` of them. The first
//! fault that matches a command acts on it. A command that fails does not reach the inner disk: it ends `after` later.
//! A slow one is executed, and its completion is delayed by `after`.

use blksched::{Command, Instant, Span};

use crate::endings::Endings;
use crate::{CommandOutcome, Disk, Facts, FaultAction, FaultSpec, Finished, IoError};

/// A fault and how often it has been met.
#[derive(Clone, Debug)]
struct Fault {
    spec: FaultSpec,
    seen: u64,
    acted: u64,
}

impl Fault {
    /// Counts a command; returns whether the fault affects it.
    fn meets(&mut self, command: &Command) -> bool {
        let FaultSpec { op, nth, times, sectors, .. } = self.spec;
        let end = command.start.0.saturating_add(u64::from(command.sectors));
        let touches = sectors.is_none_or(|(first, last)| command.start.0 <= last && end > first);
        if op.is_some_and(|op| op != command.op) || !touches {
            return false;
        }
        self.seen += 1;
        let acts = self.seen >= nth && times.is_none_or(|times| self.acted < times);
        self.acted += u64::from(acts);
        acts
    }
}

/// A disk with faults.
pub(crate) struct Faults {
    inner: Box<dyn Disk>,
    faults: Vec<Fault>,
    /// By request, how long its completion is held back; most requests are not in it.
    slow: Vec<(blksched::author::RequestId, Span)>,
    held: Endings<()>,
    held_count: u32,
}

impl Faults {
    pub(crate) fn new(inner: Box<dyn Disk>, specs: &[FaultSpec]) -> Faults {
        let depth = inner.facts().depth as usize;
        let faults = specs.iter().map(|&spec| Fault { spec, seen: 0, acted: 0 }).collect();
        Faults { inner, faults, slow: Vec::new(), held: Endings::with_capacity(depth), held_count: 0 }
    }

    fn hold(&mut self, finished: Finished) {
        self.held.add(finished, ());
        self.held_count += 1;
    }
}

impl Disk for Faults {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(self.in_flight() < self.facts().depth, "command started with the disk full");
        let action = self.faults.iter_mut().find_map(|fault| fault.meets(&command).then_some(fault.spec));
        match action {
            Some(FaultSpec { action: FaultAction::Fail, after, .. }) => {
                let outcome = CommandOutcome::Failed(IoError::Medium);
                self.hold(Finished { rq: command.rq, at: now + after, outcome, service: Default::default() });
            }
            Some(FaultSpec { action: FaultAction::Slow, after, .. }) => {
                self.slow.push((command.rq, after));
                self.inner.start(now, command);
            }
            None => self.inner.start(now, command),
        }
    }

    fn next(&self) -> Option<Instant> {
        self.inner.next().into_iter().chain(self.held.next()).min()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        while let Some(finished) = self.inner.finish(now) {
            let by = match self.slow.iter().position(|(rq, _)| *rq == finished.rq) {
                Some(index) => self.slow.swap_remove(index).1,
                None => Span::ZERO,
            };
            self.hold(Finished { at: finished.at + by, ..finished });
        }
        let (finished, ()) = self.held.take(now)?;
        self.held_count -= 1;
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + self.held_count
    }

    as_inside!(with its trace);
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched::author::RequestId;
    use blksched::{Op, Sector, SubmitterId};

    fn met(spec: FaultSpec, commands: &[(Op, u64)]) -> Vec<bool> {
        let mut fault = Fault { spec, seen: 0, acted: 0 };
        let command = |&(op, start): &(Op, u64)| Command {
            rq: RequestId::from_index(0),
            op,
            start: Sector(start),
            sectors: 8,
            fua: false,
            submitter: SubmitterId(1),
        };
        commands.iter().map(|it| fault.meets(&command(it))).collect()
    }

    const ANY: FaultSpec =
        FaultSpec { action: FaultAction::Fail, after: Span::ZERO, op: None, nth: 1, times: None, sectors: None };

    #[test]
    fn it_meets_the_operation_the_number_and_the_sectors_it_names() {
        let commands = [(Op::Read, 0), (Op::Write, 0), (Op::Read, 100), (Op::Read, 7)];
        assert_eq!(met(ANY, &commands), [true; 4]);
        assert_eq!(met(FaultSpec { op: Some(Op::Write), ..ANY }, &commands), [false, true, false, false]);
        assert_eq!(met(FaultSpec { nth: 3, times: Some(1), ..ANY }, &commands), [false, false, true, false]);
        assert_eq!(met(FaultSpec { sectors: Some((7, 7)), ..ANY }, &commands), [true, true, false, true]);
        let both = FaultSpec { op: Some(Op::Read), nth: 2, sectors: Some((0, 50)), ..ANY };
        assert_eq!(met(both, &commands), [false, false, false, true]);
    }
}
