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
