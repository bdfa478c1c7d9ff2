//! A FIFO with one fault.

use std::collections::VecDeque;

use blksched::author::merge::Merging;
use blksched::author::{
    Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, Neighbours, RequestId, Requests, Run, Tuned,
};
use blksched::reasons::IdleFor;
use blksched::tunables::{Knob, KnobError, Tunables};
use blksched::{Bio, Instant, Reason, Span};

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Every seventh request is lost.
    Loses,
    /// A returned request is lost.
    ForgetsRequeued,
    /// Every seventh request is issued again.
    IssuesTwice,
    /// A request that never existed is issued.
    IssuesOutOfNowhere,
    /// A request that was absorbed is issued.
    IssuesAbsorbed,
    /// It answers `Empty` although a request is left.
    EmptyTooSoon,
    /// It answers `Wait` with nothing in flight.
    WaitsForNothing,
    /// It answers `Wait` with nothing queued.
    WaitsWithNothingQueued,
    /// It idles until a time for which it has no deadline.
    IdlesWithoutDeadline,
    /// A deadline stays after it has elapsed.
    DeadlineStays,
    /// Its deadline is due at once whenever it is asked.
    NeverSettles,
    /// It arms its deadline without a reason.
    ArmsSilently,
    /// Last in, first out.
    Starves,
    /// Its invariants do not hold.
    BreaksInvariants,
    /// Its knob keeps a smaller value than it is given.
    KnobForgets,
    /// Its knob accepts anything.
    KnobTakesAnything,
    /// Its knob changes on an invalid value.
    KnobSlips,
}

/// The elevator.
pub struct Faulty {
    fault: Fault,
    merging: Merging,
    fifo: VecDeque<RequestId>,
    until: Option<Instant>,
    inserted: u64,
    ghost: Option<RequestId>,
    knob: Wish,
}

impl Faulty {
    pub fn boxed(fault: Fault, merging: Merging) -> Box<dyn Elevator> {
        let knob = Wish { fault, value: 4 };
        Box::new(Faulty { fault, merging, fifo: VecDeque::new(), until: None, inserted: 0, ghost: None, knob })
    }

    fn answer(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        if let Some(ghost) = self.ghost.take() {
            return Dispatch::Issue(ghost);
        }
        let why = IdleFor::Company;
        let queued = self.fifo.len();
        match self.fault {
            Fault::EmptyTooSoon if queued == 1 => return Dispatch::Empty,
            Fault::WaitsForNothing if queued == 1 => return Dispatch::Wait,
            Fault::WaitsWithNothingQueued if queued == 0 => return Dispatch::Wait,
            Fault::IdlesWithoutDeadline if queued == 1 => {
                return Dispatch::Idle { until: cx.now + Span::from_ms(1), why };
            }
            Fault::NeverSettles if queued == 1 => {
                cx.explain(Reason::Armed { until: cx.now, why });
                self.until = Some(cx.now);
                return Dispatch::Idle { until: cx.now, why };
            }
            _ => {}
        }
        let rq = if self.fault == Fault::Starves { self.fifo.pop_back() } else { self.fifo.pop_front() };
        if self.fault == Fault::IssuesTwice && self.inserted.is_multiple_of(7) {
            self.ghost = rq;
        }
        rq.map_or(Dispatch::Empty, Dispatch::Issue)
    }
}

impl Elevator for Faulty {
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.inserted += 1;
        let nth = self.inserted.is_multiple_of(7);
        if !(self.fault == Fault::Loses && nth) {
            self.fifo.push_back(rq);
        }
        match self.fault {
            Fault::IssuesOutOfNowhere if nth => self.ghost = Some(RequestId::from_index(1 << 20)),
            Fault::DeadlineStays | Fault::ArmsSilently if self.until.is_none() => {
                let until = cx.now + Span::from_ms(1);
                self.until = Some(until);
                if self.fault == Fault::DeadlineStays {
                    cx.explain(Reason::Armed { until, why: IdleFor::Company });
                }
            }
            _ => {}
        }
        Run::No
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        self.answer(cx)
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
        if self.fault != Fault::DeadlineStays {
            self.until = None;
        }
        Run::No
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.fifo.retain(|&rq| rq != victim);
        if self.fault == Fault::IssuesAbsorbed {
            self.ghost = Some(victim);
        }
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        if self.fault != Fault::ForgetsRequeued {
            self.fifo.push_front(rq);
        }
    }

    fn check(&self, _requests: &Requests) {
        assert!(self.fault != Fault::BreaksInvariants || self.inserted < 7, "the seventh came");
    }
}

impl Merges for Faulty {
    fn merging(&self) -> Merging {
        self.merging
    }

    fn newest(&self, _bio: &Bio, than: Option<RequestId>) -> Option<RequestId> {
        let before = than.and_then(|than| self.fifo.iter().position(|&queued| queued == than));
        self.fifo.range(..before.unwrap_or(self.fifo.len())).next_back().copied()
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        let Some(at) = self.fifo.iter().position(|&queued| queued == rq) else { return Neighbours::default() };
        Neighbours { before: at.checked_sub(1).map(|at| self.fifo[at]), behind: self.fifo.get(at + 1).copied() }
    }
}

impl Admits for Faulty {}
impl Grouped for Faulty {}

impl Tuned for Faulty {
    fn tunables(&self) -> &dyn Tunables {
        &self.knob
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.knob)
    }
}

/// One knob, from 0 to 10.
struct Wish {
    fault: Fault,
    value: i64,
}

const WISH: Knob = Knob {
    name: "wish",
    unit: blksched::tunables::Unit::Times,
    default: 4,
    min: 0,
    max: 10,
    kernels: blksched::author::Kernels::since(blksched::Kernel::new(2, 5, 38)),
    sweep: &[1, 2, 4, 8],
    doc: "Nothing comes of it.",
    same_as: None,
};

impl Tunables for Wish {
    fn knobs(&self) -> Vec<&'static Knob> {
        vec![&WISH]
    }

    fn get(&self, name: &str) -> Option<i64> {
        (name == WISH.name).then_some(self.value)
    }

    fn set(&mut self, name: &str, raw: i64) -> Result<(), KnobError> {
        self.find(name)?;
        if self.fault == Fault::KnobSlips {
            self.value = raw.clamp(WISH.min, WISH.max);
        }
        if self.fault != Fault::KnobTakesAnything {
            WISH.check(raw)?;
        }
        self.value = if self.fault == Fault::KnobForgets { raw & !1 } else { raw };
        Ok(())
    }
}
