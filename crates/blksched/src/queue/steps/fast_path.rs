//! The short path through the queue, for when nothing rare is going on: no plug, no limit, no task asleep for a slot,
//! no flush, nothing on the dispatch list, nothing cancelled. Policies (`queue/steps/rq_qos.rs`) are asked on it, too,
//! until one of them holds a bio back or wants to be told the time.
//!
//! **Rule** It does what the long path (`queue.rs`, `submit.rs`) does when all those questions are answered by no; they
//! are asked once and not for each request. Every call that takes the long path discards the answer
//! ([`FastPath::UNKNOWN`]), so none of the mechanisms has to maintain it; the next [`BlockQueue::next`] or
//! [`BlockQueue::complete`] asks again. If something rare begins on the short path (no slot is free), the call
//! continues on the long one. The steps themselves are in `queue/steps/compiled.rs`.

use crate::elevator::{Cx, Dispatch, Insert, Run};
use crate::explain::End;
use crate::queue::fast_path::FastPath;
use crate::queue::mq::SearchDepth;
use crate::queue::slot_pools::SlotPools;
use crate::queue::split::SplitPiece;
use crate::queue::state::{QueueState, SlowPath};
use crate::queue::steps::calls::FastEnd;
use crate::queue::waiters::Sleeper;
use crate::queue::{BlockQueue, Delivery, Listener, Next, Outcome, Submitted};
use crate::request::{Bio, Carried, FlightKey, GroupId, NONE, RequestId, Sector, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Whether nothing is due, and nothing rare is going on.
    #[inline(always)]
    pub(in crate::queue) fn may_go_fast(&mut self, now: Instant) -> bool {
        let QueueState { clock, fast_path, .. } = &self.core.state;
        now >= *clock && (now < fast_path.until || self.recheck_fast_path(now))
    }

    /// The same, if that is already known.
    #[inline(always)]
    fn may_still_go_fast(&self, now: Instant) -> bool {
        let QueueState { clock, fast_path, .. } = &self.core.state;
        now >= *clock && now < fast_path.until
    }

    /// Determines it anew. A queue whose elevator is always asked for its deadline never takes the fast path.
    #[inline(never)]
    fn recheck_fast_path(&mut self, now: Instant) -> bool {
        if self.core.state.due.may_be(now) {
            return false;
        }
        let fast_path = self.fast_path_now();
        self.core.state.fast_path = fast_path;
        now < fast_path.until
    }

    fn fast_path_now(&self) -> FastPath {
        let nobody_waits = match &self.core.state.slots {
            SlotPools::Pools(pools) => pools.nobody_waits(),
            SlotPools::Tags(tasks) => tasks.nobody_runs() && !tasks.are_split() && tasks.set.waits().waiters() == 0,
        };
        let nothing_flushed = self.flushes.is_idle() && self.sequences.is_idle() && self.list.is_idle();
        let nothing_lost = self.cancelled.is_empty() && self.of_old_elevator.is_empty();
        let policies = &self.core.state.policies;
        // Until blk-mq, policies are told what happens to requests, but not asked.
        let not_asked = matches!(self.core.state.slots, SlotPools::Pools(_)) && !policies.is_empty();
        let quiet = !self.has_rare_timers() && nobody_waits && nothing_flushed && nothing_lost && !not_asked;
        let max_sectors = |if_so: bool| if if_so { self.core.state.config.limits.max_sectors } else { 0 };
        let straight = quiet && !self.plug.closes() && self.gate.is_open();
        let sectors = max_sectors(straight && !self.plug.collects());
        let until = if quiet { self.core.state.due.at.min(policies.earliest()) } else { Instant::ZERO };
        FastPath { until, sectors, alone: max_sectors(straight && !self.sends_newest_first()) }
    }

    /// Checks what is known.
    ///
    /// # Panics
    /// If it is wrong.
    pub(in crate::queue) fn check_fast_path(&self) {
        let (known, fast_path) = (self.core.state.fast_path, self.fast_path_now());
        // A deadline may have been postponed since.
        let holds = known.until <= fast_path.until && known == FastPath { until: known.until, ..fast_path };
        assert!(known == FastPath::UNKNOWN || holds, "the fast path is open although something rare goes on");
    }

    /// Whether this bio may take the short path.
    #[inline(always)]
    pub(in crate::queue) fn is_plain_bio(&self, now: Instant, bio: &Bio) -> bool {
        self.is_plain_below(self.core.state.fast_path.sectors, now, bio)
    }

    /// The same if its submitter waits after it.
    #[inline(always)]
    pub(in crate::queue) fn is_plain_burst(&self, now: Instant, bio: &Bio) -> bool {
        self.is_plain_below(self.core.state.fast_path.alone, now, bio)
    }

    #[inline(always)]
    fn is_plain_below(&self, sectors: u32, now: Instant, bio: &Bio) -> bool {
        // One comparison for no length, too long, and a closed fast path.
        bio.sectors.wrapping_sub(1) < sectors
            && self.may_still_go_fast(now)
            && bio.is_mergeable()
            && (bio.group == GroupId::ROOT || self.core.state.groups.get(bio.group).is_some())
    }

    /// Submits a bio that may take the short path.
    #[inline(always)]
    pub(in crate::queue) fn submit_fast(&mut self, now: Instant, bio: &Bio) -> Submitted {
        self.core.state.clock = now;
        self.answer = None;
        let Cx { state, listener, .. } = self.core.cx(now);
        let became = match listener {
            listener if !state.policies.is_empty() => self.elevator.arrive_with_policies(state, listener, bio),
            None => self.elevator.arrive_fast(state, bio),
            Some(listener) => self.elevator.arrive_explained(state, listener, bio),
        };
        match became {
            NONE => self.submit_slow(now, bio),
            rq => Submitted::Inserted(RequestId(rq)),
        }
    }

    /// Does the rest where something rare began.
    #[inline(never)]
    fn submit_slow(&mut self, now: Instant, bio: &Bio) -> Submitted {
        match core::mem::replace(&mut self.core.state.slow_path, SlowPath::Nothing) {
            SlowPath::Joined { into, end, freed } => self.joined(now, bio, into, end, freed),
            SlowPath::TooLarge(at) => self.enter_anew(now, bio, at),
            SlowPath::NoSlot(at) => self.take_pooled(now, bio, at),
            SlowPath::Held(nth) => {
                self.core.state.fast_path = FastPath::UNKNOWN;
                self.sleep_for_policy(now, nth, Sleeper { bio: *bio, piece: SplitPiece { of: None, last: true } })
            }
            SlowPath::NoTag(search) => self.sleep_for_tag(now, bio, search),
            SlowPath::MayContinue(rq, at) => self.continue_or_enter(now, rq, at),
            slow_path @ (SlowPath::Nothing | SlowPath::Answered(_)) => {
                unreachable!("a bio does not leave {slow_path:?}")
            }
        }
    }

    /// The bio joined a request.
    #[inline(always)]
    fn joined(&mut self, now: Instant, bio: &Bio, into: RequestId, end: End, freed: Option<RequestId>) -> Submitted {
        if let Some(victim) = freed {
            self.absorb(now, into, victim);
        }
        if self.core.state.run_asked != Run::No {
            self.run_if_asked(now);
        }
        if !self.core.state.policies.is_empty() {
            self.core.state.tell_merged(now, into, bio);
        }
        Submitted::Merged { into, end }
    }

    /// The request that it found is too large to join.
    #[cold]
    fn enter_anew(&mut self, now: Instant, bio: &Bio, at: Insert) -> Submitted {
        self.core.state.fast_path = FastPath::UNKNOWN;
        if self.core.state.run_asked != Run::No {
            self.run_if_asked(now);
        }
        match self.core.state.slots {
            SlotPools::Pools(_) => self.take_pooled(now, bio, at),
            SlotPools::Tags(_) => self.allocate(now, bio, SplitPiece { of: None, last: true }),
        }
    }

    #[cold]
    fn sleep_for_tag(&mut self, now: Instant, bio: &Bio, search: SearchDepth) -> Submitted {
        self.core.state.fast_path = FastPath::UNKNOWN;
        self.wait_for_tag(now, Sleeper { bio: *bio, piece: SplitPiece { of: None, last: true } }, search)
    }

    /// The request may continue another one; otherwise it is inserted.
    #[cold]
    fn continue_or_enter(&mut self, now: Instant, rq: RequestId, at: Insert) -> Submitted {
        self.core.state.requests.get_mut(rq).stage = Stage::Prepared;
        // The request that it absorbs may move a policy's deadline.
        self.core.state.fast_path = FastPath::UNKNOWN;
        if let Some(into) = self.merge_on_insert(now, rq) {
            return Submitted::MergedOnInsert { into };
        }
        self.enlist(now, rq);
        let run = self.elevator.insert(&mut self.core.cx(now), rq, at);
        self.changed();
        self.run_hw_queue(now, run);
        Submitted::Inserted(rq)
    }

    /// No slot is free at once.
    #[cold]
    fn take_pooled(&mut self, now: Instant, bio: &Bio, at: Insert) -> Submitted {
        self.core.state.fast_path = FastPath::UNKNOWN;
        let became = self.enter_pooled(now, bio, SplitPiece { of: None, last: true }, at);
        if became == Submitted::Asleep {
            self.sleep(now, Sleeper { bio: *bio, piece: SplitPiece { of: None, last: true } });
        }
        became
    }

    /// The device has room or is full; asks the elevator.
    #[inline(always)]
    pub(in crate::queue) fn next_fast(&mut self, now: Instant) -> Next {
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
            listener if !state.policies.is_empty() => self.elevator.issue_with_policies(state, listener),
            None => self.elevator.issue_fast(state),
            Some(listener) => self.elevator.issue_explained(state, listener),
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
    /// fast path stays open: meanwhile no plug or list holds a request, and no sleeper could be admitted.
    #[inline(never)]
    fn tell(&mut self, now: Instant) -> Next {
        match core::mem::replace(&mut self.core.state.slow_path, SlowPath::Nothing) {
            SlowPath::Answered(Dispatch::Empty) => {
                self.answer = Some(Dispatch::Empty);
                return Next::Empty;
            }
            SlowPath::Answered(Dispatch::Reinsert(rq)) => self.reinsert(now, rq),
            SlowPath::Answered(answer) => self.answer = Some(answer),
            slow_path => unreachable!("an answer does not leave {slow_path:?}"),
        }
        self.core.state.fast_path = FastPath::UNKNOWN;
        self.next_of_all(now)
    }

    /// Returns false if the command needs the long path; then nothing has happened.
    #[inline(always)]
    pub(in crate::queue) fn complete_fast(
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
            listener if watched => self.elevator.complete_with_policies(state, listener, key, start),
            None => self.elevator.complete_fast(state, key, start),
            Some(listener) => self.elevator.complete_explained(state, listener, key, start),
        };
        match end {
            FastEnd::NotYet => return false,
            FastEnd::Lone => self.core.state.deliveries.push(Delivery::Done { tag: bios, outcome }),
            FastEnd::Chain => self.core.state.deliver_all(Carried::chain_of(bios), outcome),
        }
        if watched {
            self.core.state.woken();
        }
        self.answer = None;
        true
    }
}
