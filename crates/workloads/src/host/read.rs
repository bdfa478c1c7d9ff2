//! `read`: page by page, as the kernel's buffered read goes. A page that is there is used; a marker has the next
//! window read; a missing page is read, together with its readahead; a page in flight is waited for.

use blksched::{Instant, SubmitterId};

use super::Host;
use super::cache::NotRead;
use super::call::OpenFile;
use super::op::OpId;
use super::page::{Pages, common, count};
use super::readahead::{Fetch, Readahead};
use super::report::WaitsFor;

impl Host {
    pub(super) fn read_on(&mut self, now: Instant, id: OpId, file: &OpenFile) {
        loop {
            let op = &self.ops[id];
            let (at, end, asked) = (op.at, op.end, op.asked);
            if op.failed && at < end {
                return self.finish(now, id);
            }
            let (page, found) = self.read_from_memory(at..end);
            self.report.hits += page.saturating_sub(at.max(asked));
            self.ops[id].at = page;
            match found {
                None => {
                    let (submitter, first) = (self.ops[id].who().submitter, file.first_page());
                    self.readahead(submitter, file).read_to(end - 1 - first);
                    return self.finish(now, id);
                }
                Some(NotRead::Marker) => self.read_ahead(id, file, page),
                Some(NotRead::Missing) => self.read_missing(id, file, page),
                Some(NotRead::InFlight(transfer)) => {
                    if page >= asked {
                        self.report.in_flight += 1;
                        self.ops[id].asked = page + 1;
                    }
                    return self.wait_for(now, id, transfer, WaitsFor::Pages);
                }
            }
        }
    }

    /// Reads pages as far as they are in memory. Returns how far that is, and why it stops before the end.
    fn read_from_memory(&mut self, pages: Pages) -> (u64, Option<NotRead>) {
        let end = pages.end;
        let found = pages.into_iter().find_map(|page| self.cache.read(page).err().map(|why| (page, Some(why))));
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
        let missing = asked.clone().filter(|page| self.cache.get(*page).is_none()).count() as u64;
        let started = self.start_reads(who, pages.clone());
        self.report.asked += missing;
        self.report.read_ahead += started - missing;
        self.mark(marker, first);
        self.ops[id].asked = self.ops[id].asked.max(asked.end);
    }

    /// The reader reached the marker: the next window is read, and no process waits for it.
    fn read_ahead(&mut self, id: OpId, file: &OpenFile, page: u64) {
        let (who, end, first) = (self.ops[id].who(), self.ops[id].end, file.first_page());
        let missing = self.first_missing(page + 1..file.pages().end);
        let Fetch { pages, marker } =
            self.readahead(who.submitter, file).marked(page - first, end - page, missing - first);
        self.report.read_ahead += self.start_reads(who, pages.start + first..pages.end + first);
        self.mark(marker, first);
    }

    /// The first page that is not in memory, searching little further than a window.
    fn first_missing(&self, pages: Pages) -> u64 {
        let far = pages.start + u64::from(self.knobs.read_ahead_kb);
        let near = pages.start..far.min(pages.end.max(pages.start));
        near.clone().find(|page| self.cache.get(*page).is_none()).unwrap_or(near.end)
    }

    fn mark(&mut self, marker: Option<u64>, first: u64) {
        if let Some(marker) = marker {
            self.cache.mark(marker + first);
        }
    }

    /// The readahead state of a process's open file.
    pub(super) fn readahead(&mut self, submitter: SubmitterId, file: &OpenFile) -> &mut Readahead {
        let knob = self.knobs.read_ahead_kb;
        let new = || Readahead::new(knob, count(&file.pages()), file.advice);
        self.readaheads.entry((submitter, file.first_page())).or_insert_with(new)
    }
}
