//! Direct I/O beside buffered: cached pages that it touches are written first, and pages that it writes leave memory.
//!
//! **Origin** `open(2)`, `O_DIRECT`; `Documentation/filesystems`: MEMORY of what Linux does for a range that is cached:
//! it writes and waits, and a direct write (or a discard) then drops the pages.

use blksched::{Bio, Instant, Op as Operation};

use super::Host;
use super::op::{HostOp, OpId, OpTask};
use super::outbox::Wish;
use super::page::{Pages, pages_of};

impl Host {
    /// Whether anything that this direct bio touches is in memory, so that it has to go through [`Host::bypass`].
    #[inline]
    pub fn concerns(&self, bio: &Bio) -> bool {
        !self.cache.is_empty() && self.holds_any(&range(bio)) || self.files_concern(bio)
    }

    fn holds_any(&self, pages: &Pages) -> bool {
        pages.clone().any(|page| self.cache.get(page).is_some())
    }

    /// Takes a direct bio; [`Wish::GoOn`] returns it when it may go to the queue.
    pub fn bypass(&mut self, now: Instant, bio: Bio) {
        let pages = range(&bio);
        let id = self.ops.insert(HostOp::new(OpTask::Bypass(bio), pages.clone()));
        self.begin_sync(now, id, pages);
    }

    /// Makes memory agree with the disk.
    pub(super) fn go_past(&mut self, now: Instant, id: OpId, bio: Bio) {
        let Some(bio) = self.enter_direct(now, id, bio) else { return };
        if bio.op != Operation::Read {
            self.cache.drop_clean(&range(&bio));
        }
        self.ops.remove(id);
        self.out.push(Wish::GoOn(bio));
        self.out.push(Wish::Waits(bio.submitter));
    }
}

fn range(bio: &Bio) -> Pages {
    pages_of(bio.start, u64::from(bio.sectors))
}
