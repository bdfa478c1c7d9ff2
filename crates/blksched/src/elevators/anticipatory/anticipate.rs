//! The state of waiting: for which process, since when, until when.
//!
//! **What for** A process that reads one thing after the other has nothing queued at the moment its read completes. A
//! disk that serves another request at once seeks twice for each such read.
//! **Rule** The disk waits for the process whose read was dispatched last, until an asynchronous request is dispatched.
//! The wait counts from the completion of one of its requests: before that, no timer runs; then the timer is set to
//! `antic_expire` later. The wait's end, by time or by a request that makes it pointless, is final until the next
//! request is dispatched.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.6, #a.7, #a.9.
//! **In the kernel** `as_antic_waitreq`, `as_antic_waitnext`, `as_antic_stop`, `antic_status`, `as_antic_expired`,
//! `as_antic_timeout`.

use super::process::ProcessId;
use crate::elevator::{Cx, IdleFor, Run};
use crate::explain::Reason;
use crate::request::SubmitterId;
use crate::time::{Instant, Jiffies, Tick};

/// The phase of a wait; in the kernel OFF, WAIT_REQ, WAIT_NEXT, FINISHED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// A request was taken, and no wait has begun or been refused since.
    #[default]
    Off,
    /// Waiting for the completion of the process's request.
    Completion,
    /// Waiting for its next request, with the timer running.
    NextRequest { until: Instant },
    /// No wait until the next request is taken.
    Finished,
}

/// The process that the disk waits for, or would.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub(super) process: ProcessId,
    pub(super) submitter: SubmitterId,
}

/// The state of waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anticipation {
    pub(super) phase: Phase,
    pub(super) awaited: Option<Awaited>,
    /// When one of its requests completed, since the last request was taken.
    pub(super) finished_at: Option<Tick>,
}

impl Anticipation {
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Completion | Phase::NextRequest { .. })
    }

    pub(super) fn timer(&self) -> Option<Instant> {
        match self.phase {
            Phase::NextRequest { until } => Some(until),
            Phase::Off | Phase::Completion | Phase::Finished => None,
        }
    }

    /// Begins the wait.
    pub(super) fn wait(&mut self, cx: &mut Cx<'_>, jiffies: Jiffies, antic_expire: Tick) {
        let submitter = self.awaited.expect("only a known process is waited for").submitter;
        match self.finished_at {
            Some(at) => self.set_timer(cx, jiffies.instant(at + antic_expire), submitter),
            None => {
                self.phase = Phase::Completion;
                cx.explain(Reason::WaitsForCompletion { submitter });
            }
        }
    }

    /// Notes that a request of `process` completed, which may start the timer.
    pub(super) fn completed(&mut self, cx: &mut Cx<'_>, process: ProcessId, jiffies: Jiffies, antic_expire: Tick) {
        let Some(awaited) = self.awaited.filter(|awaited| awaited.process == process) else { return };
        let now = jiffies.tick(cx.now);
        self.finished_at = Some(now);
        if self.phase == Phase::Completion {
            self.set_timer(cx, jiffies.instant(now + antic_expire), awaited.submitter);
        }
    }

    fn set_timer(&mut self, cx: &mut Cx<'_>, until: Instant, submitter: SubmitterId) {
        self.phase = Phase::NextRequest { until };
        cx.explain(Reason::Armed { until, why: IdleFor::Submitter(submitter) });
    }

    /// Ends the wait, if there is one.
    pub(super) fn stop(&mut self, cx: &mut Cx<'_>) -> Run {
        if !self.is_waiting() {
            return Run::No;
        }
        if self.timer().is_some() {
            cx.explain(Reason::Cancelled);
        }
        self.phase = Phase::Finished;
        Run::Soon
    }

    /// Ends the wait when its timer expires.
    pub(super) fn timed_out(&mut self) {
        self.phase = Phase::Finished;
    }

    /// Notes that a request was taken: `awaited` is the process to wait for next, if any. Returns the previous one.
    pub(super) fn taken(&mut self, awaited: Option<Awaited>) -> Option<Awaited> {
        self.phase = Phase::Off;
        self.finished_at = None;
        core::mem::replace(&mut self.awaited, awaited)
    }

    /// How long the disk has been left idle \[ticks\], for judging what is close.
    pub(super) fn waited(&self, now: Tick) -> Tick {
        match (self.phase, self.finished_at) {
            (Phase::Off, _) | (_, None) => 0,
            (_, Some(at)) => now - at,
        }
    }
}
