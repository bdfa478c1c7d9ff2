//! Calls that a job makes by itself between two I/Os: what waits for their return, and the fsync of a file that is
//! done.
//!
//! **Rule** with `fsync_on_close` a file is synced when it is closed, before the next I/O (traced with strace); it is
//! closed when a pass over it has been submitted. The files that are then left are synced at the end, one after the
//! other.

use blksched::{Instant, Tag};

use crate::Emission;

/// A tag that none of a process's I/Os has.
pub(super) const BETWEEN_TAG: Tag = Tag(u64::MAX);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BetweenState {
    /// The next I/O may go.
    #[default]
    Going,
    Calling,
    Returned(Instant, Tag),
}

/// Whether such a call is being made, and what the process would do next.
#[derive(Default)]
pub(super) struct Between {
    state: BetweenState,
    held: Vec<Emission>,
}

impl Between {
    /// A call begins; this comes after it.
    pub fn calls(&mut self, then: Emission) {
        self.state = BetweenState::Calling;
        self.held.push(then);
    }

    pub fn is_calling(&self) -> bool {
        self.state != BetweenState::Going
    }

    pub fn hold(&mut self, emission: Emission) {
        self.held.push(emission);
    }

    pub fn came_back(&mut self, now: Instant, tag: Tag) {
        self.state = BetweenState::Returned(now, tag);
    }

    /// When the call of this tag returned, if the process has not continued since.
    pub fn returned(&self) -> Option<(Instant, Tag)> {
        match self.state {
            BetweenState::Returned(at, tag) => Some((at, tag)),
            BetweenState::Going | BetweenState::Calling => None,
        }
    }

    /// What it would have done meanwhile.
    pub fn go_on(&mut self) -> Vec<Emission> {
        self.state = BetweenState::Going;
        core::mem::take(&mut self.held)
    }
}

/// How the files of a job are closed, if each is synced then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosePlan {
    /// When the job turns to another file.
    InSequence,
    /// When as much was transferred as the file is long.
    ByLength,
}

/// Files in use, and the one that is done.
pub(super) struct Closing {
    plan: ClosePlan,
    /// The lengths of the files, and how much of each was transferred in this pass \[bytes\].
    files: Vec<(u64, u64)>,
    last: Option<usize>,
    done: Option<usize>,
}

impl Closing {
    pub fn new(plan: ClosePlan, lengths: impl Iterator<Item = u64>) -> Closing {
        Closing { plan, files: lengths.map(|length| (length, 0)).collect(), last: None, done: None }
    }

    pub fn transferred(&mut self, file: usize, bytes: u64) {
        let (length, transferred) = &mut self.files[file];
        *transferred += bytes;
        if self.plan == ClosePlan::ByLength && *transferred >= *length {
            *transferred = 0;
            self.done = Some(file);
        }
        self.last = Some(file);
    }

    /// The file that is closed before an I/O of this one.
    pub fn due(&mut self, file: usize) -> Option<usize> {
        if self.plan == ClosePlan::InSequence {
            return self.last.take_if(|last| *last != file);
        }
        self.done.take()
    }
}
