//! The queue's answers: the result of a submission, deliveries, and the next command for the device.

use alloc::vec::Vec;

use super::mq::Task;
use crate::elevator::IdleFor;
use crate::request::{InFlight, RequestId, SubmitterId, Tag};
use crate::time::Instant;

/// What became of a submitted bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is a new request, with the elevator (of a split bio: its last piece).
    Inserted(RequestId),
    /// It joined a queued request.
    Merged {
        /// The request.
        into: RequestId,
        /// At which end.
        end: crate::explain::End,
    },
    /// It became a request that merged into a queued one instead of being inserted (6.1's insert merge).
    MergedOnInsert {
        /// The request; it may have been absorbed in turn.
        into: RequestId,
    },
    /// No slot is free: its submitter sleeps until [`Delivery::Awake`]. The queue keeps the bio.
    Asleep,
    /// It waits in its submitter's plug, or for a flush.
    Held,
    /// Nothing had to be done; its completion is already among the deliveries.
    Done,
}

/// What comes back to submitters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A bio is complete.
    Done {
        /// Its submitter's name for it.
        tag: Tag,
        /// Did any part of it fail?
        outcome: Outcome,
    },
    /// The submission that slept went through.
    Awake(SubmitterId),
    /// A task that slept was woken and wants a processor ([`Wakes::ByDriver`](super::Wakes::ByDriver) only): to
    /// [`BlockQueue::run_task`](super::BlockQueue::run_task).
    Runnable(Task),
}

/// What has come back, one after the other; when this goes, all of it is taken.
pub(super) struct Taken<'q> {
    all: &'q mut Vec<Delivery>,
    next: usize,
}

impl Taken<'_> {
    #[inline(always)]
    pub(super) fn of(all: &mut Vec<Delivery>) -> Taken<'_> {
        Taken { all, next: 0 }
    }
}

impl Iterator for Taken<'_> {
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

impl Drop for Taken<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.all.clear();
    }
}

/// How an I/O ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Ok,
    /// The device reported an error.
    Failed,
}

/// The queue's answer to "what should the device do next?"
// A tag of its own is told from the others faster than one inside the token.
#[must_use = "what is to be issued is issued by whoever asked"]
#[derive(Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Next {
    /// Start this; the device's answer goes with it to `complete` or `requeue`.
    Issue(InFlight),
    /// The elevator leaves the disk alone on purpose.
    Idle {
        /// When its answer may change by itself.
        until: Instant,
        /// The process, group or purpose that it is left alone for.
        why: IdleFor,
    },
    /// The elevator waits for a completion.
    Wait,
    /// Nothing is queued.
    Empty,
    /// The device has as much as it takes.
    Full,
    /// There are requests, but a plug holds them: the queue's (until 2.6.38), or that of submitters that have not said
    /// that they wait.
    Plugged {
        /// When they go at the latest; `None`: only when a process waits (2.4).
        until: Option<Instant>,
    },
}

/// What became of the wish to take a bio back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is taken back: nothing is heard of it any more, and the device never sees it.
    TakenBack,
    /// The device has it: its completion comes.
    InDevice,
    /// It goes on: merged with another submitter's, cut into pieces, or still in front of the elevator (asleep for a
    /// slot, in its submitter's plug, behind a flush). Its completion comes, unless it came before this was asked.
    Stays,
}
