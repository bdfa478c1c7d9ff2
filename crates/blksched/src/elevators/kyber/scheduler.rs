//! Kyber as an elevator: each call of the contract, and the part that handles it.
//!
//! **Rule** Each domain is first in, first out; there is no order by sector, no ageing, and no priorities (but a bio
//! joins only a request of its own priority). Asynchronous writes may use three quarters of each word of the tag map,
//! or of all tags.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber.
//! **In the kernel** `kyber_queue_data`, `kyber_insert_requests`, `kyber_dispatch_request`, `kyber_completed_request`,
//! `kyber_bio_merge`, `kyber_finish_request`, `kyber_has_work`, `kyber_depth_updated`, `kyber_limit_depth`,
//! `kyber_prepare_request`.

#![doc(alias = "kyber_queue_data")]
#![doc(alias = "kyber_insert_requests")]
#![doc(alias = "kyber_dispatch_request")]
#![doc(alias = "kyber_completed_request")]
#![doc(alias = "kyber_bio_merge")]
#![doc(alias = "kyber_finish_request")]
#![doc(alias = "kyber_has_work")]
#![doc(alias = "kyber_depth_updated")]
#![doc(alias = "kyber_limit_depth")]
#![doc(alias = "kyber_prepare_request")]

use super::domain::{DomainQueue, PerDomain, domain_of};
use super::statistics::Statistics;
use super::tunables::KyberTunables;
use super::turn::Turn;
use crate::elevator::{
    Admission, Admits, Cx, DeviceFacts, Dispatch, Elevator, Grouped, Hook, Hooks, Insert, Merges, Run, Tuned,
};
use crate::elevators::tags::Tags;
use crate::explain::End;
use crate::queue::merge::Merging;
use crate::request::{Bio, RequestId, Requests, Table, Waiter};
use crate::time::{Instant, Jiffies};
use crate::tunables::Tunables;

/// The part of the tags that asynchronous requests may use \[%\].
const ASYNC_PERCENT: u64 = 75;

/// A request in the device.
#[derive(Clone, Copy, Debug, Default)]
struct Started {
    at: Instant,
    token: u32,
}

/// Kyber.
#[derive(Debug)]
pub struct Kyber {
    tunables: KyberTunables,
    jiffies: Jiffies,
    tags: Tags,
    queues: PerDomain<DomainQueue>,
    turn: Turn,
    statistics: Statistics,
    started: Table<Started>,
}

impl Kyber {
    pub(super) fn new(tunables: KyberTunables, hz: u32, tags: Tags) -> Kyber {
        Kyber {
            tunables,
            jiffies: Jiffies::new(hz),
            tags,
            queues: PerDomain::from_fn(DomainQueue::new),
            turn: Turn::default(),
            statistics: Statistics::default(),
            started: Table::new(),
        }
    }
}

impl Kyber {
    /// How many tags write-back may use.
    fn async_depth(&self, device: &DeviceFacts) -> u32 {
        let tags = u64::from(self.tags.all(device)) * ASYNC_PERCENT / 100;
        (tags as u32).max(1)
    }
}

impl Elevator for Kyber {
    fn hooks(&self) -> Hooks {
        Hooks::of(&[Hook::Admit, Hook::Complete])
    }

    #[inline(always)]
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        let queue = &mut self.queues[domain_of(cx.rq(rq).op)];
        match at {
            Insert::First => queue.flushed.push_front(rq),
            _ => queue.staged.push_back(rq, cx.rq(rq)),
        }
        Run::No
    }

    #[inline(always)]
    fn insert_lone(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert, bio: &Bio) -> Run {
        if at == Insert::First {
            return self.insert(cx, rq, at);
        }
        self.queues[domain_of(bio.op)].staged.push_back(rq, bio);
        Run::No
    }

    #[inline(always)]
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        match self.turn.choose(cx, &mut self.queues) {
            Some((rq, token)) => {
                *self.started.row(rq) = Started { at: cx.now, token };
                Dispatch::Issue(rq)
            }
            None if self.has_work() => Dispatch::Wait,
            None => Dispatch::Empty,
        }
    }

    #[inline(always)]
    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let domain = domain_of(cx.rq(rq).op);
        let Started { at, token } = self.started[rq];
        let took = [cx.now.since(cx.rq(rq).queued_at), cx.now.since(at)];
        self.statistics.count(cx, domain, took, &self.tunables, self.jiffies);
        self.queues[domain].tokens.put_back(token);
        Run::No
    }

    fn has_work(&self) -> bool {
        self.queues.iter().any(DomainQueue::has_any)
    }

    fn deadline(&self) -> Option<Instant> {
        self.statistics.due()
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.statistics.look(cx, &mut self.queues, self.jiffies);
        Run::No
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        unreachable!("{victim:?} has no neighbour here that could absorb it");
    }

    /// Returns the request's token, and puts the request first in its domain.
    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let queue = &mut self.queues[domain_of(cx.rq(rq).op)];
        queue.tokens.put_back(self.started[rq].token);
        queue.flushed.push_front(rq);
    }

    fn check(&self, requests: &Requests) {
        self.queues.iter().for_each(|queue| queue.check(requests));
    }
}

impl Merges for Kyber {
    fn merging(&self) -> Merging {
        Merging::LINUX_6_1_NEWEST
    }

    fn newest(&self, bio: &Bio, than: Option<RequestId>) -> Option<RequestId> {
        self.queues[domain_of(bio.op)].staged.newest(than)
    }

    #[inline(always)]
    fn newest_beside(
        &self,
        requests: &Requests,
        bio: &Bio,
        than: Option<RequestId>,
        left: &mut usize,
    ) -> Option<(RequestId, End)> {
        self.queues[domain_of(bio.op)].staged.beside(requests, bio, than, left)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, _end: End) {
        let request = cx.rq(rq);
        self.queues[domain_of(request.op)].staged.grown(rq, request);
    }
}

impl Admits for Kyber {
    fn shallowest(&self, device: &DeviceFacts) -> Option<u32> {
        Some(self.async_depth(device))
    }

    #[inline(always)]
    fn admit(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        match bio.waiter {
            Waiter::Sync => Admission::Unlimited,
            Waiter::Async => self.tags.admission(self.async_depth(cx.device())),
        }
    }
}

impl Grouped for Kyber {}

impl Tuned for Kyber {
    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }
}
