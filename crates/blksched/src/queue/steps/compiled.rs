//! A bio's way into the queue, compiled together with each elevator: one call of a `dyn Elevator`, inside which every
//! question to it is a known call, or nothing if it has no such call.
//!
//! **In the kernel** `blk_mq_submit_bio`.

use crate::elevator::{Cx, Elevator};
use crate::explain::Listener;
use crate::queue::step::{Caller, Step};
use crate::queue::{QueueState, Submitted};
use crate::request::Bio;

/// An elevator and its queue's steps; every elevator has them. The time is the state's clock.
pub trait Compiled {
    /// [`Step::submit`]
    fn submit<'a>(
        &'a mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        bio: &Bio,
        caller: Caller,
    ) -> Submitted;

    /// The elevator, for what is compiled once for all of them.
    fn as_dyn(&mut self) -> &mut dyn Elevator;
}

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

    fn as_dyn(&mut self) -> &mut dyn Elevator {
        self
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
