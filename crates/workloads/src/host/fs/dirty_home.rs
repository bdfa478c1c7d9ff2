//! Metadata that is newer in the log than at home.

use std::collections::{BTreeMap, BTreeSet};

use super::layout::MetaBlock;
use super::log_ring::Tid;

/// Blocks that are dirty at home, each with the last transaction that changed it.
#[derive(Clone, Debug, Default)]
pub(super) struct DirtyHome {
    of: BTreeMap<MetaBlock, Tid>,
    /// The blocks that each transaction holds.
    held: BTreeMap<Tid, BTreeSet<MetaBlock>>,
}

impl DirtyHome {
    pub fn insert(&mut self, block: MetaBlock, tid: Tid) {
        self.remove(block);
        self.of.insert(block, tid);
        self.held.entry(tid).or_default().insert(block);
    }

    pub fn remove(&mut self, block: MetaBlock) {
        let Some(tid) = self.of.remove(&block) else { return };
        let left = self.held.get_mut(&tid).expect("it holds this block");
        left.remove(&block);
        if left.is_empty() {
            self.held.remove(&tid);
        }
    }

    /// Whether the transaction holds any.
    pub fn holds(&self, tid: Tid) -> bool {
        self.held.contains_key(&tid)
    }

    /// The blocks that the transaction holds, in the disk's order.
    pub fn held_by(&self, tid: Tid) -> impl Iterator<Item = MetaBlock> + '_ {
        self.held.get(&tid).into_iter().flatten().copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = MetaBlock> + '_ {
        self.of.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_belongs_to_the_last_transaction_that_changed_it() {
        let mut dirty = DirtyHome::default();
        dirty.insert(MetaBlock::Super, 1);
        dirty.insert(MetaBlock::Super, 2);
        assert!(!dirty.holds(1) && dirty.holds(2));
        assert_eq!(dirty.held_by(2).collect::<Vec<_>>(), [MetaBlock::Super]);
        dirty.remove(MetaBlock::Super);
        assert!(dirty.iter().next().is_none() && !dirty.holds(2));
    }
}
