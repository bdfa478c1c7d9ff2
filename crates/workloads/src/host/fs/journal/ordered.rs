//! Data that have to be on the disk before a commit block is sent, where new blocks count as written at once.
//!
//! **Rule** a commit has the data of such blocks written that its transaction placed, file by file, the last that came
//! first (`nodelalloc`), or leaves that to whoever writes them (`dioread_lock`). It sends the log behind them, and
//! waits for the data and the log before it sends the commit block.
//! **Origin** recordings 49 and 51.

use std::collections::{BTreeMap, BTreeSet};

use blksched::Instant;

use super::super::extents::Blocks;
use super::super::inode::InodeId;
use super::super::kind::NewBlocks;
use super::super::outbox::{FsOutbox, FsWish};
use super::{CommitStep, Journal};

/// Blocks by file, in the order in which the files came.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    files: Vec<(InodeId, Blocks)>,
    /// The place of each in it.
    nth: BTreeMap<InodeId, usize>,
}

impl Ordered {
    fn add(&mut self, inode: InodeId, blocks: Blocks) {
        let nth = *self.nth.entry(inode).or_insert(self.files.len());
        match self.files.get_mut(nth) {
            Some((_, known)) => {
                *known = Blocks { start: known.start.min(blocks.start), end: known.end.max(blocks.end) };
            }
            None => self.files.push((inode, blocks)),
        }
    }
}

impl Journal {
    /// The running transaction has placed these blocks of a file.
    pub(in super::super) fn orders(&mut self, now: Instant, inode: InodeId, blocks: Blocks) {
        self.running(now).ordered.add(inode, blocks);
    }

    /// Asks for the data of a transaction that commits; returns what it will be told with.
    pub(super) fn order(&mut self, ordered: Ordered, out: &mut FsOutbox) -> BTreeSet<u64> {
        let writes = self.settings.new_blocks == NewBlocks::AtOnce;
        let one = |(inode, blocks)| {
            let ticket = out.ticket();
            out.push(FsWish::Order { ticket, inode, blocks, writes });
            ticket
        };
        ordered.files.into_iter().rev().map(one).collect()
    }

    /// Data that a commit needs are on the disk.
    pub(in super::super) fn data_is_there(&mut self, now: Instant, ticket: u64, out: &mut FsOutbox) {
        let Some(committing) = &mut self.committing else { return };
        if committing.data.remove(&ticket) && committing.data.is_empty() && committing.step == CommitStep::Data {
            committing.step = CommitStep::Sealing(now);
            self.seal(now, out);
        }
    }
}
