//! Processes' calls to the host: system calls on files that go through the page cache.

use blksched::{GroupId, Op, Priority, Sector, SubmitterId, Tag};

use super::fs::{Change, InodeId, NamedIn, Syncing};
use super::page::{ByteRange, PAGE_SECTORS, Pages, pages_of};
use super::readahead::Advice;

/// A file as a process has it open. It is contiguous on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// Its first sector; a multiple of 8.
    pub start: Sector,
    /// Its length \[512-byte sectors\].
    pub sectors: u64,
    /// What the process advised about its order.
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
    /// When the flusher has written it.
    Later,
    /// When the call returns (`O_DSYNC`).
    OnReturn,
    /// The same, and all of the file's metadata (`O_SYNC`).
    AllOnReturn,
}

/// What a call does. Positions are those of the disk, within the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallWork {
    /// `read`
    Read(ByteRange),
    /// `write`, and when it is stable.
    Write(ByteRange, Stable),
    /// `sync_file_range`: writes the dirty pages of a range to the disk, whose cache is not flushed.
    Range {
        /// The first sector.
        start: Sector,
        /// The length \[512-byte sectors\].
        sectors: u64,
        /// What to do.
        what: RangeSync,
    },
    /// `fsync`: makes all dirty pages of the file stable, and its metadata if there is a file system.
    Sync,
    /// `fdatasync`: the same, with only that metadata that its data need.
    SyncData,
    /// `sync` or `syncfs`: makes everything stable.
    SyncAll(SyncAll),
    /// No call at all: loads or stores in a mapping of the file (`mmap`).
    Touch(Touch),
    /// A call that changes only metadata of this file. Without a file system it does nothing.
    Change(InodeId, Change),
    /// The file's name comes or goes. Without a file system it does nothing.
    Name(NameChange),
}

/// What a `sync` is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncAll {
    /// `sync`: of everything.
    Everything,
    /// `syncfs`: of one file system.
    FileSystem,
}

/// What happens to a file's name, of this length \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameChange {
    /// `open` with `O_CREAT` of a file that does not exist: it is empty.
    Create(u8),
    /// `unlink`: what is dirty of the file leaves memory and is not written.
    Unlink(u8),
}

impl NameChange {
    /// As the file system knows it: all files are in one directory.
    pub(super) fn change(self) -> Change {
        let named = |name: u8| NamedIn { dir: InodeId::ROOT, name: name.into() };
        match self {
            NameChange::Create(name) => Change::Create(named(name)),
            NameChange::Unlink(name) => Change::Unlink(named(name)),
        }
    }
}

/// Loads or stores of the processor in a mapping of a file, one page after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Which bytes.
    pub range: ByteRange,
    /// Whether it stores there.
    pub stores: bool,
    /// What was advised about the mapping (`madvise`), whatever was about the file.
    pub advice: Advice,
    /// Whether an `msync` of these pages comes right behind.
    pub syncs: bool,
}

/// What `sync_file_range` does, in this order: its three flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeSync {
    /// Wait for writes in flight first.
    pub waits_before: bool,
    /// Begin to write what is dirty and not in flight.
    pub writes: bool,
    /// Wait for writes in flight then.
    pub waits_after: bool,
}

/// A system call. The process is told of its return as of a bio's completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// Handed back when it returns.
    pub tag: Tag,
    /// The caller.
    pub submitter: SubmitterId,
    /// The priority of what it submits by itself.
    pub priority: Priority,
    /// The group that it counts against.
    pub group: GroupId,
    /// The file.
    pub file: OpenFile,
    /// What it does.
    pub work: CallWork,
}

impl HostCall {
    /// The operation that it is recorded as.
    pub fn op(&self) -> Op {
        match self.work {
            CallWork::Read(_) => Op::Read,
            CallWork::Write(..) | CallWork::Touch(Touch { stores: true, .. }) => Op::Write,
            CallWork::Touch(Touch { stores: false, .. }) => Op::Read,
            CallWork::Sync
            | CallWork::SyncData
            | CallWork::SyncAll(_)
            | CallWork::Range { .. }
            | CallWork::Change(..)
            | CallWork::Name(_) => Op::Flush,
        }
    }

    /// Its first sector; for an fsync its file's.
    pub fn start(&self) -> Sector {
        match self.work {
            CallWork::Read(range) | CallWork::Write(range, _) | CallWork::Touch(Touch { range, .. }) => {
                Sector(range.start / 512)
            }
            CallWork::Range { start, .. } => start,
            CallWork::Sync | CallWork::SyncData | CallWork::SyncAll(_) | CallWork::Change(..) | CallWork::Name(_) => {
                self.file.start
            }
        }
    }

    /// How much it transfers \[bytes\].
    pub fn bytes(&self) -> u64 {
        match self.work {
            CallWork::Read(range) | CallWork::Write(range, _) | CallWork::Touch(Touch { range, .. }) => range.bytes,
            _ => 0,
        }
    }

    /// What it makes stable before it returns.
    pub(super) fn syncs(&self) -> Option<Syncing> {
        match self.work {
            CallWork::Sync | CallWork::Write(_, Stable::AllOnReturn) => Some(Syncing::All),
            // `msync` needs only the metadata that data need (recorded: ext4's sync, `datasync 1`).
            CallWork::SyncData | CallWork::Write(_, Stable::OnReturn) | CallWork::Touch(Touch { syncs: true, .. }) => {
                Some(Syncing::Data)
            }
            _ => None,
        }
    }

    pub(super) fn pages(&self) -> Pages {
        match self.work {
            CallWork::Read(range) | CallWork::Write(range, _) | CallWork::Touch(Touch { range, .. }) => range.pages(),
            CallWork::Range { start, sectors, .. } => pages_of(start, sectors),
            CallWork::Sync | CallWork::SyncData | CallWork::SyncAll(_) | CallWork::Change(..) | CallWork::Name(_) => {
                self.file.pages()
            }
        }
    }
}

/// What happens to a file in memory; it takes no time and has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The file is opened anew: its readahead begins anew, and pages in memory stay there.
    Keep,
    /// Also, clean pages leave memory (`POSIX_FADV_DONTNEED`).
    Drop,
    /// Also, all of it is in memory, read before the simulation began.
    Load,
}
