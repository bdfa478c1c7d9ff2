//! ADIOS as an elevator: each call of the contract, and the part that handles it.
//!
//! **Rule** Until a read and a write of up to 4 KiB have been learned, first in, first out. Then: the requests to be
//! dispatched at once (`fifos`), the batch, and when nothing is left, the requests that a barrier holds back.
//! **Origin** docs/behaviour/adios-3.1.md#a2, #a4 to #a7. The FIFO meant to be the lower one goes first (#a13, trap 2).

use super::barrier::{self, Barrier};
use super::bias::Bias;
use super::flight::FlightCost;
use super::kind::{Kind, PerKind};
use super::learning::Learning;
use super::model::{Model, Samples};
use super::order::{self, Row, TwoOrders};
use super::page::{Direction, Page};
use super::tunables::AdiosTunables;
use crate::elevator::{Admission, Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, Run, Tuned};
use crate::explain::End;
use crate::index::List;
use crate::queue::merge::Merging;
use crate::request::{Bio, Op, Request, RequestId, Requests, Sector, Table};
use crate::time::{Instant, Jiffies, Span};
use crate::tunables::{KnobError, Setting, Tunables};

/// The window of rotating disks.
const ROTATIONAL_WINDOW: Span = Span::from_ms(22);

/// The requests dispatched first, outside every order.
#[derive(Debug, Default)]
pub(super) struct Fifos {
    /// Requests inserted at the head, or returned by the device.
    head: List,
    /// All requests while too little is known, and released barriers. Taken before `head`, although the reverse is
    /// intended.
    early: List,
}

/// The first or the second page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Which {
    #[default]
    First,
    Second,
}

impl Which {
    pub(super) fn other(self) -> Which {
        match self {
            Which::First => Which::Second,
            Which::Second => Which::First,
        }
    }
}

/// The two pages.
#[derive(Debug, Default)]
pub(super) struct Pages([Page; 2]);

impl core::ops::Index<Which> for Pages {
    type Output = Page;
    fn index(&self, which: Which) -> &Page {
        &self.0[which as usize]
    }
}

impl core::ops::IndexMut<Which> for Pages {
    fn index_mut(&mut self, which: Which) -> &mut Page {
        &mut self.0[which as usize]
    }
}

/// The largest batches so far (`batch_actual_max`).
#[derive(Clone, Debug, Default)]
pub(super) struct Largest {
    total: u32,
    of: PerKind<u32>,
}

impl Largest {
    pub(super) fn look(&mut self, filled: &PerKind<u32>) {
        self.total = self.total.max(Kind::ALL.iter().map(|&kind| filled[kind]).sum());
        for kind in Kind::ALL {
            self.of[kind] = self.of[kind].max(filled[kind]);
        }
    }
}

/// ADIOS.
#[derive(Debug)]
pub struct Adios {
    pub(super) tunables: AdiosTunables,
    pub(super) jiffies: Jiffies,
    pub(super) rows: Table<Row>,
    fifos: Fifos,
    pub(super) order: TwoOrders,
    pub(super) pages: Pages,
    /// The page being served.
    pub(super) page: Which,
    direction: Direction,
    head_pos: Sector,
    barrier: Barrier,
    pub(super) bias: Bias,
    pub(super) flight: FlightCost,
    /// Whether enough is known to order requests; once true, it stays so.
    stable: bool,
    pub(super) models: PerKind<Model>,
    /// Samples left over for the next model that is updated: one set for all four.
    pub(super) shared: Samples,
    learning: Learning,
    pub(super) largest: Largest,
}

impl Adios {
    pub(super) fn new(tunables: AdiosTunables, hz: u32) -> Adios {
        Adios {
            tunables,
            jiffies: Jiffies::new(hz),
            rows: Table::new(),
            fifos: Fifos::default(),
            order: TwoOrders::default(),
            pages: Pages::default(),
            page: Which::default(),
            direction: Direction::default(),
            head_pos: Sector(0),
            barrier: Barrier::default(),
            bias: Bias::default(),
            flight: FlightCost::default(),
            stable: false,
            models: PerKind::from_fn(|_| Model::new(0)),
            shared: Samples::default(),
            learning: Learning::default(),
            largest: Largest::default(),
        }
    }

    /// Predicts the cost of a new request, once; the prediction stays even if the request grows.
    fn note(&mut self, request: &Request, rq: RequestId) {
        let (kind, bytes) = (Kind::of(request.op), request.sectors.saturating_mul(512));
        let predicted = self.models[kind].predict(bytes);
        *self.rows.row(rq) = Row { kind, bytes, predicted, deadline: 0, started: 0 };
    }

    /// Puts a request before everything that is ordered.
    fn at_once(&mut self, cx: &mut Cx<'_>, rq: RequestId, at_head: bool) {
        cx.hide(rq);
        self.flight.begin(1, self.rows[rq].predicted);
        if at_head { self.fifos.head.push_back(rq) } else { self.fifos.early.push_back(rq) }
    }

    fn put_in_order(&mut self, cx: &Cx<'_>, rq: RequestId) {
        let row = self.rows.row(rq);
        row.deadline = order::deadline(cx.rq(rq), row, &self.tunables);
        self.order.put(rq, row);
    }

    fn take_fifo(&mut self) -> Option<RequestId> {
        let list = if self.fifos.early.is_empty() { &mut self.fifos.head } else { &mut self.fifos.early };
        let rq = list.pop_front()?;
        if list.is_empty() {
            self.look_which_way();
        }
        Some(rq)
    }

    /// Takes a request of the batch; fills the next batch when the load in flight is low.
    fn take_batch(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let (current, other) = (!self.pages[self.page].is_empty(), !self.pages[self.page.other()].is_empty());
        let load = self.flight.load();
        if !other && !self.order.is_empty() && (!current || load == 0 || load < self.tunables.refill_below()) {
            self.fill(cx);
        }
        if !current && !self.pages[self.page.other()].is_empty() {
            self.page = self.page.other();
            self.look_which_way();
        }
        self.pages[self.page].take(self.direction)
    }

    fn look_which_way(&mut self) {
        // Only on rotating disks is the head ever elsewhere than at 0.
        self.direction = self.pages[self.page].direction(self.head_pos);
    }

    fn choose(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let rq = self.take_fifo().or_else(|| self.take_batch(cx))?;
        if cx.device().rotational {
            self.head_pos = cx.rq(rq).end();
        }
        self.rows[rq].started = cx.now.as_ns();
        Some(rq)
    }
}

impl Elevator for Adios {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        if cx.device().rotational {
            self.tunables.global_latency_window = ROTATIONAL_WINDOW;
        }
        let now = self.jiffies.tick(cx.now);
        self.models = PerKind::from_fn(|_| Model::new(now));
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        if self.barrier.is_releasing() {
            self.put_in_order(cx, rq);
            return Run::No;
        }
        self.note(cx.rq(rq), rq);
        if at == Insert::First || !self.stable {
            self.at_once(cx, rq, at == Insert::First);
            self.stable |= self.models[Kind::Read].base > 0 && self.models[Kind::Write].base > 0;
        } else if self.barrier.is_pending() || barrier::is_barrier(cx.rq(rq).op) {
            cx.hide(rq);
            self.barrier.hold(rq);
        } else {
            self.put_in_order(cx, rq);
        }
        Run::No
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        loop {
            if self.barrier.is_releasing()
                && let Some(rq) = self.barrier.next_released(|rq| barrier::is_barrier(cx.rq(rq).op))
            {
                return Dispatch::Reinsert(rq);
            }
            if let Some(rq) = self.choose(cx) {
                return Dispatch::Issue(rq);
            }
            match self.barrier.release() {
                Some(barrier) => self.at_once(cx, barrier, false),
                None => return Dispatch::Empty,
            }
        }
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let row = self.rows[rq];
        self.flight.end(row.predicted);
        let limit = self.tunables.lat_model_latency_limit;
        let sample = self.learning.completed(cx, &row, cx.rq(rq).start, self.flight.count(), limit);
        if let Some(sample) = sample {
            let models = (&mut self.models, &mut self.shared);
            self.learning.learn(cx, &row, sample, models, (self.jiffies, &self.tunables));
        }
        Run::No
    }

    fn has_work(&self) -> bool {
        let fifos = !self.fifos.early.is_empty() || !self.fifos.head.is_empty();
        let pages = !self.pages[Which::First].is_empty() || !self.pages[Which::Second].is_empty();
        fifos || pages || !self.order.is_empty() || self.barrier.is_pending()
    }

    fn deadline(&self) -> Option<Instant> {
        self.learning.due(self.jiffies)
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.learning.elapse(cx, &mut self.models, &mut self.shared, (self.jiffies, &self.tunables));
        Run::No
    }

    /// The survivor may now count as older, but keeps its place and its deadline.
    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.order.remove(victim, self.rows[victim].kind);
    }

    /// Inserts the request at the head; it is counted as in flight once more.
    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.note(cx.rq(rq), rq);
        self.at_once(cx, rq, true);
    }

    fn check(&self, requests: &Requests) {
        self.fifos.head.check(requests);
        self.fifos.early.check(requests);
        self.order.check();
        self.barrier.check(requests);
        assert!(self.pages[Which::First].len() + self.pages[Which::Second].len() <= requests.len());
    }
}

impl Merges for Adios {
    fn merging(&self) -> Merging {
        Merging::LINUX_6_1
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn may_merge(&mut self, _cx: &mut Cx<'_>, _rq: RequestId, _bio: &Bio) -> bool {
        !self.barrier.is_pending()
    }

    fn may_append(&self, rq: &Request) -> bool {
        self.stable && !self.barrier.is_pending() && !barrier::is_barrier(rq.op)
    }

    /// Recomputes the deadline, and so the place, of a request that a bio has joined.
    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, _end: End) {
        self.order.remove(rq, self.rows[rq].kind);
        self.put_in_order(cx, rq);
    }
}

impl Admits for Adios {
    fn admit(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        match bio.op {
            Op::Read => Admission::Unlimited,
            _ => Admission::Shallow(cx.device().tags_per_word),
        }
    }
}

impl Grouped for Adios {}

impl Tuned for Adios {
    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }

    fn store(&mut self, cx: &mut Cx<'_>, knob: &str, value: Setting<'_>) -> Result<(), KnobError> {
        self.store_knob(cx, knob, value)
    }
}
