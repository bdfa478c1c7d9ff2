//! Submission: split, merge, take a slot, and pass on to the elevator or the submitter's plug.
//!
//! **Origin** before blk-mq docs/behaviour/elevators-2.5-2.6.md#e1; since then docs/behaviour/blk-mq-6.x.md#p.
//! **In the kernel** `submit_bio`, `blk_mq_submit_bio`, `__make_request`, `blk_queue_bio`, `elv_insert`,
//! `__elv_add_request`, `blk_mq_sched_insert_request`.

use alloc::collections::VecDeque;

use super::merge::{Attempt, Gate, Hit, Merging};
use super::mq::SearchDepth;
use super::plug::{Handover, Plugging};
use super::slot_pools::SlotPools;
use super::split::{self, SplitPiece};
use super::state::QueueState;
use super::step::Step;
use super::steps::Caller;
use super::waiters::Sleeper;
use super::{Delivery, Submitted};
use crate::elevator::{Cx, Elevator, Insert};
use crate::explain::{Reason, Unplug};
use crate::request::{Bio, Dir, GroupId, NONE, Op, RequestId, Stage};

impl<E: Elevator + ?Sized> Step<'_, E> {
    /// Submits one bio.
    #[inline(always)]
    pub(super) fn submit(&mut self, bio: &Bio, caller: Caller) -> Submitted {
        let QueueState { longest, groups, .. } = &*self.cx.state;
        // One comparison for no length and for too long.
        let is_whole = bio.sectors.wrapping_sub(1) < *longest && bio.is_mergeable();
        let has_group = bio.group == GroupId::ROOT || groups.get(bio.group).is_some();
        if !is_whole || !has_group {
            return self.rare().submit_any(bio);
        }
        self.merge_or_get_request(bio, SplitPiece::WHOLE, caller)
    }

    /// A bio that may merge, or a piece of one, no longer than the device takes, joins a request or becomes one.
    #[inline(always)]
    fn merge_or_get_request(&mut self, bio: &Bio, piece: SplitPiece, caller: Caller) -> Submitted {
        if self.cx.state.plug.holds()
            && let Some(became) = self.rare().merge_in_plug(bio, piece)
        {
            return became;
        }
        self.changed();
        let at = match self.cx.look_for(self.elevator, bio) {
            Ok(hit) => return self.join(bio, piece, caller, hit),
            Err(at) => at,
        };
        self.unplug_if_asked();
        self.get_request(bio, piece, caller, at, true)
    }

    /// The bio found a request that it may join, if the size allows. Out of line, because a random load has no hits.
    #[inline(never)]
    fn join(&mut self, bio: &Bio, piece: SplitPiece, caller: Caller, hit: Hit) -> Submitted {
        let (attempt, freed) = self.cx.join_if_it_fits(self.elevator, bio, piece.of, hit);
        match attempt {
            Attempt::Joined { into, end } => {
                if let Some(victim) = freed {
                    self.rare().absorb(into, victim);
                }
                self.unplug_if_asked();
                self.tell_merged(into, bio);
                Submitted::Merged { into, end }
            }
            Attempt::Insert(at) => {
                self.unplug_if_asked();
                self.rare().get_request(bio, piece, caller, at, true)
            }
        }
    }

    #[inline(always)]
    pub(super) fn tell_merged(&mut self, into: RequestId, bio: &Bio) {
        // Until blk-mq, policies are told what happens to requests only.
        if !self.cx.state.policies.is_empty() && self.cx.state.slots.are_tags() {
            self.cx.state.tell_merged(into, bio);
        }
    }

    /// A bio that did not merge needs a request of its own; its submitter sleeps if it cannot have one. `mergeable`:
    /// the bio is, which most callers know before.
    #[inline(always)]
    fn get_request(&mut self, bio: &Bio, piece: SplitPiece, caller: Caller, at: Insert, mergeable: bool) -> Submitted {
        let (tag, at) = match &mut self.cx.state.slots {
            SlotPools::Pools(_) => {
                self.changed();
                // Recordings without a pool show the requested limit.
                let admission = self.elevator.admit(&mut self.cx, bio);
                self.cx.search_of(admission);
                if !self.cx.state.slots.pools().take(self.cx.now, bio) {
                    return self.rare().sleep(Sleeper { bio: *bio, piece }, caller);
                }
                (NONE, at)
            }
            SlotPools::Tags(_) => {
                if !self.cx.state.policies.is_empty()
                    && let Some(nth) = self.cx.held_back(bio)
                {
                    return self.rare().sleep_for_policy(nth, Sleeper { bio: *bio, piece });
                }
                let search = if mergeable { self.depth_for(bio) } else { self.rare().search_for(bio) };
                match self.cx.state.slots.tasks().take(bio.submitter, search) {
                    // The place that an elevator of 2.5 found is lost behind blk-mq's tags.
                    Some(tag) => (tag, Insert::Sorted),
                    None => return self.rare().wait_for_tag(Sleeper { bio: *bio, piece }, search),
                }
            }
        };
        // A burst of one is not collected, if nothing distinguishes that from being handed over at once.
        let plug = &self.cx.state.plug;
        let collected = plug.collects() && (caller != Caller::Waits || plug.holds() || self.sends_newest_first());
        let at = if plug.collects() { Insert::Sorted } else { at };
        if mergeable && piece.of.is_none() && !collected && !self.may_merge_on_insert(bio.start) {
            return self.make_queued(bio, at, tag);
        }
        self.rare().make_request(bio, piece, collected, at, tag)
    }

    /// How deep into the tags it may go.
    #[inline(always)]
    pub(super) fn depth_for(&mut self, bio: &Bio) -> SearchDepth {
        let admission = self.elevator.admit(&mut self.cx, bio);
        self.cx.search_of(admission)
    }

    /// The usual case: the bio becomes a request that is queued at once.
    #[inline(always)]
    fn make_queued(&mut self, bio: &Bio, at: Insert, tag: u32) -> Submitted {
        let Cx { state, now, .. } = &mut self.cx;
        let rq = if self.elevator.merging().uses_hash() {
            state.merges.make(&mut state.requests, *now, bio, tag)
        } else {
            state.requests.make(Stage::Queued, *now, bio, tag)
        };
        self.track(rq, bio, tag);
        self.elevator.prepare(&mut self.cx, rq);
        let closes = self.cx.state.plug.closes() && !self.elevator.has_work();
        self.cx.state.queued += 1;
        self.explain_inserted(rq);
        if closes {
            self.rare().close_plug();
        }
        self.insert(rq, at);
        Submitted::Inserted(rq)
    }

    #[inline(always)]
    fn track(&mut self, rq: RequestId, bio: &Bio, tag: u32) {
        if tag != NONE && !self.cx.state.policies.is_empty() {
            self.cx.state.track(rq, bio);
        }
    }
}

impl Step<'_, dyn Elevator> {
    /// The bio becomes a request of a flush sequence, of its submitter's plug, or one that may continue another.
    pub(super) fn make_request(
        &mut self,
        bio: &Bio,
        piece: SplitPiece,
        collected: bool,
        at: Insert,
        tag: u32,
    ) -> Submitted {
        let rq = self.cx.state.make(bio, piece, tag);
        self.track(rq, bio, tag);
        if !bio.is_volatile_data()
            && self.cx.state.slots.are_tags()
            && let Some(became) = self.begin_sequence(rq)
        {
            return became;
        }
        if collected {
            self.collect(rq);
            return Submitted::Held;
        }
        self.elevator.prepare(&mut self.cx, rq);
        if let Some(into) = self.merge_on_insert(rq) {
            return Submitted::MergedOnInsert { into };
        }
        self.hand_over(rq, at);
        Submitted::Inserted(rq)
    }

    /// Submits a bio, or a piece of one, that is no longer than the device takes.
    pub(super) fn submit_piece(&mut self, bio: &Bio, piece: SplitPiece, caller: Caller) -> Submitted {
        if bio.is_mergeable() {
            self.merge_or_get_request(bio, piece, caller)
        } else {
            self.get_request(bio, piece, caller, Insert::Sorted, false)
        }
    }

    /// Submits any bio, whatever it needs first.
    #[cold]
    fn submit_any(&mut self, bio: &Bio) -> Submitted {
        assert!(bio.sectors > 0 || bio.op == Op::Flush, "a bio of no length: {bio:?}");
        self.meet_group(bio);
        match self.pass_gate(*bio) {
            Some(bio) => self.submit_passed(&bio),
            None => Submitted::Held,
        }
    }

    /// Submits a bio that no limit holds back.
    pub(super) fn submit_passed(&mut self, bio: &Bio) -> Submitted {
        if bio.op == Op::Flush || !bio.durability.is_volatile() {
            return self.submit_durable(*bio);
        }
        self.submit_data(bio)
    }

    /// Submits the bio's data, after the flushes around it have been handled.
    pub(super) fn submit_data(&mut self, bio: &Bio) -> Submitted {
        if bio.sectors <= self.longest_piece(bio.op) {
            return self.submit_piece(bio, SplitPiece::WHOLE, Caller::Continues);
        }
        self.submit_split(bio)
    }

    fn longest_piece(&self, op: Op) -> u32 {
        if matches!(op, Op::Discard | Op::WriteZeroes) {
            return self.cx.state.config.limits.max_discard_sectors;
        }
        let (pieces, most) = (self.cx.state.merges.rules().pieces, self.cx.state.config.limits.max_sectors);
        // 2.4's page cache submits buffers. A driver that has that elevator in other surroundings (a server whose bios
        // are its clients' requests) submits bios.
        if self.cx.state.plug.kind() == Plugging::TaskQueue { pieces.longest(most) } else { most }
    }

    /// Submits a bio longer than the device takes, or than a buffer of 2.4.
    fn submit_split(&mut self, bio: &Bio) -> Submitted {
        let max_sectors = self.longest_piece(bio.op);
        let count = bio.sectors.div_ceil(max_sectors);
        let of = Some(self.cx.state.bios.split(count));
        let mut became = Submitted::Held;
        for (nth, part) in (1..).zip(split::pieces(*bio, max_sectors)) {
            let piece = SplitPiece { of, last: nth == count };
            let sleeper = Sleeper { bio: part, piece };
            // Once one piece sleeps, the rest sleep behind it.
            match (became, &self.cx.state.slots) {
                (Submitted::Asleep, SlotPools::Tags(_)) => self.queue_behind(sleeper),
                (Submitted::Asleep, SlotPools::Pools(pools)) if pools.waits_as_2_4() => {
                    self.cx.state.slots.pools().wait_behind(sleeper)
                }
                (Submitted::Asleep, SlotPools::Pools(_)) => self.fall_asleep(sleeper),
                _ => became = self.submit_piece(&part, piece, Caller::Continues),
            }
        }
        became
    }

    /// A submission found no slot. A submitter that sleeps also waits, so plugs are emptied: its own requests may hold
    /// the slots for which it sleeps.
    #[cold]
    pub(super) fn sleep(&mut self, sleeper: Sleeper, caller: Caller) -> Submitted {
        if caller != Caller::TriesAgain {
            self.fall_asleep(sleeper);
        }
        Submitted::Asleep
    }

    fn fall_asleep(&mut self, sleeper: Sleeper) {
        let (submitter, dir) = (sleeper.bio.submitter, sleeper.bio.dir());
        if self.cx.state.slots.pools().waits_as_2_4() {
            self.cx.tell(|_| Reason::Slept { submitter, dir });
            return self.wait_for_request(VecDeque::from([sleeper]));
        }
        self.cx.state.slots.pools().sleep(sleeper);
        if sleeper.piece.last {
            self.cx.tell(|_| Reason::Slept { submitter, dir });
            self.flush_plug_of(submitter, Handover::FromSchedule);
            self.open_plug(Unplug::Waiting);
        }
    }

    /// Admits sleepers whose slots have become free; returns whether there were any. They run after the queue has, as
    /// woken processes run after the interrupt that woke them.
    pub(super) fn admit_sleepers(&mut self) -> bool {
        match &self.cx.state.slots {
            SlotPools::Pools(pools) => !pools.nobody_sleeps() && self.admit_pooled(),
            SlotPools::Tags(tasks) => !tasks.nobody_runs() && self.run_woken(),
        }
    }

    fn admit_pooled(&mut self) -> bool {
        if self.cx.state.slots.pools().waits_as_2_4() {
            return self.run_waiters();
        }
        let mut any = false;
        for dir in Dir::BOTH {
            while let Some(sleeper) = self.cx.state.slots.pools().wake(self.cx.now, dir) {
                if !self.admit_sleeper(sleeper) {
                    self.cx.state.slots.pools().sleep_on(sleeper);
                    break;
                }
                any = true;
            }
        }
        any
    }

    /// Returns false if the elevator does not let it have a slot yet.
    fn admit_sleeper(&mut self, sleeper: Sleeper) -> bool {
        let Sleeper { bio, piece } = sleeper;
        if self.submit_piece(&bio, piece, Caller::TriesAgain) == Submitted::Asleep {
            return false;
        }
        // The burst to which it belonged may have ended.
        self.end_burst(bio.submitter);
        if piece.last {
            self.cx.tell(|_| Reason::Woke { submitter: bio.submitter });
            self.cx.state.deliveries.push(Delivery::Awake(bio.submitter));
        }
        true
    }

    /// Submits the data of a bio that was held for a flush. Its submitter can no longer sleep for a slot or end the
    /// burst, so the data goes directly to the elevator, without merging.
    pub(super) fn submit_held(&mut self, bio: Bio) {
        let max_sectors = self.cx.state.config.limits.max_sectors;
        let count = bio.sectors.div_ceil(max_sectors);
        let of = (count > 1).then(|| self.cx.state.bios.split(count));
        for part in split::pieces(bio, max_sectors) {
            self.cx.state.slots.pools().take_anyway(part.dir());
            let rq = self.cx.state.make(&part, SplitPiece { of, last: true }, NONE);
            self.elevator.prepare(&mut self.cx, rq);
            self.hand_over(rq, Insert::Sorted);
        }
        self.open_plug(Unplug::Waiting);
    }

    /// Searches for a request to join, for a caller that has a slot, or needs none, for a request of its own.
    pub(super) fn merge_bio(&mut self, bio: &Bio, piece: SplitPiece) -> Attempt {
        if let Some(joined) = self.join_in_plug(bio, piece) {
            return joined;
        }
        self.changed();
        if !bio.is_mergeable() {
            return Attempt::Insert(Insert::Sorted);
        }
        let (attempt, freed) = match self.cx.look_for(self.elevator, bio) {
            Ok(hit) => self.cx.join_if_it_fits(self.elevator, bio, piece.of, hit),
            Err(at) => (Attempt::Insert(at), None),
        };
        if let Some(victim) = freed {
            let Attempt::Joined { into, .. } = attempt else { unreachable!("only a merge frees a request") };
            self.absorb(into, victim);
        }
        self.unplug_if_asked();
        attempt
    }

    /// Searches the submitter's plug, newest first, before the elevator.
    #[inline(never)]
    fn merge_in_plug(&mut self, bio: &Bio, piece: SplitPiece) -> Option<Submitted> {
        let Attempt::Joined { into, end } = self.join_in_plug(bio, piece)? else { return None };
        self.tell_merged(into, bio);
        Some(Submitted::Merged { into, end })
    }

    fn join_in_plug(&mut self, bio: &Bio, piece: SplitPiece) -> Option<Attempt> {
        let Merging { gate, kin, .. } = self.cx.state.merges.rules();
        if gate == Gate::Never || !bio.is_mergeable() {
            return None;
        }
        let limits = self.cx.state.config.limits;
        let (into, end) = self.cx.state.plug.collected(bio.submitter).find_map(|rq| {
            let request = &self.cx.state.requests[rq];
            let end = super::merge::adjoins(request, bio).filter(|_| kin.accepts(request, bio))?;
            super::merge::fits(request, bio.sectors, 1, &limits).then_some((rq, end))
        })?;
        self.cx.grow(into, bio, piece.of, end);
        self.cx.tell(|_| Reason::Merged { into, end });
        Some(Attempt::Joined { into, end })
    }
}
