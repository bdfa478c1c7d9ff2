//! Clients' requests: one work per request, divided into pieces that each have their own buffer.

use blksched::author::Waiter;
use blksched::{Bio, Durability, Hints, Instant, Op, Priority, Sector, SubmitterId, Tag};
use blksched_nbd::reply::Extent;
use blksched_nbd::{Command, Errno, Persist, Request};

use crate::backend::SECTOR;
use crate::buffer::Buffer;
use slab::Slab;

/// One request of a client.
pub struct Work {
    /// Its connection.
    pub connection: usize,
    /// The request.
    pub request: Request,
    /// Its first piece.
    pub first: Option<u32>,
    /// Its last piece.
    pub last: Option<u32>,
    /// How many pieces are not done.
    pub left: u32,
    /// The part of the export that its pieces cover, as offsets.
    pub span: (u64, u64),
    /// The stage of a change.
    pub stage: ChangeStage,
    /// Pieces of the blocks that it only partly changes.
    pub edges: [Option<u32>; 2],
    /// The progress of its ranges, if it has any \[bytes\].
    pub covered: u64,
    /// The memory that it holds \[bytes\].
    pub holds: u64,
    /// The extents that it was asked for, once they are known.
    pub extents: Vec<Extent>,
    /// Its error.
    pub error: Option<Errno>,
    /// When it arrived.
    pub since: Instant,
}

/// The stage of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStage {
    /// It waits, or it changes nothing.
    Asked,
    /// The blocks at its edges are read.
    Edges,
    /// They are written.
    EdgesBack,
    /// What is between them is changed.
    Body,
}

impl Work {
    pub fn new(connection: usize, request: Request, since: Instant) -> Work {
        Work {
            connection,
            request,
            first: None,
            last: None,
            left: 0,
            span: (0, 0),
            stage: ChangeStage::Asked,
            edges: [None; 2],
            covered: 0,
            holds: 0,
            extents: Vec::new(),
            error: None,
            since,
        }
    }

    /// 1 if its answer is a list of extents.
    pub fn asks_for_extents(&self) -> u32 {
        u32::from(matches!(self.request.command, Command::BlockStatus { .. }))
    }

    /// Whether its reply says that data is stable.
    pub fn promises(&self) -> bool {
        self.request.command == Command::Flush || self.persist() == Persist::First
    }

    /// Whether it must be stable before the reply.
    pub fn persist(&self) -> Persist {
        match self.request.command {
            Command::Write(persist) | Command::Trim(persist) | Command::WriteZeroes { persist, .. } => persist,
            _ => Persist::Lazily,
        }
    }
}

/// One bio.
pub struct Piece {
    /// Its work.
    pub work: u32,
    /// Its tenant.
    pub tenant: usize,
    /// The next piece of that work.
    pub next: Option<u32>,
    /// The operation.
    pub op: Op,
    /// Its first sector.
    pub start: Sector,
    /// Its length in sectors.
    pub sectors: u32,
    /// Its data, while nothing else has it.
    pub buffer: Option<Buffer>,
}

impl Piece {
    /// Its length \[bytes\].
    pub fn length(&self) -> usize {
        self.sectors as usize * SECTOR as usize
    }

    /// The bio for the queue.
    pub fn bio(
        &self,
        number: u32,
        submitter: SubmitterId,
        group: blksched::GroupId,
        priority: Priority,
        persist: Persist,
    ) -> Bio {
        let fua = persist == Persist::First && self.op != Op::Flush;
        Bio {
            tag: Tag(u64::from(number)),
            op: self.op,
            start: self.start,
            sectors: self.sectors,
            // A process waits for every request of a client; write-back of its own page cache looks the same.
            waiter: Waiter::Sync,
            priority,
            submitter,
            group,
            hints: Hints { req_sync: self.op == Op::Write, ..Hints::default() },
            durability: Durability { preflush: false, fua },
        }
    }
}

/// Every request of a client that is in flight, by number.
#[derive(Default)]
pub struct Requests(Slab<Work>);

impl Requests {
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn insert(&mut self, work: Work) -> u32 {
        self.0.insert(work) as u32
    }

    pub fn remove(&mut self, number: usize) -> Work {
        self.0.remove(number)
    }

    /// Adds a piece behind the others of a request.
    pub fn add(&mut self, segments: &mut Segments, number: u32, piece: Piece) -> u32 {
        let added = segments.insert(piece);
        let work = &mut self[number as usize];
        match work.last.replace(added) {
            Some(before) => segments[before as usize].next = Some(added),
            None => work.first = Some(added),
        }
        work.left += 1;
        added
    }
}

/// Every bio of theirs, by number.
#[derive(Default)]
pub struct Segments(Slab<Piece>);

impl Segments {
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn insert(&mut self, piece: Piece) -> u32 {
        self.0.insert(piece) as u32
    }

    pub fn remove(&mut self, piece: usize) -> Piece {
        self.0.remove(piece)
    }

    pub fn get(&self, piece: usize) -> Option<&Piece> {
        self.0.get(piece)
    }

    pub fn tenant_of(&self, piece: u32) -> usize {
        self[piece as usize].tenant
    }

    /// The pieces of a request, in order.
    pub fn of(&self, work: &Work) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(work.first, |&piece| self[piece as usize].next)
    }
}

impl core::ops::Index<usize> for Requests {
    type Output = Work;
    fn index(&self, number: usize) -> &Work {
        &self.0[number]
    }
}

impl core::ops::IndexMut<usize> for Requests {
    fn index_mut(&mut self, number: usize) -> &mut Work {
        &mut self.0[number]
    }
}

impl core::ops::Index<usize> for Segments {
    type Output = Piece;
    fn index(&self, piece: usize) -> &Piece {
        &self.0[piece]
    }
}

impl core::ops::IndexMut<usize> for Segments {
    fn index_mut(&mut self, piece: usize) -> &mut Piece {
        &mut self.0[piece]
    }
}
