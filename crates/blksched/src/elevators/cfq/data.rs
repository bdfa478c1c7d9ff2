//! CFQ's state: what its mechanisms share, and the invariants between them.
//!
//! **In the kernel** `cfq_data`.

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::ids::{Pid, Qid};
use crate::elevators::cfq::rules::Mechanisms;
use crate::elevators::cfq::state::active::{Active, IdleTimer};
use crate::elevators::cfq::state::groups::Groups;
use crate::elevators::cfq::state::in_device::{InDevice, LastSync};
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
use crate::request::Sector;
use crate::time::{Jiffies, Span, Tick};

/// The data kept for each request (`elv.priv`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestData {
    pub(super) queue: Qid,
    /// The process that sent it.
    pub(super) process: Pid,
    /// When it expires, and is then dispatched out of order (`Fifo::SinceInserted`).
    pub(super) expires: Tick,
}

/// Completely fair queueing.
#[derive(Debug)]
pub struct Cfq {
    pub(super) knobs: CfqTunables,
    /// Those of the knobs that are times, in units of the clock.
    pub(super) ticks: Ticks,
    /// When the arm turns back, by the knobs.
    pub(super) turning_back: TurningBack,
    pub(super) rules: Mechanisms,
    /// The unit in which time is counted.
    pub(super) unit: Jiffies,
    /// One jiffy in that unit.
    pub(super) jiffy: Tick,
    /// The time of the current call.
    pub(super) now: Tick,
    /// Added to service keys (`Clock::head_start`).
    pub(super) head_start: i64,

    pub(super) processes: Processes,
    pub(super) queues: Queues,
    pub(super) groups: Groups,
    /// The data of each request, which also links each queue's requests by age.
    pub(super) rows: Lists<RequestData>,
    /// Each queue's requests, sorted by sector.
    pub(super) sorted: Forest<Sector>,
    pub(super) service: ServiceTrees,
    pub(super) positions: Positions,
    pub(super) workload: Workload,
    pub(super) dispatch_list: SortedDispatch,

    pub(super) active: Active,
    pub(super) timer: IdleTimer,
    /// The queue to be marked after the run that its arrival triggered.
    pub(super) pending: Option<Qid>,

    /// The number of requests in all queues.
    pub(super) queued: u32,
    pub(super) in_device: InDevice,
    pub(super) ncq: NcqWatch,
    /// The end of the last request that the driver took.
    pub(super) head: Sector,
    pub(super) last_sync: LastSync,
    run_asked: bool,
}

impl Cfq {
    /// Creates a CFQ with these knobs and mechanisms, on a kernel with `hz` ticks per second.
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
            dispatch_list: SortedDispatch::default(),
            active: Active::default(),
            timer: IdleTimer::default(),
            pending: None,
            queued: 0,
            in_device: InDevice::default(),
            ncq: NcqWatch::new(rules.ncq),
            head: Sector(0),
            last_sync: LastSync::default(),
            run_asked: false,
        }
    }

    /// Reserves room for this many requests (at most 4096) and for the queues of a usual load; the tables grow if there
    /// are more.
    pub(super) fn reserve(&mut self, requests: usize) {
        let (requests, queues) = (requests.min(4096), 256);
        self.processes.reserve(queues);
        self.queues.reserve(queues);
        self.service.reserve(queues);
        self.positions.reserve(queues);
        self.rows.reserve(requests);
        self.sorted.reserve(requests);
        self.dispatch_list.reserve(requests);
    }

    /// Begins a call of the contract: the time is converted to ticks once.
    #[inline]
    pub(super) fn begin(&mut self, cx: &Cx<'_>) {
        self.now = self.unit.tick(cx.now);
    }

    /// One second in units of the clock.
    pub(super) fn second(&self) -> Tick {
        u64::from(self.unit.hz())
    }

    /// Called once, when the device is known.
    pub(super) fn meet_device(&mut self, cx: &Cx<'_>) {
        let now = self.now;
        self.last_sync = LastSync::new(now, now.wrapping_sub(self.second()));
        self.head_start = self.rules.clock.head_start(cx.now);
        self.groups = Groups::new(now);
        // 4.20 does not idle by default on a disk without an arm, which has no position to keep; `group_idle` stays.
        if self.knobs.kernel >= V4_20 && !cx.device().rotational {
            self.knobs.slice_idle = Span::ZERO;
            self.ticks = Ticks::of(&self.knobs, self.unit);
        }
        // In 2.6 a woken submitter may exceed the limit by a batch, up to one and a half times the limit in each
        // direction.
        self.reserve((3 * cx.device().nr_requests as usize).saturating_add(cx.device().depth as usize));
    }

    /// Requests a later run if any queue waits for a slice.
    pub(super) fn run_later(&mut self) {
        self.run_asked |= self.service.busy() > 0;
    }

    pub(super) fn take_run(&mut self) -> Run {
        if core::mem::take(&mut self.run_asked) { Run::Soon } else { Run::No }
    }
}
