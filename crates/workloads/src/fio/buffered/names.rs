//! Files that come to be and go while a job runs.
//!
//! **Rule** with `create_on_open` a file is made when it is first used; with `unlink_each_loop` all are removed after a
//! pass, so that the next one makes them anew; with `unlink` they are removed when the job is done (traced with
//! strace, `time_based` too).

use crate::host::NameChange;

/// What a job does with the names of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamesPlan {
    /// They do not exist when it begins.
    pub creates: bool,
    pub unlinks_each_pass: bool,
    pub unlinks_at_end: bool,
    /// The length of a name \[bytes\].
    pub name: u8,
}

/// Which files exist.
pub(super) struct Names {
    plan: NamesPlan,
    exists: Vec<bool>,
    /// Files below this have been removed.
    swept: usize,
    ended: bool,
}

impl Names {
    pub fn new(plan: NamesPlan, files: usize) -> Names {
        Names { plan, exists: vec![!plan.creates; files], swept: files, ended: false }
    }

    /// A pass over the files has ended, and another begins.
    pub fn next_pass(&mut self) {
        if self.plan.unlinks_each_pass {
            self.swept = 0;
        }
    }

    /// The job is done.
    pub fn ends(&mut self) {
        if self.plan.unlinks_at_end && !core::mem::replace(&mut self.ended, true) {
            self.swept = 0;
        }
    }

    /// The file that is removed next, if any is to be.
    pub fn removes(&mut self) -> Option<(usize, NameChange)> {
        let left = self.exists.get(self.swept..)?;
        let Some(next) = left.iter().position(|exists| *exists) else {
            self.swept = self.exists.len();
            return None;
        };
        let file = self.swept + next;
        self.swept = file + 1;
        self.exists[file] = false;
        Some((file, NameChange::Unlink(self.plan.name)))
    }

    /// What has to happen before an I/O of this file.
    pub fn makes(&mut self, file: usize) -> Option<NameChange> {
        let exists = core::mem::replace(&mut self.exists[file], true);
        (!exists).then_some(NameChange::Create(self.plan.name))
    }
}
