//! The server's memory: which pages of the file are there, which are being read, and what to read next.

use core::ops::Range;

use crate::host::{Advice, Fetch, Readahead};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Absent,
    Reading,
    Present,
}

/// The pages of one file, numbered from its beginning.
pub(super) struct Cache {
    pages: Vec<Page>,
    /// The page at which the next window is to be asked for.
    marker: Option<u64>,
    readahead: Readahead,
}

/// How far a read has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// All its pages are there.
    Present,
    /// This page is being read.
    Waits(u64),
}

impl Cache {
    pub fn new(pages: u64, read_ahead_kb: u32) -> Cache {
        let readahead = Readahead::new(read_ahead_kb, pages, Advice::Normal);
        Cache { pages: vec![Page::Absent; pages as usize], marker: None, readahead }
    }

    /// A thread wants these pages; what it has to read for that is added to `reads`.
    pub fn look(&mut self, wanted: Range<u64>, reads: &mut Vec<Range<u64>>) -> Looked {
        for page in wanted.clone() {
            let left = wanted.end - page;
            if self.pages[page as usize] == Page::Absent {
                let fetch = self.readahead.missing(page, left);
                self.fetch(fetch, reads);
            } else if self.marker == Some(page) {
                self.marker = None;
                let first_missing = (page..self.end()).find(|&p| self.pages[p as usize] == Page::Absent);
                let fetch = self.readahead.marked(page, left, first_missing.unwrap_or(self.end()));
                self.fetch(fetch, reads);
            }
            if self.pages[page as usize] == Page::Reading {
                return Looked::Waits(page);
            }
        }
        self.readahead.read_to(wanted.end - 1);
        Looked::Present
    }

    /// These were read.
    pub fn arrived(&mut self, pages: Range<u64>) {
        for page in pages {
            self.pages[page as usize] = Page::Present;
        }
    }

    fn end(&self) -> u64 {
        self.pages.len() as u64
    }

    fn fetch(&mut self, fetch: Fetch, reads: &mut Vec<Range<u64>>) {
        self.marker = fetch.marker.or(self.marker);
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
        let mut cache = Cache::new(1000, 128);
        let mut all = Vec::new();
        for first in (0..1000).step_by(8) {
            let wanted = first..first + 8;
            loop {
                let mut reads = Vec::new();
                let looked = cache.look(wanted.clone(), &mut reads);
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
        let mut cache = Cache::new(100, 128);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        assert_eq!(cache.look(0..8, &mut first), Looked::Waits(0));
        assert_eq!(cache.look(8..16, &mut second), Looked::Waits(8));
        let twice =
            second.iter().any(|read| first.iter().any(|other| read.start < other.end && other.start < read.end));
        assert!(!twice, "{first:?} {second:?}");
    }
}
