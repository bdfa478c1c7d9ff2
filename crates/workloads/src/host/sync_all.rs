//! `sync` and `syncfs`: the flusher writes all that is dirty, file after file in the order in which they became dirty,
//! and the caller waits for that, then for the file system.
//!
//! **Rule** `sync` has the flusher write metadata home that no transaction holds, then the data, and waits for all
//! writes in flight before it asks the file system for anything. `syncfs` asks for a commit as soon as the data have
//! been submitted, and itself writes that metadata home. Then both wait until what has changed is in the log, and ext4's
//! caller writes all dirty metadata home and waits for that. Pages dirtied after the call are not waited for.
//! **Origin** recordings 12, 17 and 32 of ext4, 12 and 17 of xfs. With a file system nobody's job calls it: fio cannot.

use blksched::Instant;

use super::Host;
use super::cache::PageState;
use super::call::SyncAll;
use super::fs::{Agent, Missing};
use super::op::{OpId, OpStage};
use super::report::WaitsFor;

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

impl Host {
    pub(super) fn begin_sync_all(&mut self, now: Instant, id: OpId, what: SyncAll) {
        self.ops[id].stage = OpStage::SyncingAll(what, SyncAllStep::Submitting);
        self.ops[id].files = self.memory.dirty_files(self.mapping.dirty()).into();
        for (transfer, both) in self.mapping.writes_within(&(0..u64::MAX)) {
            for page in both.filter(|page| self.mapping.get(*page) == Some(PageState::Redirtied(transfer))) {
                self.ops[id].again.insert(page..page + 1);
            }
        }
        if let (SyncAll::Everything, Some(filing)) = (what, &mut self.filing) {
            filing.write_home(Agent::Flusher);
        }
        self.obey_files(now);
        self.sync_all_on(now, id, what, SyncAllStep::Submitting);
    }

    /// It continues: nothing that it waited for is left.
    pub(super) fn sync_all_on(&mut self, now: Instant, id: OpId, what: SyncAll, step: SyncAllStep) {
        if step == SyncAllStep::Submitting {
            if !self.submit_all(now, id) {
                return;
            }
            self.ops[id].stage = OpStage::SyncingAll(what, SyncAllStep::Waiting);
            if let (SyncAll::FileSystem, Some(filing)) = (what, &mut self.filing) {
                filing.sync_begins(now, id);
            }
            for (transfer, _) in self.mapping.writes_within(&(0..u64::MAX)) {
                self.wait_for(now, id, transfer, WaitsFor::Writing);
            }
            self.obey_files(now);
            if self.ops[id].transfers > 0 {
                return;
            }
        }
        if !self.ops[id].again.is_empty() {
            return self.sync_again(now, id, what);
        }
        self.ops[id].stage = OpStage::SyncingAll(what, SyncAllStep::InFiles);
        let missing = self.filing.as_mut().map_or(Missing::Flush, |filing| filing.sync_all(now, id));
        match missing {
            Missing::Nothing => self.finish(now, id),
            Missing::Flush => {
                self.ops[id].stage = OpStage::Flushing;
                self.start_flush(now, id);
            }
            Missing::Metadata => self.sleep_in_files(now, id),
        }
        self.obey_files(now);
    }

    /// Files that were dirty again while being written, when it came, are written again.
    fn sync_again(&mut self, now: Instant, id: OpId, what: SyncAll) {
        let again = core::mem::take(&mut self.ops[id].again);
        let files = self.memory.dirty_files(self.mapping.dirty()).into_iter();
        self.ops[id].files = files.filter(|file| again.first_within(file).is_some()).collect();
        self.ops[id].stage = OpStage::SyncingAll(what, SyncAllStep::Submitting);
        self.sync_all_on(now, id, what, SyncAllStep::Submitting);
    }

    /// Has the flusher write file after file. False if it sleeps in the file system meanwhile.
    fn submit_all(&mut self, now: Instant, id: OpId) -> bool {
        while self.write_pending(now, id) {
            let Some(next) = self.ops[id].files.pop_front() else { return true };
            self.ops[id].file = Some(next.clone());
            self.have_written(id, &next);
        }
        false
    }
}
