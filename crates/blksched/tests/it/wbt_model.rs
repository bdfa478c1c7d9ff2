//! Writeback throttling against a small model written from docs/behaviour/blk-wbt.md alone, under random calls: tasks
//! of every kind, off and on again, windows.

use std::collections::{BTreeMap, VecDeque};

use blksched::author::RequestId;
use blksched::surroundings::mq::{MqEra, Task};
use blksched::surroundings::wbt::{Config, Kind, Throttle, Throttled};
use blksched::{Instant, Op, Span};

const TARGET: u64 = 75_000_000;
const TICK: u64 = 4_000_000;
const BORN: u64 = 1_000_000_000;

/// A request of the model: operation, counter if tracked, whether it is a known read, when it was issued.
#[derive(Clone, Copy, Debug)]
struct Rq {
    read: bool,
    counter: Option<usize>,
    known: bool,
    issued: Option<u64>,
}

/// 6.1, 250 Hz, depth 32, no write cache.
#[derive(Debug, Default)]
struct Model {
    off: bool,
    step: i32,
    at_max: bool,
    unknown: u32,
    counts: [u32; 3],
    lines: [VecDeque<(u32, Kind)>; 3],
    requests: BTreeMap<u32, Rq>,
    sync_issue: Option<(u32, u64)>,
    last_issue: u64,
    last_comp: u64,
    timer: Option<u64>,
    window: u64,
    reads: Vec<u64>,
    writes: u32,
}

impl Model {
    fn max(&self) -> u32 {
        match self.step {
            0 => 16,
            1.. => 1 + (15 >> self.step.min(31)),
            _ => (1 + (15 << -self.step)).min(24),
        }
    }

    fn limits(&self) -> [u32; 3] {
        let max = self.max();
        if max <= 2 { [max, max, 1] } else { [max, max.div_ceil(2), max.div_ceil(4)] }
    }

    fn counter(kind: Kind) -> Option<usize> {
        match kind.op {
            Op::Read => None,
            Op::Write if kind.sync && kind.idle => None,
            _ if kind.reclaim => Some(1),
            Op::Discard => Some(2),
            _ => Some(0),
        }
    }

    fn limit(&self, now: u64, kind: Kind, itself: bool) -> u32 {
        let [max, normal, background] = self.limits();
        let tick = now / TICK;
        let dirty = tick < BORN / TICK + 250;
        let near = tick < self.last_issue / TICK + 25 || tick < self.last_comp / TICK + 25;
        if self.off {
            u32::MAX
        } else if kind.op == Op::Discard {
            background
        } else if kind.sync || kind.meta || (kind.reclaim && itself) || dirty {
            max
        } else if kind.background || near {
            background
        } else {
            normal
        }
    }

    fn arm(&mut self, now: u64) {
        let root = |n: u64| (0..=n).take_while(|r| r * r <= n).last().unwrap();
        let step = self.step.max(0) as u64;
        self.window = if step == 0 { 100_000_000 } else { 1_600_000_000 / root((step + 1) * 256) };
        self.timer = Some(now / TICK + self.window / TICK);
    }

    fn throttle(&mut self, now: u64, task: u32, kind: Kind) -> bool {
        if self.off {
            return true;
        }
        if kind.op == Op::Read {
            self.last_issue = now;
        }
        let Some(counter) = Model::counter(kind) else { return true };
        if self.lines[counter].is_empty() && self.counts[counter] < self.limit(now, kind, true) {
            self.counts[counter] += 1;
            if self.timer.is_none() {
                self.arm(now);
            }
            return true;
        }
        self.lines[counter].push_back((task, kind));
        false
    }

    fn wake(&mut self, now: u64, counter: usize, woken: &mut Vec<u32>) {
        while let Some(&(task, kind)) = self.lines[counter].front() {
            if self.counts[counter] >= self.limit(now, kind, false) {
                break;
            }
            self.counts[counter] += 1;
            self.lines[counter].pop_front();
            woken.push(task);
        }
    }

    fn wake_all(&mut self, now: u64) -> Vec<u32> {
        let mut woken = Vec::new();
        (0..3).for_each(|counter| self.wake(now, counter, &mut woken));
        woken
    }

    fn done(&mut self, now: u64, rq: u32) -> Vec<u32> {
        let Rq { read, counter, known, issued } = self.requests.remove(&rq).unwrap();
        if let (Some(issued), true) = (issued, self.timer.is_some()) {
            if read { self.reads.push(now - issued) } else { self.writes += 1 }
        }
        if self.sync_issue.is_some_and(|(watched, _)| watched == rq) {
            self.sync_issue = None;
        }
        let Some(counter) = counter else {
            if known && !self.off {
                self.last_comp = now;
            }
            return Vec::new();
        };
        // One that passed while the throttle was off and began after it was on was never counted.
        self.counts[counter] = self.counts[counter].saturating_sub(1);
        if self.off {
            return self.wake_all(now);
        }
        let [_, normal, background] = self.limits();
        let (limit, count) = (if counter == 2 { background } else { normal }, self.counts[counter]);
        let mut woken = Vec::new();
        if !(count > 0 && count >= limit) && (count == 0 || limit - count >= background / 2) {
            self.wake(now, counter, &mut woken);
        }
        woken
    }

    fn up(&mut self, now: u64) -> Vec<u32> {
        if self.at_max {
            return Vec::new();
        }
        self.step -= 1;
        self.at_max = self.step < 0 && 1 + (15 << -self.step) > 24;
        self.unknown = 0;
        self.wake_all(now)
    }

    fn down(&mut self, hard: bool) {
        if self.max() > 1 {
            self.step = if hard && self.step < 0 { 0 } else { self.step + 1 };
            self.at_max = false;
            self.unknown = 0;
        }
    }

    fn elapse(&mut self, now: u64) -> Vec<u32> {
        self.timer = None;
        let total: u32 = self.counts.iter().sum();
        let age = self.sync_issue.map_or(0, |(_, since)| now - since);
        let (reads, writes) = (std::mem::take(&mut self.reads), std::mem::take(&mut self.writes));
        let dirty = now / TICK < BORN / TICK + 250;
        let woken = if age > self.window || (age > TARGET && reads.is_empty()) {
            self.down(true);
            Vec::new()
        } else if reads.is_empty() || writes < 3 {
            if writes > 0 || dirty || total > 0 {
                self.up(now)
            } else {
                self.unknown += 1;
                match (self.unknown >= 5, self.step) {
                    (true, step) if step > 0 => self.up(now),
                    (true, step) if step < 0 => {
                        self.down(false);
                        Vec::new()
                    }
                    _ => Vec::new(),
                }
            }
        } else if reads.iter().min() > Some(&TARGET) {
            self.down(true);
            Vec::new()
        } else {
            self.up(now)
        };
        if self.step != 0 || total > 0 {
            self.arm(now);
        }
        woken
    }
}

const PLAIN: Kind =
    Kind { op: Op::Write, sync: false, idle: false, background: false, meta: false, swap: false, reclaim: false };
const KINDS: [Kind; 8] = [
    Kind { op: Op::Read, sync: true, ..PLAIN },
    Kind { op: Op::Read, sync: true, ..PLAIN },
    Kind { background: true, ..PLAIN },
    Kind { sync: true, ..PLAIN },
    Kind { op: Op::Discard, ..PLAIN },
    Kind { reclaim: true, ..PLAIN },
    Kind { sync: true, idle: true, ..PLAIN },
    PLAIN,
];

/// Both, and the tasks: those that sleep, and those that may become requests.
struct Both {
    ours: Throttle,
    model: Model,
    asleep: BTreeMap<u32, Kind>,
    ready: VecDeque<Kind>,
    next: u32,
}

impl Both {
    fn new() -> Both {
        let config = Config {
            era: MqEra::Linux6_1,
            hz: 250,
            target: Span::from_ns(TARGET),
            queue_depth: 32,
            write_cache: false,
            born: Instant::from_ns(BORN),
        };
        Both {
            ours: Throttle::new(config),
            model: Model { last_issue: BORN, last_comp: BORN, ..Model::default() },
            asleep: BTreeMap::new(),
            ready: VecDeque::new(),
            next: 0,
        }
    }

    fn pass(&mut self, now: u64) {
        while let Some(due) = self.ours.deadline().filter(|due| due.as_ns() <= now) {
            assert_eq!(self.model.timer.map(|tick| tick * TICK), Some(due.as_ns()));
            let mut woke = Vec::new();
            self.ours.elapse(due, &mut woke);
            let expected = self.model.elapse(due.as_ns());
            self.run(due.as_ns(), &woke, &expected);
        }
    }

    fn submit(&mut self, now: u64, kind: Kind) {
        self.next += 1;
        let goes = self.model.throttle(now, self.next, kind);
        let answer = self.ours.throttle(Instant::from_ns(now), Task(self.next), kind);
        assert_eq!(matches!(answer, Throttled::Go), goes, "{kind:?}");
        if goes {
            self.ready.push_back(kind);
        } else {
            self.asleep.insert(self.next, kind);
        }
    }

    /// The oldest bio that passed becomes a request, which the driver gets.
    fn issue(&mut self, now: u64) {
        let Some(kind) = self.ready.pop_front() else { return };
        self.next += 1;
        let (read, off) = (kind.op == Op::Read, self.model.off);
        let rq = Rq { read, counter: Model::counter(kind).filter(|_| !off), known: read && !off, issued: Some(now) };
        if rq.known && self.model.sync_issue.is_none() {
            self.model.sync_issue = Some((self.next, now));
        }
        self.model.requests.insert(self.next, rq);
        let id = RequestId::from_index(self.next);
        self.ours.track(id, kind);
        self.ours.issued(Instant::from_ns(now), id);
    }

    fn end(&mut self, now: u64, nth: usize) {
        let count = self.model.requests.len().max(1);
        let Some(&rq) = self.model.requests.keys().nth(nth % count) else { return };
        let mut woke = Vec::new();
        self.ours.done(Instant::from_ns(now), RequestId::from_index(rq), &mut woke);
        let expected = self.model.done(now, rq);
        self.run(now, &woke, &expected);
    }

    fn switch(&mut self) {
        self.model.off = !self.model.off;
        if self.model.off {
            self.model.timer = None;
            self.ours.disable_default();
        } else {
            self.ours.enable_default();
        }
    }

    /// The tasks that were woken continue.
    fn run(&mut self, now: u64, woke: &[Task], expected: &[u32]) {
        let woke: Vec<u32> = woke.iter().map(|task| task.0).collect();
        assert_eq!(woke, expected);
        for task in woke {
            self.ready.extend(self.asleep.remove(&task));
            self.ours.resumed(Instant::from_ns(now));
            if self.model.timer.is_none() {
                self.model.arm(now);
            }
        }
    }

    fn agree(&self) {
        let (ours, model) = (&self.ours, &self.model);
        assert_eq!((ours.inflight(), ours.limits().0), (model.counts, model.step));
        assert_eq!(ours.sync_issue().map(Instant::as_ns), model.sync_issue.map(|(_, since)| since));
        assert_eq!(ours.deadline().map(Instant::as_ns), model.timer.map(|tick| tick * TICK));
    }
}

#[test]
fn random_calls_are_answered_as_the_note_says() {
    let mut state = 1_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    for _ in 0..40 {
        let (mut both, mut now) = (Both::new(), BORN);
        for _ in 0..3_000 {
            now += [0, 100_000, 3_000_000, 30_000_000][below(4)];
            both.pass(now);
            match below(480) {
                0 => both.switch(),
                1..200 => both.submit(now, KINDS[below(8)]),
                200..290 => both.issue(now),
                _ => both.end(now, below(1_000)),
            }
            both.agree();
        }
    }
}
