//! `dirsync`, and `sync`, which implies it: a change of names is stable when its call returns.
//!
//! **Rule** the call waits for company ([`batch`](super::super::journal)), closes its handle, asks for the commit of
//! its transaction and waits for that. A file without a name is freed after that, by a change of its own, which under
//! `sync` is synchronous, too. Under `sync`, `write` ends like one with `O_DSYNC`.
//! **Origin** recordings 36 and 37, of `sync` and `dirsync` together; that with `dirsync` alone nobody waits for the
//! freeing is MEMORY.

use blksched::Instant;

use super::super::Entry;
use super::super::inode::{Change, InodeId};
use super::super::log_ring::Tid;
use super::super::outbox::FsTask;
use super::{Ext4, Handle};

/// Blocks that a handle which frees an inode reserves (`requested_blocks`).
const FREES: u64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndStep {
    /// It may have to wait for company.
    Made,
    /// It has.
    Waited,
    /// Its handle is closed, its transaction asked for.
    Closed,
    /// It is stable; the inode without a name is to be freed.
    Frees,
}

/// How far a call is whose synchronous change has been made.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncEnding {
    tid: Tid,
    then_frees: Option<InodeId>,
    step: EndStep,
}

impl SyncEnding {
    pub fn of(tid: Tid, then_frees: Option<InodeId>) -> SyncEnding {
        SyncEnding { tid, then_frees, step: EndStep::Made }
    }
}

impl Ext4 {
    /// Whether `write` makes its data stable.
    pub(in crate::host) fn writes_synchronously(&self) -> bool {
        self.settings.sync
    }

    /// The process whose call comes next.
    pub(in crate::host) fn called_by(&mut self, process: u32) {
        self.caller = process;
    }

    /// Whether a change is to be stable when its call returns.
    pub(super) fn is_synchronous(&self, change: &Change) -> bool {
        let names = matches!(
            change,
            Change::Create(_)
                | Change::MakeDirectory(_)
                | Change::RemoveDirectory(_)
                | Change::Symlink(_)
                | Change::Unlink(_)
                | Change::Rename { .. }
        );
        names && (self.settings.sync || self.settings.dirsync) && self.bare.is_none()
    }

    /// The rest of a call whose synchronous change has been made.
    pub(super) fn end_synchronously(&mut self, now: Instant, task: FsTask) -> Entry {
        loop {
            let Some(SyncEnding { tid, then_frees, step }) = self.endings.get(&task).copied() else {
                return Entry::Done;
            };
            let next = match step {
                EndStep::Made => EndStep::Waited,
                EndStep::Waited => EndStep::Closed,
                EndStep::Closed | EndStep::Frees => EndStep::Frees,
            };
            self.endings.insert(task, SyncEnding { step: next, tid, then_frees });
            let sleeps = match step {
                EndStep::Made => self.batches(now, task),
                EndStep::Waited => {
                    self.journal.handle_ends(now, task, &mut self.out);
                    self.journal.wait_for(now, task, tid, &mut self.out)
                }
                EndStep::Closed | EndStep::Frees => return self.frees(now, task, then_frees),
            };
            if sleeps {
                return Entry::Waits;
            }
        }
    }

    fn batches(&mut self, now: Instant, task: FsTask) -> bool {
        let sleeps = self.journal.batches(now, task, self.caller);
        if sleeps {
            self.out.push(super::FsWish::Sleeps(task, super::super::FsWait::OthersLog));
        }
        sleeps
    }

    /// The change is stable: frees what has no name any more.
    fn frees(&mut self, now: Instant, task: FsTask, inode: Option<InodeId>) -> Entry {
        let Some(inode) = inode else {
            self.endings.remove(&task);
            return Entry::Done;
        };
        if !self.journal.begin(now, task, FREES, &mut self.out) {
            return Entry::Waits;
        }
        self.endings.remove(&task);
        let mut handle = Handle { synchronous: self.settings.sync, ..Handle::default() };
        self.free_inode(inode, &mut handle);
        self.handles.insert(task, handle);
        self.go_on(now, task)
    }
}
