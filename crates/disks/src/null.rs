//! The disk that takes no time: for measuring everything else.

use std::borrow::Cow;

use blksched::{Command, Instant};

use crate::disk::admit;
use crate::endings::Endings;
use crate::{Activity, Disk, Facts, Finished, Ledger, NullSpec, Stint};

pub(crate) struct Null {
    facts: Facts,
    in_flight: u32,
    endings: Endings<()>,
    ledger: Ledger,
}

impl Null {
    pub(crate) fn new(spec: &NullSpec) -> Null {
        Null {
            facts: Facts {
                sectors: spec.capacity_sectors,
                rotational: false,
                depth: spec.depth,
                max_sectors: spec.max_sectors,
                volatile_cache: false,
                fua: true,
            },
            in_flight: 0,
            endings: Endings::with_capacity(spec.depth as usize),
            ledger: Ledger::default(),
        }
    }
}

impl Disk for Null {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn start(&mut self, now: Instant, command: Command) {
        let outcome = admit(&self.facts, self.in_flight, &command);
        self.in_flight += 1;
        self.endings.add(Finished { rq: command.rq, at: now, outcome, service: Activity::default() }, ());
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
        0
    }

    fn watch(&mut self) {}

    fn stints(&mut self, _to: &mut Vec<Stint>) {}
}
