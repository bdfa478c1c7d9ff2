//! The list, and the results of searches applied to it.
//!
//! **Rule** The disk takes the head; a request never moves once it has its place. The elevator searches the list
//! itself, charges the requests that are passed, and tells the queue which request to join, or where to insert. A
//! partner that is too large accepts nothing: the new request is inserted right beside it, and in 2.5 nothing joins
//! that partner any more.
//! **Origin** docs/behaviour/elevator-linus.md#k6, #k7, #w1, #w5, #b1 and #b3.
//! **In the kernel** `elevator_linus_merge_req`, `elevator_linus_add_request`.

use super::counters::Counters;
use super::scanned::Short;
use super::search::{Found, InsertAt, View, Wanted};
use super::tunables::LinusTunables;
use super::{arrival, passed, read_latency2, rework, scanned};
use crate::elevator::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Lookup, Merges, Neighbours, Run, Tuned};
use crate::explain::{End, Reason};
use crate::index::List;
use crate::mechanism;
use crate::queue::merge::Merging;
use crate::request::{Bio, Dir, RequestId, Requests};
use crate::tunables::Tunables;

/// How places are found, and which requests pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::elevators) enum Rule {
    /// noop of 2.4.
    Arrival,
    /// 2.4.18.
    Scanned,
    /// 2.4.21.
    Passed,
    /// 2.4.20 with the patch.
    ReadLatency2,
    /// 2.5.38, as far as it is known.
    Linux2_5 { joins: Joins },
    /// 2.5.38 with the rework of 2002-09-25.
    Rework,
}

mechanism! {
    /// the cost of a request that grows to those behind it (2.5.38; which of the two applied is not known)
    pub(in crate::elevators) enum Joins = "joins" {
        /// the length by which it grows, as in 2.4.18
        Charged = "charged",
        /// nothing, as one day later
        Free = "free",
    }
}

impl Rule {
    /// Whether, as in 2.5, the request merged last is tried first and a partner that is too large is sealed.
    fn is_2_5(self) -> bool {
        matches!(self, Rule::Linux2_5 { .. } | Rule::Rework)
    }
}

/// The elevator before deadline.
#[derive(Debug)]
pub struct Linus {
    rule: Rule,
    tunables: LinusTunables,
    list: List,
    counters: Counters,
    /// 2.5: the request merged last, or else inserted.
    last: Option<RequestId>,
    /// Requests that the device returned untried.
    handed_back: List,
}

impl Linus {
    pub(in crate::elevators) fn new(rule: Rule, tunables: LinusTunables) -> Linus {
        let (list, handed_back) = (List::new(), List::new());
        Linus { rule, tunables, list, counters: Counters::default(), last: None, handed_back }
    }

    fn view<'a>(&'a self, cx: &'a Cx<'_>) -> View<'a> {
        let device = cx.device();
        View {
            requests: &cx.state.requests,
            list: &self.list,
            counters: &self.counters,
            max_sectors: device.max_sectors,
            head_is_served: device.depth == 1 && device.in_flight > 0,
        }
    }

    /// Finds the place and the partner, and charges requests accordingly.
    fn search(&mut self, cx: &Cx<'_>, wanted: &Wanted) -> Found {
        if let Some(found) = self.joins_last(cx, wanted) {
            return found;
        }
        let view = self.view(cx);
        match self.rule {
            Rule::Arrival => arrival::search(&view, wanted),
            Rule::Rework => rework::search(&view, wanted),
            Rule::Passed => {
                let found = passed::search(&view, wanted);
                self.charge_passed(&found);
                found
            }
            Rule::Scanned => {
                let found = scanned::search(&view, wanted, Short::BehindThePlace);
                self.charge_scanned(cx, &found, wanted, Joins::Charged);
                found
            }
            Rule::Linux2_5 { joins } => {
                let found = scanned::search(&view, wanted, Short::BeforeThePlace);
                self.charge_scanned(cx, &found, wanted, joins);
                found
            }
            Rule::ReadLatency2 => {
                let (mut found, met) = read_latency2::search(&view, wanted);
                let bomb = self.tunables.max_bomb_segments;
                let jumps = bomb > 0 && wanted.dir == Dir::Read && found.partner.is_none();
                if jumps && met == read_latency2::Met::NoRead {
                    let sorted = found.place;
                    found.place = read_latency2::jump(&view, sorted, bomb);
                    self.charge_jumped(&found, sorted);
                } else {
                    self.charge_jumped(&found, found.place);
                }
                found
            }
        }
    }

    /// 2.5: tries the request merged last before any search. The requests behind it pay for this as for any merge.
    fn joins_last(&mut self, cx: &Cx<'_>, wanted: &Wanted) -> Option<Found> {
        let last = self.last.filter(|_| wanted.joins && self.rule.is_2_5())?;
        if !cx.rq(last).is_mergeable() {
            self.last = None;
            return None;
        }
        let end = self.view(cx).adjoins(last, wanted)?;
        if let Rule::Linux2_5 { joins } = self.rule {
            self.charge_grown(cx, last, wanted, joins);
        }
        Some(Found { partner: Some((last, end)), ..Found::NOTHING })
    }

    fn charge_passed(&mut self, found: &Found) {
        // A merge costs 1 and forgets the place found before it; a seek costs 16; at the end of the list nothing was
        // passed.
        match (found.partner, found.place) {
            (Some((rq, end)), _) => {
                self.counters.lower_behind(&self.list, rq, 1);
                if end == End::Front {
                    self.counters.lower(rq, 1);
                }
            }
            (None, InsertAt::Behind(rq)) => self.counters.lower_behind(&self.list, rq, passed::SEEK),
            (None, InsertAt::Last | InsertAt::First) => {}
        }
    }

    fn charge_scanned(&mut self, cx: &Cx<'_>, found: &Found, wanted: &Wanted, joins: Joins) {
        let length = i32::try_from(wanted.sectors).unwrap_or(i32::MAX);
        if let Some(reached) = found.reached {
            self.counters.lower_from_tail(&self.list, reached, 1);
        }
        let Some((rq, end)) = found.partner else { return };
        if end == End::Front {
            self.counters.lower(rq, length);
        }
        self.charge_grown(cx, rq, wanted, joins);
    }

    /// Charges the requests behind `rq` the length by which it grows; one that is full does not grow.
    fn charge_grown(&mut self, cx: &Cx<'_>, rq: RequestId, wanted: &Wanted, joins: Joins) {
        if joins == Joins::Charged && self.fits(cx, rq, wanted) {
            let length = i32::try_from(wanted.sectors).unwrap_or(i32::MAX);
            self.counters.lower_behind(&self.list, rq, length);
        }
    }

    /// Charges by the place that the request would have had: the jump itself is free.
    fn charge_jumped(&mut self, found: &Found, sorted: InsertAt) {
        if let Some(reached) = found.reached {
            self.counters.lower_from_tail(&self.list, reached, 1);
        }
        self.charge_passed(&Found { place: sorted, ..*found });
    }

    fn fits(&self, cx: &Cx<'_>, rq: RequestId, wanted: &Wanted) -> bool {
        let room = cx.rq(rq).segments < cx.device().max_segments;
        room && self.view(cx).is_short(rq, wanted)
    }

    /// The answer to the queue.
    fn answer(&mut self, cx: &mut Cx<'_>, found: &Found, wanted: &Wanted) -> Lookup {
        let Some((rq, end)) = found.partner else { return Lookup::Place(self.at(found.place)) };
        if self.fits(cx, rq, wanted) {
            self.last = Some(rq);
            return if end == End::Back { Lookup::Back(rq) } else { Lookup::Front(rq) };
        }
        if self.rule.is_2_5() {
            cx.explain(Reason::Oversize { rq });
            cx.seal(rq);
            self.last = None;
        }
        // Directly beside the full request. In 2.4.20 those behind it have been charged nevertheless.
        Lookup::Place(if end == End::Back { Insert::After(rq) } else { Insert::Before(rq) })
    }

    fn at(&self, place: InsertAt) -> Insert {
        match (place, self.list.head()) {
            (InsertAt::Behind(rq), _) => Insert::After(rq),
            (InsertAt::First, Some(head)) => Insert::Before(head),
            (InsertAt::First, None) | (InsertAt::Last, _) => Insert::Last,
        }
    }

    fn put(&mut self, rq: RequestId, at: Insert) {
        match at {
            Insert::First => self.handed_back.push_front(rq),
            Insert::After(beside) => self.list.insert_after(beside, rq),
            Insert::Before(beside) => self.list.insert_before(beside, rq),
            Insert::Sorted | Insert::Last => self.list.push_back(rq),
        }
    }

    /// Only with a listener, because it examines every request.
    fn explain(&self, cx: &mut Cx<'_>) {
        let counts = !matches!(self.rule, Rule::Arrival | Rule::Rework);
        if counts
            && cx.has_listener()
            && let Some(least) = self.counters.least(&self.list)
        {
            cx.explain(Reason::Patience { least });
        }
    }
}

impl Elevator for Linus {
    fn announces_deadline(&self) -> bool {
        true
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        let left = match cx.rq(rq).dir() {
            Dir::Read => self.tunables.read_latency,
            Dir::Write => self.tunables.write_latency,
        };
        let at = match at {
            // Inserted without a search: it comes from a switch of elevators or a submitter's plug, or may not merge.
            Insert::Sorted => {
                let found = self.search(cx, &Wanted::of_request(cx.rq(rq)));
                self.at(found.place)
            }
            found => found,
        };
        self.counters.start(rq, left);
        self.put(rq, at);
        self.last = self.last.or(Some(rq)).filter(|&last| self.list.contains(last));
        self.explain(cx);
        Run::No
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        let Some(rq) = self.handed_back.pop_front().or_else(|| self.list.pop_front()) else { return Dispatch::Empty };
        self.last = self.last.filter(|&last| last != rq);
        Dispatch::Issue(rq)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.list.is_empty() || !self.handed_back.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        self.counters.inherit(into, victim);
        self.list.remove(victim);
        self.last = self.last.filter(|&last| last != victim);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.handed_back.push_front(rq);
    }

    fn check(&self, requests: &Requests) {
        self.list.check(requests);
        self.handed_back.check(requests);
        assert!(self.last.is_none_or(|last| self.list.contains(last)), "what is remembered is not queued");
    }
}

impl Merges for Linus {
    fn merging(&self) -> Merging {
        if self.rule.is_2_5() { Merging::LINUX_2_5_LINUS } else { Merging::LINUX_2_4 }
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let wanted = Wanted::of_bio(bio);
        let found = self.search(cx, &wanted);
        let answer = self.answer(cx, &found, &wanted);
        self.explain(cx);
        answer
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        if !self.list.contains(rq) {
            return Neighbours::default();
        }
        Neighbours { before: self.list.before(rq), behind: self.list.behind(rq) }
    }
}

impl Admits for Linus {}
impl Grouped for Linus {}

impl Tuned for Linus {
    fn tunables(&self) -> &dyn Tunables {
        if self.rule == Rule::Arrival { &() } else { &self.tunables }
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        if self.rule == Rule::Arrival { None } else { Some(&mut self.tunables) }
    }
}
