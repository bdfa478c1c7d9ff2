//! The steps of the short way as calls of a `dyn Elevator`. What they do is in `queue/steps/compiled.rs`.
//!
//! **In the kernel** `blk_mq_submit_bio`, `blk_mq_dispatch_rq_list`, `blk_mq_end_request`.

#![doc(alias = "blk_mq_submit_bio")]
#![doc(alias = "blk_mq_dispatch_rq_list")]
#![doc(alias = "blk_mq_end_request")]

use crate::answer::Insert;
use crate::explain::Listener;
use crate::queue::answers::Outcome;
use crate::queue::state::QueueState;
use crate::request::{Bio, InFlight};
use crate::time::Instant;

/// An elevator, and its queue's steps; every elevator has them.
pub trait CalmSteps {
    /// A bio comes. The request that was inserted; `NONE` if the rest is to be done.
    fn arrive_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
        bio: &Bio,
    ) -> u32;

    /// The same, of a bio that could join no request after all.
    fn enter_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
        bio: &Bio,
        at: Insert,
    ) -> u32;

    /// The device has room. `None` if the rest is to be done.
    fn issue_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
    ) -> Option<InFlight>;

    /// The device is done with a command. False if that is not for the short way.
    fn complete_calmly<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        now: Instant,
        command: &InFlight,
        outcome: Outcome,
    ) -> bool;
}
