//! What the disk is doing at a moment, and why: the causes over which waiting is split.

use core::fmt;

use blksched::Dir;
use blksched::reasons::IdleFor;

/// Why the batch that the disk serves began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeganBy {
    /// A whole batch was moved to the dispatch list at once (2.5), and arrivals wait for all of it.
    Moved,
    /// Writes had been passed over often enough.
    Starved,
    /// Nothing of the other direction was queued.
    Alone,
    /// A request had expired.
    Expired,
    /// It was its turn.
    Turn,
    /// The elevator has no batches.
    Unbatched,
}

impl BeganBy {
    /// All of them.
    pub const ALL: [BeganBy; 6] =
        [BeganBy::Moved, BeganBy::Starved, BeganBy::Alone, BeganBy::Expired, BeganBy::Turn, BeganBy::Unbatched];
}

/// What the disk is kept idle for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleKind {
    /// A submitter's next request.
    Submitter,
    /// A group's next request.
    Group,
    /// More requests, to make a run worthwhile; or something that this crate has no name for.
    Company,
}

impl IdleKind {
    /// `None` for a timer that only looks at statistics: no process is waited for.
    pub(crate) fn of(why: IdleFor) -> Option<IdleKind> {
        match why {
            IdleFor::Submitter(_) => Some(IdleKind::Submitter),
            IdleFor::Group(_) => Some(IdleKind::Group),
            IdleFor::Statistics => None,
            _ => Some(IdleKind::Company),
        }
    }
}

/// What a request in the disk is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// Part of a batch of this direction.
    Batch(Dir, BeganBy),
    /// A flush of the disk's cache, or the destaging that it waits for.
    Flush,
    /// No request: cached writes go to the medium, or the disk does its own maintenance.
    Destaging,
}

/// What the disk is doing at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It works.
    Serving(Serving),
    /// Requests are held back so that more can merge.
    Plugged,
    /// It is kept idle on purpose.
    Idle(IdleKind),
    /// Requests are queued, and nothing holds them back: a driver's delay.
    Unserved,
    /// There is nothing to do.
    Empty,
}

const SERVING: usize = 14;

impl Cause {
    /// The number of causes.
    pub const COUNT: usize = SERVING + 6;

    /// Each one once, in the order of their indices.
    pub fn all() -> impl Iterator<Item = Cause> {
        let batches = Dir::BOTH.into_iter().flat_map(|dir| BeganBy::ALL.map(|by| Serving::Batch(dir, by)));
        let serving = batches.chain([Serving::Flush, Serving::Destaging]).map(Cause::Serving);
        let idle = [IdleKind::Submitter, IdleKind::Group, IdleKind::Company].map(Cause::Idle);
        serving.chain([Cause::Plugged]).chain(idle).chain([Cause::Unserved, Cause::Empty])
    }

    /// Its index in an array of [`Cause::COUNT`].
    pub fn index(self) -> usize {
        match self {
            Cause::Serving(serving) => serving.index(),
            Cause::Plugged => SERVING,
            Cause::Idle(kind) => SERVING + 1 + kind as usize,
            Cause::Unserved => SERVING + 4,
            Cause::Empty => SERVING + 5,
        }
    }

    /// The cause as it appears to a waiting request of direction `waiting`: `writes begun while no reads waited`.
    pub fn name_for(self, waiting: Dir) -> String {
        match self {
            Cause::Serving(Serving::Batch(dir, _)) if dir == waiting => format!("{dir}s ahead of it"),
            Cause::Serving(Serving::Batch(dir, by)) => match by {
                BeganBy::Moved => format!("a batch of {dir}s moved to the disk at once"),
                BeganBy::Starved => format!("{dir}s that had been passed over often enough"),
                BeganBy::Alone => format!("{dir}s begun while no {waiting}s waited"),
                BeganBy::Expired => format!("{dir}s whose time was up"),
                BeganBy::Turn => format!("{dir}s whose turn it was"),
                BeganBy::Unbatched => format!("{dir}s ahead of it"),
            },
            other => other.to_string(),
        }
    }
}

impl Serving {
    pub(crate) const COUNT: usize = SERVING;

    pub(crate) fn index(self) -> usize {
        match self {
            Serving::Batch(Dir::Read, by) => by as usize,
            Serving::Batch(Dir::Write, by) => BeganBy::ALL.len() + by as usize,
            Serving::Flush => SERVING - 2,
            Serving::Destaging => SERVING - 1,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Cause::Serving(Serving::Batch(Dir::Read, _)) => "serving reads",
            Cause::Serving(Serving::Batch(Dir::Write, _)) => "serving writes",
            Cause::Serving(Serving::Flush) => "flushes of the disk's cache",
            Cause::Serving(Serving::Destaging) => "the disk's own writing out of its cache",
            Cause::Plugged => "the plug, held so that requests could merge",
            Cause::Idle(IdleKind::Submitter) => "the disk kept idle for a submitter's next request",
            Cause::Idle(IdleKind::Group) => "the disk kept idle for a group's next request",
            Cause::Idle(IdleKind::Company) => "the disk kept idle for company",
            Cause::Unserved => "nothing: the disk was free",
            Cause::Empty => "nothing to do",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_own_place() {
        let places: Vec<usize> = Cause::all().map(Cause::index).collect();
        assert_eq!(places, (0..Cause::COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn own_requests_ahead_are_one_thing_whatever_began_their_batch() {
        let reads = Cause::Serving(Serving::Batch(Dir::Read, BeganBy::Alone));
        assert_eq!(reads.name_for(Dir::Read), "reads ahead of it");
        assert_eq!(reads.name_for(Dir::Write), "reads begun while no writes waited");
    }

    #[test]
    fn a_look_at_statistics_is_not_idling() {
        assert_eq!(IdleKind::of(IdleFor::Statistics), None);
    }
}
