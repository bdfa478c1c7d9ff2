//! Files as a file system knows them, and what calls change about them.

use super::extents::{Blocks, FileExtents};

/// A file by its inode's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(pub u64);

impl InodeId {
    /// The directory that the files of jobs are in.
    pub const ROOT: InodeId = InodeId(2);
}

/// A file that existed before.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Its blocks.
    pub extents: FileExtents,
    /// Lengths of the names in it, if it is a directory.
    pub names: Vec<u64>,
}

/// A directory and the length of a name in it \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedIn {
    /// The directory.
    pub dir: InodeId,
    /// The length of the name \[bytes\].
    pub name: u64,
}

/// What a call changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `write` into the page cache, a store to a mapped page, a direct overwrite: the time of its last change.
    Times,
    /// `chmod`, `utimes`.
    Attributes,
    /// `write` of these blocks, where data go through the journal (`data=journal`); the first is this page of the disk.
    JournalData {
        /// The blocks.
        blocks: Blocks,
        /// The first one's page of the disk.
        page: u64,
    },
    /// `write` of these blocks, where they get places at once (`nodelalloc`).
    Place(Blocks),
    /// These dirty blocks are about to be written: those without a place get one.
    WriteBack(Blocks),
    /// A direct write of these blocks begins.
    DirectBegins(Blocks),
    /// It has ended.
    DirectEnds(Blocks),
    /// `fallocate`.
    Preallocate(Blocks),
    /// `ftruncate` to this many blocks.
    Truncate(u64),
    /// `open` with `O_CREAT` of a new file.
    Create(NamedIn),
    /// `mkdir`.
    MakeDirectory(NamedIn),
    /// `rmdir`.
    RemoveDirectory(NamedIn),
    /// `symlink`.
    Symlink(NamedIn),
    /// `unlink`.
    Unlink(NamedIn),
    /// `rename`, to a name of this length, over this file if it exists.
    Rename {
        /// The old name.
        from: NamedIn,
        /// The length of the new name \[bytes\].
        to: u64,
        /// The file that had the new name.
        over: Option<InodeId>,
    },
}
