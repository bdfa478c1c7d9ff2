//! Sorts events: by time, then by arrival.
//!
//! Most of a file is already in order, so each file has queues of its own, and only events out of order go to a heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use blksched_workloads::replay::TraceEvent;

/// An event and its number in order of arrival.
#[derive(PartialEq, Eq)]
pub(super) struct WaitingEvent(pub u64, pub TraceEvent);

impl WaitingEvent {
    fn key(&self) -> Key {
        u128::from(self.1.time) << 64 | u128::from(self.0)
    }
}

impl Ord for WaitingEvent {
    fn cmp(&self, other: &WaitingEvent) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for WaitingEvent {
    fn partial_cmp(&self, other: &WaitingEvent) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Time << 64 | number.
type Key = u128;

/// After everything that waits.
const NONE: Key = Key::MAX;

/// Puts events in order.
pub(super) struct EventOrder {
    /// Of each file two runs, each in order: its events, and the completions that stand in the rows of submissions.
    runs: Vec<WaitingRun>,
    strays: BinaryHeap<Reverse<WaitingEvent>>,
    /// The earliest key of each run, followed by the strays'.
    fronts: Vec<Key>,
    /// The place with the earliest key of all.
    first: usize,
    /// The earliest key anywhere else.
    rival: Key,
    waiting: usize,
    came: u64,
}

/// The waiting events of one file, in order.
#[derive(Default)]
struct WaitingRun {
    events: VecDeque<WaitingEvent>,
    /// The time of the last of them, 0 if there is none: earlier events are strays.
    newest: u64,
}

impl EventOrder {
    /// An order of this many files.
    pub fn of(files: usize) -> EventOrder {
        let runs: Vec<_> = (0..2 * files).map(|_| WaitingRun::default()).collect();
        let fronts = vec![NONE; runs.len() + 1];
        EventOrder { runs, strays: BinaryHeap::new(), fronts, first: 0, rival: NONE, waiting: 0, came: 0 }
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// The time of the earliest.
    #[inline]
    pub fn earliest(&self) -> Option<u64> {
        let key = self.fronts[self.first];
        (key != NONE).then_some((key >> 64) as u64)
    }

    /// Takes events of this file, which has been read up to this time.
    pub fn events_of(&mut self, file: usize, counts: Counts, reached: u64) -> FileEvents<'_> {
        let run = core::mem::take(&mut self.runs[2 * file]);
        FileEvents { was_empty: run.events.is_empty(), order: self, run, file, counts, added: 0, reached }
    }

    /// Adds an event of this file.
    #[cfg(test)]
    fn add(&mut self, file: usize, event: TraceEvent) {
        self.events_of(file, Counts::Every, 0).extend([event]);
    }

    /// Adds a completion of a row of this file: those of requests that the disk finished in order are in order.
    fn completion(&mut self, file: usize, waiting: WaitingEvent) {
        let place = 2 * file + 1;
        let key = waiting.key();
        let run = &mut self.runs[place];
        if waiting.1.time < run.newest {
            return self.stray(waiting);
        }
        run.newest = waiting.1.time;
        let was_empty = run.events.is_empty();
        run.events.push_back(waiting);
        if was_empty {
            self.front(place, key);
        }
    }

    #[cold]
    fn stray(&mut self, waiting: WaitingEvent) {
        self.front(self.runs.len(), waiting.key());
        self.strays.push(Reverse(waiting));
    }

    /// Updates the earliest key of this place.
    fn front(&mut self, place: usize, key: Key) {
        let earliest = self.fronts[self.first];
        self.fronts[place] = self.fronts[place].min(key);
        if key < earliest {
            if place != self.first {
                (self.first, self.rival) = (place, earliest);
            }
        } else if place != self.first {
            self.rival = self.rival.min(key);
        }
    }

    /// The earliest event, and those after it in its file that are earlier than any elsewhere and not later than
    /// `settled`. All of them stay. Empty if nothing waits.
    #[inline]
    pub fn run(&self, settled: Option<u64>) -> &[WaitingEvent] {
        let Some(run) = self.runs.get(self.first) else {
            return self.strays.peek().map_or(&[], |Reverse(waiting)| core::slice::from_ref(waiting));
        };
        let (row, _) = run.events.as_slices();
        let Some(settled) = settled else { return &row[..row.len().min(1)] };
        let rival = (self.rival >> 64) as u64;
        // For nearly all, comparing times is enough; only at the rival's time does the order of arrival decide.
        let is_early = |waiting: &&WaitingEvent| waiting.1.time < rival && waiting.1.time <= settled;
        let early = row.iter().skip(1).take_while(is_early).count();
        let end = row.len().min(1 + early);
        let at_once = |waiting: &&WaitingEvent| waiting.1.time <= settled && waiting.key() < self.rival;
        &row[..end + row[end..].iter().take_while(at_once).count()]
    }

    /// Removes this many events of the [run](Order::run).
    #[inline]
    pub fn pop(&mut self, run: usize) {
        let next = match self.runs.get_mut(self.first) {
            Some(first) => {
                first.events.drain(..run);
                if first.events.is_empty() {
                    first.newest = 0;
                }
                first.events.front().map(WaitingEvent::key)
            }
            None => {
                for _ in 0..run {
                    self.strays.pop();
                }
                self.strays.peek().map(|Reverse(waiting)| waiting.key())
            }
        };
        self.waiting -= run;
        let next = next.unwrap_or(NONE);
        self.fronts[self.first] = next;
        if next >= self.rival {
            self.search();
        }
    }

    /// Searches for the earliest event, and the next one elsewhere.
    fn search(&mut self) {
        let (mut earliest, mut rival) = (NONE, NONE);
        for (place, &key) in self.fronts.iter().enumerate() {
            if key < earliest {
                (self.first, rival, earliest) = (place, earliest, key);
            } else {
                rival = rival.min(key);
            }
        }
        self.rival = rival;
    }
}

/// Which of the events that are read together show how far a file has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Each.
    Every,
    /// The first.
    First,
}

/// Where a file's events go.
pub(super) struct FileEvents<'a> {
    order: &'a mut EventOrder,
    /// The file's run, which goes back when all have come.
    run: WaitingRun,
    was_empty: bool,
    file: usize,
    counts: Counts,
    added: usize,
    reached: u64,
}

impl FileEvents<'_> {
    /// How far the file has been read.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Whether nothing has come.
    pub fn is_empty(&self) -> bool {
        self.added == 0
    }
}

impl Extend<TraceEvent> for FileEvents<'_> {
    #[inline]
    fn extend<T: IntoIterator<Item = TraceEvent>>(&mut self, events: T) {
        for event in events {
            if self.counts == Counts::Every || self.added == 0 {
                self.reached = self.reached.max(event.time);
            }
            let (time, waiting) = (event.time, WaitingEvent(self.order.came + self.added as u64, event));
            self.added += 1;
            if self.counts == Counts::First && self.added > 1 {
                self.order.completion(self.file, waiting);
            } else if time >= self.run.newest {
                self.run.newest = time;
                self.run.events.push_back(waiting);
            } else {
                self.order.stray(waiting);
            }
        }
    }
}

impl Drop for FileEvents<'_> {
    fn drop(&mut self) {
        let order = &mut *self.order;
        order.came += self.added as u64;
        order.waiting += self.added;
        let place = 2 * self.file;
        order.runs[place] = core::mem::take(&mut self.run);
        if self.was_empty
            && let Some(first) = order.runs[place].events.front()
        {
            let key = first.key();
            order.front(place, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched::author::Waiter;
    use blksched::{Durability, Hints, Op};
    use blksched_workloads::replay::TraceAction;

    use super::*;

    fn event(time: u64, pid: u32) -> TraceEvent {
        let (what, op, waiter) = (TraceAction::Queue, Op::Read, Waiter::Sync);
        let (hints, durability) = (Hints::default(), Durability::default());
        TraceEvent { time, what, device: (8, 0), pid, op, start: 0, sectors: 8, waiter, hints, durability }
    }

    /// Events of three files, a few of them out of order, removed in between: the result is as if sorted.
    #[test]
    fn the_earliest_comes_first_and_equals_as_they_came() {
        let mut state = 1_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for _ in 0..200 {
            let (mut order, mut model, mut clocks) = (EventOrder::of(3), Vec::new(), [0_u64; 3]);
            for pid in 0..300 {
                if below(3) == 0 {
                    model.sort_by_key(|&(time, pid): &(u64, u32)| (time, pid));
                    let expected = if model.is_empty() { None } else { Some(model.remove(0)) };
                    assert_eq!(order.earliest(), expected.map(|(time, _)| time));
                    assert_eq!(order.run(None).first().map(|first| (first.1.time, first.1.pid)), expected);
                    order.pop(usize::from(expected.is_some()));
                }
                if below(20) == 0 {
                    model.sort_by_key(|&(time, pid): &(u64, u32)| (time, pid));
                    let settled = order.earliest().map(|earliest| earliest + below(8));
                    let run: Vec<_> =
                        order.run(settled).iter().map(|waiting| (waiting.1.time, waiting.1.pid)).collect();
                    assert_eq!(run, model[..run.len()]);
                    assert!(run.iter().all(|&(time, _)| Some(time) <= settled));
                    let gone = below(run.len() as u64 + 1) as usize;
                    order.pop(gone);
                    model.drain(..gone);
                }
                let file = below(3) as usize;
                clocks[file] += below(10);
                let time = clocks[file].saturating_sub(if below(8) == 0 { below(40) } else { 0 });
                let came = 3 * pid;
                order.add(file, event(time, came));
                model.push((time, came));
                if below(2) == 0 {
                    // A row: its submission, and its completion later.
                    let (begun, ended) = (clocks[file], clocks[file] + below(60));
                    let row = [event(begun, came + 1), event(ended, came + 2)];
                    order.events_of(file, Counts::First, 0).extend(row);
                    model.extend([(begun, came + 1), (ended, came + 2)]);
                }
            }
            assert_eq!(order.len(), model.len());
        }
    }
}
