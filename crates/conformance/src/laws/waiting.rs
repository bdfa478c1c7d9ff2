//! Bounded waiting: no request waits longer than the catalogue states.
//!
//! **Rule** Between a request's expiry and its issue at most `(ahead + 1) × batches × batch` other requests are issued,
//! where `ahead` requests were queued before it. A knob that changes while a request waits counts with its most
//! generous value. Requests that kernels dispatch out of order are not counted: returned requests, requests with the
//! same first sector (aliases), and requests that 2.5 inserts beside one that was too large.

use std::collections::BTreeMap;

use blksched::author::{Ahead, Bound, Insert, PerDir, Request, RequestId, Wait};
use blksched::tunables::Tunables;
use blksched::{Dir, Instant, Sector, Span};

/// Two ticks of the slowest clock of an elevator (100 per second), because expiry is rounded.
const ROUNDING: Span = Span::from_ms(20);

/// Whether the issue of a request counts for those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IssueTurn {
    InTurn,
    OutOfTurn,
}

/// One request that waits.
#[derive(Clone, Copy, Debug)]
struct Claim {
    dir: Dir,
    start: Sector,
    turn: IssueTurn,
    /// When its wait begins to count.
    expires: Instant,
    ahead: u64,
    /// The number of other requests issued since.
    waited: u64,
}

/// All requests that wait for one elevator.
pub(super) struct Waiting {
    bound: Bound,
    /// The greatest `batches × batch` so far.
    most: PerDir<u64>,
    claims: BTreeMap<RequestId, Claim>,
}

impl Waiting {
    pub(super) fn new(bound: Bound) -> Waiting {
        Waiting { bound, most: PerDir::default(), claims: BTreeMap::new() }
    }

    fn wait(&self, dir: Dir) -> Wait {
        match dir {
            Dir::Read => self.bound.reads,
            Dir::Write => self.bound.writes,
        }
    }

    /// Updates the bound, as knobs may have changed.
    pub(super) fn look(&mut self, tunables: &dyn Tunables) {
        for dir in Dir::BOTH {
            if let Wait::Bounded { batches, batch, .. } = self.wait(dir) {
                self.most[dir] = self.most[dir].max(batches(tunables).saturating_mul(batch(tunables)));
            }
        }
    }

    pub(super) fn inserted(
        &mut self,
        now: Instant,
        rq: RequestId,
        request: &Request,
        at: Insert,
        tunables: &dyn Tunables,
    ) {
        let (dir, start) = (request.dir(), request.start);
        let Wait::Bounded { expire, .. } = self.wait(dir) else {
            self.claim(rq, dir, start, Instant::NEVER, at);
            return;
        };
        let after = expire.and_then(|knob| tunables.get(knob));
        let own = after.map_or(now, |ns| now + Span::from_ns(ns.max(0) as u64) + ROUNDING);
        // Only the oldest request of a direction is checked, so a request expires only after those before it.
        let before = self.claims.values().filter(|claim| claim.dir == dir && claim.expires < Instant::NEVER);
        let expires = before.map(|claim| claim.expires).max().map_or(own, |before| before.max(own));
        self.claim(rq, dir, start, expires, at);
    }

    fn claim(&mut self, rq: RequestId, dir: Dir, start: Sector, expires: Instant, at: Insert) {
        let counts = |claim: &&Claim| match self.wait(dir) {
            Wait::Bounded { ahead: Ahead::SameDirection, .. } => claim.dir == dir,
            _ => true,
        };
        let ahead = self.claims.values().filter(counts).count() as u64;
        let turn = match at {
            // Beside a request that was too large; or issued by an earlier elevator and returned by the device.
            Insert::After(_) | Insert::Before(_) | Insert::First => IssueTurn::OutOfTurn,
            Insert::Sorted | Insert::Last => IssueTurn::InTurn,
        };
        self.claims.insert(rq, Claim { dir, start, turn, expires, ahead, waited: 0 });
        self.moved(rq, start);
    }

    /// Notes that a request now starts here; its aliases are dispatched out of order.
    pub(super) fn moved(&mut self, rq: RequestId, start: Sector) {
        let Some(claim) = self.claims.get_mut(&rq) else { return };
        claim.start = start;
        let dir = claim.dir;
        let alike = |claim: &&mut Claim| claim.dir == dir && claim.start == start;
        if self.claims.values_mut().filter(alike).count() > 1 {
            self.claims.values_mut().filter(alike).for_each(|claim| claim.turn = IssueTurn::OutOfTurn);
        }
    }

    pub(super) fn requeued(&mut self, rq: RequestId, request: &Request) {
        let (dir, start, expires) = (request.dir(), request.start, Instant::NEVER);
        self.claims.insert(rq, Claim { dir, start, turn: IssueTurn::OutOfTurn, expires, ahead: 0, waited: 0 });
    }

    pub(super) fn gone(&mut self, rq: RequestId) {
        self.claims.remove(&rq);
    }

    /// Notes the issue of `rq`, for which every other expired request has waited.
    pub(super) fn issued(&mut self, now: Instant, rq: RequestId) -> Result<(), String> {
        let turn = self.claims.remove(&rq).map(|claim| claim.turn);
        if turn != Some(IssueTurn::InTurn) {
            return Ok(());
        }
        for (late, claim) in self.claims.iter_mut().filter(|(_, claim)| claim.expires <= now) {
            claim.waited += 1;
            let most = (claim.ahead + 1).saturating_mul(self.most[claim.dir]);
            if claim.waited > most {
                let Claim { dir, ahead, waited, .. } = *claim;
                return Err(format!(
                    "{waited} requests were issued since the {dir} {late:?} expired, with {ahead} ahead of it; \
                     the bound is {most}"
                ));
            }
        }
        Ok(())
    }
}
