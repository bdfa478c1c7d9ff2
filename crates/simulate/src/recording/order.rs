//! What waits to be put in order: by its moment, then as it came.
//!
//! Most of a file is in order already, so each has a queue of its own, and only what runs backward goes to a heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use blksched_workloads::replay::Event;

/// An event and its number among all that came.
#[derive(PartialEq, Eq)]
struct Waiting(u64, Event);

impl Waiting {
    fn key(&self) -> Key {
        (self.1.time, self.0)
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

type Key = (u64, u64);

/// Behind everything that waits.
const NONE: Key = (u64::MAX, u64::MAX);

/// Puts events in order.
pub(super) struct Order {
    /// By file; each is in order.
    files: Vec<VecDeque<Waiting>>,
    strays: BinaryHeap<Reverse<Waiting>>,
    /// Where the earliest of all waits, and its key.
    first: Option<(Key, Where)>,
    /// The earliest key anywhere else.
    rival: Key,
    waiting: usize,
    came: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    File(usize),
    Strays,
}

impl Order {
    /// Of this many files.
    pub fn of(files: usize) -> Order {
        let files = (0..files).map(|_| VecDeque::new()).collect();
        Order { files, strays: BinaryHeap::new(), first: None, rival: NONE, waiting: 0, came: 0 }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// The moment of the earliest.
    pub fn earliest(&self) -> Option<u64> {
        self.first.map(|((time, _), _)| time)
    }

    /// One more, of this file.
    pub fn add(&mut self, file: usize, event: Event) {
        let waiting = Waiting(self.came, event);
        self.came += 1;
        self.waiting += 1;
        let key = waiting.key();
        let run = &mut self.files[file];
        let place = if run.back().is_none_or(|last| last.key() < key) {
            run.push_back(waiting);
            Where::File(file)
        } else {
            self.strays.push(Reverse(waiting));
            Where::Strays
        };
        match self.first {
            None => (self.first, self.rival) = (Some((key, place)), NONE),
            Some((first, at)) if key < first => {
                self.first = Some((key, place));
                if at != place {
                    self.rival = first;
                }
            }
            Some((_, at)) if at != place => self.rival = self.rival.min(key),
            Some(_) => {}
        }
    }

    /// The earliest, which stays.
    #[inline]
    pub fn peek(&self) -> Option<&Event> {
        let waiting = match self.first?.1 {
            Where::File(file) => self.files[file].front(),
            Where::Strays => self.strays.peek().map(|Reverse(waiting)| waiting),
        };
        waiting.map(|Waiting(_, event)| event)
    }

    /// The earliest goes.
    #[inline]
    pub fn pop(&mut self) {
        let Some((_, place)) = self.first else { return };
        let next = match place {
            Where::File(file) => {
                self.files[file].pop_front();
                self.files[file].front().map(Waiting::key)
            }
            Where::Strays => {
                self.strays.pop();
                self.strays.peek().map(|Reverse(waiting)| waiting.key())
            }
        };
        self.waiting -= 1;
        match next {
            Some(key) if key < self.rival => self.first = Some((key, place)),
            _ => self.search(),
        }
    }

    /// Looks where the earliest is, and the next one elsewhere.
    fn search(&mut self) {
        let (mut first, mut rival) = (None, NONE);
        let mut least = NONE;
        let mut look = |key: Key, place: Where| {
            if key < least {
                (rival, least, first) = (least, key, Some((key, place)));
            } else {
                rival = rival.min(key);
            }
        };
        for (file, run) in self.files.iter().enumerate() {
            if let Some(waiting) = run.front() {
                look(waiting.key(), Where::File(file));
            }
        }
        if let Some(Reverse(waiting)) = self.strays.peek() {
            look(waiting.key(), Where::Strays);
        }
        (self.first, self.rival) = (first, rival);
    }
}

#[cfg(test)]
mod tests {
    use blksched::author::Waiter;
    use blksched::{Durability, Hints, Op};
    use blksched_workloads::replay::What;

    use super::*;

    fn event(time: u64, pid: u32) -> Event {
        let (what, op, waiter) = (What::Queue, Op::Read, Waiter::Sync);
        let (hints, durability) = (Hints::default(), Durability::default());
        Event { time, what, device: (8, 0), pid, op, start: 0, sectors: 8, waiter, hints, durability }
    }

    /// Events of three files with a few that run backward, taken out in between: as sorting would have it.
    #[test]
    fn the_earliest_comes_first_and_equals_as_they_came() {
        let mut state = 1_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for _ in 0..200 {
            let (mut order, mut model, mut clocks) = (Order::of(3), Vec::new(), [0_u64; 3]);
            for pid in 0..300 {
                if below(3) == 0 {
                    model.sort_by_key(|&(time, pid): &(u64, u32)| (time, pid));
                    let expected = if model.is_empty() { None } else { Some(model.remove(0)) };
                    assert_eq!(order.earliest(), expected.map(|(time, _)| time));
                    assert_eq!(order.peek().map(|event| (event.time, event.pid)), expected);
                    order.pop();
                }
                let file = below(3) as usize;
                clocks[file] += below(10);
                let time = clocks[file].saturating_sub(if below(8) == 0 { below(40) } else { 0 });
                order.add(file, event(time, pid));
                model.push((time, pid));
            }
            assert_eq!(order.len(), model.len());
        }
    }
}
