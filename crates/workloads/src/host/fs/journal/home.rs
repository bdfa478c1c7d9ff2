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
    pub under_way: BTreeMap<u64, Vec<MetaBlock>>,
    /// Those that are to change any of them.
    pub waiters: Vec<FsTask>,
}

impl HomeWrites {
    pub fn has(&self, block: MetaBlock) -> bool {
        self.under_way.values().any(|blocks| blocks.contains(&block))
    }

    pub fn ended(&mut self, tag: u64, out: &mut FsOutbox) {
        if self.under_way.remove(&tag).is_some() {
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
        let mut places: Vec<u64> = blocks.iter().map(|block| self.geometry.home(*block).0).collect();
        for block in blocks {
            self.dirty.remove(*block);
            if let MetaBlock::Data(page) = *block {
                out.push(FsWish::Clean(page));
            }
        }
        places.sort_unstable();
        places.dedup();
        let mut tags = BTreeSet::new();
        for run in places.chunk_by(|a, b| a + BLOCK_SECTORS == *b) {
            let place = (Sector(run[0]), run.len() as u64 * BLOCK_SECTORS);
            let tag = out.submit(by, FsIo::Home, place, false, waiter);
            let within = |block: &MetaBlock| run.contains(&self.geometry.home(*block).0);
            self.home.under_way.insert(tag, blocks.iter().copied().filter(within).collect());
            tags.insert(tag);
        }
        if !tags.is_empty() {
            out.push(FsWish::Waits(by));
        }
        tags
    }
}
