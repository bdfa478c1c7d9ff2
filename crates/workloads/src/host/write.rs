//! `write`: page by page into memory. A partly written page that is not in memory is read first, unless nothing has
//! ever been written there; a writer that is to dirty no more memory for the moment sleeps; everything else happens at
//! the speed of memory.

use std::cmp::Reverse;

use blksched::Instant;

use super::Host;
use super::balance::Verdict;
use super::cache::PageState;
use super::call::{OpenFile, Stable};
use super::dirty_memory::DirtyMemory;
use super::op::OpId;
use super::outbox::Wish;
use super::page::{ByteRange, PAGE_BYTES};
use super::report::WaitsFor;

/// A long write asks again after this many pages: 2 MiB, the largest piece of memory that is copied at a time (MEMORY;
/// recorded writes are of at most 64 KiB, and ask at their beginning).
const PIECE: u64 = 512;

impl Host {
    pub(super) fn write_on(&mut self, now: Instant, id: OpId, file: &OpenFile, range: ByteRange, stable: Stable) {
        loop {
            let op = &self.ops[id];
            let (page, end) = (op.at, op.end);
            if page >= end {
                self.write_back(now);
                return match stable {
                    Stable::Later => self.finish(now, id),
                    Stable::OnReturn | Stable::AllOnReturn => self.begin_sync(now, id, range.pages()),
                };
            }
            if op.failed {
                return self.finish(now, id);
            }
            if self.sleeps_for_debt(now, id, PIECE) {
                return;
            }
            match self.cache.get(page) {
                Some(PageState::Reading(transfer)) => return self.wait_for(now, id, transfer, WaitsFor::Pages),
                None if !range.covers(page) && !self.blank.contains(page) => {
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

    pub(super) fn dirty_page(&mut self, now: Instant, id: OpId, page: u64, file: &OpenFile, state: Option<PageState>) {
        self.report.dirtied += 1;
        if !self.blank.is_empty() {
            self.blank.remove(page..page + 1);
        }
        self.memory.dirtied(self.ops[id].who().submitter);
        if let Some(PageState::Writing(transfer)) = state {
            return self.cache.set(page, PageState::Redirtied(transfer));
        }
        self.cache.set(page, PageState::Dirty);
        self.memory.note(now, &file.pages(), &self.dirty);
        self.dirty.insert(page..page + 1);
        self.set_tick(now);
    }

    /// Since 3.1: a writer that has dirtied enough asks at the beginning of each piece whether it may go on. True if it
    /// sleeps.
    pub(super) fn sleeps_for_debt(&mut self, now: Instant, id: OpId, piece: u64) -> bool {
        let DirtyMemory::Balanced(memory) = &mut self.memory else { return false };
        let op = &mut self.ops[id];
        if op.at < op.checked {
            return false;
        }
        op.checked = op.at + piece;
        let Some(verdict) = memory.check(now, op.who().submitter) else { return false };
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
        self.returns += 1;
        self.pauses.push(Reverse((until, self.returns, id)));
        self.out.push(Wish::WaitedForMemory(self.ops[id].who().submitter));
        true
    }

    /// There is no room below the dirty limit: the writer sleeps, and everything is written until it wakes.
    pub(super) fn throttle(&mut self, now: Instant, id: OpId) {
        self.report.writes.throttled += 1;
        self.ops[id].waits = Some((now, WaitsFor::Room));
        self.memory.sleep(id);
        self.out.push(Wish::WaitedForMemory(self.ops[id].who().submitter));
        self.write_back(now);
    }

    /// Wakes the writers that sleep for room, if there is enough by now.
    pub(super) fn wake_writers(&mut self, now: Instant) {
        for id in self.memory.wake() {
            self.go_on(now, id);
        }
    }
}
