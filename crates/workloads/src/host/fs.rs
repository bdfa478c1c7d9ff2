//! File systems between the page cache and the block queue: which metadata a call changes, who writes it to the
//! journal and when, and for what a call waits.
//!
//! ```text
//! call ──► Host ── enter, sync, data_ended ──► FileSystem ── FsWish::Submit ──► Host ──► block queue
//!           ▲                                      │  ▲
//!           └────── FsWish::{Go, Done, Written} ───┘  └── ended
//! ```
//!
//! [`FileSystem`] is a pure state machine of Linux 6.18's ext4 (ext3, ext2) or xfs: it is told the time and leaves
//! [`FsWish`]es. It knows neither pages nor the disk's queue; the host owns the data. In the kernel: `fs/ext4`,
//! `fs/jbd2`, `fs/xfs`.
//!
//! **Origin** recordings of Linux 6.18.44 (`testdata/transcripts/fs-6.18`); the rules are numbered there.

mod dirty_home;
mod ext4;
mod extents;
mod inode;
mod journal;
mod kind;
pub mod layout;
mod log_ring;
mod mount;
mod outbox;
mod race;
mod xfs;

use blksched::Instant;

pub use ext4::{Ext4, Places};
pub use extents::{Blocks, Extent, FileExtents};
pub use inode::{Change, InodeId, Known, NamedIn};
pub use journal::Journal;
pub use kind::{BlockMap, Ext4Settings, FsKind, JournalMode, NewBlocks, XfsSettings};
pub use mount::{DiskWord, FsMount, MountOptions, WrongMount};
pub use outbox::{Agent, FsBio, FsIo, FsTask, FsWait, FsWish};
pub use race::{JiffyCount, JournalRace, TickPhase};
pub use xfs::Xfs;

/// The size of a block \[bytes\].
pub const BLOCK_BYTES: u64 = 4096;

/// The size of a block \[512-byte sectors\].
pub const BLOCK_SECTORS: u64 = BLOCK_BYTES / 512;

/// Whether a call may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It has changed what it wanted to.
    Done,
    /// It sleeps; after [`FsWish::Go`] it is to ask again, with the same arguments.
    Waits,
}

/// What is still missing to make a file stable whose data are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Nothing.
    Nothing,
    /// A flush of the disk's cache, by the caller.
    Flush,
    /// Its metadata: the caller sleeps until [`FsWish::Done`].
    Metadata,
}

/// What a sync makes stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncing {
    /// `fsync`: everything.
    All,
    /// `fdatasync`: what is needed to read the data.
    Data,
}

/// A mounted file system.
#[derive(Clone, Debug)]
pub enum FileSystem {
    /// ext4 with its journal.
    Ext4(Box<Ext4>),
    /// xfs with its log.
    Xfs(Box<Xfs>),
}

impl FileSystem {
    /// Makes a file known that existed before.
    pub fn know(&mut self, inode: InodeId, known: Known) {
        match self {
            FileSystem::Ext4(fs) => fs.know(inode, known),
            FileSystem::Xfs(fs) => fs.know(inode, known),
        }
    }

    /// Whether `write` makes its data stable (`sync`).
    pub(in crate::host) fn writes_synchronously(&self) -> bool {
        match self {
            FileSystem::Ext4(fs) => fs.writes_synchronously(),
            FileSystem::Xfs(_) => false,
        }
    }

    /// The process whose call comes next.
    pub(in crate::host) fn called_by(&mut self, process: u32) {
        if let FileSystem::Ext4(fs) = self {
            fs.called_by(process);
        }
    }

    /// A call changes a file's metadata.
    pub fn enter(&mut self, now: Instant, task: FsTask, inode: InodeId, change: Change) -> Entry {
        match self {
            FileSystem::Ext4(fs) => fs.enter(now, task, inode, change),
            FileSystem::Xfs(fs) => fs.enter(now, task, inode, change),
        }
    }

    /// The task of a [`FsWish::Go`] wakes: what it had begun is finished. False if it sleeps again.
    pub fn resume(&mut self, now: Instant, task: FsTask) -> bool {
        match self {
            FileSystem::Ext4(fs) => fs.resume(now, task),
            FileSystem::Xfs(_) => true,
        }
    }

    /// Whether any of these blocks has a place where nothing has been written yet.
    pub fn is_unwritten(&self, inode: InodeId, blocks: Blocks) -> bool {
        match self {
            FileSystem::Ext4(fs) => fs.is_unwritten(inode, blocks),
            FileSystem::Xfs(fs) => fs.is_unwritten(inode, blocks),
        }
    }

    /// Data of these blocks have reached the disk. True if they count as written at once; otherwise
    /// [`FsWish::Written`] names the ticket later.
    pub fn data_ended(&mut self, now: Instant, inode: InodeId, blocks: Blocks, ticket: u64) -> bool {
        match self {
            FileSystem::Ext4(fs) => fs.data_ended(now, inode, blocks, ticket),
            FileSystem::Xfs(fs) => fs.data_ended(inode, blocks),
        }
    }

    /// A caller, whose data are on the disk, makes the file's metadata stable.
    pub fn sync(&mut self, now: Instant, task: FsTask, inode: InodeId, what: Syncing) -> Missing {
        match self {
            FileSystem::Ext4(fs) => fs.sync(now, task, inode, what),
            FileSystem::Xfs(fs) => fs.sync(now, task, inode, what),
        }
    }

    /// This agent writes metadata home that no transaction holds; nobody waits.
    pub fn write_home(&mut self, by: Agent) {
        match self {
            FileSystem::Ext4(fs) => fs.write_home(by),
            FileSystem::Xfs(_) => {}
        }
    }

    /// Whether metadata became dirty at its home since this was last asked.
    pub fn take_dirtied(&mut self) -> bool {
        match self {
            FileSystem::Ext4(fs) => fs.take_dirtied(),
            // Its own thread writes it.
            FileSystem::Xfs(_) => false,
        }
    }

    /// The data of a `syncfs` have been submitted.
    pub fn sync_begins(&mut self, now: Instant, task: FsTask) {
        match self {
            FileSystem::Ext4(fs) => fs.sync_begins(now, task),
            FileSystem::Xfs(_) => {}
        }
    }

    /// A `sync` or `syncfs`, whose data are on the disk, makes all metadata stable. To be asked again, with
    /// [`FsWish::Done`], until nothing or a flush is missing.
    pub fn sync_all(&mut self, now: Instant, task: FsTask) -> Missing {
        match self {
            FileSystem::Ext4(fs) => fs.sync_all(now, task),
            FileSystem::Xfs(fs) => fs.sync_all(task),
        }
    }

    /// The data of [`FsWish::Order`] with this ticket are on the disk.
    pub fn data_is_there(&mut self, now: Instant, ticket: u64) {
        match self {
            FileSystem::Ext4(fs) => fs.data_is_there(now, ticket),
            FileSystem::Xfs(_) => {}
        }
    }

    /// A bio of its own is complete.
    pub fn ended(&mut self, now: Instant, tag: u64) {
        match self {
            FileSystem::Ext4(fs) => fs.ended(now, tag),
            FileSystem::Xfs(fs) => fs.ended(now, tag),
        }
    }

    /// When it must be told the time.
    pub fn next(&self) -> Option<Instant> {
        match self {
            FileSystem::Ext4(fs) => fs.next(),
            FileSystem::Xfs(fs) => fs.next(),
        }
    }

    /// Does what is due by `now`.
    pub fn elapse(&mut self, now: Instant) {
        match self {
            FileSystem::Ext4(fs) => fs.elapse(now),
            FileSystem::Xfs(fs) => fs.elapse(now),
        }
    }

    /// What it wants done next. To be asked until there is nothing, after every other call.
    pub fn wish(&mut self) -> Option<FsWish> {
        match self {
            FileSystem::Ext4(fs) => fs.wish(),
            FileSystem::Xfs(fs) => fs.wish(),
        }
    }
}
