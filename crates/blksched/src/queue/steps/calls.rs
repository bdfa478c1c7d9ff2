//! The steps of the short path as calls of a `dyn Elevator`. Their bodies are in `queue/steps/compiled.rs`.
//!
//! **In the kernel** `blk_mq_submit_bio`, `blk_mq_dispatch_rq_list`, `blk_mq_end_request`.

use crate::explain::Listener;
use crate::queue::state::QueueState;
use crate::request::{Bio, FlightKey, Sector, Tag};

/// An elevator and its queue's steps; every elevator has them. The time is the state's clock. Each of the three steps
/// that every request takes exists twice: without a listener, no reasons are made, and the arguments fit in registers.
/// They exist once more for a queue with policies, which are asked and told on the way.
pub trait FastSteps {
    /// A bio arrives. Returns the request that was inserted; `NONE` if the rest remains to be done.
    fn arrive_fast(&mut self, state: &mut QueueState, bio: &Bio) -> u32;

    /// The same with a listener.
    fn arrive_explained<'a>(&mut self, state: &'a mut QueueState, listener: &'a mut dyn Listener, bio: &Bio) -> u32;

    /// The device has room. Returns the request to send; `NONE` if the rest remains to be done.
    fn issue_fast(&mut self, state: &mut QueueState) -> u32;

    /// The same with a listener.
    fn issue_explained<'a>(&mut self, state: &'a mut QueueState, listener: &'a mut dyn Listener) -> u32;

    /// The device has completed a command. Returns how its request ended, and what that carried.
    fn complete_fast(&mut self, state: &mut QueueState, key: FlightKey, start: Sector) -> (FastEnd, Tag);

    /// The same with a listener.
    fn complete_explained<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: &'a mut dyn Listener,
        key: FlightKey,
        start: Sector,
    ) -> (FastEnd, Tag);

    /// A bio arrives, and there are policies in front of the slots.
    fn arrive_with_policies<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        bio: &Bio,
    ) -> u32;

    /// The device has room, and there are policies.
    fn issue_with_policies<'a>(&mut self, state: &'a mut QueueState, listener: Option<&'a mut dyn Listener>) -> u32;

    /// The device has completed a command, and there are policies.
    fn complete_with_policies<'a>(
        &mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        key: FlightKey,
        start: Sector,
    ) -> (FastEnd, Tag);
}

/// How a request ended on the short path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastEnd {
    /// It carried one whole bio, with this tag.
    Lone,
    /// It carried a chain of pieces, which takes the place of a tag.
    Chain,
    /// It did not: it needs the long path, and nothing has happened.
    NotYet,
}
