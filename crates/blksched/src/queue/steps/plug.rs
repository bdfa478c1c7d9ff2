//! Plugs on their way out: what ends them, and what they held. The state is in `queue/plug.rs`.
//!
//! **In the kernel** `blk_finish_plug`, `blk_flush_plug_list`, `blk_unplug_timeout`, `blk_unplug_work`,
//! `blk_mq_flush_plug_list`.

use alloc::vec::Vec;

use crate::elevator::{Elevator, Insert};
use crate::explain::Unplug;
use crate::queue::mq::MqEra;
use crate::queue::plug::{Handover, LONGEST_BURST, Plugging};
use crate::queue::step::Step;
use crate::request::{RequestId, SubmitterId};

impl Step<'_, dyn Elevator> {
    /// This submitter's burst has ended, and it waits for it: plugs are emptied.
    #[inline]
    pub(in crate::queue) fn wait_for_burst(&mut self, submitter: SubmitterId) {
        self.flush_plug_of(submitter, Handover::Finish);
        self.open_plug(Unplug::Waiting);
    }

    /// It may never be said that this submitter waits: it may have been forgotten while it slept.
    pub(in crate::queue) fn end_burst(&mut self, submitter: SubmitterId) {
        self.flush_plug_of(submitter, Handover::Finish);
        if self.cx.state.plug.kind() == Plugging::TaskQueue {
            self.open_plug(Unplug::Waiting);
        }
    }

    /// A submitter that has collected for too long is assumed to wait.
    pub(in crate::queue) fn end_long_bursts(&mut self) {
        while let Some((began, submitter)) = self.cx.state.plug.first_burst()
            && began + LONGEST_BURST <= self.cx.now
        {
            self.flush_plug_of(submitter, Handover::Finish);
        }
    }

    /// Adds a new request to its submitter's collection, which is handed over once it is large enough.
    pub(in crate::queue) fn collect(&mut self, rq: RequestId) {
        let submitter = self.cx.state.requests[rq].submitter;
        let held = self.cx.state.plug.count_of(submitter);
        // Tested when the next request is added: bios that merged into the last one count, the new request does not,
        // and it begins the next collection.
        let full_before = match self.cx.state.plug.kind() {
            Plugging::Task { requests, sectors } => {
                let last = self.cx.state.plug.collected(submitter).next();
                held >= requests as usize || last.is_some_and(|last| self.cx.state.requests[last].sectors >= sectors)
            }
            _ => false,
        };
        if full_before {
            self.flush_plug_of(submitter, Handover::Finish);
        }
        if self.cx.state.plug.collect(self.cx.now, submitter, rq) {
            self.cx.state.wake_by(self.cx.now + LONGEST_BURST);
        }
        if matches!(self.cx.state.plug.kind(), Plugging::Submitter { requests } if held + 1 >= requests as usize) {
            self.flush_plug_of(submitter, Handover::Finish);
        }
    }

    /// Hands what `submitter` has collected to the elevator, in the order of submission.
    #[inline]
    pub(in crate::queue) fn flush_plug_of(&mut self, submitter: SubmitterId, how: Handover) {
        if self.cx.state.plug.holds() {
            self.empty_plug_of(submitter, how);
        }
    }

    fn empty_plug_of(&mut self, submitter: SubmitterId, how: Handover) {
        let Some(mut collected) = self.cx.state.plug.take(submitter) else { return };
        if how == Handover::Finish && self.sends_newest_first() {
            self.send_newest_first(&mut collected);
        }
        for rq in collected.drain(..) {
            self.elevator.prepare(&mut self.cx, rq);
            if self.merge_on_insert(rq).is_none() {
                self.hand_over(rq, Insert::Sorted);
            }
        }
        self.cx.state.plug.keep(submitter, collected);
    }

    /// Sends as many as the device takes at once; the others remain in the order of submission.
    fn send_newest_first(&mut self, collected: &mut Vec<RequestId>) {
        let busy = !self.cx.state.list.is_empty() || self.cx.state.queued > 0;
        let room = self.cx.state.config.depth.saturating_sub(self.cx.state.device.in_flight) as usize;
        if busy {
            return;
        }
        for rq in collected.split_off(collected.len().saturating_sub(room)).into_iter().rev() {
            self.enlist(rq);
            self.hold_on_list(rq);
        }
    }
}

impl<E: Elevator + ?Sized> Step<'_, E> {
    /// Without an elevator, 6.1 empties a plug like a stack.
    #[inline(always)]
    pub(in crate::queue) fn sends_newest_first(&self) -> bool {
        !self.elevator.schedules() && self.cx.state.config.slots.era() == Some(MqEra::Linux6_1)
    }
}
