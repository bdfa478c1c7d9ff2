//! Transfers between memory and disk: a bio each, the pages it carries, and the calls that wait for it.
//!
//! Nothing here lets another call go on: what follows the end of a transfer is in `host.rs`.

use blksched::author::Waiter;
use blksched::{Bio, Hints, Instant, Sector, Tag};

use super::Host;
use super::cache::TransferId;
use super::dirty_files::FlusherReason;
use super::dirty_memory::flusher_number;
use super::fs::FsBio;
use super::op::{OpId, Who};
use super::outbox::Wish;
use super::page::{PAGE_SECTORS, Pages, count};
use super::report::WaitsFor;

/// Who has pages written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PageWriter {
    Flusher(FlusherReason),
    /// The flusher, for a `sync`.
    Asked,
    /// jbd2, for a commit.
    Journal,
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

    pub fn add_waiter(&mut self, op: OpId) {
        self.waiters.push(op);
    }
}

impl Host {
    /// Reads those of `pages` that are not in memory, in as few bios as possible; returns how many pages.
    pub(super) fn start_reads(&mut self, who: Who, pages: Pages) -> u64 {
        let (mut at, mut started) = (pages.start, 0);
        while let Some((transfer, run)) = self.mapping.begin_read(at..pages.end) {
            at = run.end;
            started += count(&run);
            self.submit(transfer, who, Waiter::Sync);
        }
        if started > 0 {
            self.out.push(Wish::Waits(who.submitter));
        }
        started
    }

    /// Writes `pages` of `file`, which are dirty and not being written.
    pub(super) fn start_write(&mut self, now: Instant, pages: Pages, file: Pages, writer: PageWriter) -> TransferId {
        let (who, waiter) = match writer {
            PageWriter::Flusher(_) | PageWriter::Asked => {
                let flusher = self.memory.flusher_of(pages.start);
                let submitter = flusher_number(self.flusher_is.submitter, flusher);
                (Who { submitter, ..self.flusher_is }, Waiter::Async)
            }
            PageWriter::Journal => {
                (self.filing.as_ref().map_or(self.flusher_is, |filing| filing.journal_is()), Waiter::Sync)
            }
            PageWriter::Caller(op) => (self.ops[op].who(), Waiter::Sync),
            PageWriter::Starter(op) => (self.ops[op].who(), Waiter::Async),
        };
        let transfer = self.mapping.begin_write(now, pages.clone(), file, writer, &mut self.memory);
        if let Some(filing) = &mut self.filing {
            filing.write_begins(transfer, &pages);
        }
        self.submit(transfer, who, waiter);
        transfer
    }

    /// Flushes the disk's cache.
    pub(super) fn start_flush(&mut self, now: Instant, op: OpId) {
        // Of several disks, that of the file.
        let at = if self.is_on_several { self.ops[op].first_page() } else { 0 };
        let transfer = self.mapping.begin(TransferKind::Flush, at..at);
        self.wait_for(now, op, transfer, WaitsFor::Flush);
        let who = self.ops[op].who();
        self.submit(transfer, who, Waiter::Sync);
        self.out.push(Wish::Waits(who.submitter));
    }

    pub(super) fn submit(&mut self, transfer: TransferId, who: Who, waiter: Waiter) {
        let Transfer { kind, pages, .. } = self.mapping.transfer(transfer);
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
                let background = matches!(writer, PageWriter::Flusher(_) | PageWriter::Asked);
                Bio { hints: Hints { write_back: true, background, ..bio.hints }, ..bio }
            }
            TransferKind::Flush => Bio { start, ..Bio::flush(tag, who.submitter) },
            TransferKind::Files(bio) => super::filing::bio_of(bio, Tag(tag), who.submitter),
        };
        self.out.push(Wish::Submit(Bio { priority: who.priority, group: who.group, ..bio }));
    }

    /// Makes the call wait for this transfer; it continues when all its transfers are done.
    pub(super) fn wait_for(&mut self, now: Instant, op: OpId, transfer: TransferId, what: WaitsFor) {
        self.mapping.add_waiter(transfer, op);
        let op = &mut self.ops[op];
        op.transfers += 1;
        op.waits.get_or_insert((now, what));
    }
}
