//! The steps of the short way, each compiled together with its elevator: one call of a `dyn Elevator` per step, inside
//! which every question to the elevator is a call that the compiler knows, or, where the elevator has no such call,
//! nothing. When the short way may be taken is in `queue/steps/calm.rs`.
//!
//! **Rule** A step does what the long way does when nothing rare is going on. Where something rare begins it stops,
//! leaves word of it ([`Rest`]), and the long way goes on from there. Each step is compiled twice: with a listener, and
//! without, where reasons are not even asked for.
//! **In the kernel** `blk_mq_submit_bio`, `blk_mq_dispatch_rq_list`, `blk_mq_end_request`.

#![doc(alias = "blk_mq_submit_bio")]
#![doc(alias = "blk_mq_dispatch_rq_list")]
#![doc(alias = "blk_mq_end_request")]

use crate::elevator::{Cx, Dispatch, Elevator, Hook, Insert, Run};
use crate::explain::{Listener, Reason};
use crate::queue::merge::OnInsert;
use crate::queue::mq::Search;
use crate::queue::slot_pools::SlotPools;
use crate::queue::state::Rest;
use crate::queue::{CalmSteps, Delivery, Outcome, Plugging, QueueState};
use crate::request::{Bio, Carried, InFlight, NONE, Request, Stage};
use crate::time::Instant;

impl<E: Elevator> CalmSteps for E {
    fn arrive_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
        bio: &Bio,
    ) -> u32 {
        match listener {
            None => arrive(self, &mut Cx { now, state, listener: None }, bio),
            heard => arrive(self, &mut Cx { now, state, listener: heard }, bio),
        }
    }

    #[cold]
    fn enter_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
        bio: &Bio,
        at: Insert,
    ) -> u32 {
        enter(self, &mut Cx { now, state, listener }, bio, at)
    }

    fn issue_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
    ) -> Option<InFlight> {
        match listener {
            None => issue(self, &mut Cx { now, state, listener: None }),
            heard => issue(self, &mut Cx { now, state, listener: heard }),
        }
    }

    fn complete_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
        command: &InFlight,
        outcome: Outcome,
    ) -> bool {
        match listener {
            None => complete(self, &mut Cx { now, state, listener: None }, command, outcome),
            heard => complete(self, &mut Cx { now, state, listener: heard }, command, outcome),
        }
    }
}

#[inline(always)]
fn arrive<E: Elevator>(elevator: &mut E, cx: &mut Cx<'_>, bio: &Bio) -> u32 {
    let hooks = elevator.hooks();
    let at = match cx.look_for(elevator, hooks, bio) {
        Ok(hit) => return leave(cx, Rest::Joins(hit)),
        Err(at) => at,
    };
    enter(elevator, cx, bio, at)
}

/// It has found nothing to join.
#[inline(always)]
fn enter<E: Elevator>(elevator: &mut E, cx: &mut Cx<'_>, bio: &Bio, at: Insert) -> u32 {
    let hooks = elevator.hooks();
    obey_wish(cx);
    let (at, tag) = match &mut cx.state.slots {
        SlotPools::Pools(pools) => {
            // Recordings of eras without tags tell what was asked for.
            if hooks.has(Hook::Admit) || !pools.take_free(bio.dir()) {
                return leave(cx, Rest::NoSlot(at));
            }
            // What comes out of a submitter's plug goes where the elevator sorts it.
            let collects = matches!(cx.state.config.plugging, Plugging::Submitter { .. } | Plugging::Task { .. });
            (if collects { Insert::Sorted } else { at }, NONE)
        }
        SlotPools::Tags(_) => {
            let search = if hooks.has(Hook::Admit) {
                let admission = elevator.admit(cx, bio);
                cx.search_of(admission)
            } else {
                Search::All
            };
            let SlotPools::Tags(tasks) = &mut cx.state.slots else { unreachable!("there were tags") };
            match tasks.set.take(0, search) {
                // The place that an elevator of 2.5 found is lost behind blk-mq's tags, as on the long way.
                Some(tag) => (Insert::Sorted, tag),
                None => return leave(cx, Rest::NoTag(search)),
            }
        }
    };
    become_request(elevator, cx, bio, at, tag)
}

/// It becomes a request with a slot.
#[inline(always)]
fn become_request<E: Elevator>(elevator: &mut E, cx: &mut Cx<'_>, bio: &Bio, at: Insert, tag: u32) -> u32 {
    let hooks = elevator.hooks();
    let state = &mut *cx.state;
    let continues = state.merges.rules().on_insert == OnInsert::Merge && !state.merges.nothing_ends_at(bio.start);
    // At what stage it is shows in between only to the call that prepares it, and in what it may continue.
    let stage = if hooks.has(Hook::Prepare) { Stage::Prepared } else { Stage::Queued };
    let rq = state.requests.make_at(stage, cx.now, bio, true, Carried::Lone(bio.tag), tag);
    if hooks.has(Hook::Prepare) {
        elevator.prepare(cx, rq);
        cx.state.requests.get_mut(rq).stage = Stage::Queued;
    }
    if continues {
        return leave(cx, Rest::MayContinue(rq, at));
    }
    cx.state.queued += 1;
    cx.state.merges.admit_new(&mut cx.state.requests, rq, bio.end());
    cx.tell(|_| {
        let Bio { submitter, start, sectors, .. } = *bio;
        Reason::Inserted { rq, dir: bio.dir(), start, sectors, submitter }
    });
    let run = elevator.insert(cx, rq, at);
    obey(cx, run);
    rq.0
}

#[inline(always)]
fn issue<E: Elevator>(elevator: &mut E, cx: &mut Cx<'_>) -> Option<InFlight> {
    let rq = match elevator.dispatch(cx) {
        Dispatch::Issue(rq) => rq,
        answer => {
            leave(cx, Rest::Answered(answer));
            return None;
        }
    };
    let state = &mut *cx.state;
    let (token, dir) = state.requests.issue(rq, state.config.limits.fua);
    state.merges.forget(&mut state.requests, rq);
    state.queued -= 1;
    state.device.in_flight += 1;
    cx.tell(|_| Reason::Issued { rq, dir, sectors: token.sectors, submitter: token.submitter });
    Some(token)
}

#[inline(always)]
fn complete<E: Elevator>(elevator: &mut E, cx: &mut Cx<'_>, command: &InFlight, outcome: Outcome) -> bool {
    let rq = command.rq;
    if !cx.state.requests.land(command) {
        return false;
    }
    cx.state.device.in_flight -= 1;
    cx.tell(|requests| {
        let Request { submitter, sectors, .. } = requests[rq];
        Reason::Completed { rq, dir: requests[rq].dir(), sectors, submitter }
    });
    if elevator.hooks().has(Hook::Complete) {
        let run = elevator.complete(cx, rq);
        obey(cx, run);
    }
    let state = &mut *cx.state;
    let (carried, dir, tag) = state.requests.end(rq);
    match carried {
        Carried::Lone(tag) => state.deliveries.push(Delivery::Done { tag, outcome }),
        carried => state.deliver_all(carried, outcome),
    }
    match &mut state.slots {
        SlotPools::Pools(pools) => pools.put_back(dir),
        SlotPools::Tags(tasks) if tag != NONE => tasks.set.put_back(tag),
        SlotPools::Tags(_) => {}
    }
    true
}

/// The long way goes on from here.
#[cold]
#[inline(never)]
fn leave(cx: &mut Cx<'_>, rest: Rest) -> u32 {
    cx.state.rest = rest;
    NONE
}

/// No plug is closed that a wish could open: it is only said.
#[inline(always)]
fn obey(cx: &mut Cx<'_>, run: Run) {
    if run != Run::No {
        cx.tell(|_| Reason::WishedRun(run));
    }
}

#[inline(always)]
fn obey_wish(cx: &mut Cx<'_>) {
    let wished = core::mem::take(&mut cx.state.wished);
    obey(cx, wished);
}

impl QueueState {
    /// The bios of a request that carries more than one.
    #[inline(never)]
    fn deliver_all(&mut self, carried: Carried, outcome: Outcome) {
        let (bios, _) = self.bios.chain(carried);
        self.finish_bios(bios, outcome);
    }
}
