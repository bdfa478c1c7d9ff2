//! deadline against a naive model of it: vectors and linear scans, written only from the notes (D25, D26, D420, E1 to
//! E10). The same operations must give the same merges and the same commands in the same order.

use crate::dice::Dice;
use crate::queue_kit::{ME, Rig};
use blksched::reasons::End;
use blksched::{Bio, Instant, Limits, Next, QueueConfig, Sector, Submitted};

/// One request of a model, identified by its place in the vector of all requests.
#[derive(Clone, Debug)]
struct Rq {
    start: u64,
    len: u64,
    write: bool,
    expires: u64,
    /// Whether it is neither NOMERGE nor taken.
    mergeable: bool,
    state: State,
    /// When it was last hashed; of several with the same end the latest counts.
    hashed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    Chosen,
    Gone,
}

impl Rq {
    fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// The common part of every era's model.
#[derive(Default)]
struct Common {
    all: Vec<Rq>,
    last_merge: Option<usize>,
    clock: u64,
    chosen: Vec<usize>,
    starved: i64,
    max_sectors: u64,
}

impl Common {
    fn hash(&mut self, rq: usize) {
        self.clock += 1;
        self.all[rq].hashed = self.clock;
    }

    /// The request most recently hashed with this end, in either direction.
    fn find_by_end(&self, end: u64) -> Option<usize> {
        let live = (0..self.all.len()).filter(|&i| self.all[i].mergeable && self.all[i].end() == end);
        live.max_by_key(|&i| self.all[i].hashed)
    }

    fn seal(&mut self, rq: usize) {
        self.all[rq].mergeable = false;
        if self.last_merge == Some(rq) {
            self.last_merge = None;
        }
    }

    fn queue(&mut self, start: u64, len: u64, write: bool, expires: u64) -> usize {
        self.all.push(Rq { start, len, write, expires, mergeable: true, state: State::Queued, hashed: 0 });
        let rq = self.all.len() - 1;
        self.hash(rq);
        self.last_merge = self.last_merge.or(Some(rq));
        rq
    }

    /// The end at which a bio would join this request.
    fn end_of(&self, rq: usize, start: u64, len: u64, write: bool) -> Option<End> {
        let r = &self.all[rq];
        if !r.mergeable || r.write != write {
            None
        } else if r.end() == start {
            Some(End::Back)
        } else if start + len == r.start {
            Some(End::Front)
        } else {
            None
        }
    }

    fn grow(&mut self, rq: usize, len: u64, end: End) {
        self.all[rq].len += len;
        if end == End::Front {
            self.all[rq].start -= len;
        }
    }

    fn can_coalesce(&self, low: usize, high: usize) -> bool {
        let (a, b) = (&self.all[low], &self.all[high]);
        a.mergeable && b.mergeable && a.write == b.write && a.end() == b.start && a.len + b.len <= self.max_sectors
    }
}

/// What happened to a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    New,
    Joined(End),
}

/// A model of one era.
trait Model {
    fn submit(&mut self, tick: u64, start: u64, len: u64, write: bool) -> Fate;
    fn take(&mut self, tick: u64) -> Option<(u64, u64, bool)>;
}

// ---- D26 and D420

struct Stepping {
    c: Common,
    /// `[reads, writes]`, oldest first.
    fifo: [Vec<usize>; 2],
    /// By sector; equal sectors in the order of insertion.
    sorted: [Vec<usize>; 2],
    next: [Option<usize>; 2],
    batching: i64,
    fifo_batch: i64,
    writes_starved: i64,
    expire: [u64; 2],
    front_merges: bool,
    is_4_20: bool,
}

impl Stepping {
    fn add_sorted(&mut self, rq: usize) {
        let dir = usize::from(self.c.all[rq].write);
        let start = self.c.all[rq].start;
        if !self.is_4_20 {
            while let Some(&alias) = self.sorted[dir].iter().find(|&&i| self.c.all[i].start == start) {
                self.step(alias);
                self.c.chosen.push(alias);
            }
        }
        let at = self.sorted[dir].iter().position(|&i| self.c.all[i].start > start).unwrap_or(self.sorted[dir].len());
        self.sorted[dir].insert(at, rq);
    }

    /// D26.5.
    fn step(&mut self, rq: usize) {
        let dir = usize::from(self.c.all[rq].write);
        self.next = [None, None];
        let at = self.sorted[dir].iter().position(|&i| i == rq).unwrap();
        self.next[dir] = self.sorted[dir].get(at + 1).copied();
        self.sorted[dir].remove(at);
        self.fifo[dir].retain(|&i| i != rq);
        self.c.all[rq].state = State::Chosen;
        self.c.seal(rq);
    }

    fn search(&self, start: u64, len: u64, write: bool) -> Option<(usize, End)> {
        if let Some(last) = self.c.last_merge
            && let Some(end) = self.c.end_of(last, start, len, write)
        {
            return Some((last, end));
        }
        if let Some(hit) = self.c.find_by_end(start)
            && self.c.all[hit].write == write
        {
            return Some((hit, End::Back));
        }
        if !self.front_merges {
            return None;
        }
        let dir = usize::from(write);
        let hit = self.sorted[dir].iter().copied().find(|&i| self.c.all[i].start == start + len)?;
        self.c.all[hit].mergeable.then_some((hit, End::Front))
    }

    fn after_merge(&mut self, rq: usize, end: End) {
        let dir = usize::from(self.c.all[rq].write);
        let at = self.sorted[dir].iter().position(|&i| i == rq).unwrap();
        let pair = match end {
            End::Back => self.sorted[dir].get(at + 1).map(|&behind| (rq, behind)),
            End::Front => at.checked_sub(1).map(|at| (self.sorted[dir][at], rq)),
        };
        if let Some((low, high)) = pair.filter(|&(low, high)| self.c.can_coalesce(low, high)) {
            self.coalesce(dir, low, high);
            return;
        }
        if end == End::Front {
            self.sorted[dir].remove(at);
            self.add_sorted(rq);
        } else {
            self.c.hash(rq);
        }
        self.c.last_merge = Some(rq);
    }

    fn coalesce(&mut self, dir: usize, low: usize, high: usize) {
        self.c.all[low].len += self.c.all[high].len;
        if self.c.all[high].expires < self.c.all[low].expires {
            self.c.all[low].expires = self.c.all[high].expires;
            self.fifo[dir].retain(|&i| i != low);
            let at = self.fifo[dir].iter().position(|&i| i == high).unwrap();
            self.fifo[dir][at] = low;
        }
        self.fifo[dir].retain(|&i| i != high);
        let at = self.sorted[dir].iter().position(|&i| i == high).unwrap();
        if self.next[dir] == Some(high) {
            self.next[dir] = self.sorted[dir].get(at + 1).copied();
        }
        self.sorted[dir].remove(at);
        self.c.all[high].state = State::Gone;
        self.c.all[high].mergeable = false;
        self.c.hash(low);
        self.c.last_merge = Some(low);
    }
}

impl Model for Stepping {
    fn submit(&mut self, tick: u64, start: u64, len: u64, write: bool) -> Fate {
        if let Some((rq, end)) = self.search(start, len, write) {
            if self.c.all[rq].len + len <= self.c.max_sectors {
                self.c.grow(rq, len, end);
                self.after_merge(rq, end);
                return Fate::Joined(end);
            }
            self.c.seal(rq);
        }
        let dir = usize::from(write);
        let rq = self.c.queue(start, len, write, tick + self.expire[dir]);
        self.add_sorted(rq);
        self.fifo[dir].push(rq);
        Fate::New
    }

    fn take(&mut self, tick: u64) -> Option<(u64, u64, bool)> {
        if self.c.chosen.is_empty() {
            let (reads, writes) = (!self.fifo[0].is_empty(), !self.fifo[1].is_empty());
            let candidate = self.next[1].or(self.next[0]);
            let rq = if let Some(rq) = candidate.filter(|_| self.batching < self.fifo_batch) {
                rq
            } else {
                let dir = if reads {
                    let starved = self.c.starved;
                    self.c.starved += i64::from(writes);
                    usize::from(writes && starved >= self.writes_starved)
                } else if writes {
                    1
                } else {
                    return None;
                };
                if dir == 1 {
                    self.c.starved = 0;
                }
                self.batching = 0;
                let head = self.fifo[dir][0];
                let expires = self.c.all[head].expires;
                let late = if self.is_4_20 { tick >= expires } else { tick > expires };
                if late { head } else { self.next[dir].unwrap_or(head) }
            };
            self.batching += 1;
            self.step(rq);
            self.c.chosen.push(rq);
        }
        let rq = self.c.chosen.remove(0);
        self.c.all[rq].state = State::Gone;
        let r = &self.c.all[rq];
        Some((r.start, r.len, r.write))
    }
}

// ---- D25

struct Moving {
    c: Common,
    /// `[reads, writes]`, in the list's own order.
    list: [Vec<usize>; 2],
    fifo: Vec<usize>,
    last_sector: u64,
    fifo_batch: i64,
    seek_cost: i64,
    writes_starved: i64,
    read_expire: u64,
    is_2_5_38: bool,
}

/// Where a bio that does not merge is inserted.
#[derive(Clone, Copy)]
enum Place {
    Head,
    Tail,
    After(usize),
    Before(usize),
}

fn in_between(bio: u64, r: u64, s: u64) -> bool {
    if r < bio && bio < s {
        true
    } else if s > r {
        false
    } else {
        bio > r || bio < s
    }
}

impl Moving {
    /// The list that contains a request, and its place in it.
    fn list_of(&mut self, rq: usize) -> (&mut Vec<usize>, usize) {
        let dir = usize::from(self.c.all[rq].write);
        let list = if self.c.chosen.contains(&rq) { &mut self.c.chosen } else { &mut self.list[dir] };
        let at = list.iter().position(|&i| i == rq).unwrap();
        (list, at)
    }

    fn search(&mut self, start: u64, len: u64, write: bool) -> Result<(usize, End), Place> {
        let dir = usize::from(write);
        if let Some(last) = self.c.last_merge
            && let Some(end) = self.c.end_of(last, start, len, write)
        {
            return Ok((last, end));
        }
        if let Some(hit) = self.c.find_by_end(start)
            && self.c.all[hit].write == write
        {
            return Ok((hit, End::Back));
        }
        let list = &self.list[dir];
        for at in (0..list.len()).rev() {
            let r = &self.c.all[list[at]];
            if list.get(at + 1).is_some_and(|&s| in_between(start, r.start, self.c.all[s].start)) {
                return Err(Place::After(list[at]));
            }
            if r.start == start + len && r.mergeable {
                return Ok((list[at], End::Front));
            }
        }
        let arm = match self.c.chosen.last() {
            Some(&tail) if !self.is_2_5_38 => self.c.all[tail].end(),
            _ => self.last_sector,
        };
        let in_front = list.first().is_some_and(|&first| start + len < self.c.all[first].start && start > arm);
        Err(if in_front { Place::Head } else { Place::Tail })
    }

    fn after_merge(&mut self, rq: usize, end: End) {
        self.c.hash(rq);
        self.c.last_merge = Some(rq);
        let (list, at) = self.list_of(rq);
        let pair = match end {
            End::Back => list.get(at + 1).map(|&behind| (rq, behind)),
            End::Front => at.checked_sub(1).map(|at| (list[at], rq)),
        };
        if let Some((low, high)) = pair.filter(|&(low, high)| self.c.can_coalesce(low, high)) {
            self.coalesce(low, high);
        }
    }

    fn coalesce(&mut self, low: usize, high: usize) {
        self.c.all[low].len += self.c.all[high].len;
        self.c.hash(low);
        if self.fifo.contains(&low) && self.fifo.contains(&high) && self.c.all[high].expires < self.c.all[low].expires {
            self.c.all[low].expires = self.c.all[high].expires;
            self.fifo.retain(|&i| i != low);
            let at = self.fifo.iter().position(|&i| i == high).unwrap();
            self.fifo[at] = low;
        }
        self.fifo.retain(|&i| i != high);
        let (list, at) = self.list_of(high);
        list.remove(at);
        self.c.all[high].state = State::Gone;
        self.c.seal(high);
    }

    fn place(&mut self, rq: usize, place: Place) {
        let dir = usize::from(self.c.all[rq].write);
        match place {
            Place::Head => self.list[dir].insert(0, rq),
            Place::Tail => self.list[dir].push(rq),
            Place::After(beside) => {
                let (list, at) = self.list_of(beside);
                list.insert(at + 1, rq);
            }
            Place::Before(beside) => {
                let (list, at) = self.list_of(beside);
                list.insert(at, rq);
            }
        }
    }

    /// D25.5.
    fn begin(&mut self, tick: u64) -> Option<usize> {
        let (reads, writes) = (!self.list[0].is_empty(), !self.list[1].is_empty());
        let write = if reads {
            let starved = self.c.starved;
            self.c.starved += i64::from(writes);
            writes && starved >= self.writes_starved
        } else {
            writes
        };
        if write {
            self.c.starved = 0;
            return Some(self.list[1][0]);
        }
        let late = self.fifo.first().filter(|&&head| tick > self.c.all[head].expires);
        late.copied().or(self.list[0].first().copied())
    }

    /// D25.6.
    fn move_batch(&mut self, first: usize) {
        let dir = usize::from(self.c.all[first].write);
        let mut budget = self.fifo_batch;
        let mut last = self.last_sector;
        let mut rq = first;
        loop {
            let at = self.list[dir].iter().position(|&i| i == rq).unwrap();
            let successor = self.list[dir].get(at + 1).copied();
            self.list[dir].remove(at);
            self.fifo.retain(|&i| i != rq);
            self.c.chosen.push(rq);
            self.c.all[rq].state = State::Chosen;
            let (start, len) = (self.c.all[rq].start, self.c.all[rq].len as i64);
            let contiguous = if self.is_2_5_38 { 1 } else { (len + 255) / 256 };
            budget -= if start == last { contiguous } else { self.seek_cost };
            let Some(next) = successor.filter(|_| budget > 0) else { return };
            last = self.c.all[rq].end();
            rq = next;
        }
    }
}

impl Model for Moving {
    fn submit(&mut self, tick: u64, start: u64, len: u64, write: bool) -> Fate {
        let empty = self.c.chosen.is_empty() && self.list.iter().all(Vec::is_empty);
        let found = if empty { Err(Place::Tail) } else { self.search(start, len, write) };
        let place = match found {
            Ok((rq, end)) if self.c.all[rq].len + len <= self.c.max_sectors => {
                self.c.grow(rq, len, end);
                self.after_merge(rq, end);
                return Fate::Joined(end);
            }
            Ok((rq, end)) => {
                self.c.seal(rq);
                self.c.last_merge = None;
                if end == End::Back { Place::After(rq) } else { Place::Before(rq) }
            }
            Err(place) => place,
        };
        let rq = self.c.queue(start, len, write, tick + self.read_expire);
        self.place(rq, place);
        if !write {
            self.fifo.push(rq);
        }
        Fate::New
    }

    fn take(&mut self, tick: u64) -> Option<(u64, u64, bool)> {
        if self.c.chosen.is_empty() {
            let first = self.begin(tick)?;
            self.move_batch(first);
        }
        let rq = self.c.chosen.remove(0);
        self.fifo.retain(|&i| i != rq);
        self.c.seal(rq);
        self.c.all[rq].state = State::Gone;
        self.last_sector = self.c.all[rq].end();
        let r = &self.c.all[rq];
        Some((r.start, r.len, r.write))
    }
}

// ---- side by side

/// The distribution of the bios of one sequence.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// Far apart: nothing can merge.
    Apart,
    /// Close: most can merge, often up to the limit, and starts collide.
    Close,
}

const MS: u64 = 1_000_000;

/// Small knobs drawn at random, so that every rule takes effect.
#[derive(Debug)]
struct Knobs {
    read_expire: u64,
    write_expire: u64,
    fifo_batch: i64,
    writes_starved: i64,
    seek_cost: i64,
    front_merges: bool,
}

impl Knobs {
    fn draw(dice: &mut Dice) -> Knobs {
        Knobs {
            read_expire: [0, 5, 50, 500][dice.below(4) as usize],
            write_expire: [0, 20, 200, 5000][dice.below(4) as usize],
            fifo_batch: [1, 2, 3, 16, 40][dice.below(5) as usize],
            writes_starved: dice.below(4) as i64,
            seek_cost: [1, 4, 16][dice.below(3) as usize],
            front_merges: dice.below(4) > 0,
        }
    }

    fn stepping(&self, is_4_20: bool, hz: u64, max_sectors: u64) -> Box<dyn Model> {
        let ticks = |ms: u64| (ms * hz).div_ceil(1000);
        Box::new(Stepping {
            c: Common { max_sectors, ..Common::default() },
            fifo: Default::default(),
            sorted: Default::default(),
            next: [None, None],
            batching: 0,
            fifo_batch: self.fifo_batch,
            writes_starved: self.writes_starved,
            expire: [ticks(self.read_expire), ticks(self.write_expire)],
            front_merges: self.front_merges,
            is_4_20,
        })
    }

    fn moving(&self, is_2_5_38: bool, max_sectors: u64) -> Box<dyn Model> {
        Box::new(Moving {
            c: Common { max_sectors, ..Common::default() },
            list: Default::default(),
            fifo: Vec::new(),
            last_sector: 0,
            fifo_batch: self.fifo_batch,
            seek_cost: self.seek_cost,
            writes_starved: self.writes_starved,
            read_expire: self.read_expire,
            is_2_5_38,
        })
    }

    fn apply(&self, rig: &mut Rig) {
        let knobs = [
            ("read_expire", (self.read_expire * MS) as i64),
            ("write_expire", (self.write_expire * MS) as i64),
            ("fifo_batch", self.fifo_batch),
            ("writes_starved", self.writes_starved),
            ("seek_cost", self.seek_cost),
            ("front_merges", i64::from(self.front_merges)),
        ];
        for (name, raw) in knobs {
            if rig.queue.elevator().tunables().find(name).is_ok() {
                rig.queue.set(rig.now, name, raw).unwrap();
            }
        }
    }
}

/// How often the situations occurred that the rules are about.
#[derive(Debug, Default)]
struct Met {
    issues: u32,
    merges: u32,
}

/// One sequence of operations, applied to both.
fn play(spec: &str, seed: u64, load: Load, met: &mut Met) {
    let mut dice = Dice(seed);
    let mut knobs = Knobs::draw(&mut dice);
    // Which of several equal starts 4.20's look-up finds depends on the shape of its tree, which is not modelled.
    knobs.front_merges &= spec != "deadline@4.20";
    let max_sectors = [16, 64, 1024][dice.below(3) as usize];
    let mut model = match spec {
        "deadline@2.5.38" => knobs.moving(true, max_sectors),
        "deadline@2.5.45" => knobs.moving(false, max_sectors),
        "deadline@2.6.33" => knobs.stepping(false, 1000, max_sectors),
        _ => knobs.stepping(true, 250, max_sectors),
    };
    let hz = if spec == "deadline@4.20" { 250 } else { 1000 };
    let limits = Limits { max_sectors: max_sectors as u32, max_segments: u16::MAX, ..Limits::default() };
    let mut rig = Rig::new(spec, QueueConfig { limits, depth: u32::MAX, ..QueueConfig::default() });
    knobs.apply(&mut rig);
    let mut starts: Vec<u64> = Vec::new();
    for step in 0..150 {
        let advance = [0, MS / 3, MS, 4 * MS, 30 * MS][dice.below(5) as usize];
        rig.now = Instant::from_ns(rig.now.as_ns() + advance);
        let tick = rig.now.as_ns() / (1_000_000_000 / hz);
        let submits = match load {
            Load::Apart => 3,
            Load::Close => 4,
        };
        if dice.below(5) < submits {
            let write = dice.below(2) == 1;
            let (start, len) = match load {
                Load::Apart => (dice.below(1000) * 1000, 8),
                Load::Close => (dice.below(60) * 4, 4 + 4 * dice.below(3)),
            };
            if matches!(load, Load::Apart) && starts.contains(&start) {
                continue;
            }
            starts.push(start);
            let bio = if write { Bio::write_back } else { Bio::read };
            let became = rig.submit(bio(0, ME, Sector(start), len as u32));
            let fate = model.submit(tick, start, len, write);
            let real = match became {
                Submitted::Inserted(_) => Fate::New,
                Submitted::Merged { end, .. } => Fate::Joined(end),
                other => panic!("{other:?}"),
            };
            assert_eq!(real, fate, "{spec} seed {seed} step {step}: bio at {start}, {knobs:?}");
            met.merges += u32::from(fate != Fate::New);
        } else {
            compare_issue(&mut rig, &mut *model, tick, &format!("{spec} seed {seed} step {step} {knobs:?}"), met);
        }
    }
    let tick = rig.now.as_ns() / (1_000_000_000 / hz);
    while compare_issue(&mut rig, &mut *model, tick, &format!("{spec} seed {seed} at the end {knobs:?}"), met) {}
}

fn compare_issue(rig: &mut Rig, model: &mut dyn Model, tick: u64, place: &str, met: &mut Met) -> bool {
    let real = match rig.next() {
        Next::Issue(command) => Some((command.start.0, u64::from(command.sectors), command.op == blksched::Op::Write)),
        Next::Empty => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(real, model.take(tick), "{place}");
    met.issues += u32::from(real.is_some());
    real.is_some()
}

fn compare(spec: &str, load: Load) -> Met {
    let mut met = Met::default();
    for seed in 0..400 {
        play(spec, seed, load, &mut met);
    }
    met
}

#[test]
fn without_merging_every_era_decides_as_its_model() {
    for spec in ["deadline@2.5.38", "deadline@2.5.45", "deadline@2.6.33", "deadline@4.20"] {
        let met = compare(spec, Load::Apart);
        assert!(met.merges == 0 && met.issues > 20_000, "{spec}: {met:?}");
    }
}

fn with_merging(spec: &str) {
    let met = compare(spec, Load::Close);
    assert!(met.merges > 8_000 && met.issues > 8_000, "{met:?}");
}

#[test]
fn with_merging_2_5_38_decides_as_its_model() {
    with_merging("deadline@2.5.38");
}

#[test]
fn with_merging_2_5_45_decides_as_its_model() {
    with_merging("deadline@2.5.45");
}

#[test]
fn with_merging_2_6_33_decides_as_its_model() {
    with_merging("deadline@2.6.33");
}

#[test]
fn with_merging_4_20_decides_as_its_model_but_for_front_merges_by_look_up() {
    with_merging("deadline@4.20");
}
