//! `write`: page by page into memory. A partly written page that is not in memory is read first, unless nothing has
//! ever been written there; a writer that is to dirty no more memory for the moment sleeps; everything else happens at
//! the speed of memory.

use blksched::Instant;

use super::Host;
use super::balance::Verdict;
use super::cache::PageState;
use super::call::{OpenFile, Stable};
use super::dirty_memory::DirtyMemory;
use super::op::{AfterStep, OpId};
use super::outbox::Wish;
use super::page::{ByteRange, PAGE_BYTES};
use super::report::WaitsFor;

/// A long write asks again after this many pages: 2 MiB, the largest piece of memory that is copied at a time (MEMORY;
/// recorded writes are of at most 64 KiB, and ask at their beginning).
const PIECE: u64 = 512;

impl Host {
    pub(super) fn write_on(
        &mut self,
        now: Instant,
        id: OpId,
        file: &OpenFile,
        range: ByteRange,
        stable: Stable,
    ) -> AfterStep {
        loop {
            let op = &self.ops[id];
            let (page, end) = (op.at, op.end);
            if page >= end {
                let next = match stable {
                    Stable::Later => AfterStep::FINISHES,
                    Stable::OnReturn | Stable::AllOnReturn => AfterStep::syncs(range.pages()),
                };
                return next.after_flusher();
            }
            if op.failed {
                return AfterStep::FINISHES;
            }
            if self.sleeps_for_debt(now, id, PIECE) {
                return AfterStep::WAITS;
            }
            match self.mapping.get(page) {
                Some(PageState::Reading(transfer)) => {
                    self.wait_for(now, id, transfer, WaitsFor::Pages);
                    return AfterStep::WAITS;
                }
                None if !range.covers(page) && !self.mapping.is_blank(page) => {
                    self.report.asked += self.start_reads(self.ops[id].who(), page..page + 1);
                    continue;
                }
                Some(PageState::Dirty | PageState::Redirtied(_)) => self.report.overwritten += 1,
                state => {
                    if !self.memory.has_room(PAGE_BYTES) {
                        return self.throttle(now, id);
                    }
                    self.dirty_page(now, id, page, file, state);
                }
            }
            self.ops[id].at += 1;
        }
    }

    #[inline]
    pub(super) fn dirty_page(&mut self, now: Instant, id: OpId, page: u64, file: &OpenFile, state: Option<PageState>) {
        self.report.dirtied += 1;
        let by = self.ops[id].who().submitter;
        if self.mapping.make_dirty(now, page, file, state, by, &mut self.memory) {
            self.set_age_check(now);
        }
    }

    /// Schedules the next look for old files, if none is.
    pub(super) fn set_age_check(&mut self, now: Instant) {
        let interval = self.knobs.dirty_writeback_centisecs;
        // 0 switches the search for old files off, as in Linux.
        if self.timers.age_check().is_none() && !interval.is_zero() {
            self.timers.set_age_check(Some(self.memory.timer(now, interval)));
        }
    }

    /// Since 3.1: a writer that has dirtied enough asks at the beginning of each piece whether it may go on. True if it
    /// sleeps.
    #[inline]
    pub(super) fn sleeps_for_debt(&mut self, now: Instant, id: OpId, piece: u64) -> bool {
        let DirtyMemory::Balanced(memory) = &mut self.memory else { return false };
        let op = &mut self.ops[id];
        if op.at < op.checked {
            return false;
        }
        op.checked = op.at + piece;
        let Some(verdict) = memory.check(now, op.who().submitter, op.at) else { return false };
        let until = match verdict {
            Verdict::Goes => return false,
            Verdict::Sleeps(until) => until,
            Verdict::AsksAgain(until) => {
                op.checked = op.at;
                until
            }
        };
        op.waits = Some((now, WaitsFor::Room));
        self.report.writes.throttled += 1;
        self.timers.pause_until(until, id);
        self.out.push(Wish::WaitedForMemory(self.ops[id].who().submitter));
        true
    }

    /// There is no room below the dirty limit: the writer sleeps, and everything is written until it wakes.
    pub(super) fn throttle(&mut self, now: Instant, id: OpId) -> AfterStep {
        self.report.writes.throttled += 1;
        self.ops[id].waits = Some((now, WaitsFor::Room));
        self.memory.sleep(id);
        self.out.push(Wish::WaitedForMemory(self.ops[id].who().submitter));
        AfterStep::WAITS.after_flusher()
    }
}
