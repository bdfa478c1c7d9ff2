//! Which request of a queue goes next: the nearest ahead, unless one a little behind is nearer still; and once a turn
//! the oldest, if its time is up.
//!
//! **Rule** A request somebody waits for before one nobody does; then the nearer, by `back_seek_penalty` and
//! `back_seek_max` ([`TurningBack`]). Once a request is taken, from its own start: the one behind it, or the one before
//! it.
//! **Origin** docs/behaviour/elevators-6.1.md#b4.
//! **In the kernel** `bfq_choose_req`, `bfq_find_next_rq`, `bfq_check_fifo`, `next_rq`.

#![doc(alias = "bfq_choose_req")]
#![doc(alias = "bfq_find_next_rq")]
#![doc(alias = "bfq_check_fifo")]
#![doc(alias = "next_rq")]

use super::Bfq;
use super::qid::Qid;
use super::terms::Call;
use super::tunables::BfqTunables;
use crate::elevators::nearer::TurningBack;
use crate::explain::Reason;
use crate::request::{Request, RequestId, Sector, Waiter};
use crate::time::Span;

/// What a choice looks at.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    start: Sector,
    waiter: Waiter,
}

impl Candidate {
    fn of(request: &Request) -> Candidate {
        Candidate { start: request.start, waiter: request.waiter }
    }
}

/// Does the first of two go?
fn first_goes(first: Candidate, second: Candidate, from: Sector, knobs: &BfqTunables) -> bool {
    if first.waiter != second.waiter {
        return first.waiter == Waiter::Sync;
    }
    let turning_back =
        TurningBack { reach_sectors: 2 * u64::from(knobs.back_seek_max), penalty: u64::from(knobs.back_seek_penalty) };
    turning_back.prefers_first(from, first.start, second.start)
}

impl Bfq {
    fn better(
        &self,
        call: &Call<'_, '_>,
        a: Option<RequestId>,
        b: Option<RequestId>,
        from: Sector,
    ) -> Option<RequestId> {
        let (Some(one), Some(two)) = (a, b) else { return a.or(b) };
        if one == two {
            return a;
        }
        let (first, second) = (Candidate::of(call.rq(one)), Candidate::of(call.rq(two)));
        if first_goes(first, second, from, &self.knobs) { a } else { b }
    }

    /// A request has come, or begins earlier now: is it next? True if the next one changed.
    pub(super) fn reconsider(&mut self, call: &Call<'_, '_>, q: Qid, rq: RequestId) -> bool {
        let present = self.queues[q].next;
        let next = self.better(call, present, Some(rq), self.last_position);
        self.queues[q].next = next;
        next != present
    }

    /// The next request leaves: who follows?
    fn next_after(&mut self, call: &mut Call<'_, '_>, q: Qid, leaving: RequestId) -> Option<RequestId> {
        if let Some(oldest) = self.oldest_if_late(call, q).filter(|&oldest| oldest != leaving) {
            let late = Span::from_ns(call.ns - self.rows[oldest].expires_ns);
            call.explain(Reason::TookOldest { rq: oldest, late });
            return Some(oldest);
        }
        let slot = leaving.index() as u32;
        let lowest = || self.queues[q].sorted.first().filter(|&first| first != slot);
        let behind = self.sorted.next(slot).or_else(lowest).map(RequestId::from_index);
        let before = self.sorted.previous(slot).map(RequestId::from_index);
        self.better(call, behind, before, call.rq(leaving).start)
    }

    /// Once a turn: the oldest request, if its time is up.
    fn oldest_if_late(&mut self, call: &Call<'_, '_>, q: Qid) -> Option<RequestId> {
        let queue = &mut self.queues[q];
        if core::mem::replace(&mut queue.turn.looked_for_oldest, true) {
            return None;
        }
        queue.fifo.head().filter(|&oldest| call.ns >= self.rows[oldest].expires_ns)
    }

    /// A request leaves its queue.
    pub(super) fn remove(&mut self, call: &mut Call<'_, '_>, rq: RequestId) {
        let q = self.rows[rq].queue;
        if self.queues[q].next == Some(rq) {
            self.queues[q].next = self.next_after(call, q, rq);
            self.fit_budget(call, q);
        }
        let queue = &mut self.queues[q];
        self.sorted.remove(&mut queue.sorted, rq.index() as u32);
        self.fifos.remove(&mut queue.fifo, rq);
        self.queued -= 1;
        if !queue.is_empty() {
            return self.position_add(call, q);
        }
        queue.next = None;
        if queue.busy && self.in_service != Some(q) {
            self.leave_service_trees(call, q, super::wf2q::Turn::GoesOn);
            let entity = self.entity_mut(q);
            (entity.budget, entity.service) = (0, 0);
        }
        self.position_remove(q);
    }

    /// A request's age: at the end of its queue's line.
    pub(super) fn queue_by_age(&mut self, call: &Call<'_, '_>, q: Qid, rq: RequestId) {
        let expire = match call.rq(rq).waiter {
            Waiter::Sync => self.knobs.fifo_expire_sync,
            Waiter::Async => self.knobs.fifo_expire_async,
        };
        self.rows[rq].expires_ns = call.ns + expire.as_ns();
        self.fifos.push_back(&mut self.queues[q].fifo, rq);
    }

    /// `victim` is about to leave for `into`, which takes its place if it is the older.
    pub(super) fn inherit_age(&mut self, into: RequestId, victim: RequestId) {
        let (row, gone) = (self.rows[into], self.rows[victim]);
        if row.queue == gone.queue && gone.expires_ns < row.expires_ns {
            let fifo = &mut self.queues[row.queue].fifo;
            self.fifos.remove(fifo, into);
            self.fifos.insert_after(fifo, victim, into);
            self.rows[into].expires_ns = gone.expires_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elevators::bfq::tunables::V6_1;

    fn read(start: u64) -> Candidate {
        Candidate { start: Sector(start), waiter: Waiter::Sync }
    }

    fn first_wins(first: Candidate, second: Candidate) -> bool {
        first_goes(first, second, Sector(100_000), &BfqTunables::of(V6_1))
    }

    #[test]
    fn a_short_seek_back_beats_a_long_one_ahead_and_pays_double() {
        assert!(first_wins(read(99_990), read(100_021)));
        assert!(!first_wins(read(99_990), read(100_019)));
    }

    #[test]
    fn what_lies_too_far_back_waits_for_everything_else() {
        assert!(!first_wins(read(100), read(1 << 40)));
        assert!(first_wins(read(100), read(200)));
    }

    #[test]
    fn whoever_is_waited_for_goes_first() {
        let write_back = Candidate { waiter: Waiter::Async, ..read(100_000) };
        assert!(!first_wins(write_back, read(1 << 41)));
    }
}
