//! Which file system, and how it is mounted.

use core::fmt;

use blksched::{Sector, Span};
use blksched_text::nearest;

use super::mount::WrongMount;

/// The file system below the files of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FsKind {
    /// None: files are regions of the disk.
    #[default]
    None,
    /// ext4 with the defaults of mkfs 1.47.
    Ext4,
    /// ext3 with the defaults of mkfs 1.47: ext4's machine without extents and delayed allocation.
    Ext3,
    /// ext2: ext3 without a journal.
    Ext2,
    /// xfs with the defaults of xfsprogs 6.1.
    Xfs,
}

impl FsKind {
    /// All of them.
    pub const ALL: [FsKind; 5] = [FsKind::None, FsKind::Ext4, FsKind::Ext3, FsKind::Ext2, FsKind::Xfs];

    /// The names of file systems that are understood, those that are not modelled among them.
    pub const WORDS: [&str; 10] =
        ["ext4", "xfs", "none", "ext3", "ext2", "btrfs", "zfs", "f2fs", "bcachefs", "overlay"];

    /// The one of this name.
    ///
    /// # Errors
    /// That it is not modelled, or not known, and what was expected.
    pub fn named(word: &str) -> Result<FsKind, WrongMount> {
        match FsKind::ALL.into_iter().find(|kind| kind.word() == word) {
            Some(kind) => Ok(kind),
            None if FsKind::WORDS.contains(&word) => {
                Err(WrongMount { why: FsKind::not_modelled(word).to_owned(), nearest: None })
            }
            None => Err(WrongMount {
                why: format!("unknown file system `{word}`: expected ext4, xfs, ext3, ext2 or none"),
                // Long texts are not misspelt words.
                nearest: nearest(word, FsKind::WORDS.into_iter().filter(|_| word.len() <= 64)),
            }),
        }
    }

    /// Why one of [`WORDS`](FsKind::WORDS) cannot be had.
    fn not_modelled(word: &str) -> &'static str {
        match word {
            "overlay" => "overlay2 writes to the file system below it: say that one, as in ext4 or xfs",
            _ => "this file system is not modelled: ext4, xfs, ext3, ext2 and none are",
        }
    }

    /// Whether it is one of those that ext4's driver mounts.
    pub fn is_ext(self) -> bool {
        matches!(self, FsKind::Ext4 | FsKind::Ext3 | FsKind::Ext2)
    }

    /// How its files' blocks are found, if it is one of ext4's.
    pub fn block_map(self) -> BlockMap {
        match self {
            FsKind::Ext3 | FsKind::Ext2 => BlockMap::Indirect,
            FsKind::None | FsKind::Ext4 | FsKind::Xfs => BlockMap::Extents,
        }
    }

    /// The longest file that it can have \[bytes\], where disks are longer (tried on Linux 6.18).
    pub fn longest_file(self) -> Option<u64> {
        match self.block_map() {
            BlockMap::Indirect => Some(2_196_873_666_560),
            BlockMap::Extents => None,
        }
    }

    /// The shortest disk that it is modelled on \[512-byte sectors\]: on shorter ones mkfs takes smaller blocks.
    pub fn shortest_disk(self) -> u64 {
        if self.is_ext() { 16 << 11 } else { 0 }
    }

    /// Its name on a command line.
    pub fn word(self) -> &'static str {
        match self {
            FsKind::None => "none",
            FsKind::Ext4 => "ext4",
            FsKind::Ext3 => "ext3",
            FsKind::Ext2 => "ext2",
            FsKind::Xfs => "xfs",
        }
    }
}

impl fmt::Display for FsKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How a file's blocks are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockMap {
    /// By extents: runs of blocks.
    #[default]
    Extents,
    /// One by one: the inode has the first twelve, indirect blocks the others (ext2, ext3).
    Indirect,
}

/// `data=` of ext4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JournalMode {
    /// `data=ordered`, the default.
    #[default]
    Ordered,
    /// `data=writeback`.
    Writeback,
    /// `data=journal`: data go through the journal first.
    Journal,
}

impl JournalMode {
    /// All of them.
    pub const ALL: [JournalMode; 3] = [JournalMode::Ordered, JournalMode::Writeback, JournalMode::Journal];

    /// Its word behind `data=`.
    pub fn word(self) -> &'static str {
        match self {
            JournalMode::Ordered => "ordered",
            JournalMode::Writeback => "writeback",
            JournalMode::Journal => "journal",
        }
    }
}

/// When new blocks of files get places, and what a commit has to do about their data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewBlocks {
    /// When they are written, and until then they are unwritten: no commit waits for data. The default.
    #[default]
    Unwritten,
    /// When they are written, and they count as written at once: a commit waits for their data (`dioread_lock`).
    Written,
    /// By `write` itself: a commit writes their data (`nodelalloc`).
    AtOnce,
}

/// How ext4 is made and mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ext4Settings {
    /// `data=`.
    pub data: JournalMode,
    /// `commit=`: the age at which a transaction commits without being asked to.
    pub commit: Span,
    /// Whether commit blocks are sent with flushes (`nobarrier` if not).
    pub barrier: bool,
    /// `nodelalloc`, `dioread_lock`.
    pub new_blocks: NewBlocks,
    /// `sync`: writes and removals are stable when they return.
    pub sync: bool,
    /// `dirsync`, which `sync` implies: so are changes of names.
    pub dirsync: bool,
    /// `min_batch_time`, `max_batch_time`: bounds of how long a synchronous change waits for others' company.
    pub batch: (Span, Span),
    /// `journal_async_commit`: the commit block does not wait for the log.
    pub async_commit: bool,
    /// jbd2's level of the best-effort class (`journal_ioprio=`).
    pub journal_ioprio: u8,
    /// Whether there is a journal (`mkfs.ext4 -O ^has_journal` if not).
    pub has_journal: bool,
    /// Whether the journal is on a disk of its own (`journal_dev=`).
    pub own_disk: bool,
    /// The journal's first sector.
    pub journal_start: Sector,
    /// The journal's length \[blocks\].
    pub journal_blocks: u64,
    /// Inodes of a block group.
    pub inodes_per_group: u64,
}

impl Default for Ext4Settings {
    /// A file system of 1 GiB as mkfs makes it.
    fn default() -> Ext4Settings {
        Ext4Settings {
            data: JournalMode::Ordered,
            commit: Span::from_secs(5),
            barrier: true,
            new_blocks: NewBlocks::Unwritten,
            sync: false,
            dirsync: false,
            batch: (Span::ZERO, Span::from_ms(15)),
            async_commit: false,
            journal_ioprio: 3,
            has_journal: true,
            own_disk: false,
            journal_start: Sector(1_048_576),
            journal_blocks: 8192,
            inodes_per_group: 8192,
        }
    }
}

/// How xfs is made and mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XfsSettings {
    /// Whether the log is on a disk of its own (`logdev=`).
    pub own_disk: bool,
    /// The log's first sector.
    pub log_start: Sector,
    /// The log's length \[512-byte sectors\].
    pub log_sectors: u64,
    /// The length of an in-core log buffer (`logbsize=`) \[bytes\].
    pub iclog_bytes: u64,
    /// How many there are (`logbufs=`), 2 to 8.
    pub log_buffers: u64,
    /// Inodes that an allocation group has numbers for; a directory's files are in its group.
    pub inodes_per_group: u64,
}

impl Default for XfsSettings {
    /// A file system of 1 GiB as mkfs makes it.
    fn default() -> XfsSettings {
        XfsSettings {
            own_disk: false,
            log_start: Sector(1_048_624),
            log_sectors: 131_072,
            iclog_bytes: 32 << 10,
            log_buffers: 8,
            inodes_per_group: 1 << 19,
        }
    }
}

impl XfsSettings {
    /// The header of a log write \[bytes\]: a sector for each 32 KiB of the buffer.
    pub fn header_bytes(&self) -> u64 {
        512 * self.iclog_bytes.div_ceil(32 << 10).max(1)
    }
}
