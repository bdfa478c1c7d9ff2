//! Processes' calls to the host: system calls on files that go through the page cache.

use blksched::{GroupId, Op, Priority, Sector, SubmitterId, Tag};

use super::page::{PAGE_SECTORS, Pages, pages_of};
use super::readahead::Advice;

/// A file as a process has it open. It lies on the disk in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// Its first sector; a multiple of 8.
    pub start: Sector,
    /// Its length \[512-byte sectors\].
    pub sectors: u64,
    /// What the process said about its order.
    pub advice: Advice,
}

impl OpenFile {
    /// Its pages of the disk.
    pub fn pages(&self) -> Pages {
        pages_of(self.start, self.sectors)
    }

    pub(super) fn first_page(&self) -> u64 {
        self.start.0 / PAGE_SECTORS
    }
}

/// When a write's data is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stable {
    /// When the flusher has come to it.
    Later,
    /// When the call returns (`O_SYNC`, `O_DSYNC`).
    OnReturn,
}

/// What a call does. Positions are sectors of the disk, within the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallWork {
    /// `read`
    Read {
        /// From here.
        start: Sector,
        /// This much \[512-byte sectors\].
        sectors: u32,
    },
    /// `write`
    Write {
        /// From here.
        start: Sector,
        /// This much \[512-byte sectors\].
        sectors: u32,
        /// When it is stable.
        stable: Stable,
    },
    /// `sync_file_range`: what is dirty of a range goes to the disk; its cache is not flushed.
    Range {
        /// From here.
        start: Sector,
        /// So much \[512-byte sectors\].
        sectors: u64,
        /// What of it.
        what: RangeSync,
    },
    /// `fsync`, `fdatasync`: everything of the file that is dirty becomes stable. Metadata is not modelled, so the two
    /// are one.
    Sync,
}

/// What `sync_file_range` does, in this order: its three flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeSync {
    /// Wait for what is under way to the disk already.
    pub waits_before: bool,
    /// Begin to write what is dirty and not under way.
    pub writes: bool,
    /// Wait for what is under way then.
    pub waits_after: bool,
}

/// A system call. The process hears of its return as of a bio's completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// Handed back when it returns.
    pub tag: Tag,
    /// The caller.
    pub submitter: SubmitterId,
    /// The priority of what it submits by itself.
    pub priority: Priority,
    /// Whose share that is.
    pub group: GroupId,
    /// On which file.
    pub file: OpenFile,
    /// To do what.
    pub work: CallWork,
}

impl HostCall {
    /// The operation that it is recorded as.
    pub fn op(&self) -> Op {
        match self.work {
            CallWork::Read { .. } => Op::Read,
            CallWork::Write { .. } => Op::Write,
            CallWork::Sync | CallWork::Range { .. } => Op::Flush,
        }
    }

    /// Where it begins; an fsync at its file's first sector.
    pub fn start(&self) -> Sector {
        match self.work {
            CallWork::Read { start, .. } | CallWork::Write { start, .. } | CallWork::Range { start, .. } => start,
            CallWork::Sync => self.file.start,
        }
    }

    /// How much it transfers \[bytes\].
    pub fn bytes(&self) -> u64 {
        match self.work {
            CallWork::Read { sectors, .. } | CallWork::Write { sectors, .. } => u64::from(sectors) * 512,
            CallWork::Sync | CallWork::Range { .. } => 0,
        }
    }

    pub(super) fn pages(&self) -> Pages {
        match self.work {
            CallWork::Read { start, sectors } | CallWork::Write { start, sectors, .. } => {
                pages_of(start, u64::from(sectors))
            }
            CallWork::Range { start, sectors, .. } => pages_of(start, sectors),
            CallWork::Sync => self.file.pages(),
        }
    }
}

/// What a process says about a file's place in memory; it takes no time and is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Opened anew: its readahead begins anew, and what is in memory stays there.
    Keep,
    /// And what is clean leaves memory (`POSIX_FADV_DONTNEED`).
    Drop,
    /// And all of it is in memory: it was read before the simulation began.
    Load,
}
