//! A row for each request that went to the disk: when it was queued, issued and complete, and what it waited for.

use blksched::{Dir, Instant, Span, SubmitterId};

use super::cause::{Cause, Serving};
use super::disk::Integrals;

/// One request that the disk got.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskDecision {
    /// Its submitter.
    pub submitter: SubmitterId,
    /// Its direction.
    pub dir: Dir,
    /// Its length \[512-byte sectors\]; 0 for a flush.
    pub sectors: u32,
    /// When it was queued; `None` if it bypassed the scheduler.
    pub queued_at: Option<Instant>,
    /// When the disk got it.
    pub issued_at: Instant,
    /// When it was complete; `None` if that was not before the end.
    pub completed_at: Option<Instant>,
    /// What it was issued for.
    pub serving: Serving,
    /// How long it waited for each cause \[ns\].
    pub waited: Integrals,
}

impl DiskDecision {
    /// What it waited for, the longest first.
    pub fn causes(&self) -> Vec<(Cause, Span)> {
        let all = Cause::all().map(|cause| (cause, Span::from_ns(self.waited[cause.index()])));
        let mut causes: Vec<_> = all.filter(|(_, span)| !span.is_zero()).collect();
        causes.sort_by_key(|&(_, span)| core::cmp::Reverse(span));
        causes
    }
}

/// The rows so far, and which of them are in the disk, by the request's index.
#[derive(Clone, Debug, Default)]
pub(super) struct Decisions {
    pub(super) rows: Vec<DiskDecision>,
    open: Vec<Option<usize>>,
}

impl Decisions {
    pub(super) fn issued(&mut self, rq: usize, decision: DiskDecision) {
        if self.open.len() <= rq {
            self.open.resize(rq + 1, None);
        }
        self.open[rq] = Some(self.rows.len());
        self.rows.push(decision);
    }

    pub(super) fn completed(&mut self, at: Instant, rq: usize) {
        if let Some(row) = self.open.get_mut(rq).and_then(Option::take) {
            self.rows[row].completed_at = Some(at);
        }
    }
}
