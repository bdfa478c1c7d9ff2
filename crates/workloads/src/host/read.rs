//! `read`: page by page, as the kernel's buffered read goes. A page that is there is used; a marker has the next
//! window read; a missing page is read, together with its readahead; a page in flight is waited for.
//!
//! `mmap`: a process loads and stores in its mapping of a file, and what it touches comes into memory by page faults.
//!
//! **Rule** a page that is in memory costs no I/O. A missing one is read with its readahead ([`Readahead::fault`]), for
//! a store too, even one of the whole page; only where nothing has ever been written is nothing read. Each store that
//! makes a page dirty changes the file's times, and asks whether the process may dirty more memory. `msync` is an
//! `fdatasync`.
//! **Origin** recorded on Linux 6.18: faults, bios and ext4's syncs of fio 3.33 and of a program of a few lines.
//! **Not modelled** the processor's part of a fault (2.3 us with fio's own where a `read` of 4 KiB took 1.8 us: here a
//! touch costs what a call does); windows that end at a multiple of a large folio.

use blksched::{Instant, SubmitterId};

use super::Host;
use super::cache::{NotRead, PageState};
use super::call::{OpenFile, Touch};
use super::fs::Change;
use super::op::{AfterStep, OpId, OpStage};
use super::page::{PAGE_BYTES, Pages, common, count};
use super::readahead::{Advice, Fetch, Readahead};
use super::report::WaitsFor;

impl Host {
    pub(super) fn read_on(&mut self, now: Instant, id: OpId, file: &OpenFile) -> AfterStep {
        loop {
            let op = &self.ops[id];
            let (at, end, asked) = (op.at, op.end, op.asked);
            if op.failed && at < end {
                return AfterStep::FINISHES;
            }
            let (page, found) = self.read_from_memory(at..end);
            self.report.hits += page.saturating_sub(at.max(asked));
            self.ops[id].at = page;
            match found {
                None => {
                    let (submitter, first) = (self.ops[id].who().submitter, file.first_page());
                    self.readahead(submitter, file).read_to(end - 1 - first);
                    return AfterStep::FINISHES;
                }
                Some(NotRead::Marker) => self.read_ahead(id, file, page, Some(end - page)),
                Some(NotRead::Missing) => self.read_missing(id, file, page),
                Some(NotRead::InFlight(transfer)) => {
                    if page >= asked {
                        self.report.in_flight += 1;
                        self.ops[id].asked = page + 1;
                    }
                    self.wait_for(now, id, transfer, WaitsFor::Pages);
                    return AfterStep::WAITS;
                }
            }
        }
    }

    /// Reads pages as far as they are in memory. Returns how far that is, and why it stops before the end.
    fn read_from_memory(&mut self, pages: Pages) -> (u64, Option<NotRead>) {
        let end = pages.end;
        let found = pages.into_iter().find_map(|page| self.mapping.read(page).err().map(|why| (page, Some(why))));
        found.unwrap_or((end, None))
    }

    /// Reads a page that is not in memory, and what readahead adds.
    fn read_missing(&mut self, id: OpId, file: &OpenFile, page: u64) {
        let (who, end, first) = (self.ops[id].who(), self.ops[id].end, file.first_page());
        let Fetch { pages, marker } = self.readahead(who.submitter, file).missing(page - first, end - page);
        let pages = pages.start + first..pages.end + first;
        // The requested page is read, whatever the file's length is said to be.
        let pages = pages.start.min(page)..pages.end.max(page + 1);
        let asked = common(&pages, &(page..end));
        let missing = asked.clone().filter(|page| self.mapping.get(*page).is_none()).count() as u64;
        let started = self.start_reads(who, pages.clone());
        self.report.asked += missing;
        self.report.read_ahead += started - missing;
        self.mark(marker, first);
        self.ops[id].asked = self.ops[id].asked.max(asked.end);
    }

    /// The reader of so many pages, or a page fault, reached the marker: the next window is read, and no process waits.
    fn read_ahead(&mut self, id: OpId, file: &OpenFile, page: u64, wanted: Option<u64>) {
        let (who, first) = (self.ops[id].who(), file.first_page());
        let missing = self.first_missing(page + 1..file.pages().end) - first;
        let readahead = self.readahead(who.submitter, file);
        let Fetch { pages, marker } = match wanted {
            Some(wanted) => readahead.marked(page - first, wanted, missing),
            None => readahead.fault_at_marker(page - first, missing),
        };
        self.report.read_ahead += self.start_reads(who, pages.start + first..pages.end + first);
        self.mark(marker, first);
    }

    /// The first page that is not in memory, searching little further than a window.
    fn first_missing(&self, pages: Pages) -> u64 {
        let far = pages.start + u64::from(self.knobs.read_ahead_kb);
        let near = pages.start..far.min(pages.end.max(pages.start));
        near.clone().find(|page| self.mapping.get(*page).is_none()).unwrap_or(near.end)
    }

    fn mark(&mut self, marker: Option<u64>, first: u64) {
        if let Some(marker) = marker {
            self.mapping.mark(marker + first);
        }
    }

    /// The readahead state of a process's open file.
    pub(super) fn readahead(&mut self, submitter: SubmitterId, file: &OpenFile) -> &mut Readahead {
        let knob = self.knobs.read_ahead_kb;
        let new = || Readahead::new(knob, count(&file.pages()), file.advice);
        self.readaheads.entry((submitter, file.first_page())).or_insert_with(new)
    }

    pub(super) fn touch_on(&mut self, now: Instant, id: OpId, file: &OpenFile, touch: Touch) -> AfterStep {
        loop {
            let op = &self.ops[id];
            let (page, end) = (op.at, op.end);
            if page >= end || op.failed {
                break;
            }
            let found = self.mapping.read(page);
            match found {
                Err(NotRead::Marker) => {
                    self.read_ahead(id, file, page, None);
                    continue;
                }
                Err(NotRead::Missing) if !(touch.stores && self.mapping.is_blank(page)) => {
                    self.read_for_fault(id, file, page, touch.advice);
                    continue;
                }
                Err(NotRead::InFlight(transfer)) => {
                    if page >= self.ops[id].asked {
                        self.report.in_flight += 1;
                        self.ops[id].asked = page + 1;
                    }
                    self.wait_for(now, id, transfer, WaitsFor::Pages);
                    return AfterStep::WAITS;
                }
                Ok(()) | Err(NotRead::Missing) => {}
            }
            if touch.stores
                && let Some(sleeps) = self.store_in(now, id, file, page)
            {
                return sleeps;
            }
            if !touch.stores && page >= self.ops[id].asked {
                self.report.hits += 1;
            }
            self.ops[id].at += 1;
        }
        let next = match touch.syncs && !self.ops[id].failed {
            true => AfterStep::syncs(touch.range.pages()),
            false => AfterStep::FINISHES,
        };
        if touch.stores { next.after_flusher() } else { next }
    }

    /// Stores in a page that is there, or that nothing was written to. `None` unless the process sleeps.
    fn store_in(&mut self, now: Instant, id: OpId, file: &OpenFile, page: u64) -> Option<AfterStep> {
        let state = self.mapping.get(page);
        if let Some(PageState::Dirty | PageState::Redirtied(_)) = state {
            self.report.overwritten += 1;
            return None;
        }
        if self.ops[id].timed <= page {
            self.ops[id].timed = page + 1;
            self.ops[id].stage = OpStage::Entering(Change::Times);
            if !self.enter_times(now, id, page) {
                return Some(AfterStep::WAITS);
            }
            self.ops[id].stage = OpStage::Paging;
        }
        if self.sleeps_for_debt(now, id, 1) {
            return Some(AfterStep::WAITS);
        }
        if !self.memory.has_room(PAGE_BYTES) {
            return Some(self.throttle(now, id));
        }
        self.dirty_page(now, id, page, file, state);
        None
    }

    /// Reads a page that is touched and not in memory, and what readahead adds. A page that is there already, among
    /// those around it, gets no marker.
    fn read_for_fault(&mut self, id: OpId, file: &OpenFile, page: u64, mapping: Advice) {
        let (who, first) = (self.ops[id].who(), file.first_page());
        let Fetch { pages, marker } = self.readahead(who.submitter, file).fault(page - first, mapping);
        let pages = pages.start + first..pages.end + first;
        let pages = pages.start.min(page)..pages.end.max(page + 1);
        let marker = marker.filter(|marker| self.mapping.get(marker + first).is_none());
        let started = self.start_reads(who, pages);
        self.report.asked += 1;
        self.report.read_ahead += started - 1;
        self.mark(marker, first);
        self.ops[id].asked = page + 1;
    }
}
