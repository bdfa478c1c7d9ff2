//! A disk on which all reads take the same time and all writes take the same time, on one or several parallel channels.
//!
//! **Rule**: a command takes the channel that is free first and holds it for `service + bytes / rate`, which may differ
//! between reads and writes. A flush, a discard and write-zeroes move no data: they cost only a write's `service`.
//! Nothing is cached, so a flush has nothing to do.

use std::borrow::Cow;

use blksched::{Command, Instant, Op, Span};

use crate::disk::admit;
use crate::endings::Endings;
use crate::stint::Stints;
use crate::{Activity, CommandOutcome, Disk, Facts, Finished, FixedSpec, Ledger, Stint, StintWork};

pub(crate) struct Fixed {
    facts: Facts,
    spec: FixedSpec,
    /// When each channel is free.
    channels: Vec<Instant>,
    in_flight: u32,
    endings: Endings<()>,
    ledger: Ledger,
    stints: Stints,
}

impl Fixed {
    pub(crate) fn new(spec: &FixedSpec) -> Fixed {
        Fixed {
            facts: Facts {
                sectors: spec.capacity_sectors,
                rotational: false,
                depth: spec.depth,
                max_sectors: spec.max_sectors,
                volatile_cache: false,
                fua: true,
            },
            spec: *spec,
            channels: vec![Instant::ZERO; spec.channels as usize],
            in_flight: 0,
            endings: Endings::with_capacity(spec.depth as usize),
            ledger: Ledger::default(),
            stints: Stints::default(),
        }
    }

    fn cost(&self, command: &Command) -> Activity {
        let cost = self.spec.cost(command.op);
        let transfer = match command.op {
            Op::Read | Op::Write => cost.transfer(command.sectors),
            _ => Span::ZERO,
        };
        Activity { overhead: cost.service, transfer, ..Activity::default() }
    }
}

impl Disk for Fixed {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn start(&mut self, now: Instant, command: Command) {
        let outcome = admit(&self.facts, self.in_flight, &command);
        self.in_flight += 1;
        if outcome != CommandOutcome::Ok {
            self.endings.add(Finished { rq: command.rq, at: now, outcome, service: Activity::default() }, ());
            return;
        }
        let service = self.cost(&command);
        let channels = self.channels.iter_mut().enumerate();
        let (part, free) = channels.min_by_key(|(_, free)| **free).expect("at least one channel");
        let begin = now.max(*free);
        *free = begin + service.sum();
        self.stints.note(part as u32, StintWork::Command(command.rq), begin, begin + service.sum());
        self.ledger.charge(command.submitter, &service);
        self.endings.add(Finished { rq: command.rq, at: begin + service.sum(), outcome, service }, ());
    }

    fn next(&self) -> Option<Instant> {
        self.endings.next()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        let (finished, ()) = self.endings.take(now)?;
        self.in_flight -= 1;
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn ledger(&self) -> Cow<'_, Ledger> {
        Cow::Borrowed(&self.ledger)
    }

    fn parts(&self) -> u32 {
        self.channels.len() as u32
    }

    fn watch(&mut self) {
        self.stints.watch();
    }

    fn stints(&mut self, to: &mut Vec<Stint>) {
        self.stints.take(to);
    }
}
