//! The table of I/Os in flight, and the data of each.

use std::ops::{Index, IndexMut};

use blksched::{Instant, Op, Priority, Sector, SubmitterId, Tag};
use blksched_measure::Completion;

/// The bio's submitter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Source(u32),
    Host,
    /// A part of a stacked device's bio; the device's number.
    Part(u16),
}

/// A bio, or a call, in flight. Queue and host know it by its place in the world's table, its owner by the owner's own
/// tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) owner: Owner,
    pub(super) tag: Tag,
    pub(super) op: Op,
    pub(super) start: Sector,
    pub(super) bytes: u64,
    pub(super) priority: Priority,
    pub(super) submitted_at: Instant,
    /// When its submission was over before it was in the queue: `io.max`, a plug or a flush holds it.
    pub(super) accepted_at: Option<Instant>,
    /// Once it is complete: when its request was queued, when the disk got it, and how it ended.
    pub(super) queued_at: Instant,
    pub(super) issued_at: Instant,
    pub(super) failed: bool,
    /// When its owner was told of its completion, once it was.
    pub(super) finished_at: Instant,
}

impl Flight {
    #[inline]
    pub(super) fn new(
        owner: Owner,
        tag: Tag,
        (op, start, bytes): (Op, Sector, u64),
        priority: Priority,
        now: Instant,
    ) -> Flight {
        let (submitted_at, queued_at, issued_at, finished_at) = (now, now, now, now);
        let (accepted_at, failed) = (None, false);
        Flight {
            owner,
            tag,
            op,
            start,
            bytes,
            priority,
            submitted_at,
            accepted_at,
            queued_at,
            issued_at,
            failed,
            finished_at,
        }
    }

    /// The start of its record, if its submission was over at once.
    #[inline]
    pub(super) fn completion(&self, submitter: SubmitterId) -> Completion {
        let Flight { tag, op, start, bytes, priority, submitted_at, queued_at, issued_at, finished_at, .. } = *self;
        Completion {
            submitter,
            tag,
            op,
            start,
            bytes,
            priority,
            submitted_at,
            queued_at,
            accepted_at: self.accepted_at.unwrap_or(queued_at.max(submitted_at)),
            issued_at,
            finished_at,
        }
    }
}

/// All I/Os in flight, by their places.
#[derive(Debug, Default)]
pub(super) struct Flights {
    places: Vec<Flight>,
    free: Vec<u32>,
}

impl Flights {
    /// Adds an I/O and returns its place, the world's name for it.
    #[inline]
    pub(super) fn insert(&mut self, flight: Flight) -> Tag {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = flight;
                Tag(u64::from(place))
            }
            None => {
                self.places.push(flight);
                Tag(self.places.len() as u64 - 1)
            }
        }
    }

    /// Frees a place; its contents may be read until another I/O gets it.
    #[inline]
    pub(super) fn release(&mut self, place: u32) -> &Flight {
        self.free.push(place);
        &self.places[place as usize]
    }
}

impl Index<u32> for Flights {
    type Output = Flight;

    #[inline]
    fn index(&self, place: u32) -> &Flight {
        &self.places[place as usize]
    }
}

impl IndexMut<u32> for Flights {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut Flight {
        &mut self.places[place as usize]
    }
}
