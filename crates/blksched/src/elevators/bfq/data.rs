//! BFQ's state: what its mechanisms share, and the invariants between them.
//!
//! **In the kernel** `bfq_data`.

use crate::elevator::{Cx, Run};
use crate::elevators::bfq::device::Device;
use crate::elevators::bfq::hierarchy::Hierarchy;
use crate::elevators::bfq::hierarchy::entity::Entity;
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::rules::Rules;
use crate::elevators::bfq::state::burst::Burst;
use crate::elevators::bfq::state::context::{Contexts, WriteBack};
use crate::elevators::bfq::state::idling::{Idling, InService};
use crate::elevators::bfq::state::injection::Sample;
use crate::elevators::bfq::state::positions::Positions;
use crate::elevators::bfq::state::queue::{BusyQueues, Queues};
use crate::elevators::bfq::state::waking::Wakers;
use crate::elevators::bfq::timeouts::{Call, Jiffy, TickCache, Timeouts};
use crate::elevators::bfq::tunables::BfqTunables;
use crate::index::{Forest, List, Lists};
use crate::request::Sector;

/// The data kept for each request (`elv.priv`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestData {
    pub(super) queue: Qid,
    pub(super) context: Cid,
    /// When it expires, and may then be dispatched out of order \[ns\].
    pub(super) expires_ns: u64,
}

/// What is known about the last bio that was looked at, which may be the one whose request arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// The queue is the process's own and there is no queue to merge with; nothing has changed since that was checked.
    Alone,
    /// It has to be checked.
    Unknown,
}

/// Budget fair queueing.
#[derive(Debug)]
pub struct Bfq {
    pub(super) knobs: BfqTunables,
    pub(super) rules: Rules,
    pub(super) timeouts: Timeouts,
    pub(super) clock: TickCache,

    pub(super) contexts: Contexts,
    pub(super) met: Met,
    pub(super) queues: Queues,
    pub(super) write_back: WriteBack,
    /// The data of each request, which also links each queue's requests by age.
    pub(super) rows: Lists<RequestData>,
    /// Each queue's requests, sorted by sector.
    pub(super) sorted: Forest<Sector>,
    /// Requests that the device returned.
    pub(super) handed_back: List,

    pub(super) hierarchy: Hierarchy,
    pub(super) device: Device,
    pub(super) positions: Positions,
    pub(super) wakers: Wakers,
    pub(super) burst: Burst,

    pub(super) in_service: InService,
    pub(super) idling: Idling,
    pub(super) sample: Sample,

    pub(super) busy: BusyQueues,
    /// The number of requests in all queues.
    pub(super) queued: u32,
    /// 5.10: the number of requests that were inserted and have not completed. Absorbed ones are never subtracted.
    pub(super) elevator_queued: u32,
}

impl Bfq {
    /// Creates a BFQ with these knobs, on a kernel with `hz` ticks per second.
    pub(super) fn new(knobs: BfqTunables, rules: Rules, hz: u32) -> Bfq {
        Bfq {
            knobs,
            rules,
            timeouts: Timeouts::new(hz),
            clock: TickCache::new(hz),
            contexts: Contexts::default(),
            met: Met::Unknown,
            queues: Queues::default(),
            write_back: WriteBack::default(),
            rows: Lists::new(),
            sorted: Forest::new(),
            handed_back: List::new(),
            hierarchy: Hierarchy::new(Timeouts::new(hz).idle_class),
            device: Device::new(true, rules.queueing),
            positions: Positions::default(),
            wakers: Wakers::default(),
            burst: Burst::new(),
            in_service: InService::default(),
            idling: Idling::default(),
            sample: Sample::default(),
            busy: BusyQueues::default(),
            queued: 0,
            elevator_queued: 0,
        }
    }

    /// Called once, when the device is known. Reserves room for its requests (at most 4096) and for the queues of a
    /// usual load; the tables grow if there are more.
    pub(super) fn meet_device(&mut self, call: &Call<'_>) {
        let rotational = call.cx.device().rotational;
        self.knobs.async_depth = three_quarters(call.cx.device().nr_requests);
        self.device = Device::new(rotational, self.rules.queueing);
        self.hierarchy.begin_at(call.now);
        let (requests, queues) = ((call.cx.device().nr_requests as usize).min(4096), 64);
        self.contexts.reserve(queues);
        self.queues.reserve(queues);
        self.hierarchy.reserve(queues);
        self.wakers.reserve(queues);
        self.burst.reserve(queues);
        self.positions.reserve(queues);
        self.rows.reserve(requests);
        self.sorted.reserve(requests);
        self.handed_back.reserve(requests);
    }

    /// Begins a call of the contract.
    #[inline(always)]
    pub(super) fn call<'c>(&mut self, cx: &'c mut Cx<'_>) -> Call<'c> {
        let (ns, now) = (cx.now.as_ns(), self.clock.tick(cx.now));
        Call { cx: cx.apart(), ns, now }
    }

    pub(super) fn entity(&self, q: Qid) -> &Entity {
        self.hierarchy.entity(q)
    }

    pub(super) fn entity_mut(&mut self, q: Qid) -> &mut Entity {
        self.hierarchy.entity_mut(q)
    }

    /// `slice_idle` \[ns\].
    pub(super) fn slice_idle(&self) -> u64 {
        self.knobs.slice_idle.as_ns()
    }

    pub(super) fn tick_ns(&self) -> u64 {
        self.clock.jiffies().span(1).as_ns()
    }

    pub(super) fn timeout_ticks(&self) -> Jiffy {
        self.clock.jiffies().ticks(self.knobs.timeout_sync) as Jiffy
    }

    /// Recomputes the greatest budget: the amount that the device transfers in `timeout_sync`, or the knob's value.
    pub(super) fn recompute_max_budget(&mut self) {
        let timeout_ms = self.timeout_ticks() as u64 * 1000 / u64::from(self.clock.jiffies().hz());
        self.device.recompute_max_budget(i64::from(self.knobs.max_budget), timeout_ms);
    }

    /// Requests a run if anything is queued.
    pub(super) fn run_if_queued(&self) -> Run {
        if self.queued > 0 { Run::Soon } else { Run::No }
    }
}

/// Rounded down, at least one.
fn three_quarters(tags: u32) -> u32 {
    ((u64::from(tags) * 3 / 4) as u32).max(1)
}
