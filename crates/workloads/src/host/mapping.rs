//! The pages in memory, which of them are dirty, and the transfers that carry them: one state, so that they agree.
//!
//! **Rule** a page is being read or written as long as a transfer carries it. A page that becomes dirty while it is
//! being written is dirty again once that write is done. A dirty page that is not being written is in
//! [`Mapping::dirty`], and what is dirty or being written is counted in [`DirtyMemory`].
//! **In the kernel** `address_space`, `PAGECACHE_TAG_DIRTY`, `PAGECACHE_TAG_WRITEBACK`, `folio_mark_dirty`,
//! `folio_start_writeback`, `folio_end_writeback`.

use std::collections::BTreeMap;

use blksched::{Instant, SubmitterId};

use super::cache::{Cache, NotRead, PageState, TransferId};
use super::call::OpenFile;
use super::dirty_memory::DirtyMemory;
use super::op::OpId;
use super::page::{Pages, common, count};
use super::runs::PageRuns;
use super::slots::NumberedSlots;
use super::transfer::{PageWriter, Transfer, TransferKind};

/// Pages and their transfers.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    cache: Cache,
    /// Dirty and not being written.
    dirty: PageRuns,
    /// Parts of new files in which nothing has been written, as far as anybody may write a page in part.
    blank: PageRuns,
    transfers: NumberedSlots<Transfer>,
    /// Writes of pages that are under way, by their first page: no two have the same page.
    writes: BTreeMap<u64, TransferId>,
    /// The most pages in memory.
    most: u64,
    /// The longest bio \[pages\].
    longest: u64,
}

impl Mapping {
    pub fn new(most: u64, longest: u64) -> Mapping {
        Mapping {
            cache: Cache::new(most),
            dirty: PageRuns::default(),
            blank: PageRuns::default(),
            transfers: NumberedSlots::default(),
            writes: BTreeMap::new(),
            most,
            longest,
        }
    }

    /// The longest bio \[pages\].
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The pages that are dirty and not being written.
    pub fn dirty(&self) -> &PageRuns {
        &self.dirty
    }

    /// Whether nothing is in memory.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
    }

    #[inline]
    pub fn get(&self, page: u64) -> Option<PageState> {
        self.cache.get(page)
    }

    /// A process wants to read a page: see [`Cache::read`].
    #[inline]
    pub fn read(&mut self, page: u64) -> Result<(), NotRead> {
        self.cache.read(page)
    }

    /// Gives a page readahead's marker.
    pub fn mark(&mut self, page: u64) {
        self.cache.mark(page);
    }

    /// The clean ones of these pages leave memory.
    pub fn drop_clean(&mut self, pages: &Pages) {
        self.cache.drop_clean(pages);
    }

    /// These pages come into memory without I/O, as many as there is room for.
    pub fn load(&mut self, pages: &Pages) {
        for page in pages.start..pages.end.min(pages.start.saturating_add(self.most)) {
            if self.cache.get(page).is_none() {
                self.cache.set(page, PageState::Clean);
            }
        }
    }

    /// Whether nothing has ever been written in this page.
    pub fn is_blank(&self, page: u64) -> bool {
        self.blank.contains(page)
    }

    pub fn add_blank(&mut self, pages: Pages) {
        self.blank.insert(pages);
    }

    /// A page of this file in this state becomes dirty. True if it has to be written from now on; if it is being
    /// written, it has to be once that is done.
    pub fn make_dirty(
        &mut self,
        now: Instant,
        page: u64,
        file: &OpenFile,
        state: Option<PageState>,
        by: SubmitterId,
        memory: &mut DirtyMemory,
    ) -> bool {
        if !self.blank.is_empty() {
            self.blank.remove(page..page + 1);
        }
        memory.dirtied(by, page);
        if let Some(PageState::Writing(transfer)) = state {
            self.cache.set(page, PageState::Redirtied(transfer));
            return false;
        }
        self.cache.set(page, PageState::Dirty);
        memory.note(now, &file.pages(), &self.dirty);
        self.dirty.insert(page..page + 1);
        true
    }

    /// A file ends to exist: its pages that are not being written leave memory, and nothing is in it. Returns the
    /// dirty ones among them.
    pub fn truncate(&mut self, pages: &Pages, memory: &mut DirtyMemory) -> Vec<Pages> {
        let mut dropped = Vec::new();
        while let Some(run) = self.dirty.first_within(pages) {
            self.dirty.remove(run.clone());
            memory.dropped(&run);
            run.clone().for_each(|page| self.cache.forget(page));
            dropped.push(run);
        }
        self.cache.drop_clean(pages);
        dropped
    }

    /// What is in this page goes home in another way.
    pub fn clean(&mut self, page: u64, memory: &mut DirtyMemory) {
        if self.dirty.contains(page) {
            self.dirty.remove(page..page + 1);
            memory.dropped(&(page..page + 1));
            self.cache.set(page, PageState::Clean);
        }
    }

    /// How many transfers are under way.
    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    pub fn transfer(&self, id: TransferId) -> &Transfer {
        &self.transfers[id]
    }

    /// The call continues when this transfer is done.
    pub fn add_waiter(&mut self, id: TransferId, op: OpId) {
        self.transfers[id].add_waiter(op);
    }

    /// A transfer that carries no pages begins.
    pub fn begin(&mut self, kind: TransferKind, at: Pages) -> TransferId {
        self.transfers.insert(Transfer::new(kind, at))
    }

    /// The first of these pages that are not in memory begin to be read, as many as fit into one bio.
    pub fn begin_read(&mut self, pages: Pages) -> Option<(TransferId, Pages)> {
        let is_missing = |page: &u64| self.cache.get(*page).is_none();
        let start = pages.clone().find(is_missing)?;
        let longest = pages.end.min(start + self.longest);
        let end = (start..longest).find(|page| !is_missing(page)).unwrap_or(longest);
        let transfer = self.transfers.insert(Transfer::new(TransferKind::Read, start..end));
        self.cache.set_all(start..end, PageState::Reading(transfer));
        Some((transfer, start..end))
    }

    /// These pages of `file`, which are dirty and not being written, begin to be written.
    pub fn begin_write(
        &mut self,
        now: Instant,
        pages: Pages,
        file: Pages,
        writer: PageWriter,
        memory: &mut DirtyMemory,
    ) -> TransferId {
        let removed = self.dirty.remove(pages.clone());
        assert!(removed == count(&pages), "clean pages are written: {pages:?}");
        memory.submitted(now, &pages);
        let transfer = self.transfers.insert(Transfer::new(TransferKind::Write(writer, file), pages.clone()));
        self.writes.insert(pages.start, transfer);
        self.cache.set_all(pages, PageState::Writing(transfer));
        transfer
    }

    /// A transfer has ended; its pages are yet to be told ([`Mapping::arrived`], [`Mapping::written`]).
    pub fn end(&mut self, id: TransferId) -> Transfer {
        let ended = self.transfers.remove(id);
        if matches!(ended.kind, TransferKind::Write(..)) {
            self.writes.remove(&ended.pages.start);
        }
        ended
    }

    /// Pages that were read. What could not be read is not in memory.
    pub fn arrived(&mut self, pages: Pages, failed: bool) {
        match failed {
            // Whoever needs it reads it again, and may fail again.
            true => pages.for_each(|page| self.cache.forget(page)),
            false => self.cache.set_all(pages, PageState::Clean),
        }
    }

    /// Pages of this file were written by this transfer. A failed write is not repeated, as in Linux; calls that wait
    /// for it are told.
    pub fn written(&mut self, now: Instant, id: TransferId, pages: Pages, file: &Pages, memory: &mut DirtyMemory) {
        for page in pages {
            if self.cache.get(page) == Some(PageState::Redirtied(id)) {
                self.cache.set(page, PageState::Dirty);
                memory.note(now, file, &self.dirty);
                self.dirty.insert(page..page + 1);
            } else {
                self.cache.set(page, PageState::Clean);
            }
        }
    }

    /// Writes in flight that overlap `pages`, each with the overlap, by their numbers. It costs what there is of them.
    pub fn writes_within(&self, pages: &Pages) -> Vec<(TransferId, Pages)> {
        let before = self.writes.range(..pages.start).next_back();
        let within = before.into_iter().chain(self.writes.range(pages.start..pages.end.max(pages.start)));
        let overlap = |(_, id): (&u64, &TransferId)| {
            let both = common(&self.transfers[*id].pages, pages);
            (!both.is_empty()).then_some((*id, both))
        };
        let mut found: Vec<(TransferId, Pages)> = within.filter_map(overlap).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        found
    }
}
