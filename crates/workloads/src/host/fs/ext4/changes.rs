//! What each call changes: the metadata blocks of its handle.
//!
//! **Origin** `dirtied_blocks` of the recordings' handles, and which of them are written home after a `sync`.

use blksched::Instant;

use super::super::extents::{Blocks, Extent};
use super::super::inode::{Change, InodeId, NamedIn};
use super::super::kind::{BlockMap, JournalMode, NewBlocks};
use super::super::layout::MetaBlock;
use super::{Behind, Ext4, Handle, INLINE, Matters};

/// Blocks that a handle reserves (`requested_blocks`).
mod credits {
    pub const TIMES: u64 = 3;
    pub const ALLOCATION: u64 = 27;
    /// The same without extents.
    pub const POINTERS: u64 = 20;
    pub const CREATE: u64 = 47;
    pub const UNLINK: u64 = 25 + 30;
    pub const RENAME: u64 = 63;
}

/// What new places are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placing {
    /// Data that are about to be written: until then the places count as unwritten.
    Data,
    /// Direct data, which their caller converts when they are there.
    Direct,
    /// Direct data behind the file's end, which cannot be read before they are there: they count as written.
    Written,
    /// Nothing, yet (`fallocate`).
    Whole,
}

impl Ext4 {
    /// How many blocks the change reserves; `None` if it changes no metadata.
    pub(super) fn credits(&self, now: Instant, inode: InodeId, change: &Change) -> Option<u64> {
        let known = self.inodes.get(&inode);
        let changed = known.and_then(|known| known.changed) != Some(self.phase.tick(now));
        let allocation = match self.geometry.block_map {
            BlockMap::Extents => credits::ALLOCATION,
            BlockMap::Indirect => credits::POINTERS,
        };
        match change {
            Change::Times => changed.then_some(credits::TIMES),
            Change::Attributes | Change::Truncate(_) => Some(credits::TIMES),
            Change::JournalData { blocks, .. } => Some(allocation + blocks.count()),
            Change::WriteBack(blocks) => self.is_unplaced(inode, blocks).then_some(allocation),
            Change::Place(blocks) if self.is_unplaced(inode, blocks) => Some(credits::TIMES + allocation),
            Change::Place(_) => changed.then_some(credits::TIMES),
            Change::DirectBegins(blocks) if self.is_unplaced(inode, blocks) => Some(allocation),
            Change::DirectBegins(_) => changed.then_some(credits::TIMES),
            Change::DirectEnds(blocks) => {
                let ends = known.is_some_and(|known| known.extents.is_unwritten(blocks) || known.appends);
                ends.then_some(allocation)
            }
            Change::Preallocate(_) => Some(allocation),
            Change::Create(_) | Change::MakeDirectory(_) | Change::Symlink(_) => Some(credits::CREATE),
            Change::Unlink(_) | Change::RemoveDirectory(_) => Some(credits::UNLINK),
            Change::Rename { .. } => Some(credits::RENAME),
        }
    }

    /// Whether any of these blocks has no place, or one that has not been written.
    pub(super) fn is_unplaced(&self, inode: InodeId, blocks: &Blocks) -> bool {
        let Some(known) = self.inodes.get(&inode) else { return true };
        known.extents.hole(blocks).is_some() || known.extents.is_unwritten(blocks)
    }

    /// Makes the change, and says which blocks it dirties, in order.
    pub(super) fn handle(&mut self, now: Instant, inode: InodeId, change: &Change) -> Handle {
        let table = self.geometry.table_of(inode);
        let tick = self.phase.tick(now);
        let mut handle = Handle { synchronous: self.is_synchronous(inode, change), ..Handle::default() };
        self.inodes.entry(inode).or_default();
        match change {
            Change::Place(blocks) => {
                if self.inodes.entry(inode).or_default().changed != Some(tick) {
                    handle = self.handle(now, inode, &Change::Times);
                }
                if self.is_unplaced(inode, blocks) {
                    self.place(inode, blocks, Placing::Data, &mut handle);
                }
            }
            Change::Times => {
                self.inodes.entry(inode).or_default().changed = Some(tick);
                handle.blocks.push_back(table);
                handle.inodes.push((inode, Matters::ToAll));
            }
            Change::Attributes => {
                handle.blocks.push_back(table);
                handle.inodes.push((inode, Matters::ToAll));
            }
            Change::JournalData { blocks, page } => self.journal_blocks(inode, (blocks, *page), tick, &mut handle),
            Change::WriteBack(blocks) => self.place(inode, blocks, Placing::Data, &mut handle),
            Change::DirectBegins(blocks) => self.direct(inode, blocks, tick, &mut handle),
            Change::DirectEnds(blocks) => self.direct_ends(inode, blocks, &mut handle),
            Change::Preallocate(blocks) => {
                self.place(inode, blocks, Placing::Whole, &mut handle);
                handle.inodes.push((inode, Matters::ToData));
            }
            Change::Truncate(blocks) => self.truncate(inode, *blocks, &mut handle),
            Change::Create(at) | Change::Symlink(at) => self.create(inode, *at, tick, &mut handle),
            Change::MakeDirectory(at) => {
                self.create(inode, *at, tick, &mut handle);
                let group = self.geometry.inode_group(inode);
                handle.blocks.extend([MetaBlock::BlockBitmap(group), MetaBlock::Directory(inode)]);
            }
            Change::Unlink(at) => self.unlink(inode, *at, &mut handle),
            Change::RemoveDirectory(at) => {
                // Its own block becomes free, and must not be replayed from the log.
                handle.blocks.push_back(MetaBlock::BlockBitmap(self.geometry.inode_group(inode)));
                handle.freed.push(MetaBlock::Directory(inode));
                self.unlink(inode, *at, &mut handle);
            }
            Change::Rename { from, to, over } => self.rename(inode, *from, (*to, *over), &mut handle),
        }
        handle
    }

    /// Gives these blocks places where they have none, and splits what has not been written.
    pub(super) fn place(&mut self, inode: InodeId, blocks: &Blocks, how: Placing, handle: &mut Handle) {
        let whole = how == Placing::Whole;
        let counts_as_written = how == Placing::Written || self.writes_at_once(how);
        let end = self.inodes.entry(inode).or_default().extents.end();
        let mut groups = Vec::new();
        while let Some(hole) = self.inodes.entry(inode).or_default().extents.hole(blocks) {
            let known = self.inodes.entry(inode).or_default();
            let (place, count) = self.places.take(inode, &known.extents, &hole, whole);
            let extent = Extent { at: hole.start, blocks: count, place, written: counts_as_written };
            match self.geometry.block_map {
                BlockMap::Extents => known.extents.insert(extent),
                BlockMap::Indirect => self.point_to(inode, extent, handle),
            }
            groups.extend(self.geometry.groups_of(&extent));
        }
        let placed = !groups.is_empty();
        if self.journals_data() && !whole {
            // There is no time between places and data: the log has both.
            self.inodes.entry(inode).or_default().extents.convert(blocks);
        }
        for group in groups {
            handle.blocks.extend([MetaBlock::BlockBitmap(group), self.geometry.descriptor_of(group)]);
        }
        let at_once = self.writes_at_once(how);
        let known = self.inodes.entry(inode).or_default();
        let split = !whole && known.extents.split(blocks);
        let converted = at_once && known.extents.convert(blocks);
        let to_read = at_once && (placed || converted);
        if to_read && self.settings.data == JournalMode::Ordered && self.bare.is_none() {
            handle.ordered = Some((inode, *blocks));
        }
        if converted && known.leaf.is_some() {
            self.merged(inode, handle);
        } else if placed || split || converted {
            self.grow(inode, handle);
        }
        handle.blocks.push_back(self.geometry.table_of(inode));
        handle.inodes.push((inode, Matters::ToAll));
        let grew = self.inodes.entry(inode).or_default().extents.end() > end;
        if grew || to_read || placed && how == Placing::Written {
            handle.inodes.push((inode, Matters::ToData));
        }
    }

    /// Whether places for data count as written at once, whatever `data=` says: nothing is converted behind the data.
    /// With `data=ordered` a commit has to see to the data then.
    fn writes_at_once(&self, how: Placing) -> bool {
        how == Placing::Data && self.settings.new_blocks != NewBlocks::Unwritten
    }

    /// The file has other extents now: they are in its leaf, if there are more than the inode holds.
    fn grow(&mut self, inode: InodeId, handle: &mut Handle) {
        if self.geometry.block_map == BlockMap::Indirect {
            return;
        }
        let count = self.inodes.entry(inode).or_default().extents.count();
        let leaf = self.inodes.entry(inode).or_default().leaf;
        match leaf {
            Some(_) => handle.blocks.push_back(MetaBlock::Leaf(inode)),
            None if count > INLINE => {
                let group = self.places.leaf_group(&self.geometry, inode);
                self.inodes.entry(inode).or_default().leaf = Some(group);
                let blocks = [MetaBlock::BlockBitmap(group), self.geometry.descriptor_of(group)];
                handle.blocks.extend(blocks);
                handle.blocks.push_back(MetaBlock::Leaf(inode));
            }
            None => {}
        }
    }

    /// A direct write begins. New blocks beyond the end are written ones at once, and the file is on the list of
    /// orphans while its data are under way, which is in the superblock.
    fn direct(&mut self, inode: InodeId, blocks: &Blocks, tick: u64, handle: &mut Handle) {
        let table = self.geometry.table_of(inode);
        let known = self.inodes.entry(inode).or_default();
        if known.changed != Some(tick) {
            known.changed = Some(tick);
            handle.blocks.push_back(table);
            handle.inodes.push((inode, Matters::ToAll));
        }
        if known.extents.hole(blocks).is_none() && !known.extents.is_unwritten(blocks) {
            return;
        }
        let appends = blocks.end > known.extents.end();
        if appends {
            handle.blocks.push_back(table);
            self.is_orphan(inode, handle);
        }
        let is_written = appends || self.geometry.block_map == BlockMap::Indirect;
        let how = if is_written { Placing::Written } else { Placing::Direct };
        self.place(inode, blocks, how, handle);
        if appends {
            let known = self.inodes.entry(inode).or_default();
            known.extents.convert(blocks);
            known.appends = true;
        }
    }

    /// A direct write has ended: its caller converts what it wrote, and takes the file off the list of orphans.
    fn direct_ends(&mut self, inode: InodeId, blocks: &Blocks, handle: &mut Handle) {
        if core::mem::take(&mut self.inodes.entry(inode).or_default().appends) {
            handle.blocks.push_back(self.geometry.table_of(inode));
            self.is_no_orphan(inode, handle);
            handle.inodes.push((inode, Matters::ToData));
            return;
        }
        *handle = self.conversion(inode, blocks);
    }

    /// The inode comes to the head of the list of orphans, which the superblock has.
    fn is_orphan(&mut self, inode: InodeId, handle: &mut Handle) {
        self.orphans.push(inode);
        handle.blocks.push_back(MetaBlock::Super);
    }

    /// It leaves the list: who pointed to it, the superblock or the inode that came after it, points to the next.
    fn is_no_orphan(&mut self, inode: InodeId, handle: &mut Handle) {
        let at = self.orphans.iter().rposition(|orphan| *orphan == inode);
        let newer = at.and_then(|at| self.orphans.get(at + 1)).copied();
        handle.blocks.push_back(newer.map_or(MetaBlock::Super, |newer| self.geometry.table_of(newer)));
        at.map(|at| self.orphans.remove(at));
    }

    fn truncate(&mut self, inode: InodeId, blocks: u64, handle: &mut Handle) {
        handle.blocks.push_back(self.geometry.table_of(inode));
        let grows = blocks > self.inodes.entry(inode).or_default().extents.end();
        // On the list of orphans while its blocks become free; a file that grows is not (recording ext3/11).
        handle.blocks.extend((!grows).then_some(MetaBlock::Super));
        self.free(inode, blocks, handle);
        handle.inodes.push((inode, Matters::ToData));
        handle.behind = handle.synchronous.then_some(Behind::Times(inode));
    }

    /// Frees a file's blocks from this one on.
    fn free(&mut self, inode: InodeId, from: u64, handle: &mut Handle) {
        if self.geometry.block_map == BlockMap::Indirect {
            self.point_no_more(inode, from, handle);
        }
        let known = self.inodes.entry(inode).or_default();
        let cut = |extent: &Extent| {
            let kept = from.saturating_sub(extent.at).min(extent.blocks);
            Extent { blocks: extent.blocks - kept, place: extent.place + kept, ..*extent }
        };
        let cut = known.extents.iter().map(cut).filter(|extent| extent.blocks > 0);
        let groups: Vec<u64> = cut.flat_map(|extent| self.geometry.groups_of(&extent)).collect();
        known.extents.truncate(from);
        for group in groups {
            handle.blocks.extend([MetaBlock::BlockBitmap(group), self.geometry.descriptor_of(group)]);
        }
    }

    fn create(&mut self, inode: InodeId, at: NamedIn, tick: u64, handle: &mut Handle) {
        let dir = at.dir;
        let group = self.geometry.inode_group(inode);
        handle.blocks.extend([MetaBlock::InodeBitmap(group), self.geometry.descriptor_of(group)]);
        let tables = [self.geometry.table_of(inode), self.geometry.table_of(dir)];
        handle.blocks.push_back(tables[0]);
        self.add_name(inode, at, handle);
        handle.blocks.push_back(tables[1]);
        self.inodes.entry(inode).or_default().changed = Some(tick);
        handle.inodes.extend([(inode, Matters::ToData), (dir, Matters::ToData)]);
    }

    /// A name comes into a directory, which may need new blocks for it.
    fn add_name(&mut self, inode: InodeId, at: NamedIn, handle: &mut Handle) {
        let (blocks, new) = self.directories.add(at.dir, inode, at.name);
        if new > 0 {
            let group = self.geometry.inode_group(at.dir);
            handle.blocks.extend([MetaBlock::BlockBitmap(group), self.geometry.descriptor_of(group)]);
        }
        handle.blocks.extend(blocks);
    }

    /// The name goes, the inode is an orphan (in the superblock) until its blocks and it are free.
    fn unlink(&mut self, inode: InodeId, at: NamedIn, handle: &mut Handle) {
        let tables = [self.geometry.table_of(at.dir), self.geometry.table_of(inode)];
        let names = self.directories.remove(at.dir, inode, at.name);
        handle.blocks.extend([names, tables[0], tables[1]]);
        self.is_orphan(inode, handle);
        self.evict(inode, handle);
        handle.inodes.push((at.dir, Matters::ToData));
    }

    /// The inode becomes free: after the change of its name if that is synchronous.
    fn evict(&mut self, inode: InodeId, handle: &mut Handle) {
        if handle.synchronous {
            handle.behind = Some(Behind::Freeing(inode));
        } else {
            self.free_inode(inode, handle);
        }
    }

    pub(super) fn free_inode(&mut self, inode: InodeId, handle: &mut Handle) {
        handle.blocks.push_back(self.geometry.table_of(inode));
        self.is_no_orphan(inode, handle);
        self.free(inode, 0, handle);
        let group = self.geometry.inode_group(inode);
        handle.blocks.extend([MetaBlock::InodeBitmap(group), self.geometry.descriptor_of(group)]);
        self.inodes.remove(&inode);
        self.directories.forget(inode);
        self.places.forget(inode);
    }

    fn rename(&mut self, inode: InodeId, from: NamedIn, (to, over): (u64, Option<InodeId>), handle: &mut Handle) {
        let tables = [self.geometry.table_of(from.dir), self.geometry.table_of(inode)];
        let old = self.directories.remove(from.dir, inode, from.name);
        handle.blocks.extend([tables[1], old, tables[0]]);
        match over {
            // The name that is there points to another file.
            Some(over) => handle.blocks.push_back(self.directories.block_of(from.dir, over)),
            None => self.add_name(inode, NamedIn { dir: from.dir, name: to }, handle),
        }
        handle.inodes.extend([(inode, Matters::ToData), (from.dir, Matters::ToData)]);
        if let Some(over) = over {
            handle.blocks.push_back(self.geometry.table_of(over));
            self.is_orphan(over, handle);
            self.evict(over, handle);
        }
    }
}
