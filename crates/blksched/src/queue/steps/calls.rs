//! The steps of the short path as calls of a `dyn Elevator`. Their bodies are in `queue/steps/compiled.rs`.
//!
//! **In the kernel** `blk_mq_submit_bio`, `blk_mq_dispatch_rq_list`, `blk_mq_end_request`.

#![doc(alias = "blk_mq_submit_bio")]
#![doc(alias = "blk_mq_dispatch_rq_list")]
#![doc(alias = "blk_mq_end_request")]

use crate::explain::Listener;
use crate::queue::state::QueueState;
use crate::request::{Bio, FlightKey, Sector, Tag};

/// An elevator, and its queue's steps; every elevator has them. The moment is the state's clock. Each of the three that
/// every request takes is there twice: where nobody listens, reasons are not even asked for, and what is handed over
/// fits the registers. And once more for a queue with policies, which are asked and told on the way.
pub trait CalmSteps {
    /// A bio comes. The request that was inserted; `NONE` if the rest is to be done.
    fn arrive_calmly(&mut self, state: &mut QueueState, bio: &Bio) -> u32;

    /// The same while somebody listens.
    fn arrive_heard<'a>(&mut self, state: &'a mut QueueState, listener: &'a mut dyn Listener, bio: &Bio) -> u32;

    /// The device has room. The request that goes to it; `NONE` if the rest is to be done.
    fn issue_calmly(&mut self, state: &mut QueueState) -> u32;

    /// The same while somebody listens.
    fn issue_heard<'a>(&mut self, state: &'a mut QueueState, listener: &'a mut dyn Listener) -> u32;

    /// The device is done with a command. How its request ended, and what that carried.
    fn complete_calmly(&mut self, state: &mut QueueState, key: FlightKey, start: Sector) -> (CalmEnd, Tag);

    /// The same while somebody listens.
    fn complete_heard<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: &'a mut dyn Listener,
        key: FlightKey,
        start: Sector,
    ) -> (CalmEnd, Tag);

    /// A bio comes, and policies stand in front of the slots.
    fn arrive_watched<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        bio: &Bio,
    ) -> u32;

    /// The device has room, likewise.
    fn issue_watched<'a>(&mut self, state: &'a mut QueueState, listener: Option<&'a mut dyn Listener>) -> u32;

    /// The device is done with a command, likewise.
    fn complete_watched<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        key: FlightKey,
        start: Sector,
    ) -> (CalmEnd, Tag);
}

/// How a request ended on the short way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalmEnd {
    /// It did not: that is not for the short way, and nothing has happened.
    NotYet,
    /// With one whole bio, of this tag.
    Lone,
    /// With a chain of pieces, which stands where a tag would.
    Chain,
}
