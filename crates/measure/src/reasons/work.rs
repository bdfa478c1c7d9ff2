//! What the disk's medium does from when to when, as the disk's driver tells it.

use std::collections::VecDeque;

use blksched::author::RequestId;
use blksched::{Instant, SubmitterId};

use super::cause::Serving;
use super::submitters::Asker;

/// What a disk's medium works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorksFor {
    /// A request in flight.
    Request(RequestId),
    /// A write of this submitter that was acknowledged from the cache goes to the medium.
    Cached(SubmitterId),
    /// No process: the disk's own upkeep.
    Upkeep,
}

/// A process that the medium works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Working {
    pub(super) serving: Serving,
    pub(super) asker: Option<Asker>,
    pub(super) until: Instant,
}

/// A beginning or an end of a stint.
#[derive(Clone, Copy, Debug)]
pub(super) enum StintEdge {
    Begins(Working),
    /// The end of a stint that began with this mark.
    Ends(Working, u64),
}

/// Beginnings and ends to come, in order of time, and for equal times in the order in which they became known.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingStints {
    due: VecDeque<(Instant, StintEdge)>,
}

impl PendingStints {
    pub(super) fn add(&mut self, at: Instant, due: StintEdge) {
        // Most are added last.
        if self.due.back().is_none_or(|(last, _)| *last <= at) {
            return self.due.push_back((at, due));
        }
        self.due.insert(self.due.partition_point(|(other, _)| *other <= at), (at, due));
    }

    /// The next one that is due by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: Instant) -> Option<(Instant, StintEdge)> {
        if self.due.front()?.0 > now {
            return None;
        }
        self.due.pop_front()
    }

    /// Every stint in progress, and its mark.
    pub(super) fn running(&mut self, mut each: impl FnMut(&Working, &mut u64)) {
        for (_, due) in &mut self.due {
            if let StintEdge::Ends(working, mark) = due {
                each(working, mark);
            }
        }
    }
}
