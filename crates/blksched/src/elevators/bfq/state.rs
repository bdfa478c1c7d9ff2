//! BFQ's state: what its mechanisms share, and the invariants between them.
//!
//! **In the kernel** `bfq_data`.

#![doc(alias = "bfq_data")]

use std::collections::BTreeMap;

use super::burst::Burst;
use super::context::{Cid, Contexts, WriteBackOf};
use super::cooperator::Positions;
use super::entity::{Entities, Entity, Node, Place};
use super::groups::ROOT;
use super::idling::Idling;
use super::injection::Sample;
use super::links::{Head, Links};
use super::ncq::Ncq;
use super::peak_rate::PeakRate;
use super::qid::Qid;
use super::queue::Queues;
use super::scheduling::Scheduling;
use super::service_tree::{Level, Trees};
use super::terms::{Call, Clock, Jiffy, Terms};
use super::tunables::BfqTunables;
use super::weights::Weights;
use crate::elevator::{Cx, Run};
use crate::index::{Forest, List, Lists};
use crate::request::{Requests, Sector, Table};

/// What is kept of each request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) queue: Qid,
    pub(super) context: Cid,
    /// When it may go out of turn \[ns\].
    pub(super) expires_ns: u64,
}

/// Budget fair queueing.
#[derive(Debug)]
pub struct Bfq {
    pub(super) knobs: BfqTunables,
    pub(super) scheduling: Scheduling,
    pub(super) terms: Terms,
    pub(super) clock: Clock,

    pub(super) contexts: Contexts,
    pub(super) queues: Queues,
    /// The write-back queue of each group, class and level.
    pub(super) write_back: BTreeMap<WriteBackOf, Qid>,
    pub(super) rows: Table<Row>,
    /// Each queue's requests by sector.
    pub(super) sorted: Forest<Sector>,
    /// Each queue's requests by age.
    pub(super) fifos: Lists,
    /// What the device handed back.
    pub(super) handed_back: List,

    /// What stands on service trees.
    pub(super) entities: Entities,
    /// The root's, and one per group.
    pub(super) levels: Vec<Level>,
    pub(super) level_by_group: Vec<Option<usize>>,
    pub(super) groups_made: u64,
    /// Groups that were woken and are not yet at rest.
    pub(super) woken_groups: u32,
    /// Groups with queues that have something to do.
    pub(super) pending_groups: u32,
    pub(super) trees: Trees,
    /// Queues on trees of those that wait, newest first.
    pub(super) active: Head,
    pub(super) active_links: Links,
    pub(super) positions: Positions,
    pub(super) woken_links: Links,
    pub(super) weights: Weights,
    pub(super) burst: Burst,

    /// The queue being served, and since when.
    pub(super) in_service: Option<Qid>,
    pub(super) turn_began_ns: u64,
    pub(super) idling: Idling,
    pub(super) sample: Sample,

    /// Busy queues by class; may be wrong by class, never in sum.
    pub(super) busy: [i64; 3],
    pub(super) raised_busy: i64,
    /// Requests in all queues.
    pub(super) queued: u32,
    pub(super) in_device: u32,

    pub(super) rate: PeakRate,
    pub(super) max_budget: i64,
    pub(super) budgets_assigned: i64,
    pub(super) ncq: Ncq,
    /// Behind the last request that went to the device.
    pub(super) last_position: Sector,
    /// The same, of this turn.
    pub(super) served_position: Sector,
    /// The queue whose request last came back.
    pub(super) last_completed: Option<Qid>,
}

impl Bfq {
    /// BFQ with these knobs, on a kernel with `hz` ticks per second.
    pub(super) fn new(knobs: BfqTunables, scheduling: Scheduling, hz: u32) -> Bfq {
        Bfq {
            knobs,
            scheduling,
            terms: Terms::new(hz),
            clock: Clock::new(hz),
            contexts: Contexts::default(),
            queues: Queues::default(),
            write_back: BTreeMap::new(),
            rows: Table::new(),
            sorted: Forest::new(),
            fifos: Lists::new(),
            handed_back: List::new(),
            entities: Entities::default(),
            levels: vec![Level::new(0, 0)],
            level_by_group: vec![Some(ROOT)],
            groups_made: 0,
            woken_groups: 0,
            pending_groups: 0,
            trees: Trees::new(),
            active: Head::default(),
            active_links: Links::default(),
            positions: Positions::default(),
            woken_links: Links::default(),
            weights: Weights::default(),
            burst: Burst::new(),
            in_service: None,
            turn_began_ns: 0,
            idling: Idling::default(),
            sample: Sample::default(),
            busy: [0; 3],
            raised_busy: 0,
            queued: 0,
            in_device: 0,
            rate: PeakRate::new(true),
            max_budget: super::budget::DEFAULT_MAX,
            budgets_assigned: 0,
            ncq: Ncq::new(true),
            last_position: Sector(0),
            served_position: Sector(0),
            last_completed: None,
        }
    }

    /// The device is known now, and room is made for this many requests, within reason, and for the queues of a usual
    /// load; more have room made for them when they come.
    pub(super) fn meet_device(&mut self, call: &Call<'_, '_>) {
        let rotational = call.cx.device().rotational;
        self.rate = PeakRate::new(rotational);
        self.ncq = Ncq::new(rotational);
        self.levels[ROOT].idle_class_at = call.now;
        let (requests, queues) = ((call.cx.device().nr_requests as usize).min(4096), 64);
        self.contexts.reserve(queues);
        self.queues.reserve(queues);
        self.entities.reserve(queues);
        self.trees.reserve(2 * queues);
        self.active_links.reserve(queues);
        self.woken_links.reserve(queues);
        self.burst.reserve(queues);
        self.positions.reserve(queues);
        self.weights.reserve(queues);
        self.rows.reserve(requests);
        self.sorted.reserve(requests);
        self.fifos.reserve(requests);
        self.handed_back.reserve(requests);
    }

    /// One call of the contract begins.
    pub(super) fn call<'c, 'a>(&mut self, cx: &'c mut Cx<'a>) -> Call<'c, 'a> {
        let (ns, now) = (cx.now.as_ns(), self.clock.tick(cx.now));
        Call { cx, ns, now }
    }

    pub(super) fn entity(&self, q: Qid) -> &Entity {
        &self.entities[Node::queue(q)]
    }

    pub(super) fn entity_mut(&mut self, q: Qid) -> &mut Entity {
        &mut self.entities[Node::queue(q)]
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

    /// Wish to be run, if there is anything to run for.
    pub(super) fn wish_if_queued(&self) -> Run {
        if self.queued > 0 { Run::Soon } else { Run::No }
    }

    /// The invariants of the state.
    pub(super) fn check_books(&self, requests: &Requests) {
        let (mut queued, mut in_device, mut busy, mut raised) = (0, 0, 0, 0);
        for (q, queue) in self.queues.iter() {
            let entity = self.entity(q);
            let members = self.sorted.iter(queue.sorted);
            members.for_each(|slot| assert!(requests.is_live(crate::RequestId::from_index(slot))));
            assert_eq!(queue.sorted.len(), queue.fifo.len(), "queue {q}: the orders hold different requests");
            assert_eq!(queue.next.is_some(), !queue.is_empty(), "queue {q}: a next request exactly if there are any");
            assert!(queue.is_empty() || queue.busy, "queue {q} has requests and is not busy");
            let served = self.in_service == Some(q);
            let waits = entity.place == Place::Active;
            assert_eq!(queue.busy, waits || served, "queue {q} is busy exactly if it waits for service or is served");
            assert_eq!(waits, self.active_links.contains(q), "queue {q} is listed exactly if it waits for service");
            assert!(entity.weight > 0 && entity.own_weight > 0, "queue {q} weighs nothing");
            assert_eq!(entity.allocated, i64::from(queue.held_by.requests), "queue {q}");
            queued += queue.sorted.len();
            in_device += queue.in_device;
            busy += i64::from(queue.busy);
            raised += i64::from(queue.busy && queue.is_raised());
        }
        assert_eq!((queued, in_device), (self.queued, self.in_device));
        assert_eq!((busy, raised), (self.busy_queues(), self.raised_busy));
        assert!(self.idling.until.is_none() || self.in_service.is_some(), "the disk idles for nobody");
        self.check_levels();
    }
}
