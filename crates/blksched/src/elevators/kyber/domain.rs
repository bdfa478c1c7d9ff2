//! The domains: the queued requests of each kind of operation, and its numbers of tokens.
//!
//! **Rule** Reads, writes, discards and the rest have 256, 128, 64 and 16 tokens, initially and at most; a turn is a
//! batch of 16, 8, 1 and 1 requests. New requests wait in a *staged* list, where bios may still join them. A request
//! needs a token first: without one the staged list is left unchanged. With a token, and if the *flushed* list is
//! empty, the whole staged list becomes the flushed list, and its first request is dispatched. 4.19 has three domains:
//! reads, synchronous writes and the rest, with 256, 128 and 64 tokens and batches of 16, 8 and 8.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber "Domains", "Insertion", "Dispatch" and "try";
//! docs/behaviour/elevators-4.19-5.15.md#k1.
//! **Costs when wrong** Flushing without a token would end all merging while a domain is throttled, which is when
//! merging is most valuable.
//! **In the kernel** `kyber_hctx_data`, `kyber_ctx_queue`, `kyber_sched_domain`, `kcq`, `rqs`, `rq_list`, `kcq_map`.

use core::ops::{Index, IndexMut};

use super::tokens::Tokens;
use crate::elevators::newest::NewestJoin;
use crate::explain::Domain;
use crate::index::List;
use crate::mechanism;
use crate::request::{Bio, Op, RequestId, Requests, Waiter};

/// All domains, in the order of their turns.
pub(super) const DOMAINS: [Domain; 4] = [Domain::Read, Domain::Write, Domain::Discard, Domain::Other];

mechanism! {
    /// which requests share tokens
    pub(super) enum Domains = "domains" {
        /// reads; synchronous writes; everything else: 4.19
        ByWaiter = "by_waiter",
        /// reads; writes; discards; everything else: 5.10 and later
        ByOp = "by_op",
    }
}

impl Domains {
    #[inline(always)]
    pub(super) fn of(self, bio: &Bio) -> Domain {
        match (bio.op, self, bio.waiter) {
            (Op::Read, ..) => Domain::Read,
            (Op::Write, Domains::ByOp, _) | (Op::Write, Domains::ByWaiter, Waiter::Sync) => Domain::Write,
            (Op::Discard, Domains::ByOp, _) => Domain::Discard,
            _ => Domain::Other,
        }
    }

    /// The number of tokens, initially and at most.
    pub(super) fn most_tokens(self, domain: Domain) -> u32 {
        match (domain, self) {
            (Domain::Read, _) => 256,
            (Domain::Write, _) => 128,
            (Domain::Discard, _) | (Domain::Other, Domains::ByWaiter) => 64,
            (Domain::Other, Domains::ByOp) => 16,
        }
    }

    /// The number of requests in one turn.
    #[inline(always)]
    pub(super) fn batch(self, domain: Domain) -> u32 {
        const BY_OP: [u32; 4] = [16, 8, 1, 1];
        const BY_WAITER: [u32; 4] = [16, 8, 1, 8];
        match self {
            Domains::ByOp => BY_OP[domain as usize],
            Domains::ByWaiter => BY_WAITER[domain as usize],
        }
    }
}

/// One `T` per domain.
#[derive(Debug, Default)]
pub(super) struct PerDomain<T>([T; 4]);

impl<T> PerDomain<T> {
    pub(super) fn from_fn(make: impl FnMut(Domain) -> T) -> PerDomain<T> {
        PerDomain(DOMAINS.map(make))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<Domain> for PerDomain<T> {
    type Output = T;
    fn index(&self, domain: Domain) -> &T {
        &self.0[domain as usize]
    }
}

impl<T> IndexMut<Domain> for PerDomain<T> {
    fn index_mut(&mut self, domain: Domain) -> &mut T {
        &mut self.0[domain as usize]
    }
}

/// One domain's requests in one hardware queue.
#[derive(Debug, Default)]
pub(super) struct DomainQueue {
    /// Requests that bios may still join.
    pub(super) staged: NewestJoin,
    /// Requests that bios may no longer join.
    pub(super) flushed: List,
}

/// The result of asking a domain for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DomainAnswer {
    /// This request, with this token.
    Goes(RequestId, u32),
    /// It has requests, but no token is free.
    Throttled,
    /// It has no requests.
    NothingQueued,
}

impl DomainQueue {
    pub(super) fn has_any(&self) -> bool {
        !self.staged.is_empty() || !self.flushed.is_empty()
    }

    #[inline(always)]
    pub(super) fn take(&mut self, tokens: &mut Tokens) -> DomainAnswer {
        if !self.has_any() {
            return DomainAnswer::NothingQueued;
        }
        let Some(token) = tokens.get() else { return DomainAnswer::Throttled };
        if self.flushed.is_empty() {
            self.staged.hand_over(&mut self.flushed);
        }
        let rq = self.flushed.pop_front().expect("one of the two lists has a request");
        DomainAnswer::Goes(rq, token)
    }

    pub(super) fn check(&self, requests: &Requests) {
        self.staged.check(requests);
        self.flushed.check(requests);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elevators::kyber::tokens::Freed;
    use crate::request::{Sector, SubmitterId};

    #[test]
    fn without_a_token_the_staged_list_is_left_as_it_is() {
        let (mut queue, mut tokens) = (DomainQueue::default(), Tokens::new(16, Freed::Later));
        let bio = Bio::read(0, SubmitterId(1), Sector(0), 8);
        for index in 0..18 {
            queue.staged.push_back(RequestId::from_index(index), &bio);
        }
        for index in 0..16 {
            assert_eq!(queue.take(&mut tokens), DomainAnswer::Goes(RequestId::from_index(index), index));
        }
        // The rest was flushed with the others, and waits where no bio may join.
        assert_eq!((queue.take(&mut tokens), queue.flushed.len()), (DomainAnswer::Throttled, 2));
        queue.flushed.remove(RequestId::from_index(16));
        queue.flushed.remove(RequestId::from_index(17));
        queue.staged.push_back(RequestId::from_index(20), &bio);
        assert_eq!((queue.take(&mut tokens), queue.staged.len()), (DomainAnswer::Throttled, 1));
        tokens.put_back(3);
        assert_eq!(queue.take(&mut tokens), DomainAnswer::Goes(RequestId::from_index(20), 3));
        assert_eq!(queue.take(&mut tokens), DomainAnswer::NothingQueued);
    }
}
