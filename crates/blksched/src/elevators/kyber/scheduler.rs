//! Kyber as an elevator: each call of the contract, and the part that handles it.
//!
//! **Rule** Each domain is first in, first out; there is no order by sector, no ageing, and no priorities (but, since
//! 5.10, a bio joins only a request of its own priority). Asynchronous writes may use three quarters of each word of
//! the tag map, or of all tags; since 7.x synchronous writes, too, may use only `async_depth` tags.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber; docs/behaviour/elevators-4.19-5.15.md#73.
//! **In the kernel** `kyber_queue_data`, `kyber_insert_requests`, `kyber_dispatch_request`, `kyber_completed_request`,
//! `kyber_bio_merge`, `kyber_finish_request`, `kyber_has_work`, `kyber_depth_updated`, `kyber_limit_depth`,
//! `kyber_prepare_request`.

use super::domain::{DomainQueue, Domains, PerDomain};
use super::hardware_queues::HardwareQueues;
use super::means::Means;
use super::statistics::Statistics;
use super::tokens::{Freed, Tokens};
use super::tunables::KyberTunables;
use crate::elevator::{Admission, Admits, Cx, DeviceFacts, Dispatch, Elevator, Grouped, Insert, Merges, Run, Tuned};
use crate::elevators::ioprio::MergePriorities;
use crate::elevators::tags::Tags;
use crate::explain::{Domain, End};
use crate::mechanism;
use crate::queue::merge::Merging;
use crate::request::{Bio, Op, RequestId, Requests, SubmitterId, Table, Waiter};
use crate::time::{Instant, Jiffies, Span};
use crate::tunables::Tunables;

/// The part of the tags that asynchronous requests may use \[%\].
const ASYNC_PERCENT: u64 = 75;

mechanism! {
    /// how depths follow latencies
    pub(super) enum FeedbackRule = "feedback" {
        /// mean latencies of windows of 10 and 100 ms: 4.19
        Means = "means",
        /// percentiles of 500 samples: 5.10 and later
        Percentiles = "percentiles",
    }
}

mechanism! {
    /// which requests may use only a part of the tags
    pub(super) enum Limited = "limited" {
        /// asynchronous ones, three quarters of them: until 6.18
        Async = "async",
        /// all but reads, `async_depth` of them: 7.x
        AllButReads = "all_but_reads",
    }
}

/// The differences between eras.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) domains: Domains,
    pub(super) freed: Freed,
    pub(super) feedback: FeedbackRule,
    pub(super) limited: Limited,
    pub(super) tags: Tags,
    pub(super) merge_priorities: MergePriorities,
}

/// The latencies measured, and what follows from them.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per queue, and the larger is the usual one")]
enum Feedback {
    Means(Means),
    Percentiles(Statistics),
}

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
    rules: Rules,
    queues: HardwareQueues,
    tokens: PerDomain<Tokens>,
    feedback: Feedback,
    started: Table<Started>,
}

impl Kyber {
    pub(super) fn new(tunables: KyberTunables, hz: u32, rules: Rules) -> Kyber {
        let Rules { domains, freed, feedback, .. } = rules;
        Kyber {
            tunables,
            jiffies: Jiffies::new(hz),
            rules,
            queues: HardwareQueues::default(),
            tokens: PerDomain::from_fn(|domain| Tokens::new(domains.most_tokens(domain), freed)),
            feedback: match feedback {
                FeedbackRule::Means => Feedback::Means(Means::default()),
                FeedbackRule::Percentiles => Feedback::Percentiles(Statistics::default()),
            },
            started: Table::new(),
        }
    }

    /// How many tags the requests that are limited may use.
    fn async_depth(&self, device: &DeviceFacts) -> u32 {
        match self.rules.limited {
            Limited::Async => three_quarters(self.rules.tags.all(device)),
            Limited::AllButReads => {
                let all = u64::from(self.rules.tags.all(device)) * u64::from(self.tunables.async_depth);
                (all / u64::from(device.nr_requests.max(1))).clamp(1, u64::from(u32::MAX)) as u32
            }
        }
    }

    fn queue_of(&mut self, bio: &Bio) -> &mut DomainQueue {
        &mut self.queues.of_mut(bio.submitter).lists[self.rules.domains.of(bio)]
    }

    fn put_back(&mut self, domain: Domain, token: u32) {
        let tokens = &mut self.tokens[domain];
        tokens.put_back(token);
        self.queues.token_returned(domain, tokens.depth());
    }

    #[inline(always)]
    fn count(&mut self, cx: &mut Cx<'_>, domain: Domain, total: Span, device: Span) {
        match &mut self.feedback {
            Feedback::Percentiles(kept) => kept.count(cx, domain, [total, device], &self.tunables, self.jiffies),
            Feedback::Means(means) => means.count(&mut cx.apart(), domain, device, &self.tunables, self.jiffies),
        }
    }
}

/// Rounded down, at least one.
fn three_quarters(tags: u32) -> u32 {
    ((u64::from(tags) * ASYNC_PERCENT / 100) as u32).max(1)
}

impl Elevator for Kyber {
    fn announces_deadline(&self) -> bool {
        true
    }

    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.tunables.async_depth = three_quarters(cx.device().nr_requests);
    }

    #[inline(always)]
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        let queue = self.queue_of(cx.rq(rq));
        match at {
            Insert::First => queue.flushed.push_front(rq),
            _ => queue.staged.push_back(rq, cx.rq(rq)),
        }
        self.queues.runs(cx.rq(rq).submitter);
        Run::No
    }

    #[inline(always)]
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        match self.queues.choose(cx, &mut self.tokens, self.rules.domains) {
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
        let domain = self.rules.domains.of(cx.rq(rq));
        let Started { at, token } = self.started[rq];
        self.count(cx, domain, cx.now.since(cx.rq(rq).queued_at), cx.now.since(at));
        self.put_back(domain, token);
        Run::No
    }

    fn has_work(&self) -> bool {
        self.queues.have_any()
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.feedback {
            Feedback::Means(means) => means.due(),
            Feedback::Percentiles(kept) => kept.due(),
        }
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        match &mut self.feedback {
            Feedback::Means(means) => means.look(cx, &mut self.tokens, &self.tunables, self.jiffies),
            Feedback::Percentiles(kept) => kept.look(cx, &mut self.tokens, self.jiffies),
        }
        Run::No
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        unreachable!("{victim:?} has no neighbour here that could absorb it");
    }

    /// Returns the request's token, and puts the request first in its domain.
    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let domain = self.rules.domains.of(cx.rq(rq));
        self.put_back(domain, self.started[rq].token);
        self.queue_of(cx.rq(rq)).flushed.push_front(rq);
        self.queues.runs(cx.rq(rq).submitter);
    }

    fn check(&self, requests: &Requests) {
        self.queues.check(requests);
    }
}

impl Merges for Kyber {
    fn merging(&self) -> Merging {
        Merging { kin: self.rules.merge_priorities.kin(), ..Merging::LINUX_6_1_NEWEST }
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn newest(&self, bio: &Bio, than: Option<RequestId>) -> Option<RequestId> {
        self.queues.of(bio.submitter).lists[self.rules.domains.of(bio)].staged.newest(than)
    }

    #[inline(always)]
    fn newest_beside(
        &self,
        requests: &Requests,
        bio: &Bio,
        than: Option<RequestId>,
        left: &mut usize,
    ) -> Option<(RequestId, End)> {
        self.queues.of(bio.submitter).lists[self.rules.domains.of(bio)].staged.beside(requests, bio, than, left)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, _end: End) {
        let request = cx.rq(rq);
        self.queue_of(request).staged.grown(rq, request);
    }
}

impl Admits for Kyber {
    fn place(&mut self, submitter: SubmitterId, hardware_queue: u32) {
        self.queues.place(submitter, hardware_queue, self.rules.tags.era());
    }

    fn shallowest(&self, device: &DeviceFacts) -> Option<u32> {
        Some(self.async_depth(device))
    }

    #[inline(always)]
    fn admit(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        let is_limited = match self.rules.limited {
            Limited::Async => bio.waiter == Waiter::Async,
            Limited::AllButReads => bio.op != Op::Read,
        };
        match is_limited {
            true => self.rules.tags.admission(self.async_depth(cx.device())),
            false => Admission::Unlimited,
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
