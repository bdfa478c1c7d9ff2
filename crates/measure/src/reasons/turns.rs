//! What turns at the disk were like (CFQ and its kin): why they ended, who cooperated, whose queues became one.

use blksched::{HeldBack, NotIdled, Reason, SliceEnd};

/// Turns of a scheduler that gives each process the disk for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// How many began.
    pub began: u64,
    /// How often another queue went on close to where the disk was, and was served next.
    pub cooperators: u64,
    /// How often two queues were to become one.
    pub merges_planned: u64,
    /// Processes that changed to a shared queue.
    pub merged: u64,
    /// Processes that have a queue of their own again.
    pub split: u64,
    ended: [u64; 11],
    not_idled: [u64; 6],
    held_back: [u64; 5],
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

    /// How often a queue with requests had to wait for this reason.
    pub fn held_back(&self, why: HeldBack) -> u64 {
        self.held_back[why as usize]
    }

    pub(super) fn hear(&mut self, reason: Reason) {
        match reason {
            Reason::SliceBegan { .. } => self.began += 1,
            Reason::SliceEnded { why, .. } => self.ended[end(why)] += 1,
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
    use blksched::{Preempt, SubmitterId, Waiter};

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
            turns.hear(reason);
        }
        assert_eq!(turns.ended(SliceEnd::Preempted(Preempt::Metadata)), 2);
        assert_eq!((turns.ended(SliceEnd::IdledInVain), turns.ended(SliceEnd::Used)), (1, 0));
        assert_eq!((turns.merged, turns.split, turns.not_idled(NotIdled::DiskBusy)), (1, 0, 1));
    }
}
