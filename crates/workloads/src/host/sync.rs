//! `fsync` and similar calls: all dirty pages of a file go to the disk in the caller's own name, the caller waits for
//! them and for writes already in flight, and then for a flush of the disk's cache.
//!
//! **Rule** pages dirtied after the call are not waited for. For a page that was dirtied while being written, the call
//! waits for the write in flight and then for another.
//! **Origin** `fsync(2)`: the call blocks until the device reports that the transfer has completed, including a flush
//! of a write cache. Metadata, and so a journal's commit, is not modelled.

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
        for (transfer, both) in self.writes_within(&pages) {
            for page in both {
                if self.cache.get(page) == Some(PageState::Redirtied(transfer)) {
                    self.ops[id].again.insert(page..page + 1);
                }
            }
            self.wait_for(now, id, transfer, WaitsFor::Writing);
        }
        self.write_out(now, id, &pages);
        if self.ops[id].transfers == 0 {
            self.sync_on(now, id);
        }
    }

    /// The writes that it waited for are done: writes again what was dirtied meanwhile, or continues.
    pub(super) fn sync_on(&mut self, now: Instant, id: OpId) {
        let again = core::mem::take(&mut self.ops[id].again);
        for pages in again.iter() {
            // Another process may have begun to write it.
            for (transfer, _) in self.writes_within(&pages) {
                self.wait_for(now, id, transfer, WaitsFor::Writing);
            }
            self.write_out(now, id, &pages);
        }
        if self.ops[id].transfers > 0 {
            return;
        }
        if let OpTask::Bypass(bio) = self.ops[id].task {
            return self.go_past(id, bio);
        }
        self.ops[id].stage = OpStage::Flushing;
        self.start_flush(now, id);
    }

    /// Writes all dirty pages among `pages`, and waits for them.
    fn write_out(&mut self, now: Instant, id: OpId, pages: &Pages) {
        let file = match self.ops[id].task {
            OpTask::Call(call) => call.file.pages(),
            OpTask::Bypass(_) => pages.clone(),
        };
        let mut any = false;
        while let Some(run) = self.dirty.first_within(pages) {
            let run = run.start..run.end.min(run.start + self.longest);
            let transfer = self.start_write(now, run, file.clone(), PageWriter::Caller(id));
            self.wait_for(now, id, transfer, WaitsFor::Writing);
            any = true;
        }
        if any {
            self.out.push(Wish::Waits(self.ops[id].who().submitter));
        }
    }
}
