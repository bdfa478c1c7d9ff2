//! `sync` and `syncfs`: everything is committed, and then written home.
//!
//! **Rule** the caller waits for the commit of the running transaction, or of the one that commits; if there is none,
//! and the disk has a cache, for a flush. Then it writes all dirty metadata home that no transaction holds, in the
//! disk's order, and waits for that, and for what was sent home in another `sync`'s name.
//! **Origin** recordings 12 and 17; the flush with a journal is inferred from that of one file's sync.

use std::collections::{BTreeMap, BTreeSet};

use blksched::author::Waiter;
use blksched::{Instant, Sector};

use super::super::Missing;
use super::super::layout::MetaBlock;
use super::super::outbox::{Agent, FsIo, FsOutbox, FsTask, FsWait, FsWish};
use super::Journal;

#[derive(Clone, Debug)]
enum WholeStep {
    /// For the commit, or the flush, of this bio.
    Log(Option<u64>),
    /// For these blocks on their way home.
    Home(BTreeSet<u64>),
}

/// Whole syncs under way.
#[derive(Clone, Debug, Default)]
pub(super) struct WholeSyncs {
    syncs: BTreeMap<FsTask, WholeStep>,
    /// What nobody has waited for yet of what was sent home.
    homes: BTreeSet<u64>,
}

impl WholeSyncs {
    /// A bio is complete. False if it is none of theirs.
    pub fn ended(&mut self, tag: u64, out: &mut FsOutbox) -> bool {
        let mut mine = self.homes.remove(&tag);
        for (task, step) in &mut self.syncs {
            let over = match step {
                WholeStep::Log(flush) => *flush == Some(tag),
                WholeStep::Home(tags) => {
                    let one = tags.remove(&tag);
                    mine |= one;
                    one && tags.is_empty()
                }
            };
            if over {
                mine = true;
                out.push(FsWish::Done(*task));
            }
        }
        mine
    }
}

impl Journal {
    /// This agent writes metadata home that no transaction holds; nobody waits.
    pub(in super::super) fn write_idle_home(&mut self, by: Agent, out: &mut FsOutbox) {
        let tags = self.send_home(by, Waiter::Async, out);
        self.whole.homes.extend(tags);
    }

    fn send_home(&mut self, by: Agent, waiter: Waiter, out: &mut FsOutbox) -> BTreeSet<u64> {
        // Data are written home with their files' pages.
        let idle = |block: &MetaBlock| !matches!(block, MetaBlock::Data(_)) && !self.is_busy(*block);
        let blocks: Vec<MetaBlock> = self.dirty.iter().filter(idle).collect();
        self.write_home(&blocks, by, waiter, out)
    }

    /// The task, whose data are on the disk, makes everything stable; asked again whenever it is done with a step.
    pub(in super::super) fn sync_all(&mut self, now: Instant, task: FsTask, out: &mut FsOutbox) -> Missing {
        let before = self.whole.syncs.remove(&task);
        let running = self.running.as_ref().map(|running| running.tid);
        let last = running.or(self.committing.as_ref().map(|committing| committing.tid));
        let by = Agent::Caller(task);
        let next = match (before, last) {
            (None, Some(tid)) => {
                self.wait_for(now, task, tid, out);
                WholeStep::Log(None)
            }
            (None, None) if self.settings.barrier => {
                let flush = out.submit(by, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync);
                out.push(FsWish::Waits(by));
                out.push(FsWish::Sleeps(task, FsWait::Commit));
                WholeStep::Log(Some(flush))
            }
            (None | Some(WholeStep::Log(_)), _) => {
                let mut tags = self.send_home(by, Waiter::Sync, out);
                tags.extend(&self.whole.homes);
                if tags.is_empty() {
                    return Missing::Nothing;
                }
                out.push(FsWish::Sleeps(task, FsWait::Commit));
                WholeStep::Home(tags)
            }
            (Some(WholeStep::Home(_)), _) => return Missing::Nothing,
        };
        self.whole.syncs.insert(task, next);
        Missing::Metadata
    }
}
