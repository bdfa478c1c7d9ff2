//! One call of a queue: its elevator, its state and the time.
//!
//! **Rule** What happens to a request is written once. A call handles first what was due before it (Rule 1,
//! `queue/steps/elapse.rs`), and whatever changes something makes the elevator's last answer invalid (Rule 2,
//! [`Step::changed`]). A bio's way in is compiled together with each elevator (`queue/steps/compiled.rs`); what happens
//! rarely continues as [`Step::rare`], compiled once for all of them.
//! **In the kernel** `request_queue`, `blk_mq_hw_ctx`.

use crate::elevator::{Cx, Elevator};

/// One call of a queue: its elevator, its state, its listener, and the time.
pub(super) struct Step<'a, E: Elevator + ?Sized> {
    pub(super) elevator: &'a mut E,
    pub(super) cx: Cx<'a>,
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

impl<'a, E: Elevator + ?Sized> Step<'a, E> {
    /// The same call, for what happens rarely.
    #[inline(always)]
    pub(super) fn rare(&mut self) -> Step<'_, dyn Elevator> {
        Step { elevator: self.elevator.as_dyn(), cx: self.cx.apart() }
    }

    /// Rule 2: something changed, so the elevator's last answer is no longer valid.
    #[inline(always)]
    pub(super) fn changed(&mut self) {
        self.cx.state.answer = None;
    }
}
