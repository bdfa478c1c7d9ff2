//! Counts of decisions that measures ask for and that nobody else keeps.

use blksched::{Dir, Instant, PerDir, Reason};
use blksched_measure::Moments;

/// The decisions that can be counted by name: `count(queues_merged)`.
pub(super) const DECISIONS: [&str; 12] = [
    "reads_first",
    "writes_starved",
    "aliases_forced",
    "slices",
    "cooperators_found",
    "merges_planned",
    "queues_merged",
    "queues_split",
    "held_back",
    "not_idled",
    "armed",
    "took_oldest",
];

/// What decisions amounted to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: [u64; DECISIONS.len()],
    /// The most times in a row that writes were passed over.
    pub most_passed_over: i32,
    /// Lengths \[requests\] of 2.5's batches that came directly after one of the other direction.
    pub after_other: PerDir<Moments>,
    /// The direction of 2.5's last batch.
    last_moved: Option<Dir>,
}

impl Tally {
    /// How often `decision`, one of the names above, was made.
    pub fn count(&self, decision: &str) -> u64 {
        DECISIONS.iter().position(|name| *name == decision).map_or(0, |at| self.counts[at])
    }

    fn moved(&mut self, dir: Dir, requests: u32) {
        if self.last_moved.replace(dir).is_some_and(|last| last != dir) {
            self.after_other[dir].record(u64::from(requests));
        }
    }

    pub(super) fn hear(&mut self, _at: Instant, reason: Reason) {
        match reason {
            Reason::ReadsFirst { starved } => {
                self.most_passed_over = self.most_passed_over.max(starved);
                self.counts[0] += 1;
            }
            Reason::WritesStarved { .. } => self.counts[1] += 1,
            Reason::AliasForced { .. } => self.counts[2] += 1,
            Reason::SliceBegan { .. } => self.counts[3] += 1,
            Reason::CooperatorFound { .. } => self.counts[4] += 1,
            Reason::MergePlanned { .. } => self.counts[5] += 1,
            Reason::QueueMerged { .. } => self.counts[6] += 1,
            Reason::QueueSplit { .. } => self.counts[7] += 1,
            Reason::HeldBack { .. } => self.counts[8] += 1,
            Reason::NotIdled { .. } => self.counts[9] += 1,
            Reason::Armed { .. } => self.counts[10] += 1,
            Reason::TookOldest { .. } => self.counts[11] += 1,
            Reason::BatchMoved { dir, requests, .. } => self.moved(dir, requests),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched::BatchEnd;

    use super::*;

    #[test]
    fn a_batch_counts_as_after_the_other_direction_only_behind_one() {
        let mut tally = Tally::default();
        for (dir, requests) in [(Dir::Write, 9), (Dir::Write, 64), (Dir::Read, 1), (Dir::Write, 49)] {
            tally.hear(Instant::ZERO, Reason::BatchMoved { dir, requests, end: BatchEnd::Full });
        }
        assert_eq!((tally.after_other.write.count(), tally.after_other.write.max()), (1, 49));
        assert_eq!(tally.after_other.read.max(), 1);
    }

    #[test]
    fn decisions_count_under_their_names() {
        let mut tally = Tally::default();
        tally.hear(Instant::ZERO, Reason::ReadsFirst { starved: 2 });
        tally.hear(Instant::ZERO, Reason::ReadsFirst { starved: 1 });
        assert_eq!((tally.count("reads_first"), tally.most_passed_over, tally.count("slices")), (2, 2, 0));
    }
}
