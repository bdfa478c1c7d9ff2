//! A bio's way into the queue as a call of a `dyn Elevator`. Its body is in `queue/steps/compiled.rs`.
//!
//! **In the kernel** `blk_mq_submit_bio`.

use crate::explain::Listener;
use crate::queue::Submitted;
use crate::queue::state::QueueState;
use crate::request::Bio;

/// An elevator and its queue's steps; every elevator has them. The time is the state's clock.
pub trait Compiled {
    /// Submits a bio.
    fn submit<'a>(
        &'a mut self,
        state: &'a mut QueueState,
        listener: Option<&'a mut dyn Listener>,
        bio: &Bio,
        caller: Caller,
    ) -> Submitted;
}

/// What the submitter of a bio does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// It may submit more.
    Continues,
    /// It waits: its burst consists of this bio.
    Waits,
    /// It slept for a slot and tries again. If there still is none, whoever woke it keeps its bio.
    TriesAgain,
}
