//! Bios, and the requests that they become or join.
//!
//! A *bio* is one piece of I/O as submitted. A *request* is one operation for the disk: one bio, or several adjacent
//! ones merged. Requests live in the queue's arena ([`Requests`]); elevators hold [`RequestId`]s and only read; the
//! queue alone writes.
//!
//! **In the kernel** `bio`, `request`.

use core::ops::Deref;

use crate::time::Instant;

mod arena;
mod in_flight;
mod vocabulary;

pub(crate) use arena::{Bios, Carried, Ended, Fragment, Links, NONE, SplitId};
pub use arena::{Requests, Table};
pub use in_flight::{FlightKey, InFlight, NotInFlight};
pub use vocabulary::{Class, Dir, Durability, Hints, Op, PerDir, PerWaiter, Priority, Sector, Waiter};

/// A submitter: a process, a thread, a connection. Never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubmitterId(pub u32);

/// The owner of a share: a cgroup, a tenant. 0 is the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The group of submitters that are in no other.
    pub const ROOT: GroupId = GroupId(0);
}

/// The submitter's own identifier of a bio; the queue returns it with the completion and does not interpret it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// One piece of I/O as submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub struct Bio {
    /// Returned on completion.
    pub tag: Tag,
    /// The operation.
    pub op: Op,
    /// First sector.
    pub start: Sector,
    /// Length \[512-byte sectors\]; 0 only for [`Op::Flush`].
    pub sectors: u32,
    /// Whether a process waits for it. True of every read and of direct or fsync writes; not of write-back.
    pub waiter: Waiter,
    /// The submitter's I/O priority at this moment.
    pub priority: Priority,
    /// The submitter.
    pub submitter: SubmitterId,
    /// The group to whose share it belongs.
    pub group: GroupId,
    /// The submitter's other hints.
    pub hints: Hints,
    /// What must be stable before this bio completes.
    pub durability: Durability,
}

impl Bio {
    /// A read of `sectors` sectors at `start`, at the default priority.
    pub fn read(tag: u64, submitter: SubmitterId, start: Sector, sectors: u32) -> Bio {
        Bio {
            tag: Tag(tag),
            op: Op::Read,
            start,
            sectors,
            waiter: Waiter::Sync,
            priority: Priority::default(),
            submitter,
            group: GroupId::default(),
            hints: Hints::default(),
            durability: Durability::default(),
        }
    }

    /// A buffered write (no process waits for it).
    pub fn write_back(tag: u64, submitter: SubmitterId, start: Sector, sectors: u32) -> Bio {
        Bio { op: Op::Write, waiter: Waiter::Async, ..Bio::read(tag, submitter, start, sectors) }
    }

    /// A direct write (its submitter waits for it).
    pub fn write(tag: u64, submitter: SubmitterId, start: Sector, sectors: u32) -> Bio {
        let hints = Hints { req_sync: true, ..Hints::default() };
        Bio { op: Op::Write, hints, ..Bio::read(tag, submitter, start, sectors) }
    }

    /// A flush of the disk's volatile cache: everything completed before it is stable when it completes.
    pub fn flush(tag: u64, submitter: SubmitterId) -> Bio {
        Bio { op: Op::Flush, ..Bio::read(tag, submitter, Sector(0), 0) }
    }

    /// The same with this class and level (`ionice`).
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Bio {
        Bio { priority, ..self }
    }

    /// The same as part of this group's share.
    #[must_use]
    pub fn with_group(self, group: GroupId) -> Bio {
        Bio { group, ..self }
    }

    /// The same with these hints.
    #[must_use]
    pub fn with_hints(self, hints: Hints) -> Bio {
        Bio { hints, ..self }
    }

    /// The sector after its last one.
    pub fn end(&self) -> Sector {
        self.start + self.sectors
    }

    /// Its direction; a flush and a discard count as writes.
    pub fn dir(&self) -> Dir {
        self.op.dir()
    }

    /// Whether it must never wait for a group's share, because others may wait for it: metadata (and swap, which does
    /// not occur here).
    pub fn is_as_root(&self) -> bool {
        self.hints.meta
    }

    /// Whether it may join a request or have another bio join its own. Reads and writes may, unless they must be
    /// stable.
    pub fn is_mergeable(&self) -> bool {
        matches!(self.op, Op::Read | Op::Write) && self.durability.is_volatile()
    }

    /// Whether it needs no flush.
    #[inline]
    pub(crate) fn is_volatile_data(&self) -> bool {
        self.op != Op::Flush && self.durability.is_volatile()
    }
}

/// A request's slot in the arena; valid until the request completes or is absorbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(crate) u32);

impl RequestId {
    /// The request in slot `index`; for tables and protocols that carry the number.
    pub fn from_index(index: u32) -> RequestId {
        RequestId(index)
    }

    /// The index, for tables kept beside the arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The stage of a request's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Stage {
    /// Created, not yet given to the elevator: it may still merge into another.
    Prepared,
    /// In the elevator.
    Queued,
    /// In the device.
    InFlight,
    /// In the queue itself: a flush, or data waiting for one.
    Held,
    /// The slot is free.
    Free,
}

/// One request. It reads as its first bio (`request.op`), with its current place: `start` moves down when a bio joins
/// at the front, `sectors` grows with each. The other bios' submitters, tags and priorities are not here; with several
/// bios, `tag` has no meaning. At most 64 bytes, because thousands are examined between two answers.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its first bio, in one piece, so that one copy creates it; in a request with several bios, the two halves of
    /// `tag` are the first and the last piece of their chain.
    pub(crate) bio: Bio,
    /// Its creation; after two requests were merged, the earlier one's.
    pub queued_at: Instant,
    /// Order of creation, never reused.
    pub serial: u64,
    /// Number of memory segments; each bio counts as one.
    pub segments: u16,
    /// The stage of its life.
    pub stage: Stage,
    /// Whether a bio or a neighbour may still join it.
    pub(crate) mergeable: bool,
    /// Whether it carries exactly one whole bio, of which only the tag must be kept.
    pub(crate) lone: bool,
    /// Whether it needs no flush. Its first bio says so, too, but in three bytes, and each request is asked again when
    /// the device has completed it.
    pub(crate) plain: bool,
}

const _: () = assert!(core::mem::size_of::<Request>() <= 64);

impl Deref for Request {
    type Target = Bio;
    #[inline(always)]
    fn deref(&self) -> &Bio {
        &self.bio
    }
}

impl Request {
    /// The sector after its last one.
    pub fn end(&self) -> Sector {
        self.start + self.sectors
    }

    /// Its direction.
    pub fn dir(&self) -> Dir {
        self.op.dir()
    }

    /// Whether a bio or a neighbour may still join it.
    pub fn is_mergeable(&self) -> bool {
        self.mergeable
    }

    /// Whether it needs no flush.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    pub(crate) fn carried(&self) -> Carried {
        if self.lone { Carried::Lone(self.bio.tag) } else { Carried::chain_of(self.bio.tag) }
    }

    pub(crate) fn carry(&mut self, bios: Carried) {
        (self.lone, self.bio.tag) = match bios {
            Carried::Lone(tag) => (true, tag),
            Carried::Chain(front, last) => (false, Tag(u64::from(last) << 32 | u64::from(front.0))),
        };
    }
}

/// The operation requested from the device: the description that a token ([`InFlight`]) carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The request's slot, reused after the request has ended.
    pub rq: RequestId,
    /// The operation.
    pub op: Op,
    /// First sector.
    pub start: Sector,
    /// Length \[512-byte sectors\]; 0 for a flush.
    pub sectors: u32,
    /// Its data must be stable when it completes.
    pub fua: bool,
    /// Its submitter.
    pub submitter: SubmitterId,
}
