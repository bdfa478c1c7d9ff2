//! CFQ's state: what its mechanisms share, and the invariants between them.
//!
//! **In the kernel** `cfq_data`.

#![doc(alias = "cfq_data")]

use crate::elevator::{Cx, IdleFor, Run};
use crate::elevators::cfq::ids::{Pid, Qid};
use crate::elevators::cfq::rules::Mechanisms;
use crate::elevators::cfq::state::groups::Groups;
use crate::elevators::cfq::state::ncq::NcqWatch;
use crate::elevators::cfq::state::positions::Positions;
use crate::elevators::cfq::state::process::Processes;
use crate::elevators::cfq::state::queue::Queues;
use crate::elevators::cfq::state::service_trees::ServiceTrees;
use crate::elevators::cfq::state::workload::Workload;
use crate::elevators::cfq::tunables::{CfqTunables, Ticks, V4_20};
use crate::elevators::nearer::TurningBack;
use crate::elevators::sorted_dispatch::SortedDispatch;
use crate::index::{Forest, Lists};
use crate::request::{PerWaiter, Sector, SubmitterId};
use crate::time::{Jiffies, Span, Tick};

/// What is kept of each request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestData {
    pub(super) queue: Qid,
    /// Whose it is.
    pub(super) process: Pid,
    /// When it goes out of turn (`Fifo::SinceInserted`).
    pub(super) expires: Tick,
}

/// Completely fair queueing.
#[derive(Debug)]
pub struct Cfq {
    pub(super) knobs: CfqTunables,
    /// The times among them, in units of the clock.
    pub(super) ticks: Ticks,
    /// When the arm turns back, by them.
    pub(super) turning_back: TurningBack,
    pub(super) rules: Mechanisms,
    /// What time is counted in.
    pub(super) unit: Jiffies,
    /// A jiffy in that unit.
    pub(super) jiffy: Tick,
    /// The moment of the call under way.
    pub(super) now: Tick,
    /// Added to service keys (`Clock::head_start`).
    pub(super) head_start: i64,

    pub(super) processes: Processes,
    pub(super) queues: Queues,
    pub(super) groups: Groups,
    /// By request, and each queue's requests by age.
    pub(super) rows: Lists<RequestData>,
    /// Each queue's requests by sector.
    pub(super) sorted: Forest<Sector>,
    pub(super) service: ServiceTrees,
    pub(super) positions: Positions,
    pub(super) workload: Workload,
    pub(super) chosen: SortedDispatch,

    /// The queue being served.
    pub(super) active: Option<Qid>,
    /// The process whose request was the first of this slice: the one that the disk idles for.
    pub(super) active_process: Option<Pid>,
    /// Until when the disk idles.
    pub(super) timer: Option<Tick>,
    /// The process or group that it idles for.
    pub(super) idles_for: IdleFor,
    /// The queue to be marked once the run that its arrival set off is over.
    pub(super) pending: Option<Qid>,

    /// Requests in all queues.
    pub(super) queued: u32,
    pub(super) in_driver: PerWaiter<u32>,
    /// Chosen and not yet back.
    pub(super) in_flight: PerWaiter<u32>,
    pub(super) ncq: NcqWatch,
    /// Behind the last request that the driver took.
    pub(super) head: Sector,
    /// When a synchronous request last came back.
    pub(super) last_sync: Tick,
    /// When one last came back late.
    pub(super) last_delayed_sync: Tick,
    wished: bool,
}

impl Cfq {
    /// CFQ with these knobs and mechanisms, on a kernel with `hz` ticks per second.
    pub fn new(knobs: CfqTunables, rules: Mechanisms, hz: u32) -> Cfq {
        let unit = rules.clock.unit(hz);
        Cfq {
            knobs,
            ticks: Ticks::of(&knobs, unit),
            turning_back: knobs.turning_back(),
            rules,
            unit,
            jiffy: rules.clock.jiffy(hz),
            now: 0,
            head_start: 0,
            processes: Processes::default(),
            queues: Queues::default(),
            groups: Groups::new(0),
            rows: Lists::new(),
            sorted: Forest::new(),
            service: ServiceTrees::default(),
            positions: Positions::default(),
            workload: Workload::default(),
            chosen: SortedDispatch::default(),
            active: None,
            active_process: None,
            timer: None,
            idles_for: IdleFor::Submitter(SubmitterId(0)),
            pending: None,
            queued: 0,
            in_driver: PerWaiter::default(),
            in_flight: PerWaiter::default(),
            ncq: NcqWatch::new(rules.ncq),
            head: Sector(0),
            last_sync: 0,
            last_delayed_sync: 0,
            wished: false,
        }
    }

    /// Room for this many requests, within reason, and for the queues of a usual load; more have room made for them
    /// when they come.
    pub(super) fn reserve(&mut self, requests: usize) {
        let (requests, queues) = (requests.min(4096), 256);
        self.processes.reserve(queues);
        self.queues.reserve(queues);
        self.service.reserve(queues);
        self.positions.reserve(queues);
        self.rows.reserve(requests);
        self.sorted.reserve(requests);
        self.chosen.reserve(requests);
    }

    /// A call of the contract begins: the moment is turned into ticks once.
    #[inline]
    pub(super) fn begin(&mut self, cx: &Cx<'_>) {
        self.now = self.unit.tick(cx.now);
    }

    /// A second in units of the clock.
    pub(super) fn second(&self) -> Tick {
        u64::from(self.unit.hz())
    }

    /// The device is known now, and time begins.
    pub(super) fn meet_device(&mut self, cx: &Cx<'_>) {
        let now = self.now;
        self.last_sync = now;
        self.last_delayed_sync = now.wrapping_sub(self.second());
        self.head_start = self.rules.clock.head_start(cx.now);
        self.groups = Groups::new(now);
        if self.knobs.kernel >= V4_20 && !cx.device().rotational {
            self.knobs.slice_idle = Span::ZERO;
            self.ticks = Ticks::of(&self.knobs, self.unit);
        }
        // 2.6 lets a woken submitter have a batch beyond the limit: one and a half times, in each direction.
        self.reserve((3 * cx.device().nr_requests as usize).saturating_add(cx.device().depth as usize));
    }

    /// Wish to be run later, if there is anything to run for.
    pub(super) fn wish_run(&mut self) {
        self.wished |= self.service.busy() > 0;
    }

    pub(super) fn take_wish(&mut self) -> Run {
        if core::mem::take(&mut self.wished) { Run::Soon } else { Run::No }
    }
}
