//! Submission: split, merge, take a slot, and pass on to the elevator or the submitter's plug.
//!
//! **Origin** before blk-mq docs/behaviour/elevators-2.5-2.6.md#e1; since then docs/behaviour/blk-mq-6.x.md#p.
//! **In the kernel** `submit_bio`, `blk_mq_submit_bio`, `__make_request`, `blk_queue_bio`, `elv_insert`,
//! `__elv_add_request`, `blk_mq_sched_insert_request`.

use alloc::collections::VecDeque;

use super::merge::{Attempt, Gate, Merging, OnInsert};
use super::plug::{Handover, Plugging};
use super::pools::Pools;
use super::slot_pools::SlotPools;
use super::split::{self, SplitPiece};
use super::waiters::Sleeper;
use super::{BlockQueue, Delivery, Listener, Submitted};
use crate::elevator::{Admission, Hook, Insert, Run};
use crate::explain::{Reason, Unplug};
use crate::request::{Bio, Dir, Op, RequestId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Submits one bio.
    ///
    /// # Panics
    /// If it has no length and is no flush, or if time runs backwards.
    #[inline]
    pub fn submit(&mut self, now: Instant, bio: Bio) -> Submitted {
        if self.is_plain_bio(now, &bio) { self.submit_fast(now, &bio) } else { self.submit_at(now, bio) }
    }

    /// The same for any bio, on the long path.
    #[inline(never)]
    fn submit_at(&mut self, now: Instant, bio: Bio) -> Submitted {
        assert!(bio.sectors > 0 || bio.op == Op::Flush, "a bio of no length: {bio:?}");
        self.catch_up(now);
        self.meet_group(now, &bio);
        if self.gate.is_open() {
            return self.submit_passed(now, &bio);
        }
        match self.pass_gate(now, bio) {
            Some(bio) => self.submit_passed(now, &bio),
            None => Submitted::Held,
        }
    }

    /// Submits a bio that no limit holds back.
    #[inline(always)]
    pub(super) fn submit_passed(&mut self, now: Instant, bio: &Bio) -> Submitted {
        if bio.op == Op::Flush || !bio.durability.is_volatile() {
            return self.submit_durable(now, *bio);
        }
        self.submit_data(now, bio)
    }

    /// Submits the bio's data, after the flushes around it have been handled.
    #[inline(always)]
    pub(super) fn submit_data(&mut self, now: Instant, bio: &Bio) -> Submitted {
        let max_sectors = self.longest_piece(bio.op);
        if bio.sectors <= max_sectors {
            return self.submit_piece(now, bio, SplitPiece { of: None, last: true });
        }
        self.submit_split(now, bio)
    }

    #[inline]
    fn longest_piece(&self, op: Op) -> u32 {
        if matches!(op, Op::Discard | Op::WriteZeroes) {
            return self.core.state.config.limits.max_discard_sectors;
        }
        let (pieces, most) = (self.core.state.merges.rules().pieces, self.core.state.config.limits.max_sectors);
        // 2.4's page cache submits buffers. A driver that has that elevator in other surroundings (a server whose bios
        // are its clients' requests) submits bios.
        if self.plug.kind == Plugging::TaskQueue { pieces.longest(most) } else { most }
    }

    /// Submits a bio longer than the device takes, or than a buffer of 2.4.
    #[cold]
    fn submit_split(&mut self, now: Instant, bio: &Bio) -> Submitted {
        let max_sectors = self.longest_piece(bio.op);
        let count = bio.sectors.div_ceil(max_sectors);
        let of = Some(self.core.state.bios.split(count));
        let mut became = Submitted::Held;
        for (nth, part) in (1..).zip(split::pieces(*bio, max_sectors)) {
            let piece = SplitPiece { of, last: nth == count };
            let sleeper = Sleeper { bio: part, piece };
            // Once one piece sleeps, the rest sleep behind it.
            match (became, &self.core.state.slots) {
                (Submitted::Asleep, SlotPools::Tags(_)) => self.queue_behind(sleeper),
                (Submitted::Asleep, SlotPools::Pools(pools)) if pools.waits_as_2_4() => {
                    self.pools().wait_behind(sleeper)
                }
                (Submitted::Asleep, SlotPools::Pools(_)) => self.sleep(now, sleeper),
                _ => became = self.submit_piece(now, &part, piece),
            }
        }
        became
    }

    /// Keeps a submission that found no slot until one is free. A submitter that sleeps also waits, so plugs are
    /// emptied: its own requests may hold the slots for which it sleeps.
    #[cold]
    pub(super) fn sleep(&mut self, now: Instant, sleeper: Sleeper) {
        if self.pools().waits_as_2_4() {
            let (submitter, dir) = (sleeper.bio.submitter, sleeper.bio.dir());
            self.core.explain(now, |_| Reason::Slept { submitter, dir });
            return self.wait_for_request(now, VecDeque::from([sleeper]));
        }
        self.pools().sleep(sleeper);
        if sleeper.piece.last {
            let (submitter, dir) = (sleeper.bio.submitter, sleeper.bio.dir());
            self.core.explain(now, |_| Reason::Slept { submitter, dir });
            self.flush_plug_of(now, submitter, Handover::FromSchedule);
            self.open_plug(now, Unplug::Waiting);
        }
    }

    fn submit_piece(&mut self, now: Instant, bio: &Bio, piece: SplitPiece) -> Submitted {
        if let SlotPools::Tags(_) = self.core.state.slots {
            if bio.is_mergeable()
                && let Some(merged) = self.try_merge(now, bio, piece)
            {
                return merged;
            }
            return self.allocate(now, bio, piece);
        }
        let became = self.submit_pooled(now, bio, piece);
        if became == Submitted::Asleep {
            self.sleep(now, Sleeper { bio: *bio, piece });
        }
        became
    }

    /// The result for a bio that joined a request; `None` if it needs a request of its own.
    #[inline(always)]
    pub(super) fn try_merge(&mut self, now: Instant, bio: &Bio, piece: SplitPiece) -> Option<Submitted> {
        match self.merge_bio(now, bio, piece) {
            Attempt::Joined { into, end } => {
                self.tell_policies(now, |policy, cx| policy.merged(cx, into, bio));
                Some(Submitted::Merged { into, end })
            }
            Attempt::Insert(_) => None,
        }
    }

    /// Until blk-mq: the submitter sleeps if there is no slot.
    #[inline(always)]
    pub(super) fn submit_pooled(&mut self, now: Instant, bio: &Bio, piece: SplitPiece) -> Submitted {
        let at = match self.merge_bio(now, bio, piece) {
            Attempt::Joined { into, end } => return Submitted::Merged { into, end },
            Attempt::Insert(at) => at,
        };
        self.enter_pooled(now, bio, piece, at)
    }

    /// A bio that did not merge: its submitter sleeps if there is no slot.
    #[inline]
    pub(super) fn enter_pooled(&mut self, now: Instant, bio: &Bio, piece: SplitPiece, at: Insert) -> Submitted {
        // Recordings without a pool show the requested limit.
        if self.core.state.hooks.has(Hook::Admit)
            && let Admission::Shallow(shallow) | Admission::AtMost(shallow) =
                self.elevator.admit(&mut self.core.cx(now), bio)
        {
            self.core.explain(now, |_| Reason::Limited { shallow });
        }
        if !self.pools().take(now, bio) {
            return Submitted::Asleep;
        }
        let carried = self.core.state.bios.carry(bio.tag, piece.of);
        let rq = self.make(now, bio, carried);
        self.enter_queue(now, rq, at)
    }

    pub(super) fn pools(&mut self) -> &mut Pools {
        match &mut self.core.state.slots {
            SlotPools::Pools(pools) => pools,
            SlotPools::Tags(_) => unreachable!("blk-mq has no pools"),
        }
    }

    /// A request with a slot continues to its flush, its submitter's plug, or the elevator.
    #[inline(always)]
    pub(super) fn enter_queue(&mut self, now: Instant, rq: RequestId, at: Insert) -> Submitted {
        if let SlotPools::Tags(_) = self.core.state.slots
            && !self.core.state.requests[rq].is_plain()
            && let Some(became) = self.begin_sequence(now, rq)
        {
            return became;
        }
        if self.plug.collects() {
            self.collect(now, rq);
            return Submitted::Held;
        }
        self.prepare(now, rq);
        if let Some(into) = self.merge_on_insert(now, rq) {
            return Submitted::MergedOnInsert { into };
        }
        self.hand_over(now, rq, at);
        Submitted::Inserted(rq)
    }

    /// A request has left its submitter's plug.
    #[inline]
    pub(super) fn prepare(&mut self, now: Instant, rq: RequestId) {
        if self.core.state.hooks.has(Hook::Prepare) {
            self.elevator.prepare(&mut self.core.cx(now), rq);
        }
    }

    /// Admits sleepers whose slots have become free; returns whether there were any. They run after the queue has, as
    /// woken processes run after the interrupt that woke them.
    #[inline]
    pub(super) fn admit_sleepers(&mut self, now: Instant) -> bool {
        match &self.core.state.slots {
            SlotPools::Pools(pools) => !pools.nobody_sleeps() && self.admit_pooled(now),
            SlotPools::Tags(tasks) => !tasks.nobody_runs() && self.run_woken(now),
        }
    }

    /// Whether there is no sleeper that [`BlockQueue::admit_sleepers`] could let in.
    #[inline]
    pub(super) fn nobody_goes_on(&self) -> bool {
        match &self.core.state.slots {
            SlotPools::Pools(pools) => pools.nobody_sleeps(),
            SlotPools::Tags(tasks) => tasks.nobody_runs(),
        }
    }

    #[cold]
    fn admit_pooled(&mut self, now: Instant) -> bool {
        if self.pools().waits_as_2_4() {
            return self.run_waiters(now);
        }
        let mut any = false;
        for dir in Dir::BOTH {
            while let Some(sleeper) = self.pools().wake(now, dir) {
                if !self.admit_sleeper(now, sleeper) {
                    self.pools().sleep_on(sleeper);
                    break;
                }
                any = true;
            }
        }
        any
    }

    /// Returns false if the elevator does not let it have a slot yet.
    fn admit_sleeper(&mut self, now: Instant, sleeper: Sleeper) -> bool {
        let Sleeper { bio, piece } = sleeper;
        if self.submit_pooled(now, &bio, piece) == Submitted::Asleep {
            return false;
        }
        // The burst to which it belonged may have ended.
        self.end_burst(now, bio.submitter);
        if piece.last {
            self.core.explain(now, |_| Reason::Woke { submitter: bio.submitter });
            self.core.state.deliveries.push(Delivery::Awake(bio.submitter));
        }
        true
    }

    /// Submits the data of a bio that was held for a flush. Its submitter can no longer sleep for a slot or end the
    /// burst, so the data goes directly to the elevator, without merging.
    pub(super) fn submit_held(&mut self, now: Instant, bio: Bio) {
        let max_sectors = self.core.state.config.limits.max_sectors;
        let count = bio.sectors.div_ceil(max_sectors);
        let of = (count > 1).then(|| self.core.state.bios.split(count));
        for part in split::pieces(bio, max_sectors) {
            self.pools().take_anyway(part.dir());
            let carried = self.core.state.bios.carry(part.tag, of);
            let rq = self.make(now, &part, carried);
            self.prepare(now, rq);
            self.hand_over(now, rq, Insert::Sorted);
        }
        self.open_plug(now, Unplug::Waiting);
    }

    #[inline(always)]
    pub(super) fn merge_bio(&mut self, now: Instant, bio: &Bio, piece: SplitPiece) -> Attempt {
        if self.plug.collects()
            && let Some(joined) = self.merge_in_plug(now, bio, piece)
        {
            return joined;
        }
        self.seek(now, bio, piece)
    }

    /// Asks the elevator, which may change its state.
    #[inline(always)]
    pub(super) fn seek(&mut self, now: Instant, bio: &Bio, piece: SplitPiece) -> Attempt {
        self.changed();
        let (attempt, freed) = self.core.cx(now).try_merge(&mut *self.elevator, bio, piece.of);
        if let Some(victim) = freed {
            let Attempt::Joined { into, .. } = attempt else { unreachable!("only a merge frees a request") };
            self.absorb(now, into, victim);
        }
        if self.core.state.run_asked != Run::No {
            self.run_if_asked(now);
        }
        attempt
    }

    /// Searches the submitter's plug, newest first, before the elevator.
    #[inline(never)]
    fn merge_in_plug(&mut self, now: Instant, bio: &Bio, piece: SplitPiece) -> Option<Attempt> {
        let Merging { gate, kin, .. } = self.core.state.merges.rules();
        if gate == Gate::Never || !bio.is_mergeable() {
            return None;
        }
        let limits = self.core.state.config.limits;
        let (into, end) = self.plug.collected(bio.submitter).find_map(|rq| {
            let request = &self.core.state.requests[rq];
            let end = super::merge::adjoins(request, bio).filter(|_| kin.accepts(request, bio))?;
            super::merge::fits(request, bio.sectors, 1, &limits).then_some((rq, end))
        })?;
        self.core.cx(now).grow(into, bio, piece.of, end);
        self.core.explain(now, |_| Reason::Merged { into, end });
        Some(Attempt::Joined { into, end })
    }

    /// 6.1: a request about to be inserted may continue a queued one, and the grown one another. Returns the first.
    #[inline(always)]
    pub(super) fn merge_on_insert(&mut self, now: Instant, rq: RequestId) -> Option<RequestId> {
        match self.core.state.merges.rules().on_insert {
            OnInsert::Merge if !self.core.state.may_continue(rq) => None,
            OnInsert::Merge
                if self.core.state.hooks.has(Hook::MayAppend)
                    && !self.elevator.may_append(&self.core.state.requests[rq]) =>
            {
                None
            }
            OnInsert::Merge => self.merge_into_others(now, rq),
            OnInsert::Plain => None,
        }
    }

    /// The elevator puts a request that it kept aside into its order.
    pub(super) fn reinsert(&mut self, now: Instant, rq: RequestId) {
        let stage = self.core.state.requests[rq].stage;
        assert!(stage == crate::request::Stage::Queued, "the elevator inserts {rq:?} again, which is {stage:?}");
        if self.merge_on_insert(now, rq).is_none() {
            self.core.state.merges.admit(&mut self.core.state.requests, rq);
            self.insert(now, rq, Insert::Sorted);
        }
    }

    fn merge_into_others(&mut self, now: Instant, rq: RequestId) -> Option<RequestId> {
        let mut first = None;
        let mut grown = None;
        while let Some(join) = self.core.cx(now).insert_merge(&mut *self.elevator, rq, grown) {
            self.changed();
            self.absorb(now, join.into, join.victim);
            self.run_if_asked(now);
            first.get_or_insert(join.into);
            grown = Some(join.into);
            if !join.cascades {
                break;
            }
        }
        first
    }

    /// Handles a run that the elevator requested during a merge, which has no answer of its own.
    #[cold]
    pub(super) fn run_if_asked(&mut self, now: Instant) {
        let run_asked = core::mem::take(&mut self.core.state.run_asked);
        self.run_hw_queue(now, run_asked);
    }

    /// A request was absorbed by another: its slot is free.
    pub(super) fn absorb(&mut self, now: Instant, into: RequestId, victim: RequestId) {
        self.tell_policies(now, |policy, cx| policy.absorbed(cx, into, victim));
        let request = &self.core.state.requests[victim];
        let (dir, queued) = (request.dir(), request.stage == crate::request::Stage::Queued);
        self.core.state.queued -= u32::from(queued);
        match &mut self.core.state.slots {
            SlotPools::Pools(pools) => {
                pools.release(dir);
                self.tell_woken();
            }
            SlotPools::Tags(_) => self.return_tag(victim),
        }
        self.core.state.requests.release(victim);
    }
}
