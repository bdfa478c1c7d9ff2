//! The queue's answers: the result of a submission, deliveries, and the next command for the device.

use alloc::vec::Vec;

use super::mq::Task;
use crate::elevator::IdleFor;
use crate::request::{InFlight, RequestId, SubmitterId, Tag};
use crate::time::Instant;

/// The result of submitting a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Submitted {
    /// It is a new request in the elevator (for a split bio: its last piece).
    Inserted(RequestId),
    /// It joined a queued request.
    Merged {
        /// The request.
        into: RequestId,
        /// The end that it joined.
        end: crate::explain::End,
    },
    /// It became a request that merged into a queued one instead of being inserted (6.1's insert merge).
    MergedOnInsert {
        /// The request; it may have been absorbed in turn.
        into: RequestId,
    },
    /// No slot or tag is free, or a policy (writeback throttling, io.cost, io.latency) holds it back: its submitter
    /// sleeps until [`Delivery::Awake`]. The queue keeps the bio.
    Asleep,
    /// It waits in its submitter's plug, for a flush, or for `io.max`.
    Held,
    /// There was nothing to do; its completion is already among the deliveries.
    Done,
}

/// What is delivered to submitters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Delivery {
    /// A bio is complete.
    Done {
        /// Its submitter's identifier for it.
        tag: Tag,
        /// Whether any part of it failed.
        outcome: Outcome,
    },
    /// The submission that slept has gone through: a slot, a tag or its policy's permission came, each from the
    /// completion of another request or, for a policy, at its deadline.
    Awake(SubmitterId),
    /// A sleeping task was woken and needs a processor ([`Wakes::ByDriver`](super::Wakes::ByDriver) only): the driver
    /// passes it to [`BlockQueue::run_task`](super::BlockQueue::run_task).
    Runnable(Task),
}

/// The deliveries, one after the other; all of them are taken when this is dropped.
pub(super) struct TakeDeliveries<'q> {
    all: &'q mut Vec<Delivery>,
    next: usize,
}

impl TakeDeliveries<'_> {
    #[inline(always)]
    pub(super) fn of(all: &mut Vec<Delivery>) -> TakeDeliveries<'_> {
        TakeDeliveries { all, next: 0 }
    }
}

impl Iterator for TakeDeliveries<'_> {
    type Item = Delivery;

    #[inline(always)]
    fn next(&mut self) -> Option<Delivery> {
        let delivery = *self.all.get(self.next)?;
        self.next += 1;
        Some(delivery)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.all.len() - self.next;
        (left, Some(left))
    }
}

impl Drop for TakeDeliveries<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.all.clear();
    }
}

/// How an I/O ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Outcome {
    /// Successfully.
    Ok,
    /// The device reported an error.
    Failed,
}

/// The queue's answer to the question what the device should do next.
// A separate discriminant is distinguished faster than one inside the token.
#[must_use = "what is to be issued is issued by whoever asked"]
#[derive(Debug, PartialEq, Eq)]
#[repr(u8)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Next {
    /// Start this; pass it to `complete` or `requeue` with the device's answer.
    Issue(InFlight),
    /// The elevator leaves the disk alone on purpose.
    Idle {
        /// When its answer may change without another event.
        until: Instant,
        /// The process, group or purpose for which it is left idle.
        why: IdleFor,
    },
    /// The elevator waits for a completion.
    Wait,
    /// Nothing is queued.
    Empty,
    /// The device has as many requests as it takes.
    Full,
    /// There are requests, but a plug holds them: the queue's (until 2.6.38), or those of submitters that have not said
    /// that they wait.
    Plugged {
        /// The latest time of their release; `None`: only when a process waits (2.4).
        until: Option<Instant>,
    },
}

/// The result of cancelling a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Cancelled {
    /// It is cancelled: there is no completion, and the device never sees it.
    TakenBack,
    /// The device has it: it will complete.
    InDevice,
    /// It continues: it was merged with another submitter's, was split, or is still in front of the elevator (asleep
    /// for a slot, in its submitter's plug, behind a flush). It will complete, unless it completed before this call.
    Stays,
}
