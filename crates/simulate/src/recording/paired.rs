//! One bio that passes several recorded devices, a volume, an array and their disks, is one I/O.
//!
//! **Rule** A device that has bios of its own and from which some are mapped to others is stacked. What is submitted
//! to the device below directly behind such a mapping, at the same place and as long, is a part of what was submitted
//! above. So is a flush of a device below while a flush of what is above is under way, once for each of them, since md
//! maps no flushes. Everything else on a device below is its own: another partition, an array's superblock. A mapping
//! from a partition is none from a device: only the disk has bios.
//! A part's request tells the priority of what it is a part of. Where a recording's header says what is stacked and the
//! trace has no mappings, all that is below is taken for parts.
//! **Origin** Recordings of Linux 6.1 and 6.12 (testdata/stack).
//! **Left out** Which of several bios above a page of parity belongs to.

use std::collections::{BTreeMap, BTreeSet};

use blksched::Op;
use blksched_traces::machine::Machine;
use blksched_workloads::replay::{InFlightIos, TraceAction, TraceEvent};

use super::events::DeviceNumber;

/// Mappings that wait for their submission, and flushes that wait for their end: what a trace lacks is forgotten.
const MOST_WAITING: usize = 256;
/// Devices above one another: no more than this.
const DEEPEST: usize = 8;

/// What was paired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paired {
    /// The I/Os of devices below that are parts of others, by the device above and the one below.
    pub parts: BTreeMap<(DeviceNumber, DeviceNumber), u64>,
    /// Those that are not, by their device.
    pub own: BTreeMap<DeviceNumber, u64>,
    /// The trace has no mappings, and all below was taken for parts.
    pub is_assumed: bool,
}

impl Paired {
    /// Whether any device is above another.
    pub fn has_stack(&self) -> bool {
        !self.parts.is_empty()
    }

    /// How many I/Os are parts of others.
    pub fn all_parts(&self) -> u64 {
        self.parts.values().sum()
    }

    /// How many I/Os of devices below are not.
    pub fn all_own(&self) -> u64 {
        self.own.values().sum()
    }

    /// What was paired, in words; `None` if nothing was.
    pub fn told(&self, called: impl Fn(DeviceNumber) -> String) -> Option<String> {
        let parts = self.all_parts();
        if parts == 0 {
            return None;
        }
        if self.is_assumed {
            return Some(format!(
                "{parts} I/Os of devices below a recorded one are taken for parts of what it got, and not counted \
                 again, those on their other partitions, too (device=MAJOR:MINOR asks for one device alone)"
            ));
        }
        let mut above: BTreeMap<DeviceNumber, Vec<String>> = BTreeMap::new();
        for (&(top, below), count) in &self.parts {
            above.entry(top).or_default().push(format!("{} ({count})", called(below)));
        }
        let each: Vec<String> =
            above.iter().map(|(&top, below)| format!("of {}: {}", called(top), below.join(", "))).collect();
        let own: Vec<String> =
            self.own.iter().map(|(&device, count)| format!("{} ({count})", called(device))).collect();
        let own = match self.all_own() {
            0 => "; no I/O below is anything else".to_owned(),
            count => format!("; {count} below are none: {}", own.join(", ")),
        };
        let are = if parts == 1 { "I/O is a part" } else { "I/Os are parts" };
        Some(format!("{parts} {are} of others and not counted again: {}{own}", each.join("; ")))
    }
}

/// A bio that was mapped and is now to be submitted, or that is under way: the device above, and where it begins there,
/// if a mapping says so.
#[derive(Clone, Copy, Debug)]
struct PartOf {
    above: DeviceNumber,
    sector: Option<u64>,
}

/// The flush of a device above that is under way.
#[derive(Clone, Debug)]
struct FlushAbove {
    device: DeviceNumber,
    /// The devices below that have theirs.
    reached: BTreeSet<DeviceNumber>,
}

/// Tells parts from I/Os.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// The devices above each, as the header says or as mappings show.
    above: BTreeMap<DeviceNumber, BTreeSet<DeviceNumber>>,
    /// Devices with bios of their own.
    seen: Vec<DeviceNumber>,
    mapped: Vec<(TraceEvent, PartOf)>,
    flushes: Vec<FlushAbove>,
    /// The parts under way.
    under_way: InFlightIos<PartOf>,
    /// What is under way on devices below and is none.
    own: InFlightIos<()>,
    paired: Paired,
}

impl Pairing {
    /// With what a recording's header says is above what.
    pub fn of(machine: Option<&Machine>) -> Pairing {
        let mut pairing = Pairing::default();
        let Some(machine) = machine else { return pairing };
        for (number, below) in machine.directly_below() {
            pairing.above.entry(below).or_default().insert(number);
        }
        pairing.paired.is_assumed = !pairing.above.is_empty() && !machine.mappings;
        pairing
    }

    /// What was paired.
    pub fn finish(self) -> Paired {
        self.paired
    }

    /// Passes on an event unless it is of a part.
    #[inline]
    pub fn take(
        &mut self,
        event: &TraceEvent,
        mut tell: impl FnMut(&TraceEvent) -> Result<(), String>,
    ) -> Result<(), String> {
        match event.what {
            TraceAction::Mapped { from, sector } => self.maps(event, PartOf { above: from, sector: Some(sector) }),
            TraceAction::Queue if self.seen.last() != Some(&event.device) => self.sees(event.device),
            _ => {}
        }
        if self.above.is_empty() {
            return tell(event);
        }
        match event.what {
            TraceAction::Queue if self.is_part(event) => Ok(()),
            TraceAction::Complete if self.is_below(event.device) => self.completed(event, tell),
            TraceAction::Request(_) => self.asked(event, tell),
            _ => {
                self.flush_above(event);
                tell(event)
            }
        }
    }

    fn is_below(&self, device: DeviceNumber) -> bool {
        self.above.contains_key(&device)
    }

    /// A device has a bio: the last one is at the end.
    fn sees(&mut self, device: DeviceNumber) {
        self.seen.retain(|known| *known != device);
        self.seen.push(device);
    }

    fn maps(&mut self, event: &TraceEvent, part: PartOf) {
        // A partition has no bios of its own.
        let is_device = || self.above.values().any(|above| above.contains(&part.above));
        if self.paired.is_assumed || !(self.seen.contains(&part.above) || is_device()) {
            return;
        }
        self.above.entry(event.device).or_default().insert(part.above);
        if self.mapped.len() == MOST_WAITING {
            self.mapped.remove(0);
        }
        self.mapped.push((event.clone(), part));
    }

    /// Whether this submission is a part; it is under way from now on.
    fn is_part(&mut self, event: &TraceEvent) -> bool {
        let Some(above) = self.above.get(&event.device) else { return false };
        let is_it = |(mapped, _): &(TraceEvent, PartOf)| {
            (mapped.device, mapped.op, mapped.start, mapped.sectors)
                == (event.device, event.op, event.start, event.sectors)
        };
        let mapped = self.mapped.iter().rposition(is_it).map(|at| self.mapped.remove(at).1);
        let part = match mapped {
            Some(part) => Some(part),
            None if self.paired.is_assumed => above.first().map(|&above| PartOf { above, sector: None }),
            None if event.op == Op::Flush => self
                .flushes
                .iter()
                .find(|flush| above.contains(&flush.device) && !flush.reached.contains(&event.device))
                .map(|flush| PartOf { above: flush.device, sector: Some(0) }),
            None => None,
        };
        let Some(part) = part else {
            *self.paired.own.entry(event.device).or_default() += 1;
            self.own.add(event, ());
            return false;
        };
        if event.op == Op::Flush {
            let reached =
                |flush: &&mut FlushAbove| flush.device == part.above && !flush.reached.contains(&event.device);
            self.flushes.iter_mut().find(reached).map(|flush| flush.reached.insert(event.device));
        }
        *self.paired.parts.entry((part.above, event.device)).or_default() += 1;
        self.under_way.add(event, part);
        // What is above something else in its turn has flushes, too.
        self.flush_above(event);
        true
    }

    /// A flush of a device that may be above others begins or ends.
    fn flush_above(&mut self, event: &TraceEvent) {
        let flushes = event.op == Op::Flush || event.durability.preflush;
        if !flushes || !self.above.values().any(|above| above.contains(&event.device)) {
            return;
        }
        match event.what {
            TraceAction::Queue => {
                if self.flushes.len() == MOST_WAITING {
                    self.flushes.remove(0);
                }
                self.flushes.push(FlushAbove { device: event.device, reached: BTreeSet::new() });
            }
            TraceAction::Complete => {
                let ended = self.flushes.iter().position(|flush| flush.device == event.device);
                ended.map(|at| self.flushes.remove(at));
            }
            _ => {}
        }
    }

    /// A request of a device below is complete: it is not told if all that it had were parts.
    fn completed(
        &mut self,
        event: &TraceEvent,
        mut tell: impl FnMut(&TraceEvent) -> Result<(), String>,
    ) -> Result<(), String> {
        let (mut had_parts, mut had_own) = (false, false);
        self.under_way.complete(event, |_| had_parts = true);
        self.own.complete(event, |()| had_own = true);
        self.flush_above(event);
        // Before the first mapping it was not known that anything lies above the device.
        let is_new = || !self.paired.parts.keys().any(|(_, below)| *below == event.device);
        if had_own || !had_parts && is_new() { tell(event) } else { Ok(()) }
    }

    /// A request has a priority: so has what it is a part of.
    fn asked(
        &mut self,
        event: &TraceEvent,
        mut tell: impl FnMut(&TraceEvent) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut all = vec![event.clone()];
        for _ in 0..DEEPEST {
            let mut above = Vec::new();
            for event in all.drain(..) {
                let mut is_whole = true;
                self.under_way.inside(&event, |part| {
                    is_whole = false;
                    let start = part.sector;
                    above.extend(start.map(|start| TraceEvent { device: part.above, start, ..event.clone() }));
                });
                if is_whole {
                    tell(&event)?;
                }
            }
            all = above;
        }
        Ok(())
    }
}
