//! A bio's way into the queue, compiled together with each elevator: one call of a `dyn Elevator`, inside which every
//! question to it is a known call, or nothing if it has no such call.
//!
//! **In the kernel** `blk_mq_submit_bio`.

use crate::elevator::{Cx, Elevator};
use crate::explain::Listener;
use crate::queue::step::Step;
use crate::queue::steps::calls::{Caller, Compiled};
use crate::queue::{QueueState, Submitted};
use crate::request::Bio;

impl<E: Elevator> Compiled for E {
    fn submit<'a>(
        &'a mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        bio: &Bio,
        caller: Caller,
    ) -> Submitted {
        match listener {
            // Where it is known that nobody listens, reasons are not even asked for.
            None => Step { elevator: self, cx: Cx { now: state.clock, state, listener: None } }.submit(bio, caller),
            Some(listener) => submit_heard(self, state, listener, bio, caller),
        }
    }
}

#[inline(never)]
fn submit_heard<E: Elevator>(
    elevator: &mut E,
    state: &mut QueueState,
    listener: &mut dyn Listener,
    bio: &Bio,
    caller: Caller,
) -> Submitted {
    Step { elevator, cx: Cx { now: state.clock, state, listener: Some(listener) } }.submit(bio, caller)
}

impl Step<'_, dyn Elevator> {
    /// [`Step::submit`], compiled together with the elevator.
    #[inline(always)]
    pub(in crate::queue) fn submit_compiled(self, bio: &Bio, caller: Caller) -> Submitted {
        let Step { elevator, cx: Cx { state, listener, .. } } = self;
        Compiled::submit(elevator, state, listener, bio, caller)
    }
}
