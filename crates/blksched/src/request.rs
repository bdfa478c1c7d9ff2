//! Bios, and the requests that they become or join.
//!
//! A *bio* is one piece of I/O as submitted. A *request* is one operation for the disk: one bio, or several adjacent
//! ones merged. Requests live in the queue's arena ([`Requests`]); elevators hold [`RequestId`]s and only read; the
//! queue alone writes.
//!
//! **In the kernel** `bio`, `request`.

#![doc(alias = "bio")]

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

/// Whose share it is: a cgroup, a tenant. 0 is the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The group of submitters that are in no other.
    pub const ROOT: GroupId = GroupId(0);
}

/// The submitter's own name for a bio; the queue hands it back with the completion and never looks inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// One piece of I/O as submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub struct Bio {
    /// Handed back on completion.
    pub tag: Tag,
    /// What to do.
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
    /// Whose share it is.
    pub group: GroupId,
    /// What the submitter knows beyond that.
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

    /// The same, of this class and level (`ionice`).
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Bio {
        Bio { priority, ..self }
    }

    /// The same, as part of this group's share.
    #[must_use]
    pub fn with_group(self, group: GroupId) -> Bio {
        Bio { group, ..self }
    }

    /// The same, with these hints.
    #[must_use]
    pub fn with_hints(self, hints: Hints) -> Bio {
        Bio { hints, ..self }
    }

    /// The same, with what must be stable before or after it.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Bio {
        Bio { durability, ..self }
    }

    /// The first sector behind it.
    pub fn end(&self) -> Sector {
        self.start + self.sectors
    }

    /// Its direction; a flush and a discard count as writes.
    pub fn dir(&self) -> Dir {
        self.op.dir()
    }

    /// Must it never wait for a group's share, because others may wait for it: metadata (and swap, which nothing here
    /// sends)?
    pub fn is_as_root(&self) -> bool {
        self.hints.meta
    }

    /// May it join a request, or another bio its own? Reads and writes may, unless they must be stable.
    pub fn is_mergeable(&self) -> bool {
        matches!(self.op, Op::Read | Op::Write) && self.durability.is_volatile()
    }

    /// Is there nothing to flush for it?
    #[inline]
    pub(crate) fn is_volatile_data(&self) -> bool {
        self.op != Op::Flush && self.durability.is_volatile()
    }
}

/// A request's place in the arena; good until the request completes or is absorbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(crate) u32);

impl RequestId {
    /// The request in slot `index`; for tables and wires that carry the number.
    pub fn from_index(index: u32) -> RequestId {
        RequestId(index)
    }

    /// The index, for tables kept beside the arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a request is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Made, not yet given to the elevator: it may still merge away.
    Prepared,
    /// The elevator has it.
    Queued,
    /// The device has it.
    InFlight,
    /// The queue itself has it: a flush, or data waiting for one.
    Held,
    /// Nowhere: the slot is free.
    Free,
}

/// One request. It reads as the bio that it was made of (`request.op`), and its place as it is now: `start` moves down
/// when a bio joins in front, `sectors` grows with each. Whose the other bios are, their tags and priorities are not
/// here; nor does `tag` mean anything then. At most 64 bytes, because thousands are looked at between two answers.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Of its first bio, in one piece, so that one copy makes it; of a request with several, the two halves of `tag`
    /// are the first and the last piece of their chain.
    pub(crate) bio: Bio,
    /// When it was made; after a merge of two requests the older moment.
    pub queued_at: Instant,
    /// Order of creation, never reused.
    pub serial: u64,
    /// Pieces of memory it gathers; one per bio.
    pub segments: u16,
    /// Where it is on its way.
    pub stage: Stage,
    /// May a bio or a neighbour still join it?
    pub(crate) mergeable: bool,
    /// Does it carry one whole bio, whose tag is all there is to keep?
    pub(crate) lone: bool,
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
    /// The first sector behind it.
    pub fn end(&self) -> Sector {
        self.start + self.sectors
    }

    /// Its direction.
    pub fn dir(&self) -> Dir {
        self.op.dir()
    }

    /// May a bio or a neighbour still join it?
    pub fn is_mergeable(&self) -> bool {
        self.mergeable
    }

    /// Is there nothing to flush for it?
    pub(crate) fn is_plain(&self) -> bool {
        self.op != Op::Flush && self.durability.is_volatile()
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

/// What the device is asked to do: the description that a token ([`InFlight`]) carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The request's slot, used again when the request is over.
    pub rq: RequestId,
    /// What to do.
    pub op: Op,
    /// First sector.
    pub start: Sector,
    /// Length \[512-byte sectors\]; 0 for a flush.
    pub sectors: u32,
    /// Its data must be stable when it completes.
    pub fua: bool,
    /// Whose it is.
    pub submitter: SubmitterId,
}
