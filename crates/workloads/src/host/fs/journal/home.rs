//! Metadata on its way home.
//!
//! **Rule** a block cannot be changed while it is on its way home: whoever is to change it sleeps until it is there.
//! **Origin** recording 25: the flusher, having sent metadata home, sleeps 20 ms for two blocks of it before it can
//! place the data of a file.

use std::collections::{BTreeMap, BTreeSet};

use blksched::Sector;
use blksched::author::Waiter;

use super::super::BLOCK_SECTORS;
use super::super::layout::MetaBlock;
use super::super::outbox::{Agent, FsIo, FsOutbox, FsTask, FsWish};
use super::Journal;

/// Metadata on its way home.
#[derive(Clone, Debug, Default)]
pub(super) struct HomeWrites {
    /// Blocks by their bio: until it ends they cannot be changed.
    under_way: BTreeMap<u64, Vec<MetaBlock>>,
    /// How many bios have each.
    blocks: BTreeMap<MetaBlock, u64>,
    /// Those that are to change any of them.
    pub waiters: Vec<FsTask>,
}

impl HomeWrites {
    pub fn has(&self, block: MetaBlock) -> bool {
        self.blocks.contains_key(&block)
    }

    fn begins(&mut self, tag: u64, blocks: Vec<MetaBlock>) {
        blocks.iter().for_each(|block| *self.blocks.entry(*block).or_default() += 1);
        self.under_way.insert(tag, blocks);
    }

    pub fn ended(&mut self, tag: u64, out: &mut FsOutbox) {
        if let Some(blocks) = self.under_way.remove(&tag) {
            for block in blocks {
                let left = self.blocks.entry(block).or_default();
                *left -= 1;
                if *left == 0 {
                    self.blocks.remove(&block);
                }
            }
            self.waiters.drain(..).for_each(|task| out.push(FsWish::Go(task)));
        }
    }
}

impl Journal {
    /// Writes these blocks home, neighbours in one bio; they count as clean from now on.
    pub(super) fn write_home(
        &mut self,
        blocks: &[MetaBlock],
        by: Agent,
        waiter: Waiter,
        out: &mut FsOutbox,
    ) -> BTreeSet<u64> {
        let mut places: Vec<(u64, MetaBlock)> =
            blocks.iter().map(|block| (self.geometry.home(*block).0, *block)).collect();
        for block in blocks {
            self.dirty.remove(*block);
            if let MetaBlock::Data(page) = *block {
                out.push(FsWish::Clean(page));
            }
        }
        places.sort_unstable();
        places.dedup();
        let mut tags = BTreeSet::new();
        // Blocks with one place go together.
        for run in places.chunk_by(|(a, _), (b, _)| b - a <= BLOCK_SECTORS) {
            let (first, last) = (run[0].0, run[run.len() - 1].0);
            let tag = out.submit(by, FsIo::Home, (Sector(first), last - first + BLOCK_SECTORS), false, waiter);
            self.home.begins(tag, run.iter().map(|(_, block)| *block).collect());
            tags.insert(tag);
        }
        if !tags.is_empty() {
            out.push(FsWish::Waits(by));
        }
        tags
    }
}
