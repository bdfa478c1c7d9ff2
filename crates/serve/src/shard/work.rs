//! Clients' requests: one work per request, divided into pieces that each have their own buffer.

use blksched::author::Waiter;
use blksched::{Bio, Durability, Hints, Instant, Op, Priority, Sector, SubmitterId, Tag};
use blksched_nbd::reply::Extent;
use blksched_nbd::{Command, Errno, Persist, Request};

use crate::backend::SECTOR;
use crate::buffer::Buffer;

/// One request of a client.
pub struct Work {
    /// Whose it is.
    pub connection: usize,
    /// What was asked.
    pub request: Request,
    /// Its first piece.
    pub first: Option<u32>,
    /// Its last piece.
    pub last: Option<u32>,
    /// Pieces that are not done.
    pub left: u32,
    /// The part of the export that its pieces cover, as offsets.
    pub span: (u64, u64),
    /// How far it is, if it changes something.
    pub stage: ChangeStage,
    /// Pieces of the blocks of which it changes only a part.
    pub edges: [Option<u32>; 2],
    /// How far its stretches have come, if it has any \[bytes\].
    pub covered: u64,
    /// Memory that it holds \[bytes\].
    pub holds: u64,
    /// What it was asked for, once that is known.
    pub extents: Vec<Extent>,
    /// What went wrong.
    pub error: Option<Errno>,
    /// When it was asked.
    pub since: Instant,
}

/// How far a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStage {
    /// It waits, or it changes nothing.
    Asked,
    /// The blocks at its edges are read.
    Edges,
    /// They are written.
    EdgesBack,
    /// What lies between is changed.
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

    /// Must it be stable before the reply?
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
    /// Whose it is.
    pub tenant: usize,
    /// The next piece of that work.
    pub next: Option<u32>,
    /// What to do.
    pub op: Op,
    /// Where.
    pub start: Sector,
    /// How much.
    pub sectors: u32,
    /// Its data, while no other has them.
    pub buffer: Option<Buffer>,
}

impl Piece {
    /// How much \[bytes\].
    pub fn length(&self) -> usize {
        self.sectors as usize * SECTOR as usize
    }

    /// As the queue takes it.
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
            // A process waits for every request of a client; what its own page cache writes back looks the same.
            waiter: Waiter::Sync,
            priority,
            submitter,
            group,
            hints: Hints { req_sync: self.op == Op::Write, ..Hints::default() },
            durability: Durability { preflush: false, fua },
        }
    }
}
