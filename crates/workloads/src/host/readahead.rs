//! Readahead: how much the kernel reads from a file beyond the request.
//!
//! **What for** a reader that goes through a file in small steps should wait for few large requests, and for none once
//! it is known to continue.
//! **Rule** with *L* pages in `read_ahead_kb`: the first window of a sequential reader that wants *n* pages is *p* =
//! *n* rounded up to a power of two, times 4 if *p* ≤ *L*/32, times 2 if *p* ≤ *L*/4, and *L* otherwise. Each next
//! window is 4 times the last below *L*/16, 2 times up to *L*/2, then *L*. What lies in a window beyond what was asked
//! for begins with a *marker*; a reader that reaches that page has the next window read, without waiting for it.
//! Sequential is a read at the file's beginning, behind the last window, in or right behind the page read last, and any
//! that wants more than *L*. Every other read gets only the requested pages and leaves the window unchanged.
//! **Origin** MEMORY of Linux since 2.6.23 ("on-demand readahead"). `posix_fadvise(2)`: `POSIX_FADV_SEQUENTIAL` doubles
//! the window, `POSIX_FADV_RANDOM` turns readahead off. Streams that share one descriptor are recognised by their
//! markers only; the kernel also looks for pages in memory ahead of a miss ([`Readahead::missing_behind`], which the
//! page cache does not use yet).
//! **Costs when wrong** a sequential reader at 4 KiB per request instead of 128.

use super::page::Pages;

/// What a reader told the kernel about its order (`posix_fadvise`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    #[default]
    Normal,
    /// It reads the file sequentially: twice the window.
    Sequential,
    /// It reads at random: no readahead.
    Random,
}

/// What to read now, apart from pages that are already in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Pages of the file; may be empty.
    pub pages: Pages,
    /// The page at which the next window must be asked for ([`Readahead::marked`]).
    pub marker: Option<u64>,
}

/// The readahead state of one open file. Pages count from the file's beginning.
///
/// ```
/// use blksched_workloads::host::{Advice, Readahead};
///
/// // 128 KiB are 32 pages; a reader of single pages starts with four and is let go on after the first.
/// let mut readahead = Readahead::new(128, 1_000, Advice::Normal);
/// let first = readahead.missing(0, 1);
/// assert_eq!((first.pages, first.marker), (0..4, Some(1)));
/// assert_eq!(readahead.marked(1, 1, 4).pages, 4..12);
/// ```
#[derive(Clone, Debug)]
pub struct Readahead {
    advice: Advice,
    /// The largest window \[pages\].
    most: u64,
    /// The file's length \[pages\].
    file: u64,
    window: Option<Window>,
    /// The last page read.
    last: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    start: u64,
    pages: u64,
    /// The part at its end that was not asked for.
    ahead: u64,
}

impl Readahead {
    /// The state for a file of `file` pages that has just been opened; `read_ahead_kb` as in `/sys/block/…/queue`.
    pub fn new(read_ahead_kb: u32, file: u64, advice: Advice) -> Readahead {
        let most = u64::from(read_ahead_kb) / 4;
        let most = if advice == Advice::Sequential { 2 * most } else { most };
        Readahead { advice, most, file, window: None, last: None }
    }

    /// A reader wants `wanted` pages from `page` on, and waits for `page`, which is not in memory. The result includes
    /// it.
    pub fn missing(&mut self, page: u64, wanted: u64) -> Fetch {
        let wanted = wanted.max(1);
        if self.advice == Advice::Random || self.most == 0 {
            return self.clip(page, wanted, None);
        }
        let goes_on = self.window.filter(|window| page == window.start + window.pages);
        let window = match goes_on {
            Some(window) => self.after(window),
            None if self.is_sequential(page, wanted) => self.first(page, wanted),
            None => return self.clip(page, wanted, None),
        };
        self.open(window)
    }

    /// The same, but the `behind` pages directly before `page` are in memory: if nothing else shows that the reader is
    /// sequential, these do if there are more of them than it wants now, and a new window begins. (MEMORY of Linux
    /// since 2.6.31, "context readahead".)
    pub fn missing_behind(&mut self, page: u64, wanted: u64, behind: u64) -> Fetch {
        let wanted = wanted.max(1);
        let goes_on = self.window.is_some_and(|window| page == window.start + window.pages);
        let known = goes_on || self.is_sequential(page, wanted);
        if known || self.advice == Advice::Random || behind <= wanted {
            return self.missing(page, wanted);
        }
        let rounded = (behind + wanted).checked_next_power_of_two().unwrap_or(u64::MAX);
        let pages = self.first_size(rounded).max(wanted).min(self.most);
        self.open(Window { start: page, pages, ahead: pages - wanted.min(pages) })
    }

    /// A load or store in a mapping with this advice needs `page`, which is not in memory.
    ///
    /// **Rule** without advice, a whole window around the page, whose last quarter begins with the marker; in a mapping
    /// that is touched in sequence, as for a reader that wants a whole window at a time; at random, the page alone.
    /// **Origin** recorded: Linux 6.18, `testdata/write-back/faults-6.18.tsv`.
    pub fn fault(&mut self, page: u64, mapping: Advice) -> Fetch {
        match mapping {
            _ if self.most == 0 => self.clip(page, 1, None),
            Advice::Random => self.clip(page, 1, None),
            Advice::Sequential if self.advice == Advice::Random => self.clip(page, self.most, None),
            Advice::Sequential => self.missing(page, self.most),
            Advice::Normal => {
                let start = page.saturating_sub(self.most / 2);
                self.open(Window { start, pages: self.most, ahead: self.most / 4 })
            }
        }
    }

    /// The same when a load or store reached the marker at `page`: if the window has moved on meanwhile, a whole window
    /// that lies ahead is enough (recorded).
    pub fn fault_at_marker(&mut self, page: u64, first_missing: u64) -> Fetch {
        let goes_on = self.window.is_some_and(|window| page == window.start + window.pages - window.ahead);
        match goes_on || first_missing.saturating_sub(page) < self.most {
            true => self.marked(page, self.most, first_missing),
            false => self.clip(page, 0, None),
        }
    }

    /// A reader that wants `wanted` pages from `page` on reached the marker at `page`. No process waits for the result.
    /// `first_missing` is the first page after it that is neither in memory nor being read.
    pub fn marked(&mut self, page: u64, wanted: u64, first_missing: u64) -> Fetch {
        let goes_on = self.window.filter(|window| page == window.start + window.pages - window.ahead);
        let window = match goes_on {
            Some(window) => self.after(window),
            // Another reader of the same descriptor has moved the window.
            None => {
                let length = self.next(first_missing - page + wanted);
                Window { start: first_missing, pages: length, ahead: length }
            }
        };
        self.open(window)
    }

    /// A read that ended with page `last` is done.
    pub fn read_to(&mut self, last: u64) {
        self.last = Some(last);
    }

    fn is_sequential(&self, page: u64, wanted: u64) -> bool {
        page == 0 || wanted > self.most || self.last.is_some_and(|last| page == last || page == last + 1)
    }

    fn first(&self, page: u64, wanted: u64) -> Window {
        let pages = self.first_size(wanted.checked_next_power_of_two().unwrap_or(u64::MAX));
        if pages > wanted {
            return Window { start: page, pages, ahead: pages - wanted };
        }
        // All of it was asked for: the next window is read together with it, if the two fit.
        let next = self.next(pages);
        match pages + next <= self.most {
            true => Window { start: page, pages: pages + next, ahead: next },
            false => Window { start: page, pages: self.most, ahead: self.most / 2 },
        }
    }

    /// The size of a first window for this many pages, a power of two.
    fn first_size(&self, rounded: u64) -> u64 {
        match rounded {
            n if n <= self.most / 32 => 4 * n,
            n if n <= self.most / 4 => 2 * n,
            _ => self.most,
        }
    }

    /// The size of the window after one of this many pages.
    fn next(&self, pages: u64) -> u64 {
        match pages {
            n if n < self.most / 16 => 4 * n,
            n if n <= self.most / 2 => 2 * n,
            _ => self.most,
        }
    }

    fn after(&self, window: Window) -> Window {
        let pages = self.next(window.pages);
        Window { start: window.start + window.pages, pages, ahead: pages }
    }

    fn open(&mut self, window: Window) -> Fetch {
        self.window = Some(window);
        let marker = (window.ahead > 0).then_some(window.start + window.pages - window.ahead);
        self.clip(window.start, window.pages, marker)
    }

    /// Nothing is read beyond the end of the file.
    fn clip(&self, start: u64, pages: u64, marker: Option<u64>) -> Fetch {
        let start = start.min(self.file);
        let pages = start..start.saturating_add(pages).min(self.file);
        Fetch { marker: marker.filter(|marker| pages.contains(marker)), pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: u64 = 1 << 20;

    fn of(kb: u32) -> Readahead {
        Readahead::new(kb, LONG, Advice::Normal)
    }

    /// What is read for a reader of `step` pages at a time, up to `upto`.
    fn walk(mut readahead: Readahead, step: u64, upto: u64) -> Vec<Pages> {
        let (mut there, mut marker, mut fetched) = (0, None, Vec::new());
        let mut note = |fetch: Fetch, there: &mut u64, marker: &mut Option<u64>| {
            *there = fetch.pages.end;
            *marker = fetch.marker;
            fetched.push(fetch.pages);
        };
        for start in (0..upto).step_by(step as usize) {
            for page in start..start + step {
                let wanted = start + step - page;
                if page >= there {
                    note(readahead.missing(page, wanted), &mut there, &mut marker);
                }
                if marker == Some(page) {
                    note(readahead.marked(page, wanted, there), &mut there, &mut marker);
                }
            }
            readahead.read_to(start + step - 1);
        }
        fetched
    }

    #[test]
    fn pages_in_memory_behind_a_miss_make_it_a_stream_and_too_few_do_not() {
        let fetched = |behind| of(128).missing_behind(500, 4, behind);
        assert_eq!(fetched(4), Fetch { pages: 500..504, marker: None });
        assert_eq!(fetched(5), Fetch { pages: 500..532, marker: Some(504) });
    }

    #[test]
    fn a_sequential_reader_of_single_pages_ramps_from_16_to_128_kib() {
        let lengths: Vec<u64> = walk(of(128), 1, 200).iter().map(super::super::page::count).collect();
        assert_eq!(lengths[..6], [4, 8, 16, 32, 32, 32]);
    }

    #[test]
    fn windows_follow_one_another_without_gap_or_overlap() {
        for (kb, step) in [(128, 1), (128, 7), (128, 64), (512, 3), (4, 1), (64, 32)] {
            let fetched = walk(of(kb), step, 500);
            assert_eq!(fetched[0].start, 0);
            assert!(fetched.windows(2).all(|pair| pair[0].end == pair[1].start), "{kb} {step}: {fetched:?}");
            assert!(fetched.iter().all(|pages| pages.end - pages.start <= u64::from(kb) / 4), "{kb} {step}");
        }
    }

    #[test]
    fn the_next_window_is_asked_for_before_the_reader_gets_there() {
        let mut readahead = of(128);
        let first = readahead.missing(0, 1);
        let second = readahead.marked(first.marker.unwrap(), 1, first.pages.end);
        assert!(second.pages.start > first.marker.unwrap());
        assert_eq!(second.marker, Some(second.pages.start), "and so on from its first page");
    }

    #[test]
    fn random_reads_get_what_they_ask_for() {
        let mut readahead = of(128);
        for page in [700, 30, 5_000, 90_000] {
            assert_eq!(readahead.missing(page, 2), Fetch { pages: page..page + 2, marker: None });
            readahead.read_to(page + 1);
        }
        assert_eq!(readahead.missing(90_002, 2).pages, 90_002..90_006, "and this one goes on");
    }

    #[test]
    fn advice_doubles_the_window_or_turns_it_off() {
        let longest = |advice| walk(Readahead::new(128, LONG, advice), 1, 500).iter().map(|p| p.end - p.start).max();
        assert_eq!(longest(Advice::Normal), Some(32));
        assert_eq!(longest(Advice::Sequential), Some(64));
        assert_eq!(longest(Advice::Random), Some(1));
        assert_eq!(walk(of(0), 1, 9).len(), 9, "read_ahead_kb=0 too");
    }

    #[test]
    fn nothing_is_read_beyond_the_end_of_the_file() {
        let mut readahead = Readahead::new(128, 3, Advice::Normal);
        assert_eq!(readahead.missing(0, 1), Fetch { pages: 0..3, marker: Some(1) });
        assert_eq!(readahead.marked(1, 1, 3).pages, 3..3);
    }

    #[test]
    fn two_readers_of_one_descriptor_go_on_by_their_markers() {
        let mut readahead = of(128);
        let one = readahead.missing(0, 1);
        let two = readahead.missing(1_000, 64);
        assert_eq!(two.pages, 1_000..1_032, "more than the window is sequential");
        let again = readahead.marked(one.marker.unwrap(), 1, one.pages.end);
        assert_eq!(again.pages.start, one.pages.end);
    }
}
