//! `dirsync`, and `sync`, which implies it: a change of names is stable when its call returns.
//!
//! **Rule** the call waits for company ([`batch`](super::super::journal)), closes its handle, asks for the commit of
//! its transaction and waits for that. A file without a name is freed after that, by a change of its own, which under
//! `sync` is synchronous, too. Under `sync`, `write` ends like one with `O_DSYNC`, and a file that is cut
//! (`ftruncate`, `O_TRUNC`, also to the length it has) ends like a change of names; its times change after that, and
//! nobody waits for those, nor for `chmod`, `utimes`, `fallocate`, or `ftruncate` to a greater length.
//! **Origin** recordings 36 and 37, of `sync` and `dirsync` together; of truncations, and of `dirsync` alone, a trace
//! of Linux 6.18 (2026-11-30), each call once.

use blksched::Instant;

use super::super::Entry;
use super::super::inode::{Change, InodeId};
use super::super::log_ring::Tid;
use super::super::outbox::FsTask;
use super::{Ext4, Handle};

/// Blocks that a handle which frees an inode reserves (`requested_blocks`), and one that changes its times.
const FREES: u64 = 30;
const TIMES: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndStep {
    /// It may have to wait for company.
    Made,
    /// It has.
    Waited,
    /// Its handle is closed, its transaction asked for.
    Closed,
    /// It is stable; what comes behind is to be done.
    Goes,
}

/// What a call changes when its synchronous change is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// An inode without a name becomes free.
    Freeing(InodeId),
    /// An inode's times.
    Times(InodeId),
}

/// How far a call is whose synchronous change has been made.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncEnding {
    tid: Tid,
    behind: Option<Behind>,
    step: EndStep,
}

impl SyncEnding {
    pub fn of(tid: Tid, behind: Option<Behind>) -> SyncEnding {
        SyncEnding { tid, behind, step: EndStep::Made }
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
    pub(super) fn is_synchronous(&self, inode: InodeId, change: &Change) -> bool {
        let names = matches!(
            change,
            Change::Create(_)
                | Change::MakeDirectory(_)
                | Change::RemoveDirectory(_)
                | Change::Symlink(_)
                | Change::Unlink(_)
                | Change::Rename { .. }
        );
        let end = self.inodes.get(&inode).map_or(0, |known| known.extents.end());
        let cuts = matches!(change, Change::Truncate(blocks) if *blocks <= end);
        (names && self.settings.dirsync || (names || cuts) && self.settings.sync) && self.bare.is_none()
    }

    /// The rest of a call whose synchronous change has been made.
    pub(super) fn end_synchronously(&mut self, now: Instant, task: FsTask) -> Entry {
        loop {
            let Some(SyncEnding { tid, behind, step }) = self.endings.get(&task).copied() else {
                return Entry::Done;
            };
            let next = match step {
                EndStep::Made => EndStep::Waited,
                EndStep::Waited => EndStep::Closed,
                EndStep::Closed | EndStep::Goes => EndStep::Goes,
            };
            self.endings.insert(task, SyncEnding { step: next, tid, behind });
            let sleeps = match step {
                EndStep::Made => self.batches(now, task),
                EndStep::Waited => {
                    self.journal.handle_ends(now, task, &mut self.out);
                    self.journal.wait_for(now, task, tid, &mut self.out)
                }
                EndStep::Closed | EndStep::Goes => return self.go_behind(now, task, behind),
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

    /// The change is stable: frees what has no name any more, or changes the times of what was cut.
    fn go_behind(&mut self, now: Instant, task: FsTask, behind: Option<Behind>) -> Entry {
        let Some(behind) = behind else {
            self.endings.remove(&task);
            return Entry::Done;
        };
        let credits = if matches!(behind, Behind::Freeing(_)) { FREES } else { TIMES };
        if !self.journal.begin(now, task, credits, &mut self.out) {
            return Entry::Waits;
        }
        self.endings.remove(&task);
        let handle = match behind {
            Behind::Freeing(inode) => {
                let mut handle = Handle { synchronous: self.settings.sync, ..Handle::default() };
                self.free_inode(inode, &mut handle);
                handle
            }
            Behind::Times(inode) => self.handle(now, inode, &Change::Times),
        };
        self.handles.insert(task, handle);
        self.go_on(now, task)
    }
}
