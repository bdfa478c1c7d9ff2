//! What a file system wants done, in order.

use std::collections::VecDeque;

use blksched::Sector;
use blksched::author::Waiter;

use super::extents::Blocks;
use super::inode::InodeId;

/// A call, or another user of the file system, that may sleep in it: numbered by the host.
pub type FsTask = u32;

/// Who submits a bio of the file system's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// The thread jbd2: best effort 3, the root group.
    Journal,
    /// The caller, with its own priority and group.
    Caller(FsTask),
    /// The flusher.
    Flusher,
    /// A worker of the kernel.
    Worker,
}

/// What a bio of the file system's own carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FsIo {
    /// A transaction's descriptor and its metadata blocks; xfs: an in-core log buffer.
    Log,
    /// The block that makes a transaction valid.
    Commit,
    /// A metadata block at its home, or several that are neighbours.
    Home,
    /// The journal's superblock.
    JournalSuper,
    /// An empty flush.
    Flush,
}

/// A bio of the file system's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsBio {
    /// Handed back when it is complete.
    pub tag: u64,
    /// Who submits it.
    pub by: Agent,
    /// What it carries.
    pub what: FsIo,
    /// Its first sector.
    pub start: Sector,
    /// Its length \[512-byte sectors\]; 0 for an empty flush.
    pub sectors: u32,
    /// With a flush of the disk's cache before it and its own data stable at its end (`PREFLUSH`, `FUA`).
    pub barrier: bool,
    /// Whether anybody waits for it (`REQ_SYNC`).
    pub waiter: Waiter,
}

/// For what a task sleeps in the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsWait {
    /// A log write of which it needs a block, or which must end before its own begins; or a block that it needs, on its
    /// way home.
    OthersLog,
    /// The log write that has what it wants stable.
    Log,
    /// That one's commit block.
    Commit,
    /// Room in the log, or in the running transaction.
    Room,
    /// Without a log: its blocks of metadata, on their way home.
    Home,
    /// The flush behind those.
    Flush,
}

/// Something that the host must do for the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsWish {
    /// Submit this.
    Submit(FsBio),
    /// This agent has submitted what it had: its plug opens.
    Waits(Agent),
    /// The task sleeps, and for this from now on.
    Sleeps(FsTask, FsWait),
    /// What the task waited for is over: it asks again.
    Go(FsTask),
    /// What the task wanted stable is.
    Done(FsTask),
    /// The data of this ticket count as written.
    Written(u64),
    /// A commit needs the data of these blocks on the disk: when all writes of them that are under way have ended, it
    /// is to be told ([`data_is_there`](super::FileSystem::data_is_there)).
    Order {
        /// What it is told with.
        ticket: u64,
        /// The file.
        inode: InodeId,
        /// Its blocks.
        blocks: Blocks,
        /// Whether what is dirty among them is to be written first, in jbd2's name.
        writes: bool,
    },
    /// This page of a file goes home with the file system's own writes: it is not dirty any more.
    Clean(u64),
}

/// Wishes, and numbers for bios.
#[derive(Clone, Debug, Default)]
pub(super) struct FsOutbox {
    wishes: VecDeque<FsWish>,
    tags: u64,
}

impl FsOutbox {
    pub fn push(&mut self, wish: FsWish) {
        self.wishes.push_back(wish);
    }

    pub fn next(&mut self) -> Option<FsWish> {
        self.wishes.pop_front()
    }

    /// A number that no bio has.
    pub fn ticket(&mut self) -> u64 {
        self.tags += 1;
        self.tags
    }

    /// Submits a bio; returns its tag.
    pub fn submit(&mut self, by: Agent, what: FsIo, place: (Sector, u64), barrier: bool, waiter: Waiter) -> u64 {
        self.tags += 1;
        let (start, sectors) = (place.0, place.1 as u32);
        self.push(FsWish::Submit(FsBio { tag: self.tags, by, what, start, sectors, barrier, waiter }));
        self.tags
    }
}
