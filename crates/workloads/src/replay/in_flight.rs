//! What is in flight while a trace is read: a completion finds every submission that ends inside of it.
//!
//! **Rule** A request's completion is that of each bio of its device and kind whose last sector lies inside of it. Few
//! are in flight at a time, and a sorted row of few is faster than a tree; of many it is a tree, so a trace whose I/Os
//! never complete costs no more than that.

use std::collections::BTreeMap;
use std::ops::Range;

use blksched::Op;

use super::recording::TraceEvent;

/// A row longer than this becomes a tree.
const FEW: usize = 256;

/// I/Os in flight, with a value for each.
#[derive(Clone, Debug)]
pub struct InFlightIos<T> {
    /// By device and kind.
    places: BTreeMap<Key, usize>,
    lanes: Vec<(Key, InFlightLane<T>)>,
    /// The lane that was used last.
    last: usize,
    len: usize,
    /// How many there were so far.
    came: u64,
}

type Key = ((u32, u32), u8);

/// The I/Os of one device and kind, by their last sectors, and among equals in the order of arrival.
#[derive(Clone, Debug)]
enum InFlightLane<T> {
    Few(Vec<(u64, T)>),
    Many(BTreeMap<(u64, u64), T>),
}

impl<T> Default for InFlightIos<T> {
    fn default() -> InFlightIos<T> {
        InFlightIos { places: BTreeMap::new(), lanes: Vec::new(), last: 0, len: 0, came: 0 }
    }
}

impl<T> InFlightIos<T> {
    /// How many are in flight.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a submitted I/O.
    pub fn add(&mut self, event: &TraceEvent, kept: T) {
        let key = key(event);
        let at = self.lane(key).unwrap_or_else(|| {
            self.lanes.push((key, InFlightLane::Few(Vec::new())));
            self.places.insert(key, self.lanes.len() - 1);
            self.lanes.len() - 1
        });
        self.last = at;
        let last_sector = event.start.saturating_add(u64::from(event.sectors).saturating_sub(1));
        self.lanes[at].1.add((last_sector, self.came), kept);
        self.len += 1;
        self.came += 1;
    }

    /// Removes the I/Os that this request completes, in the order of their last sectors.
    pub fn complete(&mut self, request: &TraceEvent, tell: impl FnMut(T)) {
        let Some(at) = self.lane(key(request)) else { return };
        self.last = at;
        self.len -= self.lanes[at].1.complete(inside(request), tell);
    }

    /// The I/Os inside this request.
    pub fn inside(&self, request: &TraceEvent, tell: impl FnMut(&T)) {
        if let Some(at) = self.lane(key(request)) {
            self.lanes[at].1.inside(inside(request), tell);
        }
    }

    fn lane(&self, key: Key) -> Option<usize> {
        match self.lanes.get(self.last) {
            Some((last, _)) if *last == key => Some(self.last),
            // A device has one lane of each kind, and most traces one or two devices.
            _ if self.lanes.len() <= 8 => self.lanes.iter().position(|(other, _)| *other == key),
            _ => self.places.get(&key).copied(),
        }
    }
}

impl<T> InFlightLane<T> {
    fn add(&mut self, (sector, number): (u64, u64), kept: T) {
        match self {
            InFlightLane::Few(row) if row.len() < FEW => {
                let at = row.partition_point(|&(other, _)| other <= sector);
                row.insert(at, (sector, kept));
            }
            InFlightLane::Few(row) => {
                // They are in order; the numbers given so far are greater than these indices.
                let many = row.drain(..).zip(0..).map(|((sector, kept), place)| ((sector, place), kept));
                let mut many: BTreeMap<_, _> = many.collect();
                many.insert((sector, number), kept);
                *self = InFlightLane::Many(many);
            }
            InFlightLane::Many(tree) => {
                tree.insert((sector, number), kept);
            }
        }
    }

    /// Returns how many there were.
    fn complete(&mut self, inside: Range<u64>, mut tell: impl FnMut(T)) -> usize {
        match self {
            InFlightLane::Few(row) => {
                let begin = row.partition_point(|&(sector, _)| sector < inside.start);
                let count = row[begin..].iter().take_while(|(sector, _)| *sector < inside.end).count();
                match count {
                    0 => {}
                    1 => tell(row.remove(begin).1),
                    _ => row.drain(begin..begin + count).for_each(|(_, kept)| tell(kept)),
                }
                count
            }
            InFlightLane::Many(tree) => {
                let mut count = 0;
                while let Some((&key, _)) = tree.range((inside.start, 0)..(inside.end, 0)).next() {
                    tree.remove(&key).into_iter().for_each(&mut tell);
                    count += 1;
                }
                if tree.is_empty() {
                    *self = InFlightLane::Few(Vec::new());
                }
                count
            }
        }
    }

    fn inside(&self, inside: Range<u64>, mut tell: impl FnMut(&T)) {
        match self {
            InFlightLane::Few(row) => {
                let begin = row.partition_point(|&(sector, _)| sector < inside.start);
                row[begin..].iter().take_while(|(sector, _)| *sector < inside.end).for_each(|(_, kept)| tell(kept));
            }
            InFlightLane::Many(tree) => tree.range((inside.start, 0)..(inside.end, 0)).for_each(|(_, kept)| tell(kept)),
        }
    }
}

fn key(event: &TraceEvent) -> Key {
    let kind = match event.op {
        Op::Read => 0,
        Op::Write | Op::WriteZeroes => 1,
        Op::Discard => 2,
        Op::Flush => 3,
    };
    (event.device, kind)
}

/// The last sectors that are inside a request.
fn inside(event: &TraceEvent) -> Range<u64> {
    event.start..event.start.saturating_add(u64::from(event.sectors).max(1))
}

#[cfg(test)]
mod tests {
    use super::super::recording::{TraceAction, tests::event};
    use super::*;

    /// A row and a tree do the same: meanwhile `crowd` others are in flight.
    fn completed(crowd: u64) -> (Vec<u64>, usize) {
        let mut in_flight = InFlightIos::default();
        (0..crowd).for_each(|nth| in_flight.add(&event(0, TraceAction::Queue, 1_000_000 + 8 * nth), 100));
        for (nth, start) in [16, 0, 8, 0, 24].into_iter().enumerate() {
            in_flight.add(&event(0, TraceAction::Queue, start), nth as u64);
        }
        let request = TraceEvent { sectors: 24, ..event(9, TraceAction::Complete, 0) };
        let (mut seen, mut told) = (0, Vec::new());
        in_flight.inside(&request, |_| seen += 1);
        in_flight.complete(&request, |nth| told.push(nth));
        in_flight.complete(&request, |_| panic!("it is complete"));
        assert_eq!(seen, told.len());
        (told, in_flight.len() - crowd as usize)
    }

    #[test]
    fn a_request_completes_what_ends_inside_of_it_in_order_however_much_else_is_in_flight() {
        for crowd in [0, 3, FEW as u64, 4 * FEW as u64] {
            assert_eq!(completed(crowd), (vec![1, 3, 2, 0], 1), "{crowd}");
        }
    }

    #[test]
    fn devices_and_kinds_do_not_meet_however_many_there_are() {
        let mut in_flight = InFlightIos::default();
        let of = |minor: u32, op: Op| TraceEvent { device: (8, minor), op, ..event(0, TraceAction::Queue, 0) };
        for minor in 0..20 {
            in_flight.add(&of(minor, Op::Read), minor);
            in_flight.add(&of(minor, Op::Write), 100 + minor);
        }
        let mut told = Vec::new();
        in_flight.complete(&of(7, Op::Write), |kept| told.push(kept));
        in_flight.complete(&of(3, Op::Read), |kept| told.push(kept));
        in_flight.complete(&of(3, Op::Discard), |kept| told.push(kept));
        assert_eq!((told, in_flight.len()), (vec![107, 3], 38));
    }
}
