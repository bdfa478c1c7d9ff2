//! The server's memory: which pages of the file are there, which are being read, and what to read next.

use core::ops::Range;
use std::collections::BTreeSet;

use crate::host::{Advice, Fetch, Readahead};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Absent,
    Reading,
    Present,
}

/// What owns the readahead state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeping {
    /// The file: one state for all threads.
    Shared,
    /// Each thread copies the state when it begins a read, and stores it when it is done; the last one stays.
    Copied,
}

/// The pages of one file, numbered from its beginning.
pub(super) struct Cache {
    pages: Vec<Page>,
    /// Pages at which the next window must be asked for.
    markers: BTreeSet<u64>,
    readahead: Readahead,
    keeping: Keeping,
    /// The threads' copies.
    copies: Vec<Option<Readahead>>,
}

/// How far before a missing page a search goes at most.
const MOST_BEHIND: usize = 1024;

/// How far a read has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// All its pages are present.
    Present,
    /// This page is being read.
    Waits(u64),
}

impl Cache {
    pub fn new(pages: u64, read_ahead_kb: u32, keeping: Keeping, threads: u32) -> Cache {
        let readahead = Readahead::new(read_ahead_kb, pages, Advice::Normal);
        let copies = vec![None; threads as usize];
        Cache { pages: vec![Page::Absent; pages as usize], markers: BTreeSet::new(), readahead, keeping, copies }
    }

    /// `thread` wants these pages; the reads that this needs are added to `reads`.
    pub fn look(&mut self, thread: u32, wanted: Range<u64>, reads: &mut Vec<Range<u64>>) -> Looked {
        let copy = self.copies[thread as usize].take();
        let mut state = copy.unwrap_or_else(|| self.readahead.clone());
        let looked = self.look_with(&mut state, wanted, reads);
        match (self.keeping, &looked) {
            (Keeping::Copied, Looked::Waits(_)) => self.copies[thread as usize] = Some(state),
            _ => self.readahead = state,
        }
        looked
    }

    fn look_with(&mut self, state: &mut Readahead, wanted: Range<u64>, reads: &mut Vec<Range<u64>>) -> Looked {
        for page in wanted.clone() {
            let left = wanted.end - page;
            if self.pages[page as usize] == Page::Absent {
                let fetch = state.missing_behind(page, left, self.behind(page));
                self.fetch(fetch, reads);
            } else if self.markers.remove(&page) {
                let first_missing = (page..self.end()).find(|&p| self.pages[p as usize] == Page::Absent);
                let fetch = state.marked(page, left, first_missing.unwrap_or(self.end()));
                self.fetch(fetch, reads);
            }
            if self.pages[page as usize] == Page::Reading {
                return Looked::Waits(page);
            }
        }
        state.read_to(wanted.end - 1);
        Looked::Present
    }

    /// How many pages before `page` are present or being read; no more than matter.
    fn behind(&self, page: u64) -> u64 {
        let before = self.pages[..page as usize].iter().rev();
        before.take(MOST_BEHIND).take_while(|state| **state != Page::Absent).count() as u64
    }

    /// These pages were read.
    pub fn arrived(&mut self, pages: Range<u64>) {
        for page in pages {
            self.pages[page as usize] = Page::Present;
        }
    }

    fn end(&self) -> u64 {
        self.pages.len() as u64
    }

    fn fetch(&mut self, fetch: Fetch, reads: &mut Vec<Range<u64>>) {
        self.markers.extend(fetch.marker);
        for page in fetch.pages {
            let state = &mut self.pages[page as usize];
            if *state != Page::Absent {
                continue;
            }
            *state = Page::Reading;
            match reads.last_mut().filter(|last| last.end == page) {
                Some(last) => last.end += 1,
                None => reads.push(page..page + 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_ahead_and_each_page_is_read_once() {
        let mut cache = Cache::new(1000, 128, Keeping::Shared, 1);
        let mut all = Vec::new();
        for first in (0..1000).step_by(8) {
            let wanted = first..first + 8;
            loop {
                let mut reads = Vec::new();
                let looked = cache.look(0, wanted.clone(), &mut reads);
                for read in &reads {
                    cache.arrived(read.clone());
                }
                all.extend(reads);
                if looked == Looked::Present {
                    break;
                }
            }
        }
        let mut next = 0;
        for read in &all {
            assert_eq!(read.start, next, "in order, nothing twice");
            next = read.end;
        }
        assert_eq!(next, 1000);
        let windows = all.iter().filter(|read| read.end - read.start == 32).count();
        assert!(windows > 25, "mostly windows of 128 KiB: {all:?}");
    }

    #[test]
    fn a_page_that_another_thread_reads_is_waited_for_and_not_read_again() {
        let mut cache = Cache::new(100, 128, Keeping::Shared, 2);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        assert_eq!(cache.look(0, 0..8, &mut first), Looked::Waits(0));
        assert_eq!(cache.look(1, 8..16, &mut second), Looked::Waits(8));
        let twice =
            second.iter().any(|read| first.iter().any(|other| read.start < other.end && other.start < read.end));
        assert!(!twice, "{first:?} {second:?}");
    }

    #[test]
    fn a_copy_of_readaheads_state_does_not_know_what_another_thread_has_opened_since() {
        let read_at_17 = |keeping| {
            let (mut cache, mut reads) = (Cache::new(1000, 128, keeping, 2), Vec::new());
            assert_eq!(cache.look(0, 0..8, &mut reads), Looked::Waits(0));
            // One state: the next window, with its marker first. An older copy: a stream, recognised by the pages
            // before it.
            assert_eq!(cache.look(1, 16..17, &mut reads), Looked::Waits(16));
            assert_eq!(reads.first(), Some(&(0..48)));
            cache.arrived(0..48);
            reads.clear();
            cache.look(1, 17..18, &mut reads);
            reads.first().cloned()
        };
        assert_eq!(read_at_17(Keeping::Shared), None);
        assert_eq!(read_at_17(Keeping::Copied), Some(48..80));
    }
}
