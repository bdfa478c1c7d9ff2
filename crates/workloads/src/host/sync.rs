//! `fsync` and similar calls: all dirty pages of a file go to the disk in the caller's own name, the caller waits for
//! them and for writes already in flight, and then for a flush of the disk's cache.
//!
//! **Rule** pages dirtied after the call are not waited for. For a page that was dirtied while being written, the call
//! waits for the write in flight and then for another.
//! **Origin** `fsync(2)`: the call blocks until the device reports that the transfer has completed, including a flush
//! of a write cache. With a file system, its metadata comes between (`filing.rs`).

use blksched::Instant;

use super::Host;
use super::cache::PageState;
use super::op::{OpId, OpStage, OpTask};
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
