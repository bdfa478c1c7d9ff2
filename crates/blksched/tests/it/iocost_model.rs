//! io.cost against a small model written from docs/behaviour/cgroup-io.md (K1 to K9 and its amendments), under random
//! calls: a tree of groups, bios of every kind, completions, and time. The cost figures (K2) are the library's;
//! latencies, merges and changes of class are not part of it.

use std::collections::VecDeque;

use blksched::author::Jiffies;
use blksched::cgroup::blk_iocost::{Class, Config, DeviceClock, Era, GroupState, IoCost, Overflows, Verdict, Woken};
use blksched::{Bio, GroupId, Hints, Instant, Op, Sector, SubmitterId};

use crate::dice::Dice;

const WHOLE: u64 = 65_536;
const HZ: u64 = 250;
const TICK: u64 = 1_000_000_000 / HZ;
/// Two latencies of 25 ms.
const PERIOD: u64 = 50_000;
const START: u64 = 137_438;
/// Parents, and weights: 3 is an inner group.
const TREE: [(usize, u64); 6] = [(0, 100), (0, 100), (0, 300), (0, 200), (3, 50), (3, 5_000)];

fn up(a: u64, b: u64, c: u64) -> u64 {
    (u128::from(a) * u128::from(b)).div_ceil(u128::from(c)) as u64
}

fn down(a: u64, b: u64, c: u64) -> u64 {
    (u128::from(a) * u128::from(b) / u128::from(c)) as u64
}

#[derive(Clone, Debug, Default)]
struct G {
    active: u64,
    inuse: u64,
    last: u64,
    suma: u64,
    sumu: u64,
    hwa: u64,
    hwi: u64,
    itself: bool,
    vtime: i64,
    done: i64,
    usage: u64,
    cursor: u64,
    waiting: VecDeque<(u32, u64)>,
    debt: u64,
    delay: u64,
    delay_at: u64,
    saved: i64,
    since: u64,
    stamp: u64,
    timer: Option<u64>,
}

struct Model {
    groups: Vec<G>,
    /// Activated last, first.
    list: Vec<usize>,
    /// Per direction: page, sequential, random.
    costs: [[u64; 3]; 2],
    base: u64,
    vrate: u64,
    busy: i64,
    err: i64,
    began: u64,
    began_at: i64,
    margins: [i64; 3],
    ends: Option<u64>,
    period: u64,
    ending: bool,
    forgiven: [u64; 3],
    fast_since: Option<u64>,
}

impl Model {
    fn new(costs: [u64; 6]) -> Model {
        let mut model = Model {
            groups: vec![G::default(); TREE.len()],
            list: Vec::new(),
            costs: [[costs[0], costs[1], costs[2]], [costs[3], costs[4], costs[5]]],
            base: START,
            vrate: START,
            busy: 0,
            err: 0,
            began: 0,
            began_at: 0,
            margins: [0; 3],
            ends: None,
            period: 0,
            ending: false,
            forgiven: [0; 3],
            fast_since: None,
        };
        model.remargin();
        model
    }

    fn remargin(&mut self) {
        self.margins = [10, 20, 50].map(|part| (PERIOD * part / 100 * self.base) as i64);
    }

    fn vnow(&self, ns: u64) -> i64 {
        self.began_at + ((ns / 1000 - self.began) * self.vrate) as i64
    }

    // ---- K4

    fn set(&mut self, ns: u64, id: usize, active: u64, inuse: u64, save: bool) {
        if save {
            self.groups[id].saved = self.vnow(ns) - self.groups[id].vtime;
        }
        let group = &mut self.groups[id];
        let inuse = match group.suma > 0 && !group.itself {
            true => up(active, group.sumu, group.suma),
            false => inuse.min(active).max(1),
        };
        group.last = group.inuse;
        let (mut at, mut new) = (id, (active, inuse));
        while at != 0 && (self.groups[at].active, self.groups[at].inuse) != new {
            let old = std::mem::replace(&mut self.groups[at].active, new.0);
            let old = (old, std::mem::replace(&mut self.groups[at].inuse, new.1));
            at = TREE[at].0;
            let above = &mut self.groups[at];
            above.suma = above.suma + new.0 - old.0;
            above.sumu = above.sumu + new.1 - old.1;
            let weight = TREE[at].1 * WHOLE;
            new = if above.suma == 0 { (0, 0) } else { (weight, up(weight, above.sumu, above.suma)) };
        }
        if !self.ending {
            self.commit();
        }
    }

    fn commit(&mut self) {
        for id in self.list.clone() {
            let (hwa, hwi) = self.shares(id);
            (self.groups[id].hwa, self.groups[id].hwi) = (hwa.max(1), hwi.max(1));
        }
    }

    fn shares(&self, id: usize) -> (u64, u64) {
        if id == 0 {
            return (WHOLE, WHOLE);
        }
        let (hwa, hwi) = self.shares(TREE[id].0);
        let (own, above) = (&self.groups[id], &self.groups[TREE[id].0]);
        if above.suma == 0 || above.sumu == 0 {
            return (hwa, hwi);
        }
        (down(hwa, own.active, above.suma.max(own.active)), down(hwi, own.inuse, above.sumu.max(own.inuse)))
    }

    fn activate(&mut self, ns: u64, id: usize) -> bool {
        if self.list.contains(&id) {
            return true;
        }
        let above = TREE[id].0;
        if self.groups[id].suma > 0 || (above != 0 && self.groups[above].itself) {
            return false;
        }
        if self.ends.is_none() {
            self.begin(ns);
            self.forgiven = [ns / 1000, 0, 0];
        }
        let start = self.vnow(ns) - self.margins[2];
        let group = &mut self.groups[id];
        group.done += start - group.vtime;
        group.vtime = start;
        (group.since, group.itself) = (ns / 1000, true);
        self.list.insert(0, id);
        let weight = TREE[id].1 * WHOLE;
        let last = if self.groups[id].last == 0 { weight } else { self.groups[id].last };
        self.set(ns, id, weight, last, true);
        true
    }

    fn begin(&mut self, ns: u64) {
        (self.began_at, self.began) = (self.vnow(ns), ns / 1000);
        self.ends = Some(ns / TICK + (PERIOD * HZ).div_ceil(1_000_000));
    }

    // ---- K3, K5

    fn throttle(&mut self, ns: u64, task: u32, bio: &Bio, woken: &mut Vec<Woken>) -> Verdict {
        let id = bio.group.0 as usize;
        if id == 0 || !matches!(bio.op, Op::Read | Op::Write) {
            return Verdict::Go { cost: 0 };
        }
        let [page, seq, random] = self.costs[usize::from(bio.op == Op::Write)];
        let cursor = self.groups[id].cursor;
        let far = cursor != 0 && bio.start.0.abs_diff(cursor) / 8 > 4096;
        let abs = page * u64::from(bio.sectors / 8).max(1) + if far { random } else { seq };
        if !self.activate(ns, id) {
            return Verdict::Go { cost: 0 };
        }
        let vnow = self.vnow(ns);
        (self.groups[id].cursor, self.groups[id].stamp) = (bio.end().0, self.period);
        let mut cost = up(abs, WHOLE, self.groups[id].hwi) as i64;
        let G { debt, inuse, active, saved, vtime, .. } = self.groups[id];
        let margin = vnow - vtime - cost;
        if debt == 0 && inuse < active && margin < saved && margin < self.margins[1] {
            let (step, mut claimed) = (u64::from((active * 25 + 99) as u32) / 100, inuse);
            loop {
                claimed += step;
                self.set(ns, id, active, claimed, true);
                cost = up(abs, WHOLE, self.groups[id].hwi) as i64;
                if vtime + cost <= vnow || self.groups[id].inuse >= active {
                    break;
                }
            }
        }
        if self.groups[id].waiting.is_empty() && debt == 0 && vtime + cost <= vnow {
            self.groups[id].vtime += cost;
            self.groups[id].usage += abs;
            return Verdict::Go { cost: cost as u64 };
        }
        if bio.is_as_root() {
            if debt == 0 {
                self.set(ns, id, active, 0, false);
            }
            self.groups[id].debt += abs;
            self.groups[id].usage += abs;
            self.delay(ns, id);
            return Verdict::Debt;
        }
        let claims = debt == 0 && self.groups[id].inuse < active;
        if claims {
            self.set(ns, id, active, active, true);
        }
        self.groups[id].waiting.push_back((task, abs));
        self.kick(ns, id, debt > 0 || claims, woken);
        Verdict::Sleep
    }

    // ---- K6

    fn kick(&mut self, ns: u64, id: usize, pay: bool, woken: &mut Vec<Woken>) {
        let mut budget = self.vnow(ns) - self.groups[id].vtime;
        if pay && self.groups[id].debt > 0 && budget > 0 {
            let group = &mut self.groups[id];
            let abs = up(budget as u64, group.hwa, WHOLE).min(group.debt);
            let rel = up(abs, WHOLE, group.hwa) as i64;
            (group.vtime, group.done, group.debt) = (group.vtime + rel, group.done + rel, group.debt - abs);
            budget -= rel;
            if group.debt == 0 {
                let (active, last) = (group.active, group.last);
                self.set(ns, id, active, last, false);
            }
        }
        if self.groups[id].debt > 0 || self.groups[id].delay > 0 {
            self.delay(ns, id);
        }
        let group = &mut self.groups[id];
        if group.debt > 0 {
            budget = (budget - up(group.debt, WHOLE, group.hwa) as i64).min(0);
        }
        while let Some(&(task, abs)) = group.waiting.front() {
            let cost = up(abs, WHOLE, group.hwi);
            budget -= cost as i64;
            if budget < 0 {
                break;
            }
            group.waiting.pop_front();
            group.vtime += cost as i64;
            group.usage += abs;
            woken.push(Woken { task, cost });
        }
        if !group.waiting.is_empty() {
            let slack = PERIOD * 10;
            let at = ns + ((-budget) as u64).div_ceil(self.base) * 1000 + slack;
            if group.timer.is_none_or(|timer| timer.abs_diff(at) > slack) {
                group.timer = Some(at);
            }
        }
    }

    // ---- K8

    fn delay(&mut self, ns: u64, id: usize) {
        let (vnow, now) = (self.vnow(ns), ns / 1000);
        let unit = i128::from(PERIOD * self.base);
        let group = &mut self.groups[id];
        let ahead = group.vtime + up(group.debt, WHOLE, group.hwa) as i64 - vnow;
        let old = group.delay.checked_shr(((now - group.delay_at) / 1_000_000) as u32).unwrap_or(0);
        let new = match i128::from(ahead) * 100 / unit {
            ..=500 => 0,
            over @ 501..25_000 => (250 + 249_750 * (over - 500) / 24_500) as u64,
            _ => 250_000,
        };
        if new > old {
            (group.delay, group.delay_at) = (new, now);
        }
        if new.max(old) < 250 {
            group.delay = 0;
        }
    }

    // ---- K7

    fn end_period(&mut self, ns: u64, woken: &mut Vec<Woken>) {
        self.ending = true;
        let vnow = self.vnow(ns);
        let mut debtors = 0;
        for id in self.list.clone() {
            let group = &self.groups[id];
            if !group.waiting.is_empty() || group.debt > 0 || group.delay > 0 {
                self.kick(ns, id, true, woken);
                debtors += usize::from(self.groups[id].debt > 0 || self.groups[id].delay > 0);
            } else if group.stamp != self.period && group.done == group.vtime {
                let excess = vnow - group.vtime - self.margins[2];
                if excess > 0 {
                    self.err -= down(excess as u64, self.groups[id].hwi, WHOLE) as i64;
                }
                self.set(ns, id, 0, 0, false);
                self.groups[id].itself = false;
                self.list.retain(|&other| other != id);
            }
        }
        self.commit();
        let (mut donors, mut shortages, mut used) = (Vec::new(), 0, 0);
        for id in self.list.clone() {
            let usage = std::mem::take(&mut self.groups[id].usage) / self.base;
            used += usage;
            match self.judge(ns, id, usage) {
                Some(target) => donors.push((id, self.groups[id].hwa, target)),
                None => shortages += usize::from(self.groups[id].debt == 0 || !self.is_candidate(ns, id)),
            }
        }
        if !donors.is_empty() && shortages > 0 {
            self.transfer(ns, donors);
        }
        self.commit();
        self.busy = if shortages > 0 { (self.busy.min(0) - 1).max(-1000) } else { 0 };
        if self.busy != 0 {
            let least = (10_000 * START).div_ceil(1_000_000);
            let per_cent = match -self.busy {
                0..=3 => 0,
                4..=19 => 1,
                20..=35 => 2,
                36..=43 => 4,
                44..=51 => 8,
                _ => 16,
            };
            self.base = (self.base * (100 + per_cent)).div_ceil(100).clamp(least, 100 * START);
            self.remargin();
        }
        let fast = 100 * self.base / START >= 500;
        self.fast_since = fast.then(|| self.fast_since.unwrap_or(ns / 1000));
        self.forgive(ns, debtors, used, woken);
        self.ending = false;
        self.period += 1;
        self.ends = None;
        if self.list.is_empty() {
            (self.busy, self.err) = (0, 0);
        } else {
            self.begin(ns);
        }
        let left = (self.began + PERIOD) as i64 - (ns / 1000) as i64;
        let base = self.base as i64;
        if left > 0 {
            let correction = (-(self.err / left)).clamp(-(base / 2), base);
            self.err += correction * left;
            self.vrate = (base + correction) as u64;
        }
        let most = (PERIOD * self.base) as i64;
        self.err = self.err.clamp(-most, most);
    }

    fn is_candidate(&self, ns: u64, id: usize) -> bool {
        let group = &self.groups[id];
        group.hwi < group.hwa || (group.waiting.is_empty() && group.vtime < self.vnow(ns) - self.margins[1])
    }

    /// What a donor keeps; `None`: it donates nothing.
    fn judge(&mut self, ns: u64, id: usize, mut usage: u64) -> Option<u64> {
        let vnow = self.vnow(ns);
        if !self.is_candidate(ns, id) {
            return None;
        }
        let flying = self.groups[id].vtime - self.groups[id].done;
        if flying != 0 {
            usage = usage.max(up(flying as u64, self.groups[id].hwi, WHOLE).div_ceil(self.base));
        }
        let there = (ns / 1000 - self.began.max(self.groups[id].since)).max(1);
        let u = up(usage, WHOLE, there).clamp(1, WHOLE);
        let most = self.most(id);
        let group = &mut self.groups[id];
        let target = if group.debt > 0 {
            1
        } else if !group.waiting.is_empty() || group.vtime > vnow - self.margins[0] {
            most
        } else {
            let excess = (vnow - group.vtime - self.margins[2]).max(0);
            (group.vtime, group.done) = (group.vtime + excess, group.done + excess);
            self.err -= down(excess as u64, group.hwi, WHOLE) as i64;
            let part = i128::from(WHOLE) * i128::from(vnow - group.vtime) / i128::from(vnow - self.began_at);
            let needs = i64::from((WHOLE * u) as u32) / (65_536 - 32_768 + part as i64);
            needs.clamp(1, most as i64) as u64
        };
        if target < most && group.hwa >= 2 {
            return Some(target);
        }
        if group.debt == 0 {
            let active = group.active;
            self.set(ns, id, active, active, true);
        }
        None
    }

    /// The share that it would have if it claimed everything.
    fn most(&self, id: usize) -> u64 {
        let (mut at, mut claim, mut share) = (id, self.groups[id].active, WHOLE);
        while at != 0 {
            let above = &self.groups[TREE[at].0];
            let sum = above.sumu + claim - self.groups[at].inuse;
            share = down(share, claim, sum);
            at = TREE[at].0;
            claim = if at == 0 { 0 } else { up(self.groups[at].active, sum, self.groups[at].suma) };
        }
        share.max(1)
    }

    fn transfer(&mut self, ns: u64, mut donors: Vec<(usize, u64, u64)>) {
        let sum: u64 = donors.iter().map(|donor| donor.2).sum();
        if sum >= WHOLE {
            let over: u64 = donors.iter().filter(|donor| donor.2 > donor.1).map(|donor| donor.2).sum();
            for donor in donors.iter_mut().filter(|donor| donor.2 > donor.1) {
                donor.2 = (donor.2 * over.saturating_sub(sum - 65_535) / over).max(1);
            }
        }
        let below = |id: usize| donors.iter().filter(move |donor| id == 0 || TREE[donor.0].0 == id);
        let sums = |id: usize, share: u64| {
            let t = below(id).map(|donor| donor.1).sum::<u64>().min(share);
            (t, below(id).map(|donor| donor.2).sum::<u64>().min(t.saturating_sub(1)))
        };
        let root = &self.groups[0];
        let (t, kept) = sums(0, WHOLE);
        let gamma = up(WHOLE - kept, WHOLE, WHOLE - t.min(65_535));
        // Of the root and of the inner group: the sum of the claims below it, and its share afterwards.
        let of_root = (up(root.suma, WHOLE - t, WHOLE - kept), WHOLE);
        let inner = &self.groups[3];
        let of_inner = below(3).next().is_some().then(|| {
            let share = up(WHOLE, inner.active, root.suma);
            let (t, kept) = sums(3, share);
            let after = up(gamma, share - t, WHOLE) + kept;
            let claim = up(of_root.0, after, of_root.1);
            let theirs = up(inner.suma, t, share);
            let grown = up(theirs, up(claim, kept, after), up(inner.active, t, share));
            (inner.suma - theirs + grown, after)
        });
        for (id, _, target) in donors {
            let above = if TREE[id].0 == 0 { of_root } else { of_inner.expect("it is below it") };
            if self.groups[id].debt == 0 {
                let active = self.groups[id].active;
                self.set(ns, id, active, up(above.0, target, above.1), true);
            }
        }
    }

    fn forgive(&mut self, ns: u64, debtors: usize, used: u64, woken: &mut Vec<Woken>) {
        let now = ns / 1000;
        let [since, sum, remainder] = self.forgiven;
        if debtors == 0 {
            self.forgiven = [now, 0, 0];
            return;
        }
        let (sum, elapsed) = (sum + used, now - since);
        if elapsed < 100_000 {
            self.forgiven[1] = sum;
            return;
        }
        self.forgiven = [now, 0, 0];
        if 100 * sum / elapsed > 50 {
            return;
        }
        let n = (elapsed + remainder) / 100_000;
        self.forgiven[2] = (elapsed + remainder) % 100_000;
        for id in self.list.clone() {
            let group = &mut self.groups[id];
            if group.debt > 0 || group.delay > 0 {
                let less = |value: u64| if value > 0 { (value >> n).max(1) } else { 0 };
                (group.debt, group.delay) = (less(group.debt), less(group.delay));
                self.kick(ns, id, true, woken);
            }
        }
    }

    fn deadline(&self) -> Option<u64> {
        let timers = self.list.iter().filter_map(|&id| self.groups[id].timer);
        timers.chain(self.ends.map(|tick| tick * TICK)).min()
    }

    fn elapse(&mut self, ns: u64, woken: &mut Vec<Woken>) {
        if self.ends.is_some_and(|tick| tick * TICK <= ns) {
            self.end_period(ns, woken);
        }
        for id in 0..TREE.len() {
            if self.groups[id].timer.is_some_and(|timer| timer <= ns) {
                self.groups[id].timer = None;
                let pay = self.groups[id].debt > 0;
                self.kick(ns, id, pay, woken);
            }
        }
    }
}

// ---- side by side

/// How often the situations occurred that the rules are about.
#[derive(Debug, Default)]
struct Met {
    slept: u32,
    debts: u32,
    donated: u32,
}

struct Both {
    ours: IoCost,
    model: Model,
    ns: u64,
    task: u32,
    /// In the device, or on the way to it: group and cost.
    flying: Vec<(usize, u64)>,
    /// The group of each task.
    tasks: Vec<usize>,
    place: String,
}

impl Both {
    fn new(seed: u64) -> Both {
        let config = Config {
            jiffies: Jiffies::new(HZ as u32),
            class: Class::Ssd,
            model: None,
            qos: None,
            overflows: Overflows::Kernel,
            era: Era::V6_12,
        };
        let mut ours = IoCost::new(config);
        for (id, (parent, weight)) in TREE.iter().enumerate().skip(1) {
            ours.set_group(Instant::ZERO, GroupId(id as u32), GroupId(*parent as u32), *weight as u32);
        }
        let model = Model::new(ours.coefficients());
        Both { ours, model, ns: 0, task: 0, flying: Vec::new(), tasks: Vec::new(), place: format!("seed {seed}") }
    }

    fn pass(&mut self, by: u64) {
        let until = self.ns + by;
        while let Some(due) = self.ours.deadline().map(Instant::as_ns).filter(|due| *due <= until) {
            assert_eq!(self.model.deadline(), Some(due), "{}", self.place);
            self.ns = due.max(self.ns);
            let (mut woken, mut expected) = (Vec::new(), Vec::new());
            self.ours.elapse(Instant::from_ns(self.ns), &mut woken);
            self.model.elapse(self.ns, &mut expected);
            self.woke(&woken, &expected);
            self.agree();
        }
        assert!(self.model.deadline().is_none_or(|due| due > until), "{}: ours has no timer", self.place);
        self.ns = until;
    }

    fn woke(&mut self, woken: &[Woken], expected: &[Woken]) {
        assert_eq!(woken, expected, "{} at {}", self.place, self.ns);
        self.flying.extend(woken.iter().map(|woken| (self.tasks[woken.task as usize], woken.cost)));
    }

    fn submit(&mut self, group: usize, dice: &mut Dice, met: &mut Met) {
        let start = if dice.index(2) == 0 { self.model.groups[group].cursor } else { dice.index(1 << 24) as u64 };
        let sectors = [8, 64, 1024][dice.index(3)];
        let op = if dice.index(2) == 0 { Op::Read } else { Op::Write };
        let bio = Bio { op, ..Bio::write(0, SubmitterId(1), Sector(start), sectors) };
        let hints = Hints { meta: dice.index(12) == 0, ..bio.hints };
        let bio = bio.with_group(GroupId(group as u32)).with_hints(hints);
        let (mut woken, mut expected) = (Vec::new(), Vec::new());
        let ours = self.ours.throttle(Instant::from_ns(self.ns), self.task, &bio, &mut woken);
        let model = self.model.throttle(self.ns, self.task, &bio, &mut expected);
        assert_eq!(ours, model, "{} at {}: {bio:?}", self.place, self.ns);
        self.tasks.push(group);
        self.task += 1;
        match ours {
            Verdict::Go { cost } => self.flying.push((group, cost)),
            Verdict::Sleep => met.slept += 1,
            Verdict::Debt => met.debts += 1,
        }
        self.woke(&woken, &expected);
        self.agree();
    }

    fn end(&mut self, nth: usize) {
        if !self.flying.is_empty() {
            let (group, cost) = self.flying.swap_remove(nth % self.flying.len());
            self.ours.bio_done(GroupId(group as u32), cost);
            self.model.groups[group].done += cost as i64;
        }
    }

    fn agree(&self) {
        let (now, model) = (Instant::from_ns(self.ns), &self.model);
        let place = format!("{} at {}", self.place, self.ns);
        for &id in &model.list {
            let group = &model.groups[id];
            let expected = GroupState {
                active: group.active,
                inuse: group.inuse,
                hwa: group.hwa,
                hwi: group.hwi,
                budget: model.vnow(self.ns) - group.vtime,
                debt: group.debt,
                delay: group.delay,
                inflight: group.vtime - group.done,
            };
            assert_eq!(self.ours.group_state(now, GroupId(id as u32)), expected, "{place}: group {id}");
        }
        let DeviceClock { base_vrate, vrate, busy, err, .. } = self.ours.clock();
        assert_eq!(
            (base_vrate, vrate, i64::from(busy), err),
            (model.base, model.vrate, model.busy, model.err),
            "{place}"
        );
        assert_eq!(self.ours.period_ends(), model.ends, "{place}");
    }
}

#[test]
fn random_calls_are_answered_as_the_note_says() {
    let mut met = Met::default();
    for seed in 0..60 {
        let (mut dice, mut both) = (Dice(seed), Both::new(seed));
        // Some groups want much, others little, others pause: shares are given away and taken back.
        let mut eager = [0; 6].map(|_: u32| 1 + dice.index(20));
        for _ in 0..1_500 {
            both.pass([0, 10_000, 100_000, 1_000_000, 20_000_000][dice.index(5)] as u64 / 2);
            if dice.index(100) == 0 {
                eager = [0; 6].map(|_: u32| 1 + dice.index(20));
            }
            let inner = dice.index(60) == 0;
            let group = if inner { 3 } else { [1, 2, 4, 5][dice.index(4)] };
            if dice.index(20) < eager[group] {
                both.submit(group, &mut dice, &mut met);
            }
            (0..dice.index(3)).for_each(|_| both.end(dice.index(1000)));
            met.donated +=
                u32::from(both.model.list.iter().any(|&id| both.model.groups[id].hwi < both.model.groups[id].hwa));
        }
        assert!(
            both.model.fast_since.is_none_or(|since| both.ns / 1000 - since < 10_000_000),
            "the class would change"
        );
    }
    assert!(met.slept > 1_000 && met.debts > 100 && met.donated > 1_000, "{met:?}");
}
