//! A call in progress: its position, what it waits for, and what comes after each of its steps.

use std::collections::VecDeque;

use blksched::{Bio, GroupId, Instant, Priority, SubmitterId};

use super::call::{HostCall, RangeSync, SyncAll};
use super::fs::Change;
use super::page::{PAGE_SECTORS, Pages};
use super::report::WaitsFor;
use super::runs::PageRuns;

/// A call by its place in the host's table.
pub(super) type OpId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpTask {
    Call(HostCall),
    /// Direct I/O, which waits until the pages that it touches in memory are on the disk.
    Bypass(Bio),
    /// A direct write to a file that has ended at the disk.
    Landing(Bio),
}

/// How far a `sync` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncAllStep {
    /// The flusher submits what is dirty.
    Submitting,
    /// It waits for writes in flight.
    Waiting,
    /// It waits for the file system.
    InFiles,
}

/// What it does when nothing delays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpStage {
    /// Wait for writes of a file that is to go.
    Unlinking(Change),
    /// Change the file's metadata.
    Entering(Change),
    /// Continue page by page.
    Paging,
    /// Its pages have been submitted; see whether it has to write some again.
    Syncing,
    /// The writes in flight of a range are done.
    Ranging(RangeSync),
    /// So are those begun after them.
    Ranged,
    /// All that is dirty goes to the disk.
    SyncingAll(SyncAll, SyncAllStep),
    /// Ask for a flush of the disk's cache.
    Flushing,
    /// Only the processor is left.
    Returning,
}

#[derive(Clone, Debug)]
pub(super) struct HostOp {
    pub task: OpTask,
    pub stage: OpStage,
    /// The next page, and the page after the last.
    pub at: u64,
    pub end: u64,
    /// Pages below this are in memory because this call asked for them.
    pub asked: u64,
    /// Up to here the writer has asked whether it may dirty memory.
    pub checked: u64,
    /// Up to here stores in a mapping have changed the file's times.
    pub timed: u64,
    /// Transfers that it waits for.
    pub transfers: u32,
    /// What it waits for, and since when.
    pub waits: Option<(Instant, WaitsFor)>,
    /// Pages that were dirty again while being written, when it came: to be written again.
    pub again: PageRuns,
    /// Pages that it is still to write.
    pub pending: PageRuns,
    /// Files that it has the flusher write, if it is a `sync`, and the one whose pages are pending.
    pub files: VecDeque<Pages>,
    pub file: Option<Pages>,
    /// It sleeps in the file system.
    pub in_fs: bool,
    pub failed: bool,
    pub issued_at: Option<Instant>,
}

impl HostOp {
    pub fn new(task: OpTask, pages: Pages) -> HostOp {
        HostOp {
            task,
            stage: OpStage::Paging,
            at: pages.start,
            end: pages.end,
            asked: 0,
            checked: 0,
            timed: 0,
            transfers: 0,
            waits: None,
            again: PageRuns::default(),
            pending: PageRuns::default(),
            files: VecDeque::new(),
            file: None,
            in_fs: false,
            failed: false,
            issued_at: None,
        }
    }

    pub fn first_page(&self) -> u64 {
        match self.task {
            OpTask::Call(call) => call.pages().start,
            OpTask::Bypass(bio) | OpTask::Landing(bio) => bio.start.0 / PAGE_SECTORS,
        }
    }

    /// Who does it.
    pub fn who(&self) -> Who {
        match self.task {
            OpTask::Call(HostCall { submitter, priority, group, .. }) => Who { submitter, priority, group },
            OpTask::Bypass(Bio { submitter, priority, group, .. })
            | OpTask::Landing(Bio { submitter, priority, group, .. }) => Who { submitter, priority, group },
        }
    }
}

/// What comes after a step of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterStep {
    /// The step made pages dirty: the flusher may have something to write, and begins before the call goes on.
    pub flusher_first: bool,
    pub then: Then,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It waits, and goes on when what it waits for is done.
    Waits,
    /// Nothing is left but the processor's part.
    Finishes,
    /// These of its pages go to the disk.
    Syncs(Pages),
}

impl AfterStep {
    pub const WAITS: AfterStep = AfterStep { flusher_first: false, then: Then::Waits };
    pub const FINISHES: AfterStep = AfterStep { flusher_first: false, then: Then::Finishes };

    pub fn syncs(pages: Pages) -> AfterStep {
        AfterStep { flusher_first: false, then: Then::Syncs(pages) }
    }

    /// The same, after the flusher.
    pub fn after_flusher(self) -> AfterStep {
        AfterStep { flusher_first: true, ..self }
    }
}

/// The submitter, priority and group of bios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub submitter: SubmitterId,
    pub priority: Priority,
    pub group: GroupId,
}
