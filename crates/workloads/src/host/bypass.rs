//! Direct I/O beside buffered: cached pages that it touches are written first, and pages that it writes leave memory.
//!
//! **Origin** `open(2)`, `O_DIRECT`; `Documentation/filesystems`: MEMORY of what Linux does for a range that is cached:
//! it writes and waits, and a direct write (or a discard) then drops the pages.

use blksched::{Bio, Durability, Op as Operation};

use super::Host;
use super::fs::Change;
use super::op::{OpId, OpStage};
use super::outbox::Wish;
use super::page::{Pages, pages_of};

impl Host {
    /// Whether anything that this direct bio touches is in memory, so that it has to go through [`Host::bypass`].
    #[inline]
    pub fn concerns(&self, bio: &Bio) -> bool {
        !self.mapping.is_empty() && self.holds_any(&range(bio))
            || self.filing.as_ref().is_some_and(|filing| filing.concerns(bio))
    }

    fn holds_any(&self, pages: &Pages) -> bool {
        pages.clone().any(|page| self.mapping.get(page).is_some())
    }

    /// What it touches in memory is on the disk: it goes to the queue. If the file system has a say in it, it does so
    /// after this change of metadata.
    pub(super) fn go_past(&mut self, id: OpId, bio: Bio) -> Option<Change> {
        if let Some(blocks) = self.filing.as_ref().and_then(|filing| filing.blocks_of_direct(&bio)) {
            let change = Change::DirectBegins(blocks);
            self.ops[id].stage = OpStage::Entering(change);
            return Some(change);
        }
        if bio.op != Operation::Read {
            self.mapping.drop_clean(&range(&bio));
        }
        self.send_direct(id, bio);
        None
    }

    /// A direct write has its places.
    pub(super) fn release_direct(&mut self, id: OpId, bio: Bio) {
        self.mapping.drop_clean(&range(&bio));
        if let Some(filing) = &mut self.filing {
            filing.direct_begins(bio);
        }
        // What has to be stable is made so when it has landed.
        self.send_direct(id, Bio { durability: Durability::default(), ..bio });
    }

    fn send_direct(&mut self, id: OpId, bio: Bio) {
        self.ops.remove(id);
        self.out.push(Wish::GoOn(bio));
        self.out.push(Wish::Waits(bio.submitter));
    }
}

pub(super) fn range(bio: &Bio) -> Pages {
    pages_of(bio.start, u64::from(bio.sectors))
}
