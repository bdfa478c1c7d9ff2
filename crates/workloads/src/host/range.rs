//! `sync_file_range`: a range's dirty pages go to the disk, in the caller's own name.
//!
//! **Rule** It waits for the range's writes in flight, begins to write the pages that are dirty and not in flight, and
//! waits for the writes then in flight: any of the three, in this order. Pages dirtied while being written are left for
//! another call. The disk's cache is not flushed. Writes that are waited for are synchronous ones (MEMORY), others are
//! not; either may sleep for a request slot.
//! **Origin** `sync_file_range(2)`.

use blksched::Instant;

use super::Host;
use super::call::RangeSync;
use super::op::{AfterStep, OpId, OpStage, OpTask};
use super::outbox::Wish;
use super::page::Pages;
use super::report::WaitsFor;
use super::transfer::PageWriter;

impl Host {
    pub(super) fn begin_range(&mut self, now: Instant, id: OpId, what: RangeSync) -> AfterStep {
        self.ops[id].stage = OpStage::Ranging(what);
        if what.waits_before && self.wait_for_writes(now, id) {
            return AfterStep::WAITS;
        }
        self.range_on(now, id, what)
    }

    /// The writes in flight are done, if they had to be waited for.
    pub(super) fn range_on(&mut self, now: Instant, id: OpId, what: RangeSync) -> AfterStep {
        self.ops[id].stage = OpStage::Ranged;
        if what.writes {
            self.start_range(now, id, what.waits_after);
        }
        if what.waits_after && self.wait_for_writes(now, id) { AfterStep::WAITS } else { AfterStep::FINISHES }
    }

    pub(super) fn start_range(&mut self, now: Instant, id: OpId, awaited: bool) {
        let OpTask::Call(call) = self.ops[id].task else { unreachable!("only calls have ranges") };
        let pages = call.pages();
        let mut any = false;
        while let Some(run) = self.mapping.dirty().first_within(&pages) {
            // That the allocation may have to wait for another's log is left out here: nobody waits for this caller.
            let who = self.ops[id].who();
            if let Some(filing) = &mut self.filing {
                filing.place_at_once(now, who, &run);
            }
            let mut at = run.start;
            while at < run.end {
                let writer = if awaited { PageWriter::Caller(id) } else { PageWriter::Starter(id) };
                let part = at..run.end.min(at + self.mapping.longest());
                at = part.end;
                self.start_write(now, part, call.file.pages(), writer);
            }
            any = true;
        }
        self.obey_files(now);
        if any {
            self.out.push(Wish::Waits(call.submitter));
        }
    }

    /// Waits for writes of the call's range in flight; true if there are any.
    fn wait_for_writes(&mut self, now: Instant, id: OpId) -> bool {
        let OpTask::Call(call) = self.ops[id].task else { unreachable!("only calls have ranges") };
        let pages: Pages = call.pages();
        for (transfer, _) in self.mapping.writes_within(&pages) {
            self.wait_for(now, id, transfer, WaitsFor::Writing);
        }
        self.ops[id].transfers > 0
    }
}
