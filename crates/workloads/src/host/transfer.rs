//! Transfers between memory and disk: a bio each, the pages it carries, and the calls that wait for it.

use blksched::author::Waiter;
use blksched::{Bio, Hints, Instant, Sector, Tag};

use super::Host;
use super::cache::{PageState, TransferId};
use super::dirty_files::FlusherReason;
use super::fs::FsBio;
use super::op::{OpId, Who};
use super::outbox::Wish;
use super::page::{PAGE_SECTORS, Pages, common, count};
use super::report::WaitsFor;

/// Who has pages written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PageWriter {
    Flusher(FlusherReason),
    Caller(OpId),
    /// A caller that does not wait.
    Starter(OpId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TransferKind {
    Read,
    /// A write of pages of this file.
    Write(PageWriter, Pages),
    Flush,
    /// A bio of the file system's own.
    Files(FsBio),
}

#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub kind: TransferKind,
    pub pages: Pages,
    /// Calls that continue when it is done.
    waiters: Vec<OpId>,
}

impl Transfer {
    pub fn new(kind: TransferKind, pages: Pages) -> Transfer {
        Transfer { kind, pages, waiters: Vec::new() }
    }

    /// The calls that wait for it.
    pub fn waiters(&self) -> &[OpId] {
        &self.waiters
    }
}

impl Host {
    /// Reads those of `pages` that are not in memory, in as few bios as possible; returns how many pages.
    pub(super) fn start_reads(&mut self, who: Who, pages: Pages) -> u64 {
        let (mut at, mut started) = (pages.start, 0);
        while at < pages.end {
            let is_missing = |page: &u64| self.cache.get(*page).is_none();
            let Some(start) = (at..pages.end).find(is_missing) else { break };
            let end = (start..pages.end.min(start + self.longest)).find(|page| !is_missing(page));
            let run = start..end.unwrap_or(pages.end.min(start + self.longest));
            at = run.end;
            started += count(&run);
            let transfer =
                self.transfers.insert(Transfer { kind: TransferKind::Read, pages: run.clone(), waiters: Vec::new() });
            self.cache.set_all(run, PageState::Reading(transfer));
            self.submit(transfer, who, Waiter::Sync);
        }
        if started > 0 {
            self.out.push(Wish::Waits(who.submitter));
        }
        started
    }

    /// Writes `pages` of `file`, which are dirty and not being written.
    pub(super) fn start_write(&mut self, now: Instant, pages: Pages, file: Pages, writer: PageWriter) -> TransferId {
        let removed = self.dirty.remove(pages.clone());
        assert!(removed == count(&pages), "clean pages are written: {pages:?}");
        self.memory.submitted(now, removed);
        let (who, waiter) = match writer {
            PageWriter::Flusher(_) => (self.flusher_is, Waiter::Async),
            PageWriter::Caller(op) => (self.ops[op].who(), Waiter::Sync),
            PageWriter::Starter(op) => (self.ops[op].who(), Waiter::Async),
        };
        let kind = TransferKind::Write(writer, file);
        let transfer = self.transfers.insert(Transfer { kind, pages: pages.clone(), waiters: Vec::new() });
        self.file_transfer(transfer, &pages);
        self.cache.set_all(pages, PageState::Writing(transfer));
        self.submit(transfer, who, waiter);
        transfer
    }

    /// Flushes the disk's cache.
    pub(super) fn start_flush(&mut self, now: Instant, op: OpId) {
        // Of several disks, that of the file.
        let at = if self.is_on_several { self.ops[op].first_page() } else { 0 };
        let transfer =
            self.transfers.insert(Transfer { kind: TransferKind::Flush, pages: at..at, waiters: Vec::new() });
        self.wait_for(now, op, transfer, WaitsFor::Flush);
        let who = self.ops[op].who();
        self.submit(transfer, who, Waiter::Sync);
        self.out.push(Wish::Waits(who.submitter));
    }

    pub(super) fn submit(&mut self, transfer: TransferId, who: Who, waiter: Waiter) {
        let Transfer { kind, pages, .. } = &self.transfers[transfer];
        let tag = u64::from(transfer);
        let (start, sectors) = (Sector(pages.start * PAGE_SECTORS), (count(pages) * PAGE_SECTORS) as u32);
        let bio = match kind {
            TransferKind::Read => Bio::read(tag, who.submitter, start, sectors),
            TransferKind::Write(writer, _) => {
                let bio = match waiter {
                    Waiter::Sync => Bio::write(tag, who.submitter, start, sectors),
                    Waiter::Async => Bio::write_back(tag, who.submitter, start, sectors),
                };
                // The flusher's own writes are background work; those that a caller waits for are not.
                let background = matches!(writer, PageWriter::Flusher(_));
                Bio { hints: Hints { write_back: true, background, ..bio.hints }, ..bio }
            }
            TransferKind::Flush => Bio { start, ..Bio::flush(tag, who.submitter) },
            TransferKind::Files(bio) => super::filing::bio_of(bio, Tag(tag), who.submitter),
        };
        self.out.push(Wish::Submit(Bio { priority: who.priority, group: who.group, ..bio }));
    }

    /// Makes the call wait for this transfer; it continues when all its transfers are done.
    pub(super) fn wait_for(&mut self, now: Instant, op: OpId, transfer: TransferId, what: WaitsFor) {
        self.transfers[transfer].waiters.push(op);
        let op = &mut self.ops[op];
        op.transfers += 1;
        op.waits.get_or_insert((now, what));
    }

    /// A bio of the host's is complete; the device began with it at `issued_at`.
    ///
    /// # Panics
    /// If it is not one of the host's.
    pub fn completed(&mut self, now: Instant, tag: Tag, failed: bool, issued_at: Instant) {
        let id = tag.0 as u32;
        if let TransferKind::Files(bio) = self.transfers[id].kind {
            self.transfers.remove(id);
            return self.files_ended(now, bio);
        }
        if !self.counts_as_written(now, id, failed, issued_at) {
            return;
        }
        self.end_transfer(now, id, failed, issued_at);
    }

    /// A transfer is done with, for the host too.
    pub(super) fn end_transfer(&mut self, now: Instant, id: TransferId, failed: bool, issued_at: Instant) {
        let Transfer { kind, pages, waiters, .. } = self.transfers.remove(id);
        match kind {
            TransferKind::Read => self.pages_arrived(pages, failed),
            TransferKind::Write(writer, file) => self.pages_written(now, id, pages, file, &writer),
            TransferKind::Flush | TransferKind::Files(_) => {}
        }
        for waiter in waiters {
            let op = &mut self.ops[waiter];
            op.transfers -= 1;
            op.failed |= failed;
            op.issued_at = op.issued_at.max(Some(issued_at));
            if op.transfers == 0 && !op.in_fs {
                self.go_on(now, waiter);
            }
        }
        self.wake_writers(now);
        self.write_back(now);
    }

    fn pages_arrived(&mut self, pages: Pages, failed: bool) {
        match failed {
            true => pages.for_each(|page| self.cache.forget(page)),
            false => self.cache.set_all(pages, PageState::Clean),
        }
    }

    /// A failed write is not repeated, as in Linux; calls that wait for it are told.
    fn pages_written(&mut self, now: Instant, transfer: TransferId, pages: Pages, file: Pages, writer: &PageWriter) {
        let written = count(&pages);
        self.memory.written(now, written);
        match writer {
            PageWriter::Flusher(FlusherReason::Background) => self.report.written.background += written,
            PageWriter::Flusher(FlusherReason::Expired) => self.report.written.expired += written,
            PageWriter::Caller(_) | PageWriter::Starter(_) => self.report.written.by_caller += written,
        }
        if matches!(writer, PageWriter::Flusher(_)) {
            self.memory.flusher_wrote();
        }
        for page in pages {
            if self.cache.get(page) == Some(PageState::Redirtied(transfer)) {
                self.cache.set(page, PageState::Dirty);
                self.memory.note(now, &file, &self.dirty);
                self.dirty.insert(page..page + 1);
            } else {
                self.cache.set(page, PageState::Clean);
            }
        }
    }

    /// Writes in flight that overlap `pages`, each with the overlap.
    pub(super) fn writes_within(&self, pages: &Pages) -> Vec<(TransferId, Pages)> {
        let within = |(id, transfer): (TransferId, &Transfer)| {
            let both = common(&transfer.pages, pages);
            (matches!(transfer.kind, TransferKind::Write(..)) && !both.is_empty()).then_some((id, both))
        };
        self.transfers.iter().filter_map(within).collect()
    }
}
