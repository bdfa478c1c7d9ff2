//! Cancelling queued I/O: its submitter has gone, or no longer needs it.
//!
//! **Rule** A bio is cancelled if its request is in the elevator and contains no other bio; then it is not delivered.
//! Every other bio stays and completes as usual: the device has it or will have it together with another, it was split,
//! or it waits for a slot, for its submitter's plug or for a flush. No kernel's elevator can give up a request, so the
//! elevator keeps it and dispatches it in due course; then it ends at once, and the device never sees it.

use alloc::vec::Vec;

use super::step::Step;
use super::{BlockQueue, Cancelled, Listener, Outcome};
use crate::elevator::Elevator;
use crate::request::{Carried, RequestId, Stage, Tag};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Cancels one bio, and returns the result. Examines every request.
    pub fn cancel(&mut self, now: Instant, bio: Tag) -> Cancelled {
        if self.cancel_all(now, &[bio]) == [bio] {
            return Cancelled::TakenBack;
        }
        let in_device = self.state.requests.at_stage(Stage::InFlight);
        let is_there = in_device.into_iter().any(|rq| self.tags(rq).any(|tag| tag == bio));
        if is_there { Cancelled::InDevice } else { Cancelled::Stays }
    }

    /// Cancels as many of these bios as possible; returns those that were cancelled.
    pub fn cancel_all(&mut self, now: Instant, bios: &[Tag]) -> Vec<Tag> {
        let state = self.at(now).cx.state;
        let mut taken = Vec::new();
        for rq in state.requests.at_stage(Stage::Queued) {
            let carried = state.requests[rq].carried();
            let tags: Vec<Tag> = state.bios.tags(carried).collect();
            let stays = tags.iter().any(|tag| !bios.contains(tag)) || state.bios.has_split(carried);
            if stays || tags.is_empty() {
                continue;
            }
            state.requests.get_mut(rq).carry(Carried::NOTHING);
            if let Carried::Chain(front, _) = carried {
                state.bios.finish(front, false, |_, _| {});
            }
            state.seal(rq);
            state.cancelled.push(rq);
            taken.extend(tags);
        }
        taken
    }
}

impl Step<'_, dyn Elevator> {
    /// Whether the elevator chose a request all of whose bios were cancelled. If so, the request has ended.
    pub(super) fn drops(&mut self, rq: RequestId) -> bool {
        let Some(at) = self.cx.state.cancelled.iter().position(|&cancelled| cancelled == rq) else { return false };
        self.cx.state.cancelled.swap_remove(at);
        self.cx.seal(rq);
        self.cx.state.queued -= 1;
        self.cx.state.requests.get_mut(rq).stage = Stage::InFlight;
        let run = self.elevator.complete(&mut self.cx, rq);
        self.changed();
        self.unplug_for(run);
        self.sequence_goes_on(rq, Outcome::Failed);
        self.end_request(rq, Outcome::Failed);
        true
    }
}
