//! The short path through the queue, for when nothing rare is going on: no plug, no limit, no task asleep for a slot,
//! no flush, nothing on the dispatch list, nothing cancelled. Policies (`queue/steps/rq_qos.rs`) are asked on it, too,
//! until one of them holds a bio back or wants to be told the time.
//!
//! **Rule** It does what the long path (`queue.rs`, `submit.rs`) does when all those questions are answered by no; they
//! are asked once and not for each request. Every call that takes the long path discards the answer
//! ([`Calm::UNKNOWN`]), so none of the mechanisms has to maintain it; the next [`BlockQueue::next`] or
//! [`BlockQueue::complete`] asks again. If something rare begins on the short path (no slot is free), the call
//! continues on the long one. The steps themselves are in `queue/steps/compiled.rs`.

use crate::elevator::{Cx, Dispatch, Insert, Run};
use crate::explain::End;
use crate::queue::calm::Calm;
use crate::queue::mq::SearchDepth;
use crate::queue::slot_pools::SlotPools;
use crate::queue::split::SplitPiece;
use crate::queue::state::{QueueState, Rest};
use crate::queue::steps::calls::CalmEnd;
use crate::queue::waiters::Sleeper;
use crate::queue::{BlockQueue, Delivery, Listener, Next, Outcome, Submitted};
use crate::request::{Bio, Carried, FlightKey, GroupId, NONE, RequestId, Sector, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Whether nothing is due, and nothing rare is going on.
    #[inline(always)]
    pub(in crate::queue) fn is_calm(&mut self, now: Instant) -> bool {
        let QueueState { clock, calm, .. } = &self.core.state;
        now >= *clock && (now < calm.until || self.calms_down(now))
    }

    /// The same, if that is already known.
    #[inline(always)]
    fn is_still_calm(&self, now: Instant) -> bool {
        let QueueState { clock, calm, .. } = &self.core.state;
        now >= *clock && now < calm.until
    }

    /// Determines it anew. A queue whose elevator is always asked for its deadline is never calm.
    #[inline(never)]
    fn calms_down(&mut self, now: Instant) -> bool {
        if self.core.state.due.may_be(now) {
            return false;
        }
        let calm = self.look();
        self.core.state.calm = calm;
        now < calm.until
    }

    fn look(&self) -> Calm {
        let nobody_waits = match &self.core.state.slots {
            SlotPools::Pools(pools) => pools.nobody_waits(),
            SlotPools::Tags(tasks) => tasks.nobody_runs() && !tasks.are_split() && tasks.set.waits().waiters() == 0,
        };
        let nothing_flushed = self.flushes.is_idle() && self.sequences.is_idle() && self.list.is_idle();
        let nothing_lost = self.cancelled.is_empty() && self.orphans.is_empty();
        let policies = &self.core.state.policies;
        // Until blk-mq, policies are told what happens to requests, but not asked.
        let not_asked = matches!(self.core.state.slots, SlotPools::Pools(_)) && !policies.is_empty();
        let quiet = !self.has_rare_timers() && nobody_waits && nothing_flushed && nothing_lost && !not_asked;
        let max_sectors = |if_so: bool| if if_so { self.core.state.config.limits.max_sectors } else { 0 };
        let straight = quiet && !self.plug.closes() && self.gate.is_open();
        let sectors = max_sectors(straight && !self.plug.collects());
        let until = if quiet { self.core.state.due.at.min(policies.earliest()) } else { Instant::ZERO };
        Calm { until, sectors, alone: max_sectors(straight && !self.sends_newest_first()) }
    }

    /// Checks what is known.
    ///
    /// # Panics
    /// If it is wrong.
    pub(in crate::queue) fn check_calm(&self) {
        let (known, calm) = (self.core.state.calm, self.look());
        // A deadline may have been postponed since.
        let holds = known.until <= calm.until && known == Calm { until: known.until, ..calm };
        assert!(known == Calm::UNKNOWN || holds, "the queue is not as calm as it thinks");
    }

    /// Whether this bio may take the short path.
    #[inline(always)]
    pub(in crate::queue) fn is_plain_bio(&self, now: Instant, bio: &Bio) -> bool {
        self.is_plain_below(self.core.state.calm.sectors, now, bio)
    }

    /// The same if its submitter waits after it.
    #[inline(always)]
    pub(in crate::queue) fn is_plain_burst(&self, now: Instant, bio: &Bio) -> bool {
        self.is_plain_below(self.core.state.calm.alone, now, bio)
    }

    #[inline(always)]
    fn is_plain_below(&self, sectors: u32, now: Instant, bio: &Bio) -> bool {
        // One comparison for no length, too long, and not calm.
        bio.sectors.wrapping_sub(1) < sectors
            && self.is_still_calm(now)
            && bio.is_mergeable()
            && (bio.group == GroupId::ROOT || self.core.state.groups.get(bio.group).is_some())
    }

    /// Submits a bio that may take the short path.
    #[inline(always)]
    pub(in crate::queue) fn submit_calmly(&mut self, now: Instant, bio: &Bio) -> Submitted {
        self.core.state.clock = now;
        self.answer = None;
        let Cx { state, listener, .. } = self.core.cx(now);
        let became = match listener {
            listener if !state.policies.is_empty() => self.elevator.arrive_watched(state, listener, bio),
            None => self.elevator.arrive_calmly(state, bio),
            Some(listener) => self.elevator.arrive_heard(state, listener, bio),
        };
        match became {
            NONE => self.submit_rest(now, bio),
            rq => Submitted::Inserted(RequestId(rq)),
        }
    }

    /// Does the rest where something rare began.
    #[inline(never)]
    fn submit_rest(&mut self, now: Instant, bio: &Bio) -> Submitted {
        match core::mem::replace(&mut self.core.state.rest, Rest::Nothing) {
            Rest::Joined { into, end, freed } => self.joined(now, bio, into, end, freed),
            Rest::TooLarge(at) => self.enter_anew(now, bio, at),
            Rest::NoSlot(at) => self.take_pooled(now, bio, at),
            Rest::Held(nth) => {
                self.core.state.calm = Calm::UNKNOWN;
                self.sleep_for_policy(now, nth, Sleeper { bio: *bio, piece: SplitPiece { of: None, last: true } })
            }
            Rest::NoTag(search) => self.sleep_for_tag(now, bio, search),
            Rest::MayContinue(rq, at) => self.continue_or_enter(now, rq, at),
            rest @ (Rest::Nothing | Rest::Answered(_)) => unreachable!("a bio does not leave {rest:?}"),
        }
    }

    /// The bio joined a request.
    #[inline(always)]
    fn joined(&mut self, now: Instant, bio: &Bio, into: RequestId, end: End, freed: Option<RequestId>) -> Submitted {
        if let Some(victim) = freed {
            self.absorb(now, into, victim);
        }
        if self.core.state.wished != Run::No {
            self.obey_wish(now);
        }
        if !self.core.state.policies.is_empty() {
            self.core.state.tell_merged(now, into, bio);
        }
        Submitted::Merged { into, end }
    }

    /// The request that it found is too large to join.
    #[cold]
    fn enter_anew(&mut self, now: Instant, bio: &Bio, at: Insert) -> Submitted {
        self.core.state.calm = Calm::UNKNOWN;
        if self.core.state.wished != Run::No {
            self.obey_wish(now);
        }
        match self.core.state.slots {
            SlotPools::Pools(_) => self.take_pooled(now, bio, at),
            SlotPools::Tags(_) => self.allocate(now, bio, SplitPiece { of: None, last: true }),
        }
    }

    #[cold]
    fn sleep_for_tag(&mut self, now: Instant, bio: &Bio, search: SearchDepth) -> Submitted {
        self.core.state.calm = Calm::UNKNOWN;
        self.wait_for_tag(now, Sleeper { bio: *bio, piece: SplitPiece { of: None, last: true } }, search)
    }

    /// The request may continue another one; otherwise it is inserted.
    #[cold]
    fn continue_or_enter(&mut self, now: Instant, rq: RequestId, at: Insert) -> Submitted {
        self.core.state.requests.get_mut(rq).stage = Stage::Prepared;
        // The request that it absorbs may move a policy's deadline.
        self.core.state.calm = Calm::UNKNOWN;
        if let Some(into) = self.merge_on_insert(now, rq) {
            return Submitted::MergedOnInsert { into };
        }
        self.enlist(now, rq);
        let run = self.elevator.insert(&mut self.core.cx(now), rq, at);
        self.changed();
        self.obey(now, run);
        Submitted::Inserted(rq)
    }

    /// No slot is free at once.
    #[cold]
    fn take_pooled(&mut self, now: Instant, bio: &Bio, at: Insert) -> Submitted {
        self.core.state.calm = Calm::UNKNOWN;
        let became = self.enter_pooled(now, bio, SplitPiece { of: None, last: true }, at);
        if became == Submitted::Asleep {
            self.sleep(now, Sleeper { bio: *bio, piece: SplitPiece { of: None, last: true } });
        }
        became
    }

    /// The device has room or is full; asks the elevator.
    #[inline(always)]
    pub(in crate::queue) fn next_calmly(&mut self, now: Instant) -> Next {
        if self.core.state.device.in_flight >= self.core.state.config.depth {
            return if self.is_simply_full() { self.full(now) } else { self.next_at(now) };
        }
        if self.answer.is_some() {
            self.core.state.clock = now;
            return self.next_of_all(now);
        }
        self.core.state.clock = now;
        let Cx { state, listener, .. } = self.core.cx(now);
        let issued = match listener {
            listener if !state.policies.is_empty() => self.elevator.issue_watched(state, listener),
            None => self.elevator.issue_calmly(state),
            Some(listener) => self.elevator.issue_heard(state, listener),
        };
        match issued {
            NONE => self.tell(now),
            rq => Next::Issue(self.token(RequestId(rq))),
        }
    }

    #[inline(always)]
    fn full(&mut self, now: Instant) -> Next {
        self.core.state.clock = now;
        Next::Full
    }

    /// Handles any answer but a request. That nothing is queued is common where the device takes everything, and the
    /// queue stays calm: meanwhile no plug or list holds a request, and no sleeper could be admitted.
    #[inline(never)]
    fn tell(&mut self, now: Instant) -> Next {
        match core::mem::replace(&mut self.core.state.rest, Rest::Nothing) {
            Rest::Answered(Dispatch::Empty) => {
                self.answer = Some(Dispatch::Empty);
                return Next::Empty;
            }
            Rest::Answered(Dispatch::Reinsert(rq)) => self.reinsert(now, rq),
            Rest::Answered(answer) => self.answer = Some(answer),
            rest => unreachable!("an answer does not leave {rest:?}"),
        }
        self.core.state.calm = Calm::UNKNOWN;
        self.next_of_all(now)
    }

    /// Returns false if the command needs the long path; then nothing has happened.
    #[inline(always)]
    pub(in crate::queue) fn complete_calmly(
        &mut self,
        now: Instant,
        key: FlightKey,
        start: Sector,
        outcome: Outcome,
    ) -> bool {
        self.core.state.clock = now;
        let Cx { state, listener, .. } = self.core.cx(now);
        let watched = !state.policies.is_empty();
        let (end, bios) = match listener {
            listener if watched => self.elevator.complete_watched(state, listener, key, start),
            None => self.elevator.complete_calmly(state, key, start),
            Some(listener) => self.elevator.complete_heard(state, listener, key, start),
        };
        match end {
            CalmEnd::NotYet => return false,
            CalmEnd::Lone => self.core.state.deliveries.push(Delivery::Done { tag: bios, outcome }),
            CalmEnd::Chain => self.core.state.deliver_all(Carried::chain_of(bios), outcome),
        }
        if watched {
            self.core.state.woken();
        }
        self.answer = None;
        true
    }
}
