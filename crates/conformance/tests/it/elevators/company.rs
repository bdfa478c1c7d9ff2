//! An elevator that batches: it issues once there are three requests, or once the first of them has waited for 8 ms.

use std::collections::VecDeque;

use blksched::author::merge::Merging;
use blksched::author::{
    Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, Neighbours, RequestId, Requests, Run, Tuned,
};
use blksched::reasons::IdleFor;
use blksched::{Instant, Reason, Span};

const ENOUGH: usize = 3;
const PATIENCE: Span = Span::from_ms(8);

/// Its current state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mood {
    /// Nothing is issued until there are enough requests.
    #[default]
    Gathering,
    /// Everything is issued.
    Going,
}

/// The elevator.
#[derive(Debug, Default)]
pub struct Company {
    fifo: VecDeque<RequestId>,
    mood: Mood,
    until: Option<Instant>,
}

impl Company {
    fn go(&mut self, cx: &mut Cx<'_>) {
        self.mood = Mood::Going;
        if self.until.take().is_some() {
            cx.explain(Reason::Cancelled);
        }
    }
}

impl Elevator for Company {
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.fifo.push_back(rq);
        if self.mood == Mood::Going {
            return Run::No;
        }
        if self.fifo.len() >= ENOUGH {
            self.go(cx);
            return Run::Now;
        }
        if self.until.is_none() {
            let until = cx.now + PATIENCE;
            self.until = Some(until);
            cx.explain(Reason::Armed { until, why: IdleFor::Company });
        }
        Run::No
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        if let (Mood::Gathering, Some(until)) = (self.mood, self.until) {
            return Dispatch::Idle { until, why: IdleFor::Company };
        }
        let rq = self.fifo.pop_front();
        if self.fifo.is_empty() {
            self.mood = Mood::Gathering;
        }
        rq.map_or(Dispatch::Empty, Dispatch::Issue)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.fifo.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.until
    }

    fn elapse(&mut self, _cx: &mut Cx<'_>) -> Run {
        self.until = None;
        self.mood = Mood::Going;
        Run::Soon
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.fifo.retain(|&rq| rq != victim);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.fifo.push_front(rq);
        self.go(cx);
    }

    fn check(&self, _requests: &Requests) {
        assert!(self.mood == Mood::Going || self.fifo.is_empty() || self.until.is_some(), "it gathers for ever");
        assert!(self.until.is_none() || self.mood == Mood::Gathering, "it goes, and a timer is armed");
    }
}

impl Merges for Company {
    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        let Some(at) = self.fifo.iter().position(|&queued| queued == rq) else { return Neighbours::default() };
        Neighbours { before: at.checked_sub(1).map(|at| self.fifo[at]), behind: self.fifo.get(at + 1).copied() }
    }
}

impl Admits for Company {}
impl Grouped for Company {}
impl Tuned for Company {}
