//! The kinds of pieces of an I/O's time.

use blksched::reasons::{Domain, HeldBack};
use blksched::{Dir, GroupId, Instant, Span, SubmitterId};

/// The process that the disk worked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// A process, or write-back.
    Process(SubmitterId),
    /// The block queue: a flush of the disk's cache.
    Flush,
    /// A control group, whose limit is reached.
    Group(GroupId),
    /// No known process.
    Nobody,
}

/// Why the elevator's batch began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Batched {
    /// In order, or because it was its turn.
    Turn,
    /// A request had expired.
    Expired,
    /// Writes had been passed over often enough.
    Starved,
    /// A whole batch was moved to the dispatch list at once (2.5).
    Moved,
}

/// The rule under which an I/O in the elevator waits while the disk works for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The disk already had that command when the I/O came, or has had it since before the present slice.
    InDrive,
    /// The disk writes out a write of that process that it had already acknowledged.
    Cache,
    /// The same, while a batch of writes is in progress: the batch filled the disk's cache.
    CacheOf(Batched),
    /// That process has its slice, or its budget.
    Slice,
    /// Write-back has its slice.
    WriteBackSlice,
    /// A batch of this direction is in progress.
    Batch(Dir, Batched),
    /// The next batch waits until the device has returned everything.
    Drain,
    /// The I/O's kind has no token left (Kyber).
    Token(Domain),
    /// The queue in service may not send more now (CFQ).
    Held(HeldBack),
    /// The elevator sent it first, and gave no rule beyond its order.
    First,
}

/// What a piece of time went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The host's processors: submission, or handling of the completion.
    Cpu,
    /// The host's memory, before it was a bio: looking up and copying pages, or waiting for other submitters' pages.
    Memory,
    /// With a stacked device: encryption, decryption, and until all parts were complete and its process told.
    Stacked,
    /// In its submitter's plug, so that bios can merge.
    Plug,
    /// Its submitter slept for a request slot (a tag) while the disk worked for this one.
    Slot(Whose),
    /// A policy (writeback throttling, io.cost, io.latency) held it back while the disk worked for this one.
    Policy(&'static str, Whose),
    /// `io.max` of this group held it back.
    Max(GroupId),
    /// In the elevator, and the queue plugged (until 2.6.38).
    QueuePlug,
    /// In the elevator, while the disk worked for this one under this rule.
    Behind(Whose, Rule),
    /// In the elevator, and the disk kept idle for this submitter's next request.
    IdleFor(SubmitterId),
    /// In the elevator, and the disk kept idle for a group's next request.
    IdleForGroup(GroupId),
    /// In the elevator, and the disk left idle for another reason.
    Idle,
    /// In the elevator although the disk was free: nothing delayed it but the way there.
    Free,
    /// In the disk, behind one of this process's commands.
    Drive(Whose, Dir),
    /// In the disk, which writes out a write of this process that it had already acknowledged.
    DriveCache(Whose),
    /// In the disk, which works for no command (it empties its cache, gets ready).
    DriveItself,
    /// In the disk: the command is decoded.
    Overhead,
    /// The arm moves.
    Seek,
    /// The arm comes to rest.
    Settle,
    /// The sector comes round.
    Rotation,
    /// Data passes between medium and disk; on a disk that does not turn, the service.
    Transfer,
    /// Data passes between disk and host.
    Interface,
    /// The disk's cache is flushed for it.
    Flush,
    /// It needs a flush, and the disk works for this one first.
    FlushWaits(Whose),
    /// Complete, but its process has yet to be told.
    News,
    /// Before the oldest record kept.
    Forgotten,
}

/// The leg of an I/O's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// Before the elevator.
    Before,
    /// In the elevator.
    Elevator,
    /// In the disk, behind others.
    Drive,
    /// In the disk, being served.
    Service,
    /// After the disk.
    After,
}

impl Part {
    /// The process that it blames, if any.
    pub fn whose(self) -> Whose {
        match self {
            Part::Slot(whose)
            | Part::Policy(_, whose)
            | Part::Behind(whose, _)
            | Part::Drive(whose, _)
            | Part::DriveCache(whose)
            | Part::FlushWaits(whose) => whose,
            Part::IdleFor(submitter) => Whose::Process(submitter),
            Part::Max(group) => Whose::Group(group),
            Part::Flush => Whose::Flush,
            _ => Whose::Nobody,
        }
    }

    /// Where the I/O was.
    pub fn leg(self) -> Leg {
        match self {
            Part::Cpu | Part::Memory | Part::Stacked | Part::Plug | Part::Slot(_) | Part::Policy(..) | Part::Max(_) => {
                Leg::Before
            }
            Part::QueuePlug
            | Part::Behind(..)
            | Part::IdleFor(_)
            | Part::IdleForGroup(_)
            | Part::Idle
            | Part::Free
            | Part::Forgotten => Leg::Elevator,
            // A flush passes the elevator: it waits in the disk.
            Part::Drive(..) | Part::DriveCache(_) | Part::DriveItself | Part::FlushWaits(_) => Leg::Drive,
            Part::Overhead
            | Part::Seek
            | Part::Settle
            | Part::Rotation
            | Part::Transfer
            | Part::Interface
            | Part::Flush => Leg::Service,
            Part::News => Leg::After,
        }
    }

    /// Whether the disk served it meanwhile.
    pub fn is_service(self) -> bool {
        self.leg() == Leg::Service
    }
}

/// A piece of an I/O's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub from: Instant,
    /// Where it ends.
    pub to: Instant,
    /// What it went to.
    pub part: Part,
    /// How many commands of the process to blame the disk completed meanwhile.
    pub commands: u32,
}

impl Piece {
    /// Its length.
    pub fn length(&self) -> Span {
        self.to.since(self.from)
    }
}

/// Adds a piece after the last one, and merges them if both went to the same thing; does nothing if its length is 0.
pub(super) fn add(pieces: &mut Vec<Piece>, piece: Piece) {
    match pieces.last_mut() {
        _ if piece.from == piece.to => {}
        Some(last) if last.part == piece.part && last.to == piece.from => {
            last.to = piece.to;
            last.commands += piece.commands;
        }
        _ => pieces.push(piece),
    }
}
