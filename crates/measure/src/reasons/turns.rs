//! Statistics of slices (CFQ and related schedulers): why they ended, which processes cooperated, which queues were
//! merged.

use std::collections::BTreeMap;

use blksched::author::Waiter;
use blksched::reasons::{HeldBack, NotIdled, SliceEnd};
use blksched::{Instant, Reason, Span, SubmitterId};

/// The slices of a scheduler that gives each process the disk for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// How many began.
    pub began: u64,
    /// How often another queue that continues close to the disk's position was served next.
    pub cooperators: u64,
    /// How often two queues were scheduled to merge.
    pub merges_planned: u64,
    /// Processes that moved to a shared queue.
    pub merged: u64,
    /// Processes that got a queue of their own again.
    pub split: u64,
    ended: [u64; 11],
    not_idled: [u64; 6],
    held_back: [u64; 5],
    /// The owner of the current slice, and its beginning.
    current: Option<(SubmitterId, Waiter, Instant)>,
    served: BTreeMap<SubmitterId, Span>,
}

impl Turns {
    /// How many ended for this reason; all preemptions count together.
    pub fn ended(&self, why: SliceEnd) -> u64 {
        self.ended[end(why)]
    }

    /// How often the disk was not left idle for this reason.
    pub fn not_idled(&self, why: NotIdled) -> u64 {
        self.not_idled[why as usize]
    }

    /// How often it was not, for any reason.
    pub fn not_idled_in_all(&self) -> u64 {
        self.not_idled.iter().sum()
    }

    /// How often a queue with requests had to wait for this reason.
    pub fn held_back(&self, why: HeldBack) -> u64 {
        self.held_back[why as usize]
    }

    /// How often it had to, for any reason.
    pub fn held_back_in_all(&self) -> u64 {
        self.held_back.iter().sum()
    }

    /// How long the queue of this process was in service, including idling for it, without write-back. A shared queue
    /// belongs to its first owner.
    pub fn served(&self, owner: SubmitterId) -> Span {
        self.served.get(&owner).copied().unwrap_or_default()
    }

    /// Counts the current slice up to `now`.
    pub(super) fn settle(&mut self, now: Instant) {
        let Some((owner, waiter, since)) = self.current else { return };
        self.close(now);
        self.current = Some((owner, waiter, since.max(now)));
    }

    fn close(&mut self, now: Instant) {
        if let Some((owner, Waiter::Sync, since)) = self.current.take() {
            *self.served.entry(owner).or_default() += now.since(since);
        }
    }

    pub(super) fn hear(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::SliceBegan { owner, waiter, .. } => {
                self.close(at);
                self.current = Some((owner, waiter, at));
                self.began += 1;
            }
            Reason::SliceEnded { why, .. } => {
                self.close(at);
                self.ended[end(why)] += 1;
            }
            Reason::NotIdled { why, .. } => self.not_idled[why as usize] += 1,
            Reason::HeldBack { why, .. } => self.held_back[why as usize] += 1,
            Reason::CooperatorFound { .. } => self.cooperators += 1,
            Reason::MergePlanned { .. } => self.merges_planned += 1,
            Reason::QueueMerged { .. } => self.merged += 1,
            Reason::QueueSplit { .. } => self.split += 1,
            _ => {}
        }
    }
}

fn end(why: SliceEnd) -> usize {
    match why {
        SliceEnd::Used => 0,
        SliceEnd::NothingQueued => 1,
        SliceEnd::Cooperator => 2,
        SliceEnd::IdledInVain => 3,
        SliceEnd::WaitedBusy => 4,
        SliceEnd::AsyncShare => 5,
        SliceEnd::IdleClass => 6,
        SliceEnd::RealTimeWaits => 7,
        SliceEnd::Preempted(_) => 8,
        SliceEnd::Gone => 9,
        SliceEnd::BudgetUsed => 10,
    }
}

#[cfg(test)]
mod tests {
    use blksched::reasons::{Preempt, SliceStart};

    use super::*;

    #[test]
    fn turns_count_by_why_they_ended_and_preemptions_count_together() {
        let owner = SubmitterId(1);
        let ended = |why| Reason::SliceEnded { owner, waiter: Waiter::Sync, why };
        let mut turns = Turns::default();
        for reason in [
            ended(SliceEnd::Preempted(Preempt::Close)),
            ended(SliceEnd::Preempted(Preempt::SliceUsed)),
            ended(SliceEnd::IdledInVain),
            Reason::QueueMerged { submitter: owner, into: SubmitterId(2) },
            Reason::NotIdled { owner, why: NotIdled::DiskBusy },
        ] {
            turns.hear(Instant::ZERO, reason);
        }
        assert_eq!(turns.ended(SliceEnd::Preempted(Preempt::Metadata)), 2);
        assert_eq!((turns.ended(SliceEnd::IdledInVain), turns.ended(SliceEnd::Used)), (1, 0));
        assert_eq!((turns.merged, turns.split, turns.not_idled(NotIdled::DiskBusy)), (1, 0, 1));
        assert_eq!((turns.not_idled_in_all(), turns.held_back_in_all()), (1, 0));
    }

    #[test]
    fn a_process_is_served_from_the_beginning_of_its_turns_to_their_end() {
        let (a, b, at) = (SubmitterId(1), SubmitterId(2), Instant::from_ns);
        let began = |owner| Reason::SliceBegan { owner, waiter: Waiter::Sync, why: SliceStart::InOrder };
        let ended = |owner| Reason::SliceEnded { owner, waiter: Waiter::Sync, why: SliceEnd::Used };
        let mut turns = Turns::default();
        for (when, reason) in [(5, began(a)), (9, ended(a)), (20, began(b)), (21, ended(b)), (30, began(a))] {
            turns.hear(at(when), reason);
        }
        turns.settle(at(36));
        turns.settle(at(40));
        assert_eq!((turns.served(a), turns.served(b)), (Span::from_ns(14), Span::from_ns(1)));
    }
}
