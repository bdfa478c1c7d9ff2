//! ADIOS against a small model of it, vectors and linear scans, written from docs/behaviour/adios-3.1.md (A1 to A11)
//! alone. The same random bios, dispatches, completions and knobs must give the same merges and the same commands in
//! the same order.

use crate::dice::Dice;
use crate::queue_kit::{ME, Rig};
use blksched::author::RequestId;
use blksched::reasons::End;
use blksched::{Bio, Hints, Instant, Limits, Next, Op, QueueConfig, Sector, Submitted};

const HZ: u64 = 250;
const TICK: u64 = 1_000_000_000 / HZ;
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::WriteZeroes];
const READ: usize = 0;
const WRITE: usize = 1;
const DISCARD: usize = 2;
const OTHER: usize = 3;
const MS: u64 = 1_000_000;

/// A request; `kind` is its place in [`OPS`].
#[derive(Clone, Copy, Debug, Default)]
struct Rq {
    kind: usize,
    start: u64,
    len: u64,
    sync: bool,
    born: u64,
    bytes: u64,
    pred: u64,
    deadline: u64,
    issued: u64,
    /// In a tree: when it was put there.
    put: Option<u64>,
    /// Of several with the same end the latest counts.
    hashed: u64,
}

impl Rq {
    fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// Sums of latency, weight and bytes.
type Bucket = [u64; 3];
/// Of small requests, and of large ones.
type Samples = [[Bucket; 64]; 2];

#[derive(Clone, Debug)]
struct Latency {
    base: u64,
    slope: u64,
    small: [u64; 2],
    large: [u64; 2],
    updated: u64,
    samples: Samples,
}

#[derive(Clone, Debug, Default)]
struct Page {
    by_sector: bool,
    lists: [Vec<usize>; 4],
    counts: [u64; 4],
}

impl Page {
    fn is_empty(&self) -> bool {
        self.lists.iter().all(Vec::is_empty)
    }
}

/// The knobs that are drawn.
#[derive(Clone, Copy, Debug)]
struct Knobs {
    rotational: bool,
    window: u64,
    refill: u64,
    limit: u64,
    by_sector: bool,
    compliance: u64,
    limits: [u64; 4],
    kreqs: u64,
    resist: u64,
    priority: i64,
}

impl Knobs {
    fn draw(dice: &mut Dice) -> Knobs {
        let rotational = dice.index(2) == 1;
        Knobs {
            rotational,
            window: [MS, 4 * MS, 22 * MS][dice.index(3)],
            refill: [0, 20, 100][dice.index(3)],
            limit: [5 * MS, 500 * MS][dice.index(2)],
            by_sector: rotational && dice.index(2) == 1,
            compliance: dice.index(2) as u64,
            limits: [[2, 36][dice.index(2)], [3, 72][dice.index(2)], 1, 1],
            kreqs: [1, 5000][dice.index(2)],
            resist: 1 + dice.index(3) as u64,
            priority: [-20, 0, 8, 19][dice.index(4)],
        }
    }

    fn apply(&self, rig: &mut Rig) {
        let knobs = [
            ("global_latency_window", self.window as i64),
            ("bq_refill_below_ratio", self.refill as i64),
            ("lat_model_latency_limit", self.limit as i64),
            ("batch_order", i64::from(self.by_sector)),
            ("compliance_flags", self.compliance as i64),
            ("batch_limit_read", self.limits[READ] as i64),
            ("batch_limit_write", self.limits[WRITE] as i64),
            ("shrink_at_kreqs", self.kreqs as i64),
            ("shrink_resist", self.resist as i64),
            ("read_priority", self.priority),
        ];
        knobs.into_iter().for_each(|(name, raw)| rig.queue.set(rig.now, name, raw).unwrap());
    }

    fn weight(&self) -> u64 {
        match self.priority {
            -20 => 88761,
            0 => 1024,
            8 => 172,
            _ => 15,
        }
    }
}

/// A2.
struct Model {
    knobs: Knobs,
    all: Vec<Rq>,
    early: Vec<usize>,
    pages: [Page; 2],
    page: usize,
    barrier: Vec<usize>,
    pending: bool,
    bias: i64,
    stable: bool,
    inflight: u64,
    load: u64,
    last_time: u64,
    last_pos: u64,
    head_pos: u64,
    down: bool,
    models: [Latency; 4],
    shared: Samples,
    timer: Option<u64>,
    last_merge: Option<usize>,
    clock: u64,
}

const NONE: Samples = [[[0; 3]; 64]; 2];

impl Model {
    fn new(knobs: Knobs) -> Model {
        let latency = Latency { base: 0, slope: 0, small: [0; 2], large: [0; 2], updated: 0, samples: NONE };
        Model {
            knobs,
            all: Vec::new(),
            early: Vec::new(),
            pages: Default::default(),
            page: 0,
            barrier: Vec::new(),
            pending: false,
            bias: 0,
            stable: false,
            inflight: 0,
            load: 0,
            last_time: 0,
            last_pos: 0,
            head_pos: 0,
            down: false,
            models: [0; 4].map(|_| latency.clone()),
            shared: NONE,
            timer: None,
            last_merge: None,
            clock: 0,
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    // ---- A4, A5

    /// The request that the bio joins, and where; or the new request.
    fn submit(&mut self, now: u64, bio: Rq) -> (usize, Option<End>) {
        if let Some((into, end)) = self.candidate(&bio) {
            self.all[into].len += bio.len;
            if end == End::Front {
                self.all[into].start = bio.start;
            } else {
                self.all[into].hashed = self.tick();
            }
            self.put(into);
            self.last_merge = Some(into);
            return (into, Some(end));
        }
        let (model, bytes) = (&self.models[bio.kind], bio.len * 512);
        let pred = model.base + model.slope * bytes.saturating_sub(4096).div_ceil(1024);
        self.all.push(Rq { born: now, bytes, pred, ..bio });
        let rq = self.all.len() - 1;
        if !self.stable {
            self.early.push(rq);
            (self.inflight, self.load) = (self.inflight + 1, self.load + pred);
            self.stable = self.models[READ].base > 0 && self.models[WRITE].base > 0;
        } else if self.pending || bio.kind == DISCARD {
            self.barrier.push(rq);
            self.pending = true;
        } else {
            self.enter_tree(rq);
        }
        (rq, None)
    }

    fn candidate(&self, bio: &Rq) -> Option<(usize, End)> {
        if self.pending || bio.kind > WRITE {
            return None;
        }
        let adjoins = |rq: usize| match &self.all[rq] {
            other if other.kind != bio.kind => None,
            other if other.end() == bio.start => Some((rq, End::Back)),
            other if bio.end() == other.start => Some((rq, End::Front)),
            _ => None,
        };
        let by_hash = || self.by_end(bio.start).filter(|&rq| self.all[rq].kind == bio.kind).map(|rq| (rq, End::Back));
        self.last_merge.and_then(adjoins).or_else(by_hash)
    }

    fn by_end(&self, end: u64) -> Option<usize> {
        let live = |rq: &usize| self.all[*rq].put.is_some() && self.all[*rq].kind <= WRITE;
        let live = (0..self.all.len()).filter(live).filter(|&rq| self.all[rq].end() == end);
        live.max_by_key(|&rq| self.all[rq].hashed)
    }

    fn put(&mut self, rq: usize) {
        let put = self.tick();
        let target = [2 * MS, 2000 * MS, 8000 * MS, 0][self.all[rq].kind];
        let own = &mut self.all[rq];
        let pred = if self.knobs.compliance & 1 == 0 { own.pred } else { 0 };
        own.deadline = if own.sync { own.born } else { own.born + target + pred };
        own.put = Some(put);
    }

    fn enter_tree(&mut self, rq: usize) {
        if self.all[rq].kind <= WRITE && self.is_appended(rq) {
            return;
        }
        self.put(rq);
        if self.all[rq].kind <= WRITE {
            self.all[rq].hashed = self.tick();
            self.last_merge = self.last_merge.or(Some(rq));
        }
    }

    fn is_appended(&mut self, rq: usize) -> bool {
        let fits = |model: &Model, low: usize, high: usize| {
            let (low, high) = (&model.all[low], &model.all[high]);
            low.end() == high.start && low.kind == high.kind
        };
        if let Some(last) = self.last_merge.filter(|&last| fits(self, last, rq)) {
            self.absorb(last, rq);
            return true;
        }
        let mut grown = rq;
        while let Some(low) = self.by_end(self.all[grown].start).filter(|&low| fits(self, low, grown)) {
            self.absorb(low, grown);
            grown = low;
        }
        grown != rq
    }

    fn absorb(&mut self, into: usize, victim: usize) {
        self.all[victim].put = None;
        let Rq { len, born, .. } = self.all[victim];
        self.all[into].len += len;
        self.all[into].born = self.all[into].born.min(born);
        self.all[into].hashed = self.tick();
        self.last_merge = Some(into);
    }

    // ---- A6

    fn first(&self, others: bool) -> Option<usize> {
        let mine = |rq: &usize| self.all[*rq].put.is_some() && (self.all[*rq].kind != READ) == others;
        (0..self.all.len()).filter(mine).min_by_key(|&rq| (self.all[rq].deadline >> 20, self.all[rq].put))
    }

    fn dispatch(&mut self, now: u64) -> Option<usize> {
        let rq = loop {
            if !self.early.is_empty() {
                let rq = self.early.remove(0);
                if self.early.is_empty() {
                    self.look();
                }
                break rq;
            }
            if let Some(rq) = self.of_batch() {
                break rq;
            }
            if !self.pending {
                return None;
            }
            self.release();
        };
        if self.knobs.rotational {
            self.head_pos = self.all[rq].end();
        }
        self.all[rq].issued = now;
        Some(rq)
    }

    fn of_batch(&mut self) -> Option<usize> {
        let (current, other) = (!self.pages[self.page].is_empty(), !self.pages[1 - self.page].is_empty());
        let queued = self.first(false).or(self.first(true)).is_some();
        let low = self.load == 0 || self.load < self.knobs.window * self.knobs.refill / 100;
        if !other && queued && (!current || low) {
            self.fill();
        }
        if !current && !self.pages[1 - self.page].is_empty() {
            self.page = 1 - self.page;
            self.look();
        }
        let (down, page) = (self.down, &mut self.pages[self.page]);
        let list = page.lists.iter().position(|list| !list.is_empty())?;
        let from_behind = page.by_sector && list == 1 && down;
        if from_behind { page.lists[list].pop() } else { Some(page.lists[list].remove(0)) }
    }

    fn look(&mut self) {
        let page = &self.pages[self.page];
        let middle = page.lists[1].first().zip(page.lists[1].last());
        let middle = middle.map(|(&first, &last)| (self.all[first].start + self.all[last].start) / 2);
        self.down = self.knobs.rotational && page.by_sector && middle.is_some_and(|middle| self.head_pos > middle);
    }

    /// A6.1.
    fn fill(&mut self) {
        let mut page = Page { by_sector: self.knobs.by_sector, ..Page::default() };
        let (mut added, mut taken) = (0, 0);
        loop {
            let b = self.bias < 0;
            let (rq, upd) = match (self.first(b), self.first(!b)) {
                (Some(own), Some(other)) => (own, self.all[own].deadline > self.all[other].deadline),
                (Some(own), None) => (own, true),
                (None, Some(other)) => (other, false),
                (None, None) => break,
            };
            let Rq { kind, pred, deadline, born, .. } = self.all[rq];
            let full = page.counts[kind] >= self.knobs.limits[kind];
            if taken > 0 && (self.models[kind].base == 0 || full || self.load + added + pred > self.knobs.window) {
                break;
            }
            let sign = if b { 1 } else { -1 };
            match upd {
                true if pred == 0 => self.bias = sign,
                true => self.bias += sign * (pred * if b { 1024 } else { self.knobs.weight() } / 1024) as i64,
                false => {}
            }
            self.all[rq].put = None;
            self.last_merge = self.last_merge.filter(|&last| last != rq);
            let list = match (page.by_sector, kind) {
                (false, kind) => kind,
                (true, OTHER) => 3,
                (true, _) => usize::from(deadline != born),
            };
            page.lists[list].push(rq);
            page.counts[kind] += 1;
            (added, taken) = (added + pred, taken + 1);
        }
        if page.by_sector && page.counts[WRITE] > 1 {
            page.lists[1].sort_by_key(|&rq| self.all[rq].start);
        }
        (self.inflight, self.load) = (self.inflight + taken, self.load + added);
        self.pages[1 - self.page] = page;
    }

    /// A6.3.
    fn release(&mut self) {
        let barrier = self.barrier.remove(0);
        self.early.push(barrier);
        (self.inflight, self.load) = (self.inflight + 1, self.load + self.all[barrier].pred);
        while let Some(&next) = self.barrier.first().filter(|&&next| self.all[next].kind != DISCARD) {
            self.barrier.remove(0);
            self.enter_tree(next);
        }
        self.pending = !self.barrier.is_empty();
    }

    // ---- A8 to A10

    fn complete(&mut self, now: u64, rq: usize) {
        let Rq { kind, start, bytes, pred, issued, .. } = self.all[rq];
        (self.inflight, self.load) = (self.inflight - 1, self.load - pred);
        if kind == OTHER {
            if self.knobs.rotational {
                self.last_pos = 0;
            }
            return;
        }
        let from = if self.last_time == 0 { issued } else { self.last_time };
        self.last_time = if self.inflight > 0 { now } else { 0 };
        let lat = now - from;
        if lat > self.knobs.limit {
            return;
        }
        let mut weight = 1;
        if self.knobs.rotational {
            if self.last_pos > 0 {
                weight += u64::from(u64::BITS - start.abs_diff(self.last_pos).leading_zeros());
            }
            self.last_pos = start;
        }
        let model = &mut self.models[kind];
        if bytes <= 4096 {
            add(&mut model.samples[0], number(lat, model.base.max(1)), [weight * lat, weight, 0]);
            if model.base == 0 {
                self.update(kind, now);
            }
        } else if model.base > 0 && pred > 0 {
            add(&mut model.samples[1], number(lat, pred), [weight * lat, weight, weight * bytes]);
        }
        let due = now / TICK + HZ / 10;
        self.timer = Some(self.timer.map_or(due, |before| before.min(due)));
    }

    fn elapse(&mut self, now: u64) {
        self.timer = None;
        (0..4).for_each(|kind| self.update(kind, now));
    }

    fn update(&mut self, kind: usize, now: u64) {
        let (model, knobs) = (&mut self.models[kind], &self.knobs);
        for (size, nth) in (0..2).flat_map(|size| (0..64).map(move |nth| (size, nth))) {
            add(&mut self.shared[size], nth, std::mem::take(&mut model.samples[size][nth]));
        }
        let total = |buckets: &[Bucket; 64]| buckets.iter().map(|bucket| bucket[1]).sum::<u64>();
        let [small, large] = [0, 1].map(|size| total(&self.shared[size]));
        let base = model.base;
        let elapsed = base == 0 || model.updated + 1500 * HZ / 1000 <= now / TICK;
        let mut processed = [false; 2];
        if small > 0 && (elapsed || small >= 1024) {
            let [latency, weight, _] = walk(&self.shared[0], if base == 0 { small } else { small * 99 / 100 });
            self.shared[0] = NONE[0];
            let n = model.small[1];
            if n >= 1000 * knobs.kreqs && n >> knobs.resist > 0 {
                model.small = model.small.map(|sum| sum - (sum >> knobs.resist));
            }
            if weight > 0 {
                model.small = [model.small[0] + latency, model.small[1] + weight];
                processed[0] = true;
            }
        }
        if large > 0 && (elapsed || large >= 1024 || model.slope == 0) {
            let counted = if model.slope == 0 { large } else { large * 99 / 100 };
            let [latency, weight, bytes] = walk(&self.shared[1], counted);
            self.shared[1] = NONE[1];
            if weight > 0 {
                let latency = if latency > base { latency - base } else { latency };
                model.large = [model.large[0] + latency, model.large[1] + bytes];
                processed[1] = true;
            }
        }
        if processed[0] {
            model.base = model.small[0] / model.small[1];
        }
        if processed[1] && model.large[1] > 0 {
            model.slope = model.large[0] / model.large[1].div_ceil(1024);
        }
        if elapsed || processed != [false; 2] {
            model.updated = now / TICK;
        }
    }
}

fn add(buckets: &mut [Bucket; 64], nth: usize, sums: Bucket) {
    (0..3).for_each(|sum| buckets[nth][sum] += sums[sum]);
}

fn number(lat: u64, reference: u64) -> usize {
    let number = match lat {
        lat if lat < 2 * reference => 20 * lat / reference,
        lat if lat < 5 * reference => 10 * lat / reference + 20,
        lat => 3 * lat / reference + 40,
    };
    (number % 256).min(63) as usize
}

fn walk(buckets: &[Bucket; 64], threshold: u64) -> Bucket {
    let mut sum = [0; 3];
    for bucket in buckets {
        if sum[1] + bucket[1] >= threshold {
            let part = threshold - sum[1];
            let of = |whole: u64| (whole * part).checked_div(bucket[1]).unwrap_or(0);
            if bucket[1] > 0 {
                sum = [sum[0] + of(bucket[0]), threshold, sum[2] + of(bucket[2])];
            }
            break;
        }
        (0..3).for_each(|nth| sum[nth] += bucket[nth]);
    }
    sum
}

// ---- side by side

/// How often the situations occurred that the rules are about.
#[derive(Debug, Default)]
struct Met {
    merges: u32,
    batched: u32,
    released: u32,
    sorted: u32,
}

struct Both {
    rig: Rig,
    model: Model,
    /// In the device: ours, and the model's.
    device: Vec<(RequestId, usize)>,
    place: String,
}

impl Both {
    fn new(seed: u64, dice: &mut Dice) -> Both {
        let knobs = Knobs::draw(dice);
        let limits =
            Limits { rotational: knobs.rotational, max_sectors: 1 << 20, max_segments: u16::MAX, ..Limits::default() };
        let mut rig = Rig::new("adios", QueueConfig { limits, depth: u32::MAX, ..QueueConfig::default() });
        knobs.apply(&mut rig);
        Both { rig, model: Model::new(knobs), device: Vec::new(), place: format!("seed {seed}, {knobs:?}") }
    }

    /// Time passes, and the timer fires at its moments.
    fn pass(&mut self, by: u64) {
        let until = Instant::from_ns(self.rig.now.as_ns() + by);
        while let Some(due) = self.rig.queue.deadline().filter(|due| *due <= until) {
            assert_eq!(self.model.timer.map(|tick| tick * TICK), Some(due.as_ns()), "{}", self.place);
            self.rig.queue.elapse(due);
            self.model.elapse(due.as_ns());
        }
        let missing = self.model.timer.is_some_and(|tick| tick * TICK <= until.as_ns());
        assert!(!missing, "{}: ours has no timer", self.place);
        self.rig.now = until;
    }

    fn submit(&mut self, dice: &mut Dice, met: &mut Met) {
        let kind = [READ, READ, READ, WRITE, WRITE, WRITE, WRITE, DISCARD, OTHER][dice.index(9)];
        let kind = if kind == DISCARD && dice.index(12) > 0 { READ } else { kind };
        let (start, len) = (8 * dice.index(300) as u64, [8, 8, 8, 16, 64][dice.index(5)]);
        let sync = dice.index(3) == 0;
        let bio = Bio { op: OPS[kind], ..Bio::write_back(0, ME, Sector(start), len) };
        let became = self.rig.submit(bio.with_hints(Hints { req_sync: sync, ..bio.hints }));
        let rq = Rq { kind, start, len: u64::from(len), sync, ..Rq::default() };
        let (_, joined) = self.model.submit(self.rig.now.as_ns(), rq);
        let ours = match became {
            Submitted::Merged { end, .. } => Some(end),
            Submitted::Inserted(_) => None,
            other => panic!("{}: {other:?}", self.place),
        };
        assert_eq!(ours, joined, "{}: {bio:?}", self.place);
        met.merges += u32::from(joined.is_some());
    }

    fn dispatch(&mut self, met: &mut Met) -> bool {
        let held = self.model.pending;
        let expected = self.model.dispatch(self.rig.now.as_ns());
        let ours = match self.rig.next() {
            Next::Issue(command) => Some((command.rq, command.start.0, u64::from(command.sectors), command.op)),
            Next::Empty => None,
            other => panic!("{}: {other:?}", self.place),
        };
        let known = |rq: usize| (self.model.all[rq].start, self.model.all[rq].len, OPS[self.model.all[rq].kind]);
        let shown = ours.map(|(_, start, len, op)| (start, len, op));
        assert_eq!(shown, expected.map(known), "{}", self.place);
        self.device.extend(ours.map(|(rq, ..)| rq).zip(expected));
        let page = &self.model.pages[self.model.page];
        met.batched += u32::from(!page.is_empty());
        met.released += u32::from(held && !self.model.pending);
        met.sorted += u32::from(self.model.down);
        ours.is_some()
    }

    fn complete(&mut self, nth: usize) {
        if !self.device.is_empty() {
            let (ours, model) = self.device.remove(nth % self.device.len());
            self.rig.complete(ours);
            self.model.complete(self.rig.now.as_ns(), model);
        }
    }
}

#[test]
fn random_calls_are_answered_as_the_note_says() {
    let mut met = Met::default();
    for seed in 0..120 {
        let mut dice = Dice(seed);
        let mut both = Both::new(seed, &mut dice);
        for _ in 0..600 {
            both.pass([0, 20_000, 300_000, 2 * MS, 40 * MS][dice.index(5)]);
            // Bursts, so that batches fill, and pauses, in which everything drains.
            match dice.index(12) {
                0..5 => (0..=dice.index(3)).for_each(|_| both.submit(&mut dice, &mut met)),
                5..9 => drop(both.dispatch(&mut met)),
                9..11 => (0..=dice.index(3)).for_each(|_| both.complete(dice.index(100))),
                _ => while dice.index(40) > 0 && both.dispatch(&mut met) {},
            }
        }
        while both.dispatch(&mut met) {}
    }
    assert!(met.merges > 500 && met.batched > 1_000 && met.released > 200 && met.sorted > 100, "{met:?}");
}
