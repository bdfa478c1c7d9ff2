//! The steps of the short path, each compiled together with its elevator: one call of a `dyn Elevator` per step, inside
//! which every question to the elevator is a statically known call, or nothing if the elevator has no such call.
//! `queue/steps/fast_path.rs` says when the short path may be taken.
//!
//! **Rule** A step does what the long path does when nothing rare is going on. If something rare begins, it stops and
//! says so ([`SlowPath`]), and the long path continues from there. Each step is compiled three times: with a listener;
//! without, where reasons are not even asked for; and for a queue with policies (`POLICIES`), where the step asks
//! whether there is a listener.
//! **In the kernel** `blk_mq_submit_bio`, `blk_mq_dispatch_rq_list`, `blk_mq_end_request`.

use crate::elevator::{Cx, Dispatch, Elevator, Hook, Hooks, Insert, Run};
use crate::explain::{Listener, Reason};
use crate::queue::merge::{Attempt, Hit, Known, OnInsert};
use crate::queue::mq::SearchDepth;
use crate::queue::slot_pools::SlotPools;
use crate::queue::state::SlowPath;
use crate::queue::steps::calls::FastEnd;
use crate::queue::{FastSteps, Outcome, Plugging, QueueState};
use crate::request::{Bio, Carried, Ended, FlightKey, NONE, Sector, Stage, Tag};

impl<E: Elevator> FastSteps for E {
    fn arrive_fast(&mut self, state: &mut QueueState, bio: &Bio) -> u32 {
        arrive::<E, false>(self, &mut Cx { now: state.clock, state, listener: None }, bio)
    }

    fn arrive_explained<'a>(&mut self, state: &'a mut QueueState, listener: &'a mut dyn Listener, bio: &Bio) -> u32 {
        arrive::<E, false>(self, &mut Cx { now: state.clock, state, listener: Some(listener) }, bio)
    }

    fn issue_fast(&mut self, state: &mut QueueState) -> u32 {
        issue::<E, false>(self, &mut Cx { now: state.clock, state, listener: None })
    }

    fn issue_explained<'a>(&mut self, state: &'a mut QueueState, listener: &'a mut dyn Listener) -> u32 {
        issue::<E, false>(self, &mut Cx { now: state.clock, state, listener: Some(listener) })
    }

    fn complete_fast(&mut self, state: &mut QueueState, key: FlightKey, start: Sector) -> (FastEnd, Tag) {
        complete::<E, false>(self, &mut Cx { now: state.clock, state, listener: None }, key, start)
    }

    fn complete_explained<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: &'a mut dyn Listener,
        key: FlightKey,
        start: Sector,
    ) -> (FastEnd, Tag) {
        complete::<E, false>(self, &mut Cx { now: state.clock, state, listener: Some(listener) }, key, start)
    }

    fn arrive_with_policies<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        bio: &Bio,
    ) -> u32 {
        arrive::<E, true>(self, &mut Cx { now: state.clock, state, listener }, bio)
    }

    fn issue_with_policies<'a>(&mut self, state: &'a mut QueueState, listener: Option<&'a mut dyn Listener>) -> u32 {
        issue::<E, true>(self, &mut Cx { now: state.clock, state, listener })
    }

    fn complete_with_policies<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        key: FlightKey,
        start: Sector,
    ) -> (FastEnd, Tag) {
        complete::<E, true>(self, &mut Cx { now: state.clock, state, listener }, key, start)
    }
}

/// What is known about this elevator before a step runs.
#[inline(always)]
fn known<E: Elevator>(elevator: &E) -> Known {
    Known { hooks: elevator.hooks(), rules: elevator.merging() }
}

#[inline(always)]
fn arrive<E: Elevator, const POLICIES: bool>(elevator: &mut E, cx: &mut Cx<'_>, bio: &Bio) -> u32 {
    let known = known(elevator);
    let at = match cx.look_for(elevator, known, bio) {
        Ok(hit) => return join(elevator, &mut cx.apart(), bio, hit),
        Err(at) => at,
    };
    enter::<E, POLICIES>(elevator, cx, bio, at)
}

/// Joins the bio to a request, unless the request would become too large. Compiled once for all steps of an elevator.
#[inline(never)]
fn join<E: Elevator>(elevator: &mut E, cx: &mut Cx<'_>, bio: &Bio, hit: Hit) -> u32 {
    let slow_path = match cx.join_if_it_fits(elevator, bio, None, hit) {
        (Attempt::Insert(at), _) => SlowPath::TooLarge(at),
        (Attempt::Joined { into, end }, freed) => SlowPath::Joined { into, end, freed },
    };
    cx.state.slow_path = slow_path;
    NONE
}

/// Whether the elevator may request a run in one of the calls made while a bio searches for a request to join.
const fn wishes(hooks: Hooks) -> bool {
    hooks.has(Hook::Meet) || hooks.has(Hook::MayMerge) || hooks.has(Hook::LookUp)
}

/// The bio has found nothing to join.
#[inline(always)]
fn enter<E: Elevator, const POLICIES: bool>(elevator: &mut E, cx: &mut Cx<'_>, bio: &Bio, at: Insert) -> u32 {
    let hooks = elevator.hooks();
    if wishes(hooks) {
        run_if_asked(cx);
    }
    let (at, tag) = match &mut cx.state.slots {
        SlotPools::Pools(pools) => {
            // Recordings of eras without tags show the requested limit.
            if hooks.has(Hook::Admit) || !pools.take_free(bio.dir()) {
                return leave(cx.state, SlowPath::NoSlot(at));
            }
            // A request from a submitter's plug goes where the elevator sorts it.
            let collects = matches!(cx.state.config.plugging, Plugging::Submitter { .. } | Plugging::Task { .. });
            (if collects { Insert::Sorted } else { at }, NONE)
        }
        SlotPools::Tags(_) => {
            if POLICIES && let Some(nth) = cx.held_back(bio) {
                return leave(cx.state, SlowPath::Held(nth));
            }
            let search = if hooks.has(Hook::Admit) {
                let admission = elevator.admit(cx, bio);
                cx.search_of(admission)
            } else {
                SearchDepth::All
            };
            let SlotPools::Tags(tasks) = &mut cx.state.slots else { unreachable!("there were tags") };
            match tasks.set.take(0, search) {
                // The place that an elevator of 2.5 found is lost behind blk-mq's tags, as on the long path.
                Some(tag) => (Insert::Sorted, tag),
                None => return leave(cx.state, SlowPath::NoTag(search)),
            }
        }
    };
    become_request::<E, POLICIES>(elevator, cx, bio, at, tag)
}

/// The bio becomes a request with a slot.
#[inline(always)]
fn become_request<E: Elevator, const POLICIES: bool>(
    elevator: &mut E,
    cx: &mut Cx<'_>,
    bio: &Bio,
    at: Insert,
    tag: u32,
) -> u32 {
    let Known { hooks, rules } = known(elevator);
    let state = &mut *cx.state;
    if rules.on_insert == OnInsert::Merge && !state.merges.nothing_ends_at(bio.start) {
        return may_continue::<E, POLICIES>(elevator, &mut cx.apart(), bio, at, tag);
    }
    let rq = if rules.uses_hash() {
        state.merges.make(&mut state.requests, cx.now, bio, tag)
    } else {
        state.requests.make_lone(Stage::Queued, true, cx.now, bio, tag)
    };
    if POLICIES {
        state.track(state.clock, rq, bio);
    }
    if hooks.has(Hook::Prepare) {
        elevator.prepare_lone(cx, rq, bio);
    }
    cx.state.queued += 1;
    cx.tell_by(|listener, at, _| {
        let Bio { submitter, start, sectors, .. } = *bio;
        listener.on_inserted(at, rq, bio.dir(), start, sectors, submitter);
    });
    let run = elevator.insert_lone(cx, rq, at, bio);
    run_hw_queue(cx, run);
    rq.0
}

/// A request may end where this one starts.
#[inline(never)]
fn may_continue<E: Elevator, const POLICIES: bool>(
    elevator: &mut E,
    cx: &mut Cx<'_>,
    bio: &Bio,
    at: Insert,
    tag: u32,
) -> u32 {
    let prepares = elevator.hooks().has(Hook::Prepare);
    // Its stage in between is visible only to the call that prepares it, and in what it may continue.
    let stage = if prepares { Stage::Prepared } else { Stage::Queued };
    let rq = cx.state.requests.make_lone(stage, true, cx.now, bio, tag);
    if POLICIES {
        cx.state.track(cx.state.clock, rq, bio);
    }
    if prepares {
        elevator.prepare(cx, rq);
        cx.state.requests.get_mut(rq).stage = Stage::Queued;
    }
    leave(cx.state, SlowPath::MayContinue(rq, at))
}

#[inline(always)]
fn issue<E: Elevator, const POLICIES: bool>(elevator: &mut E, cx: &mut Cx<'_>) -> u32 {
    let rq = match elevator.dispatch(cx) {
        Dispatch::Issue(rq) => rq,
        answer => return leave(cx.state, SlowPath::Answered(answer)),
    };
    let state = &mut *cx.state;
    let links = state.requests.issue(rq);
    state.merges.forget_hashed(&mut state.requests, rq, links);
    state.queued -= 1;
    state.device.in_flight += 1;
    cx.tell_by(|listener, at, requests| {
        let Bio { op, sectors, submitter, .. } = *requests[rq];
        listener.on_issued(at, rq, op.dir(), sectors, submitter);
    });
    if POLICIES {
        cx.state.tell_issued(cx.now, rq);
    }
    rq.0
}

#[inline(always)]
fn complete<E: Elevator, const POLICIES: bool>(
    elevator: &mut E,
    cx: &mut Cx<'_>,
    key: FlightKey,
    start: Sector,
) -> (FastEnd, Tag) {
    let rq = key.slot();
    let told = elevator.hooks().has(Hook::Complete);
    let ended = if told || POLICIES || cx.has_listener() {
        if !cx.state.requests.land(key, start) {
            return (FastEnd::NotYet, Tag(0));
        }
        cx.state.device.in_flight -= 1;
        cx.tell_by(|listener, at, requests| {
            let Bio { submitter, sectors, .. } = *requests[rq];
            listener.on_completed(at, rq, requests[rq].dir(), sectors, submitter);
        });
        if told {
            let run = elevator.complete(cx, rq);
            run_hw_queue(cx, run);
        }
        if POLICIES {
            cx.state.tell_done(cx.now, rq);
        }
        cx.state.requests.end(rq)
    } else {
        match cx.state.requests.land_for_good(key, start) {
            Some(ended) => {
                cx.state.device.in_flight -= 1;
                ended
            }
            None => return (FastEnd::NotYet, Tag(0)),
        }
    };
    let Ended { lone, bios, dir, tag } = ended;
    match &mut cx.state.slots {
        SlotPools::Pools(pools) => pools.put_back(dir),
        SlotPools::Tags(tasks) if tag != NONE => tasks.set.put_back(tag),
        SlotPools::Tags(_) => {}
    }
    (if lone { FastEnd::Lone } else { FastEnd::Chain }, bios)
}

/// The long path continues from here.
#[cold]
#[inline(never)]
fn leave(state: &mut QueueState, slow_path: SlowPath) -> u32 {
    state.slow_path = slow_path;
    NONE
}

/// There is no closed plug that a run could open, so the request for one is only reported.
#[inline(always)]
fn run_hw_queue(cx: &mut Cx<'_>, run: Run) {
    if run != Run::No {
        cx.tell(|_| Reason::WishedRun(run));
    }
}

#[inline(always)]
fn run_if_asked(cx: &mut Cx<'_>) {
    let run_asked = core::mem::take(&mut cx.state.run_asked);
    run_hw_queue(cx, run_asked);
}

impl QueueState {
    /// Handles the bios of a request that carries more than one.
    #[inline(never)]
    pub(in crate::queue) fn deliver_all(&mut self, carried: Carried, outcome: Outcome) {
        let (bios, _) = self.bios.chain(carried);
        self.finish_bios(bios, outcome);
    }
}
