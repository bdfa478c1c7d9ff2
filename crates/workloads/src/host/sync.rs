//! `fsync` and similar calls: all dirty pages of a file go to the disk in the caller's own name, the caller waits for
//! them and for writes already in flight, and then for a flush of the disk's cache.
//!
//! **Rule** pages dirtied after the call are not waited for. For a page that was dirtied while being written, the call
//! waits for the write in flight and then for another.
//! **Origin** `fsync(2)`: the call blocks until the device reports that the transfer has completed, including a flush
//! of a write cache. With a file system, its metadata comes between (`filing.rs`).
//!
//! `sync` and `syncfs`: the flusher writes all that is dirty, file after file in the order in which they became dirty,
//! and the caller waits for that, then for the file system.
//!
//! **Rule** `sync` has the flusher write metadata home that no transaction holds, then the data, and waits for all
//! writes in flight before it asks the file system for anything. `syncfs` asks for a commit as soon as the data have
//! been submitted, and itself writes that metadata home. Then both wait until what has changed is in the log; ext4's
//! caller then writes all dirty metadata home and waits for that. Pages dirtied after the call are not waited for.
//! **Origin** recordings 12, 17 and 32 of ext4, 12 and 17 of xfs. No job calls them: fio cannot.

use blksched::Instant;

use super::Host;
use super::cache::PageState;
use super::call::SyncAll;
use super::fs::{Agent, Missing};
use super::op::{OpId, OpStage, OpTask, SyncAllStep};
use super::outbox::Wish;
use super::page::Pages;
use super::report::WaitsFor;
use super::transfer::PageWriter;

impl Host {
    /// Writes `pages` to the disk for this call.
    pub(super) fn begin_sync(&mut self, now: Instant, id: OpId, pages: Pages) {
        self.ops[id].stage = OpStage::Syncing;
        for (transfer, both) in self.mapping.writes_within(&pages) {
            for page in both {
                if self.mapping.get(page) == Some(PageState::Redirtied(transfer)) {
                    self.ops[id].again.insert(page..page + 1);
                }
            }
            self.wait_for(now, id, transfer, WaitsFor::Writing);
        }
        self.have_written(id, &pages);
        if self.write_pending(now, id) && self.ops[id].transfers == 0 {
            self.sync_on(now, id);
        }
    }

    /// The writes that it waited for are done: writes again what was dirtied meanwhile, or continues.
    pub(super) fn sync_on(&mut self, now: Instant, id: OpId) {
        let again = core::mem::take(&mut self.ops[id].again);
        for pages in again.iter() {
            // Another process may have begun to write it.
            for (transfer, _) in self.mapping.writes_within(&pages) {
                self.wait_for(now, id, transfer, WaitsFor::Writing);
            }
            self.have_written(id, &pages);
        }
        if !self.write_pending(now, id) || self.ops[id].transfers > 0 {
            return;
        }
        match self.ops[id].task {
            OpTask::Bypass(bio) => {
                if let Some(change) = self.go_past(id, bio) {
                    self.enter_on(now, id, change);
                }
            }
            OpTask::Landing(_) => unreachable!("what has landed has nothing to write"),
            OpTask::Call(call) => self.stabilise(now, id, call.file.first_page(), call.syncs()),
        }
    }

    /// The call is to write what is dirty among `pages`.
    pub(super) fn have_written(&mut self, id: OpId, pages: &Pages) {
        let mut rest = pages.clone();
        while let Some(run) = self.mapping.dirty().first_within(&rest) {
            rest.start = run.end;
            self.ops[id].pending.insert(run);
        }
    }

    /// Writes what the call is to write, and has it wait for that. False if it sleeps in the file system.
    pub(super) fn write_pending(&mut self, now: Instant, id: OpId) -> bool {
        let mut any = false;
        let mut through = true;
        loop {
            let Some(run) = self.ops[id].pending.iter().next() else { break };
            let Some(dirty) = self.mapping.dirty().first_within(&run) else {
                self.ops[id].pending.remove(run);
                continue;
            };
            if !self.may_write(now, id, &dirty) {
                through = false;
                break;
            }
            self.ops[id].pending.remove(dirty.clone());
            any = true;
            self.write_run(now, id, dirty);
        }
        if any {
            let by = if self.is_sync_all(id) { self.flusher_is.submitter } else { self.ops[id].who().submitter };
            self.out.push(Wish::Waits(by));
        }
        self.obey_files(now);
        through
    }

    /// Whether it is a `sync`, whose data the flusher writes.
    fn is_sync_all(&self, id: OpId) -> bool {
        matches!(self.ops[id].stage, OpStage::SyncingAll(..))
    }

    /// Writes these dirty pages in bios as long as possible.
    fn write_run(&mut self, now: Instant, id: OpId, pages: Pages) {
        let file = match (self.ops[id].task, self.ops[id].file.clone()) {
            (_, Some(file)) => file,
            (OpTask::Call(call), None) => call.file.pages(),
            (OpTask::Bypass(_) | OpTask::Landing(_), None) => pages.clone(),
        };
        let asked = self.is_sync_all(id);
        let mut at = pages.start;
        while at < pages.end {
            let run = at..pages.end.min(at + self.mapping.longest());
            at = run.end;
            if asked {
                // A `sync` waits for all that is in flight, once it has been submitted.
                self.start_write(now, run, file.clone(), PageWriter::Asked);
                continue;
            }
            let transfer = self.start_write(now, run, file.clone(), PageWriter::Caller(id));
            self.wait_for(now, id, transfer, WaitsFor::Writing);
        }
    }
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
