//! The active queue, the process that the disk idles for, and the idle timer.
//!
//! **In the kernel** `active_queue`, `active_cic`, `idle_slice_timer`, `cfq_arm_slice_timer`, `cfq_del_timer`.

use crate::elevator::{Cx, IdleFor};
use crate::elevators::cfq::ids::{Pid, Qid};
use crate::explain::Reason;
use crate::request::SubmitterId;
use crate::time::Tick;

/// The active queue, which has a slice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Active {
    queue: Option<Qid>,
    process: Option<Pid>,
}

impl Active {
    #[inline(always)]
    pub(crate) fn queue(&self) -> Option<Qid> {
        self.queue
    }

    #[inline(always)]
    pub(crate) fn is(&self, q: Qid) -> bool {
        self.queue == Some(q)
    }

    /// The process that sent the first request of this slice; the disk idles for this process.
    #[inline(always)]
    pub(crate) fn process(&self) -> Option<Pid> {
        self.process
    }

    pub(crate) fn begin(&mut self, q: Qid) {
        self.queue = Some(q);
    }

    /// This process has sent a request, perhaps the first of the slice.
    #[inline(always)]
    pub(crate) fn note_process(&mut self, pid: Pid) {
        if self.process.is_none() {
            self.process = Some(pid);
        }
    }

    /// The slice is over; returns its process.
    pub(crate) fn end(&mut self) -> Option<Pid> {
        self.queue = None;
        self.process.take()
    }
}

/// The idle timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleTimer {
    until: Option<Tick>,
    idles_for: IdleFor,
}

impl Default for IdleTimer {
    fn default() -> IdleTimer {
        IdleTimer { until: None, idles_for: IdleFor::Submitter(SubmitterId(0)) }
    }
}

impl IdleTimer {
    /// The time until which the disk idles.
    #[inline(always)]
    pub(crate) fn until(&self) -> Option<Tick> {
        self.until
    }

    /// The process or group for which it idles.
    pub(crate) fn idles_for(&self) -> IdleFor {
        self.idles_for
    }

    pub(crate) fn start(&mut self, until: Tick, idles_for: IdleFor) {
        *self = IdleTimer { until: Some(until), idles_for };
    }

    pub(crate) fn cancel(&mut self, cx: &mut Cx<'_>) {
        if self.until.take().is_some() {
            cx.wake_at(None);
            cx.explain(Reason::Cancelled);
        }
    }

    /// It has expired.
    pub(crate) fn fired(&mut self, cx: &mut Cx<'_>) {
        self.until = None;
        cx.wake_at(None);
    }
}
