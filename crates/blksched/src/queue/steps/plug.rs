//! Plugs on their way out: what ends them, and what they held. The state is in `queue/plug.rs`.
//!
//! **In the kernel** `blk_finish_plug`, `blk_flush_plug_list`, `blk_unplug_timeout`, `blk_unplug_work`,
//! `blk_mq_flush_plug_list`.

use alloc::vec::Vec;

use crate::elevator::Insert;
use crate::explain::{Reason, Unplug};
use crate::queue::dispatch_list::From;
use crate::queue::mq::MqEra;
use crate::queue::plug::{Collected, Handover, LONGEST_BURST, Plugging};
use crate::queue::{BlockQueue, Listener};
use crate::request::{RequestId, Stage, SubmitterId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// A request is about to enter an empty queue.
    pub(in crate::queue) fn close_plug(&mut self, now: Instant) {
        let opens = match self.plug.kind {
            Plugging::Queue { delay, .. } => Some(now + delay),
            Plugging::TaskQueue if !self.head_is_served() => None,
            _ => return,
        };
        if !self.plug.is_closed() {
            self.plug.closed = true;
            self.plug.closed_until = opens;
            self.core.explain(now, |_| Reason::Plugged);
        }
    }

    /// It may never be said that this submitter waits: it may have been forgotten while it slept.
    pub(in crate::queue) fn end_burst(&mut self, now: Instant, submitter: SubmitterId) {
        self.flush_plug_of(now, submitter, Handover::Finish);
        if self.plug.kind == Plugging::TaskQueue {
            self.open_plug(now, Unplug::Waiting);
        }
    }

    /// 2.4 with IDE: whether the request in service is at the head of the queue.
    fn head_is_served(&self) -> bool {
        self.core.state.config.depth == 1 && self.core.state.device.in_flight > 0
    }

    pub(in crate::queue) fn open_plug(&mut self, now: Instant, why: Unplug) {
        self.plug.closed_until = None;
        if core::mem::take(&mut self.plug.closed) {
            self.core.explain(now, |_| Reason::Unplugged(why));
            self.changed();
        }
    }

    /// A submitter that has collected for too long is assumed to wait.
    pub(in crate::queue) fn end_long_bursts(&mut self, now: Instant) {
        while let Some(&(began, submitter)) = self.plug.bursts.front()
            && began + LONGEST_BURST <= now
        {
            self.flush_plug_of(now, submitter, Handover::Finish);
        }
    }

    /// Adds a new request to its submitter's collection, which is handed over once it is large enough.
    pub(in crate::queue) fn collect(&mut self, now: Instant, rq: RequestId) {
        let submitter = self.core.state.requests[rq].submitter;
        let held = self.plug.collected.get(submitter).map_or(0, |burst| burst.requests.len());
        // Tested when the next request is added: bios that merged into the last one count, the new request does not,
        // and it begins the next collection.
        let full_before = match self.plug.kind {
            Plugging::Task { requests, sectors } => {
                let last = self.plug.collected(submitter).next();
                held >= requests as usize || last.is_some_and(|last| self.core.state.requests[last].sectors >= sectors)
            }
            _ => false,
        };
        if full_before {
            self.flush_plug_of(now, submitter, Handover::Finish);
        }
        let burst = self.plug.collected.row(submitter);
        if burst.requests.is_empty() {
            burst.began = now;
            self.plug.bursts.push_back((now, submitter));
        }
        burst.requests.push(rq);
        self.plug.held += 1;
        if matches!(self.plug.kind, Plugging::Submitter { requests } if held + 1 >= requests as usize) {
            self.flush_plug_of(now, submitter, Handover::Finish);
        }
    }

    /// Hands what `submitter` has collected to the elevator, in the order of submission.
    #[inline]
    pub(in crate::queue) fn flush_plug_of(&mut self, now: Instant, submitter: SubmitterId, how: Handover) {
        if self.plug.holds() {
            self.empty_plug_of(now, submitter, how);
        }
    }

    fn empty_plug_of(&mut self, now: Instant, submitter: SubmitterId, how: Handover) {
        let Some(Collected { requests, .. }) = self.plug.collected.get_mut(submitter) else { return };
        if requests.is_empty() {
            return;
        }
        let mut collected = core::mem::take(requests);
        self.plug.burst_is_over(collected.len());
        if how == Handover::Finish && self.sends_newest_first() {
            self.send_newest_first(now, &mut collected);
        }
        for rq in collected.drain(..) {
            self.prepare(now, rq);
            if self.merge_on_insert(now, rq).is_none() {
                self.hand_over(now, rq, Insert::Sorted);
            }
        }
        // The allocation is kept for the next burst.
        if let Some(burst) = self.plug.collected.get_mut(submitter) {
            burst.requests = collected;
        }
    }
}

impl<L: Listener> BlockQueue<L> {
    /// Without an elevator, 6.1 empties a plug like a stack.
    pub(in crate::queue) fn sends_newest_first(&self) -> bool {
        self.core.state.config.slots.era() == Some(MqEra::Linux6_1) && !self.elevator.schedules()
    }

    /// Sends as many as the device takes at once; the others remain in the order of submission.
    fn send_newest_first(&mut self, now: Instant, collected: &mut Vec<RequestId>) {
        let busy = !self.list.is_empty() || self.core.state.queued > 0;
        let room = self.core.state.config.depth.saturating_sub(self.core.state.device.in_flight) as usize;
        if busy {
            return;
        }
        for rq in collected.split_off(collected.len().saturating_sub(room)).into_iter().rev() {
            self.enlist(now, rq);
            self.core.seal(rq);
            self.core.state.requests.get_mut(rq).stage = Stage::Held;
            self.list.push_back(rq, From::Elevator);
        }
    }
}
