//! `unlink`: a file's pages leave memory, and its blocks are free.
//!
//! **Rule** what is dirty and not under way is never written; what is under way is waited for. Then the name goes.
//! **Origin** `unlink(2)`: the file is deleted once no process has it open. That a truncation waits for pages under
//! write-back is MEMORY.

use blksched::Instant;

use super::Host;
use super::fs::Change;
use super::op::{OpId, OpStage, OpTask};
use super::report::WaitsFor;

impl Host {
    /// Drops what need not be written, and unlinks the file when nothing of it is under way.
    pub(super) fn unlink_on(&mut self, now: Instant, id: OpId, change: Change) {
        let OpTask::Call(call) = self.ops[id].task else { unreachable!("only calls unlink") };
        let pages = call.file.pages();
        for dropped in self.mapping.truncate(&pages, &mut self.memory) {
            if let Some(filing) = &mut self.filing {
                filing.dropped(&dropped);
            }
        }
        for (transfer, _) in self.mapping.writes_within(&pages) {
            self.wait_for(now, id, transfer, WaitsFor::Writing);
        }
        if self.ops[id].transfers == 0 {
            self.ops[id].stage = OpStage::Entering(change);
            self.enter_on(now, id, change);
        }
        // Allocations that are whole now, and writers for whom there is room.
        self.obey_files(now);
        for waiter in self.memory.wake() {
            self.go_on(now, waiter);
        }
    }
}
