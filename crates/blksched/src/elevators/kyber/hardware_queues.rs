//! Hardware queues: each has lists and turns of its own, and tokens are the disk's.
//!
//! **Rule** A request waits in the lists of its submitter's hardware queue; bios of another queue do not find it there.
//! Every queue has its own turn. A queue runs when something is inserted into it, and dispatches until it has nothing
//! or no token; queues that run at the same time take turns. A queue that has requests but no token waits for the
//! domain's tokens as tasks wait for tags: in the next of eight wait queues, from which every eighth part of the tokens
//! that come back, at most eight, wakes; one that gets a token in the meantime leaves. So a freed token belongs to
//! whoever comes first, and not to the oldest request of the disk.
//! **Origin** docs/behaviour/blk-mq-6.x.md#d3 ("Kyber has a queue per hardware queue and tokens for the disk"), #t4,
//! #t5 and #t6; that a queue waits as a task does is MEMORY. No recording has several queues.
//! **Not modelled** A software queue for each processor (here one for each hardware queue); a second try after 3 ms of
//! a queue that dispatched nothing. Instead of that, the last token of a domain that comes back wakes all who wait for
//! it, so that nobody waits for a batch that cannot fill.
//! **In the kernel** `kyber_hctx_data`, `khd`, `domain_wait`, `wait_index`, `kyber_domain_wake`.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::domain::{DOMAINS, DomainQueue, Domains, PerDomain};
use super::tokens::Tokens;
use super::turn::Turn;
use crate::elevator::Cx;
use crate::explain::Domain;
use crate::queue::mq::wait_queues::WAIT_QUEUES;
use crate::queue::mq::{MqEra, Task, WaitQueues};
use crate::request::{RequestId, Requests, SubmitterId};

/// The most tokens that are returned for one wake-up.
const LARGEST_BATCH: u32 = 8;

/// One hardware queue's requests, and whose turn it is.
#[derive(Debug)]
pub(super) struct HardwareQueue {
    pub(super) lists: PerDomain<DomainQueue>,
    turn: Turn,
}

impl Default for HardwareQueue {
    fn default() -> HardwareQueue {
        HardwareQueue { lists: PerDomain::from_fn(|_| DomainQueue::default()), turn: Turn::default() }
    }
}

/// A disk's hardware queues. Usually there is one, which runs whenever Kyber is asked.
#[derive(Debug, Default)]
pub(super) struct HardwareQueues {
    first: HardwareQueue,
    others: Option<Box<Others>>,
}

/// What several queues need.
#[derive(Debug)]
struct Others {
    /// From the second on.
    queues: Vec<HardwareQueue>,
    /// The queues of submitters; the first of those that are not here.
    places: BTreeMap<SubmitterId, u32>,
    runs: Runs,
}

impl HardwareQueues {
    /// The processor of this submitter has this queue.
    pub(super) fn place(&mut self, submitter: SubmitterId, queue: u32, era: MqEra) {
        if queue == 0 && self.others.is_none() {
            return;
        }
        let others = self.others.get_or_insert_with(|| {
            Box::new(Others { queues: Vec::new(), places: BTreeMap::new(), runs: Runs::new(era) })
        });
        others.places.insert(submitter, queue);
        let all = (queue as usize).max(others.queues.len());
        others.queues.resize_with(all, HardwareQueue::default);
        others.runs.waiting.resize_with(all + 1, PerDomain::default);
    }

    #[inline(always)]
    pub(super) fn of(&self, submitter: SubmitterId) -> &HardwareQueue {
        match &self.others {
            None => &self.first,
            Some(others) => match others.place(submitter) {
                0 => &self.first,
                nth => &others.queues[nth as usize - 1],
            },
        }
    }

    #[inline(always)]
    pub(super) fn of_mut(&mut self, submitter: SubmitterId) -> &mut HardwareQueue {
        match &mut self.others {
            None => &mut self.first,
            Some(others) => match others.place(submitter) {
                0 => &mut self.first,
                nth => &mut others.queues[nth as usize - 1],
            },
        }
    }

    fn iter(&self) -> impl Iterator<Item = &HardwareQueue> {
        core::iter::once(&self.first).chain(self.others.iter().flat_map(|others| &others.queues))
    }

    #[inline(always)]
    pub(super) fn have_any(&self) -> bool {
        self.iter().any(|queue| queue.lists.iter().any(DomainQueue::has_any))
    }

    /// A request of this submitter is queued, so its queue runs.
    #[inline(always)]
    pub(super) fn runs(&mut self, submitter: SubmitterId) {
        if let Some(others) = &mut self.others {
            let nth = others.place(submitter);
            others.runs.is_due(nth);
        }
    }

    /// The next request and its token.
    #[inline(always)]
    pub(super) fn choose(
        &mut self,
        cx: &mut Cx<'_>,
        tokens: &mut PerDomain<Tokens>,
        domains: Domains,
    ) -> Option<(RequestId, u32)> {
        match &mut self.others {
            None => self.first.turn.choose(cx, &mut self.first.lists, tokens, domains),
            Some(others) => others.choose(&mut self.first, cx, tokens, domains),
        }
    }

    /// A token has come back to a domain that has now this many.
    #[inline(always)]
    pub(super) fn token_returned(&mut self, domain: Domain, depth: u32) {
        if let Some(others) = &mut self.others {
            others.runs.token_returned(domain, depth);
        }
    }

    pub(super) fn check(&self, requests: &Requests) {
        self.iter().for_each(|queue| queue.lists.iter().for_each(|lists| lists.check(requests)));
        if let Some(others) = &self.others {
            (0..).zip(self.iter()).for_each(|(nth, queue)| others.runs.check(nth, &queue.lists));
        }
    }
}

impl Others {
    fn place(&self, submitter: SubmitterId) -> u32 {
        self.places.get(&submitter).copied().unwrap_or_default()
    }

    /// Of the queues that are due, in turn: each until it has nothing or no token.
    #[inline(never)]
    fn choose(
        &mut self,
        first: &mut HardwareQueue,
        cx: &mut Cx<'_>,
        tokens: &mut PerDomain<Tokens>,
        domains: Domains,
    ) -> Option<(RequestId, u32)> {
        while let Some(&nth) = self.runs.due.front() {
            let queue = match nth {
                0 => &mut *first,
                nth => &mut self.queues[nth as usize - 1],
            };
            let chosen = queue.turn.choose(&mut cx.apart(), &mut queue.lists, tokens, domains);
            if let Some((rq, _)) = chosen {
                self.runs.token_taken(nth, domains.of(cx.rq(rq)));
                // Queues run at the same time, on processors of their own.
                self.runs.due.rotate_left(1);
                return chosen;
            }
            self.runs.due.pop_front();
            // What it has now has no token.
            for domain in DOMAINS.into_iter().filter(|&domain| queue.lists[domain].has_any()) {
                self.runs.waits(nth, domain);
            }
        }
        None
    }
}

/// Where a queue waits for the tokens of a domain.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// The wait queue that it enters next.
    cursor: usize,
    at: Option<usize>,
}

/// Which queues are to run, and which wait for tokens.
#[derive(Debug)]
struct Runs {
    era: MqEra,
    due: VecDeque<u32>,
    waits: PerDomain<WaitQueues>,
    /// Of each queue.
    waiting: Vec<PerDomain<Waiting>>,
    /// Tokens that are out, also those beyond a smaller depth.
    out: PerDomain<u32>,
    woke: Vec<Task>,
}

impl Runs {
    fn new(era: MqEra) -> Runs {
        Runs {
            era,
            due: VecDeque::new(),
            waits: PerDomain::default(),
            waiting: Vec::new(),
            out: PerDomain::default(),
            woke: Vec::new(),
        }
    }

    fn is_due(&mut self, nth: u32) {
        if !self.due.contains(&nth) {
            self.due.push_back(nth);
        }
    }

    fn waits(&mut self, nth: u32, domain: Domain) {
        let Waiting { cursor, at } = &mut self.waiting[nth as usize][domain];
        if at.is_none() {
            *at = Some(*cursor);
            self.waits[domain].enter(*cursor, Task(nth));
            *cursor = (*cursor + 1) % WAIT_QUEUES;
        }
    }

    fn token_taken(&mut self, nth: u32, domain: Domain) {
        self.out[domain] += 1;
        if let Some(at) = self.waiting[nth as usize][domain].at.take() {
            self.waits[domain].withdraw(at, Task(nth));
        }
    }

    fn token_returned(&mut self, domain: Domain, depth: u32) {
        // Those that were taken before there were several queues were not counted.
        self.out[domain] = self.out[domain].saturating_sub(1);
        let waits = &mut self.waits[domain];
        waits.returned(self.era, 1, (depth / LARGEST_BATCH).clamp(1, LARGEST_BATCH), &mut self.woke);
        while self.out[domain] == 0 && waits.asleep().next().is_some() {
            waits.wake_one_each(&mut self.woke);
        }
        while let Some(Task(nth)) = pop_first(&mut self.woke) {
            self.waiting[nth as usize][domain].at = None;
            self.waits[domain].runs();
            self.is_due(nth);
        }
    }

    /// Whoever has requests is to run, or waits for a token that will come back.
    fn check(&self, nth: u32, lists: &PerDomain<DomainQueue>) {
        for domain in DOMAINS {
            let waits = self.waiting[nth as usize][domain].at.is_some();
            assert!(!waits || self.out[domain] > 0, "queue {nth} waits for tokens of {domain:?}, of which none is out");
            let is_served = waits || self.due.contains(&nth);
            assert!(is_served || !lists[domain].has_any(), "{domain:?} of queue {nth} is forgotten");
        }
    }
}

fn pop_first(woke: &mut Vec<Task>) -> Option<Task> {
    (!woke.is_empty()).then(|| woke.remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_returned_tokens_wakes_and_so_does_the_last_one() {
        let mut queues = HardwareQueues::default();
        (1..=3).for_each(|nth| queues.place(SubmitterId(nth), nth, MqEra::Linux6_12));
        let runs = &mut queues.others.as_mut().unwrap().runs;
        (0..20).for_each(|_| runs.token_taken(1, Domain::Write));
        (2..=3).for_each(|nth| runs.waits(nth, Domain::Write));
        let due_after = |runs: &mut Runs, tokens: u32, depth: u32| {
            (0..tokens).for_each(|_| runs.token_returned(Domain::Write, depth));
            runs.due.drain(..).collect::<Vec<_>>()
        };
        assert_eq!(due_after(runs, 7, 128), []);
        assert_eq!(due_after(runs, 1, 128), [2, 3], "the eighth");
        runs.waits(2, Domain::Write);
        runs.token_taken(2, Domain::Write);
        runs.waits(3, Domain::Write);
        assert_eq!(due_after(runs, 2, 16), [3], "one that has got a token waits no longer; a batch of two");
        runs.waits(3, Domain::Write);
        // The domain grew: eleven more come back, of which eight are a batch, and the last wakes whoever waits.
        assert_eq!(due_after(runs, 8, 128), [3]);
        runs.waits(3, Domain::Write);
        assert_eq!(due_after(runs, 2, 128), []);
        assert_eq!(due_after(runs, 1, 128), [3]);
    }
}
