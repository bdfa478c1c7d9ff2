//! The queue's plug, behind the elevator: closed, and opened again. The state is in `queue/plug.rs`.
//!
//! **In the kernel** `blk_plug_device`, `blk_remove_plug`, `generic_unplug_device`.

use crate::elevator::{Elevator, Run};
use crate::explain::{Reason, Unplug};
use crate::queue::plug::Plugging;
use crate::queue::step::Step;
use crate::time::Instant;

impl<E: Elevator + ?Sized> Step<'_, E> {
    /// A requested run opens the queue's plug.
    #[inline(always)]
    pub(in crate::queue) fn unplug_for(&mut self, run: Run) {
        if run == Run::No {
            return;
        }
        self.cx.tell(|_| Reason::WishedRun(run));
        if self.cx.state.plug.is_closed() {
            self.rare().open_plug(Unplug::Wished);
        }
    }

    /// The same for a run requested in a call that has no answer of its own.
    #[inline(always)]
    pub(in crate::queue) fn unplug_if_asked(&mut self) {
        if self.cx.state.run_asked != Run::No {
            let run_asked = core::mem::take(&mut self.cx.state.run_asked);
            self.unplug_for(run_asked);
        }
    }
}

impl Step<'_, dyn Elevator> {
    /// A request is about to enter an empty queue.
    pub(in crate::queue) fn close_plug(&mut self) {
        let opens = match self.cx.state.plug.kind() {
            Plugging::Queue { delay, .. } => Some(self.cx.now + delay),
            Plugging::TaskQueue if !self.head_is_served() => None,
            _ => return,
        };
        if self.cx.state.plug.close(opens) {
            self.cx.state.wake_by(opens.unwrap_or(Instant::NEVER));
            self.cx.tell(|_| Reason::Plugged);
        }
    }

    /// 2.4 with IDE: whether the request in service is at the head of the queue.
    fn head_is_served(&self) -> bool {
        self.cx.state.config.depth == 1 && self.cx.state.device.in_flight > 0
    }

    pub(in crate::queue) fn open_plug(&mut self, why: Unplug) {
        if self.cx.state.plug.open() {
            self.cx.tell(|_| Reason::Unplugged(why));
            self.changed();
        }
    }
}
