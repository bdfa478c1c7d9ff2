//! Statistics of batches: their lengths, their number, and why they began.

use blksched::author::PerDir;
use blksched::reasons::BatchStart;
use blksched::{Dir, Reason};

use super::cause::BeganBy;
use crate::moments::Moments;

/// Batches of the deadline kind of elevator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    lengths: PerDir<Moments>,
    starts: PerDir<[u64; 4]>,
    began: PerDir<[u64; BeganBy::ALL.len()]>,
    /// How often reads went first although writes waited.
    pub reads_first: u64,
    /// How often writes went first because they had been passed over often enough.
    pub writes_starved: u64,
    /// How often an older request was forced out by one with the same first sector.
    pub forced: u64,
    open: Option<Open>,
    starved: bool,
}

/// The batch in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    dir: Dir,
    requests: u64,
    by: BeganBy,
}

impl Batches {
    /// Lengths \[requests\] of this direction's batches that have ended.
    pub fn lengths(&self, dir: Dir) -> &Moments {
        &self.lengths[dir]
    }

    /// How many batches of this direction began at such a place (regardless of how late an expired request was).
    pub fn started_at(&self, dir: Dir, start: BatchStart) -> u64 {
        self.starts[dir][place(start)]
    }

    /// How many batches of this direction began for this reason. A batch that was moved as a whole counts under
    /// [`BeganBy::Moved`] as well as under the reason that began it.
    pub fn began_by(&self, dir: Dir, by: BeganBy) -> u64 {
        self.began[dir][by as usize]
    }

    /// How many batches of this direction began.
    pub fn count(&self, dir: Dir) -> u64 {
        self.starts[dir].iter().sum()
    }

    /// Why a request of this direction that is issued now is served.
    pub(super) fn current(&self, dir: Dir) -> BeganBy {
        self.open.filter(|open| open.dir == dir).map_or(BeganBy::Unbatched, |open| open.by)
    }

    /// Handles a reason; `queued` is how many requests wait now.
    pub(super) fn hear(&mut self, reason: Reason, queued: &PerDir<u32>) {
        match reason {
            Reason::ReadsFirst { .. } => self.reads_first += 1,
            Reason::WritesStarved { .. } => {
                self.writes_starved += 1;
                self.starved = true;
            }
            Reason::BatchBegan { dir, why, .. } => self.begin(dir, why, queued[dir.other()] > 0),
            Reason::BatchContinued { .. } => self.continued(),
            Reason::BatchMoved { dir, requests, .. } => self.moved(dir, u64::from(requests)),
            Reason::AliasForced { .. } => self.forced += 1,
            Reason::Switched { .. } => self.close(),
            _ => {}
        }
    }

    pub(super) fn continued(&mut self) {
        if let Some(open) = &mut self.open {
            open.requests += 1;
        }
    }

    fn begin(&mut self, dir: Dir, why: BatchStart, others_wait: bool) {
        self.close();
        let starved = core::mem::take(&mut self.starved) && dir == Dir::Write;
        let by = match why {
            _ if starved => BeganBy::Starved,
            _ if !others_wait => BeganBy::Alone,
            BatchStart::Expired { .. } => BeganBy::Expired,
            _ => BeganBy::Turn,
        };
        self.starts[dir][place(why)] += 1;
        self.began[dir][by as usize] += 1;
        self.open = Some(Open { dir, requests: 1, by });
    }

    /// The batch that has just begun (or one that was not announced) was moved as a whole.
    fn moved(&mut self, dir: Dir, requests: u64) {
        if self.open.is_some_and(|open| open.dir != dir) {
            self.close();
        }
        self.open = Some(Open { dir, requests, by: BeganBy::Moved });
        self.began[dir][BeganBy::Moved as usize] += 1;
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.lengths[open.dir].record(open.requests);
        }
    }
}

fn place(start: BatchStart) -> usize {
    match start {
        BatchStart::Expired { .. } => 0,
        BatchStart::NextInOrder => 1,
        BatchStart::Oldest => 2,
        BatchStart::Lowest => 3,
    }
}

#[cfg(test)]
mod tests {
    use blksched::Span;
    use blksched::author::RequestId;
    use blksched::reasons::BatchEnd;

    use super::*;

    const BOTH_WAIT: &PerDir<u32> = &PerDir { read: 1, write: 1 };

    fn began(dir: Dir, why: BatchStart) -> Reason {
        Reason::BatchBegan { dir, rq: RequestId::from_index(0), why }
    }

    fn continued(nth: u32) -> Reason {
        Reason::BatchContinued { rq: RequestId::from_index(nth), nth }
    }

    #[test]
    fn a_batch_is_as_long_as_it_was_continued_and_counts_when_the_next_begins() {
        let mut batches = Batches::default();
        for reason in [
            began(Dir::Read, BatchStart::NextInOrder),
            continued(2),
            continued(3),
            began(Dir::Read, BatchStart::Expired { late: Span::from_ms(1) }),
            began(Dir::Write, BatchStart::Lowest),
        ] {
            batches.hear(reason, BOTH_WAIT);
        }
        let lengths = batches.lengths(Dir::Read);
        assert_eq!((lengths.count(), lengths.min(), lengths.max()), (2, 1, 3));
        assert_eq!(batches.lengths(Dir::Write).count(), 0);
        assert_eq!((batches.count(Dir::Read), batches.count(Dir::Write)), (2, 1));
        assert_eq!(batches.started_at(Dir::Read, BatchStart::Expired { late: Span::ZERO }), 1);
        assert_eq!((batches.current(Dir::Write), batches.current(Dir::Read)), (BeganBy::Turn, BeganBy::Unbatched));
    }

    #[test]
    fn starving_outweighs_expiry_and_being_alone_outweighs_its_turn() {
        let late = BatchStart::Expired { late: Span::ZERO };
        let mut batches = Batches::default();
        batches.hear(Reason::WritesStarved { starved: 2 }, BOTH_WAIT);
        batches.hear(began(Dir::Write, late), BOTH_WAIT);
        assert_eq!(batches.current(Dir::Write), BeganBy::Starved);
        batches.hear(began(Dir::Write, late), BOTH_WAIT);
        assert_eq!(batches.current(Dir::Write), BeganBy::Expired);
        batches.hear(began(Dir::Write, BatchStart::NextInOrder), &PerDir { read: 0, write: 1 });
        assert_eq!(batches.current(Dir::Write), BeganBy::Alone);
        assert_eq!((batches.writes_starved, batches.began_by(Dir::Write, BeganBy::Starved)), (1, 1));
    }

    #[test]
    fn a_batch_moved_at_once_is_as_long_as_was_moved() {
        let mut batches = Batches::default();
        batches.hear(began(Dir::Write, BatchStart::Oldest), BOTH_WAIT);
        batches.hear(Reason::BatchMoved { dir: Dir::Write, requests: 7, end: BatchEnd::Full }, BOTH_WAIT);
        assert_eq!(batches.current(Dir::Write), BeganBy::Moved);
        batches.hear(Reason::Switched { requests: 0 }, BOTH_WAIT);
        assert_eq!((batches.lengths(Dir::Write).count(), batches.lengths(Dir::Write).max()), (1, 7));
        assert_eq!(batches.current(Dir::Write), BeganBy::Unbatched);
    }
}
