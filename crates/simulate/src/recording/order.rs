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

/// Puts events in order.
pub(super) struct Order {
    /// By file; each is in order.
    files: Vec<VecDeque<Waiting>>,
    strays: BinaryHeap<Reverse<Waiting>>,
    /// Where the earliest of all waits, and its key.
    first: Option<(Key, Where)>,
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
        Order { files, strays: BinaryHeap::new(), first: None, waiting: 0, came: 0 }
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
        if self.first.is_none_or(|(first, _)| key < first) {
            self.first = Some((key, place));
        }
    }

    /// The earliest.
    pub fn next(&mut self) -> Option<Event> {
        let waiting = match self.first?.1 {
            Where::File(file) => self.files[file].pop_front(),
            Where::Strays => self.strays.pop().map(|Reverse(waiting)| waiting),
        };
        self.waiting -= 1;
        self.first = self.strays.peek().map(|Reverse(waiting)| (waiting.key(), Where::Strays));
        for (file, run) in self.files.iter().enumerate() {
            let Some(key) = run.front().map(Waiting::key) else { continue };
            if self.first.is_none_or(|(first, _)| key < first) {
                self.first = Some((key, Where::File(file)));
            }
        }
        waiting.map(|Waiting(_, event)| event)
    }
}
