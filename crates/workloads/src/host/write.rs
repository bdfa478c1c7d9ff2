//! `write`: page by page into memory. A partly written page that is not in memory is read first; at the dirty limit the
//! writer sleeps; everything else happens at the speed of memory.

use blksched::{Instant, Sector};

use super::Host;
use super::cache::PageState;
use super::call::{OpenFile, Stable};
use super::op::OpId;
use super::outbox::Wish;
use super::page::{PAGE_BYTES, PAGE_SECTORS};
use super::report::WaitsFor;

impl Host {
    pub(super) fn write_on(&mut self, now: Instant, id: OpId, file: &OpenFile, range: (Sector, u32), stable: Stable) {
        loop {
            let op = &self.ops[id];
            let (page, end) = (op.at, op.end);
            if page >= end {
                self.write_back(now);
                return match stable {
                    Stable::Later => self.finish(now, id),
                    Stable::OnReturn => self.begin_sync(now, id, super::page::pages_of(range.0, u64::from(range.1))),
                };
            }
            if op.failed {
                return self.finish(now, id);
            }
            match self.cache.get(page) {
                Some(PageState::Reading(transfer)) => return self.wait_for(now, id, transfer, WaitsFor::Pages),
                None if !covers(range, page) => {
                    self.report.asked += self.start_reads(op.who(), page..page + 1);
                    continue;
                }
                Some(PageState::Dirty | PageState::Redirtied(_)) => self.report.overwritten += 1,
                state => {
                    if !self.pool.has_room(PAGE_BYTES) {
                        return self.throttle(now, id);
                    }
                    self.dirty_page(now, page, file, state);
                }
            }
            self.ops[id].at += 1;
        }
    }

    fn dirty_page(&mut self, now: Instant, page: u64, file: &OpenFile, state: Option<PageState>) {
        self.report.dirtied += 1;
        self.pool.dirtied(PAGE_BYTES);
        if let Some(PageState::Writing(transfer)) = state {
            return self.cache.set(page, PageState::Redirtied(transfer));
        }
        self.cache.set(page, PageState::Dirty);
        self.dirty.insert(page..page + 1);
        self.dirty_files.note(now, &file.pages());
        self.set_tick(now);
    }

    /// There is no room below the dirty limit: the writer sleeps, and everything is written until it wakes.
    fn throttle(&mut self, now: Instant, id: OpId) {
        self.report.writes.throttled += 1;
        self.ops[id].waits = Some((now, WaitsFor::Room));
        self.pool.sleep(id);
        self.out.push(Wish::WaitedForMemory(self.ops[id].who().submitter));
        self.write_back(now);
    }

    /// Wakes the writers that sleep for room, if there is enough by now.
    pub(super) fn wake_writers(&mut self, now: Instant) {
        for id in self.pool.wake() {
            self.go_on(now, id);
        }
    }
}

/// Whether the whole page is written.
fn covers((start, sectors): (Sector, u32), page: u64) -> bool {
    start.0 <= page * PAGE_SECTORS && (page + 1) * PAGE_SECTORS <= start.0 + u64::from(sectors)
}
