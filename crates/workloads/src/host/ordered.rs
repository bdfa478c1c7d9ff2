//! Data that a commit of the file system needs on the disk: what is dirty is written in its name if it says so, and
//! what is under way is waited for.

use std::collections::BTreeMap;

use blksched::Instant;

use super::Host;
use super::cache::TransferId;
use super::fs::{Blocks, InodeId};
use super::page::Pages;
use super::transfer::PageWriter;

/// The writes that commits wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderedWrites {
    /// How many writes are left of each ticket that a commit is told with.
    left: BTreeMap<u64, usize>,
    /// The tickets of each write, ascending.
    tickets: BTreeMap<TransferId, Vec<u64>>,
}

impl OrderedWrites {
    /// The ticket is over when these writes have ended, of which there are some.
    fn add(&mut self, ticket: u64, writes: impl ExactSizeIterator<Item = TransferId>) {
        self.left.insert(ticket, writes.len());
        writes.for_each(|id| self.tickets.entry(id).or_default().push(ticket));
    }

    /// A write has ended; returns the tickets of which it was the last.
    fn ended(&mut self, id: TransferId) -> Vec<u64> {
        let mut over = self.tickets.remove(&id).unwrap_or_default();
        over.retain(|ticket| {
            let left = self.left.get_mut(ticket).expect("a write of it was under way");
            *left -= 1;
            let is_over = *left == 0;
            if is_over {
                self.left.remove(ticket);
            }
            is_over
        });
        over
    }
}

impl Host {
    /// A commit needs the data of these blocks.
    pub(super) fn order(&mut self, now: Instant, ticket: u64, (inode, blocks): (InodeId, Blocks), writes: bool) {
        let file = self.filing.as_ref().and_then(|filing| filing.pages_of(inode));
        let pages = file.clone().map(|file| file.start + blocks.start..file.end.min(file.start + blocks.end));
        if let (Some(file), Some(pages)) = (file, pages.clone().filter(|_| writes)) {
            self.write_ordered(now, pages, &file);
        }
        let under_way = pages.map(|pages| self.mapping.writes_within(&pages)).unwrap_or_default();
        let Some(filing) = &mut self.filing else { return };
        match under_way.is_empty() {
            true => filing.data_is_there(now, ticket),
            false => filing.ordered().add(ticket, under_way.into_iter().map(|(id, _)| id)),
        }
    }

    fn write_ordered(&mut self, now: Instant, mut pages: Pages, file: &Pages) {
        while let Some(run) = self.mapping.dirty().first_within(&pages) {
            let run = run.start..run.end.min(run.start + self.mapping.longest());
            pages.start = run.end;
            self.start_write(now, run, file.clone(), PageWriter::Journal);
        }
    }

    /// A write of pages has ended, for which a commit may have waited.
    pub(super) fn ordered_ended(&mut self, now: Instant, id: TransferId) {
        let Some(filing) = &mut self.filing else { return };
        for ticket in filing.ordered().ended(id) {
            filing.data_is_there(now, ticket);
        }
    }
}
