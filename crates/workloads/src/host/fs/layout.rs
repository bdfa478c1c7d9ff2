//! Where things lie on a fresh file system: metadata, the journal, and files one behind the other.
//!
//! **Rule** *ext4* has block groups of 128 MiB, 16 of which are a flex group: the bitmaps and inode tables of all 16
//! lie at its beginning. The journal lies in the middle of the disk. Data do not follow their directory: everything new
//! continues near the last allocation. *xfs* has 4 allocation groups; its log begins the third. Directories rotate
//! over the groups, a directory's files lie in its group, one behind the other. *ext2, ext3*: each block group has its
//! own bitmaps and tables at its beginning; the journal lies behind those of the first.
//! **Origin** layout recordings on 1 GiB, 16 GiB and 1 TiB; the journal's sizes between them are MEMORY of `mkfs.ext4`;
//! ext2 and ext3: `dumpe2fs` of what mke2fs 1.47 makes of these sizes.

use blksched::Sector;

use super::extents::Extent;
use super::inode::InodeId;
use super::kind::{BlockMap, FsKind};
use super::{BLOCK_BYTES, BLOCK_SECTORS};

/// Blocks of a block group.
const GROUP: u64 = 32_768;

/// Block groups of a flex group.
const FLEX: u64 = 16;

/// Inodes that share a block of the inode table.
pub(super) const INODES_PER_BLOCK: u64 = 16;

/// Blocks between the older formats' first inode table and their journal: directories and the reserve's own.
const BEFORE_JOURNAL: u64 = 6;

/// A metadata block of ext4, by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetaBlock {
    /// The superblock.
    Super,
    /// Descriptors of 64 block groups.
    Descriptors(u64),
    /// A block group's map of blocks.
    BlockBitmap(u64),
    /// A block group's map of inodes.
    InodeBitmap(u64),
    /// 16 inodes, counted from the file system's beginning.
    InodeTable(u64),
    /// A directory's first block.
    Directory(InodeId),
    /// Another one of its blocks.
    DirectoryLeaf(InodeId, u32),
    /// A file's extents beyond the fourth.
    Leaf(InodeId),
    /// An indirect block of a file without extents, by its number.
    Indirect(InodeId, u64),
    /// A block of data on its way through the journal, by its page of the disk.
    Data(u64),
}

/// The shape of an ext4, or of an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ext4Geometry {
    /// The disk's length \[512-byte sectors\].
    pub sectors: u64,
    /// Inodes of a block group.
    pub inodes_per_group: u64,
    /// Extents came with flex groups and longer descriptors.
    pub block_map: BlockMap,
    /// Whether room was left for a journal.
    pub has_journal: bool,
}

impl Ext4Geometry {
    /// As mkfs makes it on a disk of this length \[512-byte sectors\].
    pub fn of(sectors: u64) -> Ext4Geometry {
        Ext4Geometry { sectors, inodes_per_group: 8192, block_map: BlockMap::Extents, has_journal: true }
    }

    /// The same for this one of ext2, ext3 and ext4.
    pub fn of_kind(kind: FsKind, sectors: u64) -> Ext4Geometry {
        let (block_map, has_journal) = (kind.block_map(), kind != FsKind::Ext2);
        Ext4Geometry { block_map, has_journal, ..Ext4Geometry::of(sectors) }
    }

    /// Block groups whose tables lie together.
    fn flex(&self) -> u64 {
        match self.block_map {
            BlockMap::Extents => FLEX,
            BlockMap::Indirect => 1,
        }
    }

    fn blocks(&self) -> u64 {
        self.sectors / BLOCK_SECTORS
    }

    /// The block group of a block of the disk.
    pub fn group_of(&self, block: u64) -> u64 {
        // Places of blocks are counted without an end.
        block.min(self.blocks().saturating_sub(1)) / GROUP
    }

    /// The block groups that an extent lies in.
    pub(super) fn groups_of(&self, extent: &Extent) -> core::ops::RangeInclusive<u64> {
        self.group_of(extent.place)..=self.group_of(extent.place + extent.blocks.saturating_sub(1))
    }

    /// The block group of an inode.
    pub fn inode_group(&self, inode: InodeId) -> u64 {
        (inode.0 - 1) / self.inodes_per_group
    }

    /// The inode-table block of an inode.
    pub fn table_of(&self, inode: InodeId) -> MetaBlock {
        MetaBlock::InodeTable((inode.0 - 1) / INODES_PER_BLOCK)
    }

    /// The block with a group's descriptor.
    pub fn descriptor_of(&self, group: u64) -> MetaBlock {
        let bytes = match self.block_map {
            BlockMap::Extents => 64,
            BlockMap::Indirect => 32,
        };
        MetaBlock::Descriptors(group * bytes / BLOCK_BYTES)
    }

    /// How many freed blocks one revoke block of the journal names: 8 bytes each, of the older formats 4 (MEMORY).
    pub(super) fn revokes_in_a_block(&self) -> u64 {
        match self.block_map {
            BlockMap::Extents => 509,
            BlockMap::Indirect => 1020,
        }
    }

    /// The journal's first sector and its length \[blocks\]; an older one's indirect blocks lie between, and count for
    /// nothing here.
    pub fn journal(&self) -> (Sector, u64) {
        let blocks = self.blocks();
        let length = match blocks {
            0..0x8000 => 1024,
            0x8000..0x4_0000 => 4096,
            0x4_0000..0x8_0000 => 8192,
            0x8_0000..0x40_0000 => 16_384,
            0x40_0000..0x80_0000 => 32_768,
            0x80_0000..0x100_0000 => 65_536,
            0x100_0000..0x200_0000 => 131_072,
            _ => 262_144,
        };
        let length = if self.has_journal { length.min(blocks / 4).max(1024.min(blocks)) } else { 0 };
        if self.block_map == BlockMap::Indirect {
            let start = (self.head(0) + 2 + self.table() + BEFORE_JOURNAL).min(blocks - length);
            return (Sector(start * BLOCK_SECTORS), length);
        }
        let groups = blocks.div_ceil(GROUP);
        let middle = match groups / 2 {
            group if groups > FLEX => group - group % FLEX + 1,
            group => group,
        };
        (Sector((middle * GROUP).min(blocks - length) * BLOCK_SECTORS), length)
    }

    /// Blocks of a group's inode table.
    fn table(&self) -> u64 {
        self.inodes_per_group / INODES_PER_BLOCK
    }

    /// Blocks in front of a flex group's first bitmap. In the first one lie the superblock, descriptors and their
    /// reserve: 129 blocks on 1 GiB, 1027 on 16 GiB, 1153 on 1 TiB. Of the older formats these are 65 and 1025, in
    /// each group (real ones have them in some).
    fn head(&self, flex: u64) -> u64 {
        match (self.block_map, flex, self.blocks()) {
            (BlockMap::Indirect, _, blocks) => 1 + (8 * blocks.div_ceil(GROUP)).clamp(1, 1024),
            (BlockMap::Extents, 1.., _) => 0,
            (BlockMap::Extents, 0, 0..0x20_0000) => 129,
            (BlockMap::Extents, 0, 0x20_0000..0x800_0000) => 1027,
            (BlockMap::Extents, 0, _) => 1153,
        }
    }

    /// The first sector of a metadata block at its home.
    pub fn home(&self, block: MetaBlock) -> Sector {
        let (each, table) = (self.flex(), self.table());
        let in_flex = |group: u64, plus: u64| {
            let flex = group / each;
            flex * each * GROUP + self.head(flex) + plus
        };
        let groups = self.blocks().div_ceil(GROUP).clamp(1, each);
        let tables = if groups < each { 2 * 8 } else { 2 * each };
        let block = match block {
            MetaBlock::Super => 0,
            MetaBlock::Descriptors(nth) => 1 + nth,
            MetaBlock::BlockBitmap(group) => in_flex(group, group % each),
            MetaBlock::InodeBitmap(group) => in_flex(group, tables / 2 + group % each),
            MetaBlock::InodeTable(nth) => in_flex(nth / table, tables + (nth / table % each) * table + nth % table),
            MetaBlock::Directory(inode) => self.near(inode, 0),
            // Behind the places of other directories' first blocks.
            MetaBlock::DirectoryLeaf(inode, nth) => self.near(inode, GROUP / 16 + 2 * u64::from(nth)),
            MetaBlock::Leaf(inode) => self.near(inode, 1),
            MetaBlock::Indirect(inode, nth) => self.beside(inode, nth),
            MetaBlock::Data(page) => page,
        };
        Sector(block.min(self.blocks().saturating_sub(1)) * BLOCK_SECTORS)
    }

    /// A place for a block of its own that an inode needs, behind the metadata of its flex group.
    fn near(&self, inode: InodeId, nth: u64) -> u64 {
        let group = self.inode_group(inode) / self.flex() * self.flex();
        let metadata = match (self.block_map, group) {
            (BlockMap::Extents, _) => group * GROUP + 2 * GROUP / 8 + 129,
            (BlockMap::Indirect, 0) => self.first_file().0 / BLOCK_SECTORS,
            (BlockMap::Indirect, _) => group * GROUP + self.head(group) + 2 + self.table(),
        };
        metadata + (2 * inode.0 + nth) % (GROUP / 8)
    }

    /// A place for an indirect block: one for each 4 MiB, as if its file lay from the first place on (where files lie
    /// is not known here); each of a thousand files has places of its own.
    fn beside(&self, inode: InodeId, nth: u64) -> u64 {
        let first = self.first_file().0 / BLOCK_SECTORS;
        first + (inode.0 % 1024 + nth * 1025) % self.blocks().saturating_sub(first).max(1)
    }

    /// The sector from which on files are placed: behind the first flex group's metadata, and in the second group.
    pub fn first_file(&self) -> Sector {
        if self.block_map == BlockMap::Indirect {
            let (journal, length) = self.journal();
            let behind = journal.0 / BLOCK_SECTORS + length + length.div_ceil(1024);
            return Sector(behind.next_multiple_of(256).min(self.blocks() / 2) * BLOCK_SECTORS);
        }
        let table = self.table();
        let groups = self.blocks().div_ceil(GROUP).clamp(1, FLEX);
        let behind = self.head(0) + 2 * FLEX + groups * table;
        // The first reserve was recorded 4 MiB behind the second group's beginning.
        let second = if self.blocks() > 4 * GROUP { GROUP + 1024 } else { 0 };
        Sector(behind.next_multiple_of(256).max(second).min(self.blocks() / 2) * BLOCK_SECTORS)
    }
}

/// The shape of an xfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XfsGeometry {
    /// The disk's length \[512-byte sectors\].
    pub sectors: u64,
}

impl XfsGeometry {
    /// Allocation groups.
    pub const GROUPS: u64 = 4;

    /// An allocation group's length \[512-byte sectors\].
    pub fn group(&self) -> u64 {
        (self.sectors / XfsGeometry::GROUPS / BLOCK_SECTORS * BLOCK_SECTORS).max(BLOCK_SECTORS)
    }

    /// The log's first sector and its length \[512-byte sectors\]: 64 MiB up to 128 GiB, then a 2048th of the disk.
    pub fn log(&self) -> (Sector, u64) {
        let length = (self.sectors / 2048).clamp(131_072, 2 << 21).min(self.sectors / 8);
        (Sector(2 * self.group() + 48), length)
    }

    /// The sector from which on the files of directory number `directory` are placed.
    pub fn first_file(&self, directory: u64) -> Sector {
        let group = directory % XfsGeometry::GROUPS;
        let behind = if group == 2 { 48 + self.log().1 } else { 192 };
        Sector(group * self.group() + behind.next_multiple_of(BLOCK_SECTORS))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const GIB: u64 = 1 << 21;

    #[test]
    fn the_journal_lies_where_it_was_recorded() {
        let journal = |gib: u64| Ext4Geometry::of(gib * GIB).journal();
        assert_eq!(journal(1), (Sector(1_048_576), 8192));
        assert_eq!(journal(16), (Sector(17_039_360), 32_768));
        assert_eq!(journal(1024), (Sector(1_074_003_968), 262_144));
    }

    #[test]
    fn metadata_of_the_first_group_lies_where_it_was_recorded() {
        for (gib, [blocks, inodes, table]) in
            [(1, [1032, 1096, 1160]), (16, [8216, 8344, 8472]), (1024, [9224, 9352, 9480])]
        {
            let ext4 = Ext4Geometry::of(gib * GIB);
            assert_eq!(ext4.home(MetaBlock::BlockBitmap(0)), Sector(blocks), "{gib} GiB");
            assert_eq!(ext4.home(MetaBlock::InodeBitmap(0)), Sector(inodes), "{gib} GiB");
            assert_eq!(ext4.home(MetaBlock::InodeTable(0)), Sector(table), "{gib} GiB");
        }
    }

    #[test]
    fn an_older_one_has_its_journal_behind_the_first_inode_table_and_each_group_its_own_bitmaps() {
        const LEAST: u64 = 4096;
        for sectors in [LEAST * 8, 300_000, 266_240] {
            for kind in [FsKind::Ext4, FsKind::Ext3, FsKind::Ext2] {
                let ext = Ext4Geometry::of_kind(kind, sectors);
                let (journal, length) = ext.journal();
                assert!(journal.0 + length * 8 <= sectors, "{kind} on {sectors}: {journal:?} {length}");
                let beyond = 9 * sectors / 8;
                let group = ext.group_of(beyond);
                let all =
                    [MetaBlock::BlockBitmap(group), MetaBlock::InodeTable(511), MetaBlock::Indirect(InodeId(9), 7)];
                assert!(all.iter().all(|block| ext.home(*block).0 < sectors), "{kind} on {sectors}");
            }
        }
        for (gib, journal, bitmap) in [(1, 585, 65), (16, 1545, 1025), (1024, 1545, 1025)] {
            let ext3 = Ext4Geometry::of_kind(FsKind::Ext3, gib * GIB);
            let ext2 = Ext4Geometry::of_kind(FsKind::Ext2, gib * GIB);
            assert_eq!(ext3.journal().0, Sector(journal * 8), "{gib} GiB");
            let begins = ext2.first_file().0 / 8;
            assert!(begins >= journal && begins < journal + 256, "{begins}: nothing but directories is before files");
            let behind = ext3.first_file();
            assert!(behind.0 >= (journal + ext3.journal().1) * 8, "{gib} GiB");
            for ext3 in [ext3, ext2] {
                let homes = (0..2000).map(|nth| ext3.home(MetaBlock::Indirect(InodeId(12), nth)));
                let others = (0..2000).map(|nth| ext3.home(MetaBlock::Indirect(InodeId(13), nth)));
                let directories = [MetaBlock::Directory(InodeId(2)), MetaBlock::DirectoryLeaf(InodeId(2), 9)];
                let homes: Vec<Sector> = homes.chain(others).chain(directories.map(|own| ext3.home(own))).collect();
                let distinct: BTreeSet<Sector> = homes.iter().copied().collect();
                let in_gib = 2 * 2000.min(gib * 256 - 64) as usize;
                assert!(distinct.len() >= in_gib, "{gib} GiB: {} of {}", distinct.len(), homes.len());
                assert!(homes.iter().all(|home| *home >= ext3.first_file() && home.0 < gib * GIB), "{gib} GiB");
            }
            for group in [0, 1, 3] {
                let first = (group * 32_768 + bitmap) * 8;
                assert_eq!(ext3.home(MetaBlock::BlockBitmap(group)), Sector(first), "{gib} GiB");
                assert_eq!(ext3.home(MetaBlock::InodeBitmap(group)), Sector(first + 8), "{gib} GiB");
                assert_eq!(ext3.home(MetaBlock::InodeTable(512 * group)), Sector(first + 16), "{gib} GiB");
            }
            assert_eq!(ext3.descriptor_of(127), MetaBlock::Descriptors(0));
            assert_eq!(ext3.descriptor_of(128), MetaBlock::Descriptors(1));
        }
    }

    #[test]
    fn sixteen_inodes_share_a_block() {
        let ext4 = Ext4Geometry::of(GIB);
        assert_eq!(ext4.table_of(InodeId(1)), ext4.table_of(InodeId(16)));
        assert_ne!(ext4.table_of(InodeId(16)), ext4.table_of(InodeId(17)));
        assert_eq!(ext4.inode_group(InodeId(8193)), 1);
    }

    #[test]
    fn the_log_of_xfs_lies_in_the_third_group() {
        assert_eq!(XfsGeometry { sectors: GIB }.log(), (Sector(1_048_624), 131_072));
        assert_eq!(XfsGeometry { sectors: 1024 * GIB }.log().1, 512 << 11);
    }
}
