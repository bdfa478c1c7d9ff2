//! The short way through the queue, for when nothing rare is going on: no plug, no limit, no policy, no task asleep, no
//! flush, nothing on the dispatch list, nothing cancelled.
//!
//! **Rule** It does what the long way (`queue.rs`, `submit.rs`) does when all those questions are answered by no; they
//! are asked once and not for each request. Every call that takes the long way forgets the answer ([`Calm::UNKNOWN`]),
//! so none of the mechanisms has to keep it; the next [`BlockQueue::next`] or [`BlockQueue::complete`] asks anew.
//! Where something rare begins on the short way (no slot is free), it goes on on the long one.

use crate::elevator::{Dispatch, Hook, Insert, Run};
use crate::queue::calm::Calm;
use crate::queue::merge::Attempt;
use crate::queue::mq::Search;
use crate::queue::slot_pools::SlotPools;
use crate::queue::split::Piece;
use crate::queue::waiters::Sleeper;
use crate::queue::{BlockQueue, Delivery, Listener, Next, Outcome, Submitted};
use crate::request::{Bio, Carried, Dir, InFlight, NONE, NotInFlight, RequestId, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Is nothing due, and nothing rare going on?
    #[inline(always)]
    pub(in crate::queue) fn is_calm(&mut self, now: Instant) -> bool {
        // In this order: an elevator that is always asked for its deadline is never calm.
        self.is_now(now) && (self.calm.quiet || (self.policies.is_empty() && self.calms_down()))
    }

    /// Is it later than ever, and is the elevator's deadline yet to come?
    #[inline(always)]
    fn is_now(&self, now: Instant) -> bool {
        now >= self.core.clock && !self.core.state.due.may_be(now)
    }

    #[inline(never)]
    fn calms_down(&mut self) -> bool {
        self.calm = self.look();
        self.calm.quiet
    }

    fn look(&self) -> Calm {
        let nobody_waits = match &self.core.slots {
            SlotPools::Pools(pools) => pools.nobody_waits(),
            SlotPools::Tags(tasks) => tasks.nobody_runs() && tasks.set.waits().waiters() == 0,
        };
        let nothing_flushed = self.flushes.is_idle() && self.sequences.is_idle() && self.list.is_idle();
        let nothing_lost = self.cancelled.is_empty() && self.orphans.is_empty();
        let quiet = !self.has_timers() && nobody_waits && nothing_flushed && nothing_lost;
        let max_sectors = |if_so: bool| if if_so { self.core.config.limits.max_sectors } else { 0 };
        let straight = quiet && !self.plug.closes() && self.gate.is_open();
        let sectors = max_sectors(straight && !self.plug.collects());
        Calm { quiet, sectors, alone: max_sectors(straight && !self.sends_newest_first()) }
    }

    /// What is known is so.
    ///
    /// # Panics
    /// If not.
    pub(in crate::queue) fn check_calm(&self) {
        assert!(self.calm == Calm::UNKNOWN || self.calm == self.look(), "the queue is not as calm as it thinks");
    }

    /// May this bio take the short way?
    #[inline(always)]
    pub(in crate::queue) fn is_plain_bio(&self, now: Instant, bio: &Bio) -> bool {
        self.is_plain_below(self.calm.sectors, now, bio)
    }

    /// And may it, if its submitter waits behind it?
    #[inline(always)]
    pub(in crate::queue) fn is_plain_burst(&self, now: Instant, bio: &Bio) -> bool {
        self.is_plain_below(self.calm.alone, now, bio)
    }

    #[inline(always)]
    fn is_plain_below(&self, sectors: u32, now: Instant, bio: &Bio) -> bool {
        // One comparison for no length, too long, and no calm.
        bio.sectors.wrapping_sub(1) < sectors
            && self.is_now(now)
            && bio.is_mergeable()
            && self.groups.get(bio.group).is_some()
    }

    /// A bio that may take it.
    #[inline(never)]
    pub(in crate::queue) fn submit_calmly(&mut self, now: Instant, bio: &Bio) -> Submitted {
        self.core.clock = now;
        self.answer = None;
        let at = match self.core.try_to_merge(&mut *self.elevator, now, bio, None) {
            (Attempt::Insert(at), None) => at,
            (attempt, freed) => return self.merged(now, attempt, freed),
        };
        if self.core.state.wished != Run::No {
            self.obey_wish(now);
        }
        if let SlotPools::Pools(pools) = &mut self.core.slots {
            // Recordings of eras without tags tell what was asked for.
            if self.core.hooks.has(Hook::Admit) || !pools.take_free(bio.dir()) {
                return self.take_pooled(now, bio, at);
            }
            // What comes out of a submitter's plug goes where the elevator sorts it.
            let at = if self.plug.collects() { Insert::Sorted } else { at };
            return self.enter_calmly(now, bio, at, NONE);
        }
        let search = self.search_for(now, bio);
        match self.core.take_tag(search) {
            // The place that an elevator of 2.5 found is lost behind blk-mq's tags, as on the long way.
            Some(tag) => self.enter_calmly(now, bio, Insert::Sorted, tag),
            None => self.sleep_for_tag(now, bio, search),
        }
    }

    /// It joined a request.
    #[inline(never)]
    fn merged(&mut self, now: Instant, attempt: Attempt, freed: Option<RequestId>) -> Submitted {
        let Attempt::Joined { into, end } = attempt else { unreachable!("only a merge frees a request") };
        if let Some(victim) = freed {
            self.absorb(now, into, victim);
        }
        self.obey_wish(now);
        Submitted::Merged { into, end }
    }

    #[cold]
    fn sleep_for_tag(&mut self, now: Instant, bio: &Bio, search: Search) -> Submitted {
        self.calm = Calm::UNKNOWN;
        self.wait_for_tag(now, Sleeper { bio: *bio, piece: Piece { of: None, last: true } }, search)
    }

    #[inline(always)]
    fn enter_calmly(&mut self, now: Instant, bio: &Bio, at: Insert, tag: u32) -> Submitted {
        let rq = self.core.state.requests.make_at(Stage::Prepared, now, bio, true, Carried::Lone(bio.tag), tag);
        self.prepare(now, rq);
        if let Some(into) = self.merge_on_insert(now, rq) {
            return Submitted::MergedOnInsert { into };
        }
        self.core.state.requests.get_mut(rq).stage = Stage::Queued;
        self.core.queued += 1;
        self.core.state.merges.admit(&mut self.core.state.requests, rq);
        self.explain_inserted(now, rq);
        let run = self.elevator.insert(&mut self.core.cx(now), rq, at);
        self.answer = None;
        if run != Run::No {
            self.obey_wish_of(now, run);
        }
        Submitted::Inserted(rq)
    }

    /// No slot is simply there.
    #[cold]
    fn take_pooled(&mut self, now: Instant, bio: &Bio, at: Insert) -> Submitted {
        self.calm = Calm::UNKNOWN;
        let became = self.enter_pooled(now, bio, Piece { of: None, last: true }, at);
        if became == Submitted::Asleep {
            self.sleep(now, Sleeper { bio: *bio, piece: Piece { of: None, last: true } });
        }
        became
    }

    /// The device has room or is full; the elevator is asked.
    #[inline]
    pub(in crate::queue) fn next_calmly(&mut self, now: Instant) -> Next {
        if self.core.state.device.in_flight >= self.core.config.depth {
            return if self.is_simply_full() { self.full(now) } else { self.next_at(now) };
        }
        self.ask_calmly(now)
    }

    #[inline(always)]
    fn full(&mut self, now: Instant) -> Next {
        self.core.clock = now;
        Next::Full
    }

    #[inline(never)]
    fn ask_calmly(&mut self, now: Instant) -> Next {
        self.core.clock = now;
        if self.answer.is_some() {
            return self.next_of_all(now);
        }
        match self.elevator.dispatch(&mut self.core.cx(now)) {
            Dispatch::Issue(rq) => {
                self.take_from_elevator(rq);
                Next::Issue(self.start_calmly(now, rq))
            }
            answer => self.tell(now, answer),
        }
    }

    /// Anything but a request.
    #[inline(never)]
    fn tell(&mut self, now: Instant, answer: Dispatch) -> Next {
        if let Dispatch::Reinsert(rq) = answer {
            self.reinsert(now, rq);
        } else {
            self.answer = Some(answer);
        }
        self.calm = Calm::UNKNOWN;
        self.next_of_all(now)
    }

    /// Is this command nothing but reading and writing?
    #[inline(always)]
    pub(in crate::queue) fn is_plain(&self, command: &InFlight) -> bool {
        self.core.state.requests.get(command.rq).is_some_and(|request| request.is_plain())
    }

    #[inline(never)]
    pub(in crate::queue) fn complete_calmly(&mut self, now: Instant, command: &InFlight, outcome: Outcome) {
        self.core.clock = now;
        let rq = command.rq;
        let request = self.core.state.requests.get_mut(rq);
        if request.stage != Stage::InFlight || !command.is_of(request) {
            not_in_flight(command);
        }
        request.generation = request.generation.wrapping_add(1);
        self.core.state.device.in_flight -= 1;
        self.answer = None;
        self.explain_completed(now, rq);
        if self.core.hooks.has(Hook::Complete) {
            let run = self.elevator.complete(&mut self.core.cx(now), rq);
            if run != Run::No {
                self.obey_wish_of(now, run);
            }
        }
        let request = &self.core.state.requests[rq];
        let dir = request.dir();
        match request.carried() {
            Carried::Lone(tag) => self.deliveries.push(Delivery::Done { tag, outcome }),
            carried => self.deliver_chain(now, rq, carried, outcome),
        }
        self.slot_back(rq, dir);
        self.core.state.requests.release(rq);
    }

    #[inline(always)]
    fn slot_back(&mut self, rq: RequestId, dir: Dir) {
        match &mut self.core.slots {
            SlotPools::Pools(pools) => pools.put_back(dir),
            SlotPools::Tags(tasks) => {
                let tag = self.core.state.requests.take_tag(rq);
                if tag != NONE {
                    tasks.set.put_back(tag);
                }
            }
        }
    }
}

#[cold]
#[inline(never)]
fn not_in_flight(command: &InFlight) -> ! {
    panic!("{}", NotInFlight(command.key()))
}
