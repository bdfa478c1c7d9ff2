//! What the medium of a disk does when, and for which command.
//!
//! **Rule** A *stint* is a stretch of time in which one part of a disk (the head, a die, a channel, a member's part)
//! works for one command, or for what a submitter has had cached, or for the disk itself. A part does one thing at a
//! time, so that the lengths of its stints add up to the time that it was busy. What a command waits inside the disk
//! while the medium works for others is no stint of its, nor is what is read ahead before a process asks for it, nor
//! what the wire carries beside. Destaging is for the process that wrote, also when a flush asks for it.
//!
//! A flash die that suspends a program for a read is told as if the program had run on: the lengths are right, the
//! place is off by the read's time.

use blksched::author::RequestId;
use blksched::{Instant, SubmitterId};

/// What a part of a disk works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StintWork {
    /// A command that has not ended.
    Command(RequestId),
    /// Writes that this submitter was told are done: on their way from the buffer to the medium.
    Cached(SubmitterId),
    /// No command: the disk's own upkeep, such as a rebuild.
    Upkeep,
}

/// A part of a disk works for a command, from when until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stint {
    /// Which part, below [`Disk::parts`](crate::Disk::parts).
    pub part: u32,
    /// What it works for.
    pub work: StintWork,
    /// When it begins; not before the call that made it known, but perhaps later.
    pub from: Instant,
    /// When it ends.
    pub until: Instant,
}

/// The stints of a disk that is watched; nothing otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stints {
    kept: Option<Vec<Stint>>,
}

impl Stints {
    /// From now on they are kept.
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

    /// Moves what is kept to `to`.
    pub(crate) fn take(&mut self, to: &mut Vec<Stint>) {
        self.kept.iter_mut().for_each(|kept| to.append(kept));
    }
}
