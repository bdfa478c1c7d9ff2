//! The activity of a disk's medium over time, and the command it is for.
//!
//! **Rule** A *stint* is an interval in which one part of a disk (the head, a die, a channel, a member's part) works
//! for one command, for a submitter's cached data, or for the disk itself. A part does one thing at a time, so the
//! lengths of its stints add up to its busy time. Time that a command waits inside the disk while the medium works for
//! others is not a stint of the command; nor is read-ahead before a process requests it, nor concurrent transfers on
//! the wire. Destaging counts for the process that wrote, even if a flush requests it.
//!
//! A flash die that suspends a program for a read is reported as if the program had continued: the lengths are right,
//! but the position is off by the read's time.

use blksched::author::RequestId;
use blksched::{Instant, SubmitterId};

/// What a part of a disk works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StintWork {
    /// A command that has not ended.
    Command(RequestId),
    /// Acknowledged writes of this submitter: on their way from the buffer to the medium.
    Cached(SubmitterId),
    /// No command: the disk's own maintenance, such as a rebuild.
    Upkeep,
}

/// A period in which a part of a disk works for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stint {
    /// The part, below [`Disk::parts`](crate::Disk::parts).
    pub part: u32,
    /// What it works for.
    pub work: StintWork,
    /// When it begins; not before the call that made it known, but possibly later.
    pub from: Instant,
    /// When it ends.
    pub until: Instant,
}

/// The stints of a disk that is watched; none otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stints {
    kept: Option<Vec<Stint>>,
}

impl Stints {
    /// Keeps them from now on.
    pub(crate) fn watch(&mut self) {
        self.kept.get_or_insert_default();
    }

    #[inline]
    pub(crate) fn note(&mut self, part: u32, work: StintWork, from: Instant, until: Instant) {
        if let Some(kept) = &mut self.kept
            && from < until
        {
            kept.push(Stint { part, work, from, until });
        }
    }

    /// Moves the kept stints to `to`.
    pub(crate) fn take(&mut self, to: &mut Vec<Stint>) {
        self.kept.iter_mut().for_each(|kept| to.append(kept));
    }
}
