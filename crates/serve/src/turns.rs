//! **What for**: a disk's *time* is shared by weight, whatever tenants request, however many connections they have, and
//! whatever their requests cost the disk. Schedulers count requests or sectors, or know processes; the cost of a
//! request is known only once the device has done it.
//!
//! **Rule** Each tenant has a virtual time: its received device time divided by its weight. Tenants' requests wait
//! here; the tenant that is furthest behind goes next, and its requests in flight count with their usual cost. A tenant
//! that becomes active again is at most a [`CREDIT`] behind the others, divided by the number of these; and no command
//! puts a tenant far ahead of them, as an unusual time is not charged in full ([`cost`]).
//!
//! ionice's classes go one after the other: while a tenant of class rt waits here, none of be or idle is served, and
//! while one of be waits, none of idle; but a class that has been passed over for [`AGING`] gets one turn
//! (mq-deadline's prio_aging_expire). A level is a part of the weight, as of CFQ's slices: 180 % for level 0, 100 % for
//! 4, 40 % for 7.
//!
//! On a disk that seeks, a tenant that requests neighbouring sectors continues until it is one slice ahead: twice the
//! time of its requests in flight, from [`TURN`] to [`LONGEST`]. If it has nothing at the moment, the disk waits for it
//! for at most [`THINK`], provided that its think time does not exceed that. Any disk waits for the tenant that is
//! behind the others if its think time is much shorter than its requests' service time. The waiting is charged to that
//! tenant, as far as the disk was to wait: not the lateness of the server's thread. A tenant that has been alone on a
//! disk that seeks for [`GONE`] gives the scheduler up to [`ALONE`] requests to order.
//!
//! **Origin** Start-time fair queueing with charges by measured time, as in CFQ's groups (4.20); slices and idling as
//! in CFQ's slices and slice_idle.
//!
//! **Costs when wrong**: a light tenant waits for a heavy one's whole backlog.

use std::collections::VecDeque;

use blksched::author::index::Tournament;
use blksched::{Class, Instant, Priority, Span};

mod cost;
mod waiting;

use cost::Cost;
use waiting::Waiting;

/// How far ahead of the others a tenant with sequential requests may get, on a disk that seeks.
const TURN: Span = Span::from_ms(8);
/// The same, if it keeps much in flight.
const LONGEST: Span = Span::from_ms(40);
/// How long such a disk waits for the present tenant.
const THINK: Span = Span::from_ms(8);
/// How many requests beyond the device's the scheduler gets of a single tenant, on a disk that seeks.
const ALONE: usize = 32;
/// For how long the others must have had nothing before: who comes back sooner, for instance from thinking, would wait
/// for all of those.
const GONE: Span = CREDIT;
/// How far behind the others a returning tenant may be.
pub const CREDIT: Span = Span::from_ms(60);
/// How long a class may be passed over for a better one.
const AGING: Span = Span::from_secs(10);
/// The weight of the new value in a mean is one in N.
const MEMORY: u64 = 8;
/// Virtual time is device time at weight 1, times this.
const SCALE: u128 = 10_000;
/// Weights count in hundredths, for levels.
const WHOLE: u32 = 100;
/// ionice's classes: rt, be, idle.
const RANKS: usize = 3;

/// The place of a piece of data, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataExtent {
    /// Its first sector.
    pub start: u64,
    /// The number of sectors.
    pub sectors: u64,
}

/// What has a common cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostKind {
    /// Data.
    Data,
    /// A flush.
    Flush,
}

/// Which tenant goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This tenant.
    Serve(usize),
    /// None before this time: the disk waits for the present tenant.
    Wait(Instant),
    /// None wants anything, or enough is in flight.
    Nobody,
}

/// One tenant.
#[derive(Default)]
struct Entity {
    /// Its weight, in hundredths.
    weight: u64,
    /// Its class: 0 for rt, 1 for be, 2 for idle.
    rank: usize,
    virtual_time: u128,
    backlog: VecDeque<u32>,
    /// Pieces in flight, of data and flushes.
    outstanding: [u32; 2],
    /// The cost of one.
    cost: [Cost; 2],
    /// The sector after its last piece, and how often one begins there, in 256ths.
    end: u64,
    neighbours: u64,
    /// When it last had nothing left, and its usual think time.
    idle_since: Option<Instant>,
    thinks: Span,
    /// Whether it counts as active.
    counts: bool,
}

impl Entity {
    /// This much device time, as virtual time.
    fn scaled(&self, time: Span) -> u128 {
        u128::from(time.as_ns()) * SCALE * u128::from(WHOLE) / u128::from(self.weight.max(1))
    }

    fn usual(&self, kind: CostKind) -> Span {
        self.cost[kind as usize].usual()
    }

    /// Its virtual time, including what is in flight.
    fn ahead(&self) -> u128 {
        let of_kind = |kind: usize| u64::from(self.outstanding[kind]).saturating_mul(self.cost[kind].usual().as_ns());
        let outstanding = (0..2).map(of_kind);
        self.virtual_time + self.scaled(Span::from_ns(outstanding.fold(0, u64::saturating_add)))
    }

    /// How far ahead it may get, where that saves seeks.
    fn turn(&self) -> Span {
        let wanted = self.backlog.len() as u64 + u64::from(self.outstanding[CostKind::Data as usize]);
        (self.usual(CostKind::Data) * (2 * wanted.min(1024))).clamp(TURN, LONGEST)
    }

    /// Whether it is sequential, so that continuing saves a seek.
    fn is_sequential(&self) -> bool {
        self.neighbours > 128
    }

    fn is_active(&self) -> bool {
        !self.backlog.is_empty() || self.outstanding != [0, 0]
    }
}

/// The tenants of one class.
#[derive(Default)]
struct Ranked {
    /// The virtual times of tenants with something waiting here …
    waiting: Tournament<u128>,
    /// … and of those with something waiting or in flight.
    active: Tournament<u128>,
    /// The greatest virtual time of a tenant that has nothing left: where the others are, if all have something.
    reached: u128,
    /// Since when it has waited while better classes were served.
    passed_over: Option<Instant>,
}

impl Ranked {
    /// Whether it has been passed over for long enough.
    fn is_overdue(&self, now: Instant) -> bool {
        self.passed_over.is_some_and(|since| now.since(since) >= AGING)
    }
}

/// Whose turn it is.
pub struct Turns {
    entities: Vec<Entity>,
    /// The classes, the best first.
    ranks: [Ranked; RANKS],
    /// The number of tenants with something waiting here or in flight.
    active_ones: usize,
    current: Option<usize>,
    /// What a command usually costs, whoever's it is, of data and flushes.
    usual: [Cost; 2],
    seeks: bool,
    /// When a tenant last had nothing left and another had something.
    shared: Option<Instant>,
    /// The disk waits for the present one.
    waits: Option<Waiting>,
}

impl Turns {
    /// For tenants that will be added, on a disk that seeks or does not.
    pub fn new(seeks: bool) -> Turns {
        let (ranks, usual, entities) = (core::array::from_fn(|_| Ranked::default()), Default::default(), Vec::new());
        Turns { entities, ranks, active_ones: 0, current: None, usual, seeks, shared: None, waits: None }
    }

    /// Adds a tenant, or changes the weight and the priority of one.
    pub fn set_share(&mut self, tenant: usize, weight: u32, priority: Priority) {
        while self.entities.len() <= tenant {
            self.entities.push(Entity { rank: rank_of(Class::BestEffort), ..Entity::default() });
        }
        let (old, new) = (self.entities[tenant].rank, rank_of(priority.class));
        self.entities[tenant].weight = u64::from(weight) * u64::from(part_of_level(priority));
        if old != new {
            // Virtual times of classes say nothing about each other.
            self.ranks[old].waiting.set(tenant, None);
            self.ranks[old].active.set(tenant, None);
            self.entities[tenant].rank = new;
            self.entities[tenant].virtual_time = self.others(new);
        }
        self.look_at(tenant);
    }

    /// Where the tenants of a class are: the one that is furthest behind.
    fn others(&self, rank: usize) -> u128 {
        self.ranks[rank].active.first().map_or(self.ranks[rank].reached, |(ahead, _)| ahead)
    }

    /// Updates a tenant's position among the others after a change. To be called after every change of an entity.
    fn look_at(&mut self, tenant: usize) {
        let entity = &mut self.entities[tenant];
        let (ahead, active) = (entity.ahead(), entity.is_active());
        let ranked = &mut self.ranks[entity.rank];
        ranked.waiting.set(tenant, (!entity.backlog.is_empty()).then_some(ahead));
        ranked.active.set(tenant, active.then_some(ahead));
        match (core::mem::replace(&mut entity.counts, active), active) {
            (false, true) => self.active_ones += 1,
            (true, false) => self.active_ones -= 1,
            _ => {}
        }
    }

    /// Adds a piece that a tenant wants.
    pub fn add(&mut self, now: Instant, tenant: usize, piece: u32, kind: CostKind) {
        if !self.entities[tenant].is_active() {
            self.comes_back(now, tenant);
        }
        let backlog = &mut self.entities[tenant].backlog;
        match kind {
            CostKind::Data => backlog.push_back(piece),
            // It covers only what has already been answered.
            CostKind::Flush => backlog.push_front(piece),
        }
        self.look_at(tenant);
    }

    fn comes_back(&mut self, now: Instant, tenant: usize) {
        let others = self.others(self.entities[tenant].rank);
        let entity = &mut self.entities[tenant];
        if let Some(since) = entity.idle_since.take() {
            entity.thinks = moved(entity.thinks, now.since(since).min(Span::from_secs(1)));
        }
        // Many that come back at once must not keep the others waiting for the credit of each; one command is enough to
        // be the next.
        let credit = (CREDIT / self.active_ones.max(1) as u64).max(entity.usual(CostKind::Data)).min(CREDIT);
        let credit = entity.scaled(credit);
        entity.virtual_time = entity.virtual_time.max(others.saturating_sub(credit));
        if self.current == Some(tenant)
            && let Some(waiting) = self.waits.take()
        {
            let entity = &mut self.entities[tenant];
            entity.virtual_time += entity.scaled(waiting.cost(now));
        }
    }

    /// What a command of a tenant usually costs.
    pub fn usual(&self, tenant: usize, kind: CostKind) -> Span {
        self.entities[tenant].usual(kind)
    }

    /// The tenant that is next: the one furthest behind of the best class that has something, or of one that has been
    /// passed over for long.
    fn behind(&mut self, now: Instant) -> Option<usize> {
        let first = |ranked: &Ranked| ranked.waiting.first().map(|(_, tenant)| tenant);
        let best = self.ranks.iter().position(|ranked| first(ranked).is_some())?;
        for ranked in &mut self.ranks[best + 1..] {
            match first(ranked) {
                Some(tenant) if ranked.is_overdue(now) => return Some(tenant),
                Some(_) => _ = ranked.passed_over.get_or_insert(now),
                None => ranked.passed_over = None,
            }
        }
        first(&self.ranks[best])
    }

    /// Whether anything waits here.
    pub fn somebody_waits(&self) -> bool {
        self.ranks.iter().any(|ranked| ranked.waiting.first().is_some())
    }

    /// Which tenant is next, if this many requests are in flight and the device takes `depth`.
    pub fn choose(&mut self, now: Instant, outstanding: usize, depth: usize) -> Choice {
        if outstanding >= depth && !self.current_sends_more(now, outstanding, depth) {
            return Choice::Nobody;
        }
        let Some(behind) = self.behind(now) else { return Choice::Nobody };
        if let Some(current) = self.current
            && self.goes_on(now, current, behind)
        {
            if !self.entities[current].backlog.is_empty() {
                return Choice::Serve(current);
            }
            if let Some(until) = self.waits_for(current, behind) {
                self.waits.get_or_insert(Waiting { since: now, until });
                if now < until {
                    return Choice::Wait(until);
                }
            }
        }
        self.ends_waiting(now);
        self.current = Some(behind);
        self.ranks[self.entities[behind].rank].passed_over = None;
        Choice::Serve(behind)
    }

    /// Whether the scheduler may have more of the present tenant's requests than the device takes, to sort them.
    fn current_sends_more(&self, now: Instant, outstanding: usize, depth: usize) -> bool {
        let Some(current) = self.current.filter(|_| self.seeks) else { return false };
        // It is one of those, as something of it waits.
        let alone = self.active_ones == 1 && self.shared.is_none_or(|until| now.since(until) >= GONE);
        !self.entities[current].backlog.is_empty() && outstanding < depth + ALONE && alone
    }

    /// Whether the present tenant's turn continues although `behind` waits.
    fn goes_on(&self, now: Instant, current: usize, behind: usize) -> bool {
        let (own, other) = (&self.entities[current], &self.entities[behind]);
        if own.rank != other.rank {
            return own.rank < other.rank && !self.ranks[other.rank].is_overdue(now);
        }
        let ahead = if self.seeks && own.is_sequential() { own.scaled(own.turn()) } else { 0 };
        own.ahead() <= other.ahead().saturating_add(ahead)
    }

    /// Until when the disk waits for it while it has nothing: only if its think time is short.
    fn waits_for(&self, current: usize, behind: usize) -> Option<Instant> {
        let entity = &self.entities[current];
        let since = entity.idle_since.filter(|_| entity.outstanding == [0, 0])?;
        let cost = entity.usual(CostKind::Data);
        if self.seeks && entity.is_sequential() && entity.thinks <= THINK {
            return Some(since + THINK);
        }
        let other = &self.entities[behind];
        let is_behind = entity.rank < other.rank || entity.ahead() < other.ahead();
        (is_behind && entity.thinks <= cost / 4).then(|| since + cost / 2)
    }

    /// The disk has waited long enough: the time is charged to the present tenant.
    fn ends_waiting(&mut self, now: Instant) {
        if let (Some(waiting), Some(current)) = (self.waits.take(), self.current) {
            let entity = &mut self.entities[current];
            entity.virtual_time += entity.scaled(waiting.cost(now));
            entity.thinks = moved(entity.thinks, THINK * 2);
            self.look_at(current);
        }
    }

    /// A tenant's first piece, which is not taken yet.
    pub fn first(&self, tenant: usize) -> Option<u32> {
        self.entities[tenant].backlog.front().copied()
    }

    /// The first piece is sent.
    pub fn begin(&mut self, tenant: usize, kind: CostKind, place: DataExtent) {
        let elsewhere = self.usual[kind as usize].usual();
        let entity = &mut self.entities[tenant];
        entity.backlog.pop_front();
        entity.cost[kind as usize].guess(elsewhere);
        entity.outstanding[kind as usize] += 1;
        if kind == CostKind::Data {
            let hit = if place.start == entity.end { 256 } else { 0 };
            entity.neighbours = (entity.neighbours * (MEMORY - 1) + hit) / MEMORY;
            entity.end = place.start + place.sectors;
        }
        self.look_at(tenant);
    }

    /// A tenant's commands, or a part of others', took this much device time: they are charged.
    pub fn charge(&mut self, tenant: usize, kind: CostKind, pieces: u32, took: Span) {
        let others = self.usual[kind as usize].usual();
        let entity = &mut self.entities[tenant];
        let charged = entity.cost[kind as usize].charge(pieces, took, others);
        entity.virtual_time += entity.scaled(charged);
        if pieces > 0 {
            self.usual[kind as usize].charge(pieces, took, Span::ZERO);
        }
        self.look_at(tenant);
    }

    /// A piece of a tenant is done.
    pub fn end(&mut self, now: Instant, tenant: usize, kind: CostKind) {
        let entity = &mut self.entities[tenant];
        let outstanding = &mut entity.outstanding[kind as usize];
        *outstanding = outstanding.saturating_sub(1);
        if !entity.is_active() {
            entity.idle_since = Some(now);
            if self.active_ones > 1 {
                self.shared = Some(now);
            }
            let ranked = &mut self.ranks[entity.rank];
            ranked.reached = ranked.reached.max(entity.virtual_time);
        }
        self.look_at(tenant);
    }

    /// Removes what a tenant no longer wants.
    pub fn take_back(&mut self, tenant: usize, is_it: impl Fn(u32) -> bool) -> Vec<u32> {
        let backlog = &mut self.entities[tenant].backlog;
        let taken = backlog.iter().copied().filter(|&piece| is_it(piece)).collect();
        backlog.retain(|&piece| !is_it(piece));
        self.look_at(tenant);
        taken
    }

    /// Those of a tenant that wait here, in order.
    pub fn waiting(&self, tenant: usize) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.entities[tenant].backlog.iter().copied()
    }

    /// Removes everything that waits here, in order, tenant by tenant.
    pub fn release(&mut self) -> Vec<(usize, u32)> {
        let each = self.entities.iter_mut().enumerate();
        let all =
            each.flat_map(|(tenant, entity)| entity.backlog.drain(..).map(move |piece| (tenant, piece))).collect();
        (0..self.entities.len()).for_each(|tenant| self.look_at(tenant));
        all
    }
}

/// A class's place. Without a class: best effort, as for a process with nice 0.
fn rank_of(class: Class) -> usize {
    match class {
        Class::RealTime => 0,
        Class::None | Class::BestEffort => 1,
        Class::Idle => 2,
    }
}

/// A level's part of the weight, in hundredths.
fn part_of_level(priority: Priority) -> u32 {
    match priority.class {
        Class::None => WHOLE,
        _ => WHOLE * (9 - u32::from(priority.level.min(7))) / 5,
    }
}

/// An exponential mean.
fn moved(mean: Span, new: Span) -> Span {
    if mean == Span::ZERO {
        return new;
    }
    Span::from_ns((mean.as_ns() * (MEMORY - 1) + new.as_ns()) / MEMORY)
}

#[cfg(test)]
mod tests;
