//! The domain whose turn it is.
//!
//! **Rule** The domain continues for a batch. Then, or when it has nothing to dispatch, the others are tried
//! cyclically, and it again at the end; the first that has a request gets the turn. If none has, the turn stays.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber "Dispatch".
//! **In the kernel** `kyber_dispatch_cur_domain`, `cur_domain`, `batching`, `kyber_batch_size`, `flush_busy_kcq`.

use super::domain::{DOMAINS, DomainAnswer, DomainQueue, Domains, PerDomain};
use super::tokens::Tokens;
use crate::elevator::Cx;
use crate::explain::{Domain, DomainTurn, Reason};
use crate::request::RequestId;

/// The current turn.
#[derive(Debug)]
pub(super) struct Turn {
    domain: Domain,
    /// The number of requests taken in it.
    taken: u32,
}

impl Default for Turn {
    fn default() -> Turn {
        Turn { domain: Domain::Read, taken: 0 }
    }
}

impl Turn {
    /// The next request and its token.
    #[inline(always)]
    pub(super) fn choose(
        &mut self,
        cx: &mut Cx<'_>,
        lists: &mut PerDomain<DomainQueue>,
        tokens: &mut PerDomain<Tokens>,
        domains: Domains,
    ) -> Option<(RequestId, u32)> {
        let mut why = DomainTurn::BatchUsed;
        if self.taken < domains.batch(self.domain) {
            if let Some(chosen) = ask(cx, (lists, tokens), self.domain) {
                self.taken += 1;
                return Some(chosen);
            }
            why = DomainTurn::NothingToSend;
        }
        self.ask_the_others(&mut cx.apart(), (lists, tokens), why)
    }

    #[inline(never)]
    fn ask_the_others(
        &mut self,
        cx: &mut Cx<'_>,
        (lists, tokens): (&mut PerDomain<DomainQueue>, &mut PerDomain<Tokens>),
        why: DomainTurn,
    ) -> Option<(RequestId, u32)> {
        self.taken = 0;
        let started = self.domain as usize;
        for nth in 1..=DOMAINS.len() {
            let domain = DOMAINS[(started + nth) % DOMAINS.len()];
            if let Some(chosen) = ask(cx, (&mut *lists, &mut *tokens), domain) {
                *self = Turn { domain, taken: 1 };
                cx.explain(Reason::DomainBegan { domain, why });
                return Some(chosen);
            }
        }
        None
    }
}

#[inline(always)]
fn ask(
    cx: &mut Cx<'_>,
    (lists, tokens): (&mut PerDomain<DomainQueue>, &mut PerDomain<Tokens>),
    domain: Domain,
) -> Option<(RequestId, u32)> {
    match lists[domain].take(&mut tokens[domain]) {
        DomainAnswer::Goes(rq, token) => {
            cx.explain(Reason::TokenTaken { domain, token });
            Some((rq, token))
        }
        DomainAnswer::Throttled => {
            cx.explain(Reason::Throttled { domain });
            None
        }
        DomainAnswer::NothingQueued => None,
    }
}
