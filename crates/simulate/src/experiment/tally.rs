//! Counts of decisions that measures need and that are stored nowhere else.

use blksched::author::PerDir;
use blksched::{Dir, Instant, Reason};
use blksched_measure::Moments;

/// What decisions amounted to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How often waiting writes were passed over for reads.
    pub reads_first: u64,
    /// How often writes were served because they had been passed over often enough.
    pub writes_starved: u64,
    /// Requests that 2.6 dispatched early because another one has the same first sector.
    pub aliases_forced: u64,
    /// How often a deadline was armed.
    pub armed: u64,
    /// How often the oldest request was taken instead of the next on the disk.
    pub took_oldest: u64,
    /// The most times in a row that writes were passed over.
    pub most_passed_over: i32,
    /// Lengths \[requests\] of 2.5's batches that directly followed one of the other direction.
    pub after_other: PerDir<Moments>,
    /// The direction of 2.5's last batch.
    last_moved: Option<Dir>,
}

impl Tally {
    fn moved(&mut self, dir: Dir, requests: u32) {
        if self.last_moved.replace(dir).is_some_and(|last| last != dir) {
            self.after_other[dir].record(u64::from(requests));
        }
    }

    pub(super) fn on_event(&mut self, _at: Instant, reason: Reason) {
        match reason {
            Reason::ReadsFirst { starved } => {
                self.most_passed_over = self.most_passed_over.max(starved);
                self.reads_first += 1;
            }
            Reason::WritesStarved { .. } => self.writes_starved += 1,
            Reason::AliasForced { .. } => self.aliases_forced += 1,
            Reason::Armed { .. } => self.armed += 1,
            Reason::TookOldest { .. } => self.took_oldest += 1,
            Reason::BatchMoved { dir, requests, .. } => self.moved(dir, requests),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched::reasons::BatchEnd;

    use super::*;

    #[test]
    fn a_batch_counts_as_after_the_other_direction_only_behind_one() {
        let mut tally = Tally::default();
        for (dir, requests) in [(Dir::Write, 9), (Dir::Write, 64), (Dir::Read, 1), (Dir::Write, 49)] {
            tally.on_event(Instant::ZERO, Reason::BatchMoved { dir, requests, end: BatchEnd::Full });
        }
        assert_eq!((tally.after_other.write.count(), tally.after_other.write.max()), (1, 49));
        assert_eq!(tally.after_other.read.max(), 1);
    }

    #[test]
    fn passing_writes_over_is_counted_and_its_longest_row_kept() {
        let mut tally = Tally::default();
        tally.on_event(Instant::ZERO, Reason::ReadsFirst { starved: 2 });
        tally.on_event(Instant::ZERO, Reason::ReadsFirst { starved: 1 });
        assert_eq!((tally.reads_first, tally.most_passed_over, tally.writes_starved), (2, 2, 0));
    }
}
