//! CFQ's books: what its mechanisms share, and the invariants between them.

use std::collections::BTreeMap;

use super::context::Process;
use super::cooperator::Positions;
use super::ncq::NcqWatch;
use super::presets::Mechanisms;
use super::priority::Standing;
use super::queue::{Qid, Queues};
use super::service_tree::ServiceTrees;
use super::tunables::{CfqTunables, Ticks};
use super::workload::Workload;
use crate::elevator::{Cx, Run};
use crate::elevators::sorted_dispatch::SortedDispatch;
use crate::index::{Forest, Lists};
use crate::request::{PerWaiter, Requests, Sector, SubmitterId, Table};
use crate::time::{Jiffies, Tick};

/// What is kept of each request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) queue: Qid,
    /// When it goes out of turn ([`Fifo::SinceInserted`](super::Fifo)).
    pub(super) expires: Tick,
}

/// Completely fair queueing.
#[derive(Debug)]
pub struct Cfq {
    pub(super) knobs: CfqTunables,
    pub(super) rules: Mechanisms,
    pub(super) jiffies: Jiffies,

    pub(super) processes: BTreeMap<SubmitterId, Process>,
    pub(super) queues: Queues,
    /// The write-back queue of each class and level.
    pub(super) write_back: BTreeMap<Standing, Qid>,
    pub(super) rows: Table<Row>,
    /// Each queue's requests by sector.
    pub(super) sorted: Forest<Sector>,
    /// Each queue's requests by age.
    pub(super) fifos: Lists,
    pub(super) service: ServiceTrees,
    pub(super) positions: Positions,
    pub(super) workload: Workload,
    pub(super) chosen: SortedDispatch,

    /// The queue being served.
    pub(super) active: Option<Qid>,
    /// Whose request was the first of this turn: the process that the disk idles for.
    pub(super) active_process: Option<SubmitterId>,
    /// Until when the disk idles.
    pub(super) timer: Option<Tick>,
    /// The queue to be marked once the run that its arrival set off is over.
    pub(super) pending: Option<Qid>,

    /// Requests in all queues.
    pub(super) queued: u32,
    pub(super) in_driver: PerWaiter<u32>,
    /// Requests of processes' own queues, chosen and not yet back.
    pub(super) sync_in_flight: u32,
    pub(super) ncq: NcqWatch,
    /// Behind the last request that the driver took.
    pub(super) head: Sector,
    /// When a request that somebody waited for last came back.
    pub(super) last_sync: Tick,
    /// When one last came back late.
    pub(super) last_delayed_sync: Tick,
    wished: bool,
}

impl Cfq {
    /// CFQ with these knobs and mechanisms, on a kernel with `hz` ticks per second.
    pub fn new(knobs: CfqTunables, rules: Mechanisms, hz: u32) -> Cfq {
        Cfq {
            knobs,
            rules,
            jiffies: Jiffies::new(hz),
            processes: BTreeMap::new(),
            queues: Queues::default(),
            write_back: BTreeMap::new(),
            rows: Table::new(),
            sorted: Forest::new(),
            fifos: Lists::new(),
            service: ServiceTrees::default(),
            positions: Positions::default(),
            workload: Workload::default(),
            chosen: SortedDispatch::default(),
            active: None,
            active_process: None,
            timer: None,
            pending: None,
            queued: 0,
            in_driver: PerWaiter::default(),
            sync_in_flight: 0,
            ncq: NcqWatch::new(rules.ncq),
            head: Sector(0),
            last_sync: 0,
            last_delayed_sync: 0,
            wished: false,
        }
    }

    /// Room for so many requests, within reason, and for the queues of a usual load; more have room made for them when
    /// they come.
    pub(super) fn reserve(&mut self, requests: usize) {
        let (requests, queues) = (requests.min(4096), 64);
        self.queues.reserve(queues);
        self.service.reserve(queues);
        self.positions.reserve(queues);
        self.rows.reserve(requests);
        self.sorted.reserve(requests);
        self.fifos.reserve(requests);
        self.chosen.reserve(requests);
    }

    pub(super) fn now(&self, cx: &Cx<'_>) -> Tick {
        self.jiffies.tick(cx.now)
    }

    pub(super) fn ticks(&self) -> Ticks {
        Ticks::of(&self.knobs, self.jiffies)
    }

    /// Wish to be run later, if there is anything to run for.
    pub(super) fn wish_run(&mut self) {
        self.wished |= self.service.busy() > 0;
    }

    pub(super) fn take_wish(&mut self) -> Run {
        if core::mem::take(&mut self.wished) { Run::Soon } else { Run::No }
    }

    /// The invariants between the books.
    pub(super) fn check_books(&self, requests: &Requests) {
        let mut queued = 0;
        let mut waiting = 0;
        for (q, queue) in self.queues.iter() {
            let members = self.sorted.iter(queue.sorted);
            members.for_each(|slot| assert!(requests.is_live(crate::RequestId::from_index(slot))));
            assert_eq!(queue.sorted.len(), queue.fifo.len(), "queue {q}: the orders hold different requests");
            assert_eq!(queue.next.is_some(), !queue.is_empty(), "queue {q}: a next request exactly if there are any");
            assert!(queue.is_empty() || queue.served_in.is_some(), "queue {q} has requests but waits for no turn");
            assert!(queue.positioned_in.is_none() || !queue.is_empty(), "queue {q} is nowhere but has a position");
            let idle = queue.is_empty() && queue.dispatched == 0 && queue.served_in.is_none();
            assert!(queue.held_by.requests > 0 || idle || self.active == Some(q), "queue {q} lives for nothing");
            queued += queue.sorted.len();
            waiting += u32::from(queue.served_in.is_some());
        }
        assert_eq!((self.queued, self.service.busy()), (queued, waiting));
        assert!(self.active.is_some() || self.active_process.is_none());
    }
}
