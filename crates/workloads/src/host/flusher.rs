//! The flusher: the thread that writes dirty memory to the disk when no process waits for it; the order and amount of
//! its writes.
//!
//! **Rule** ascending from where it stopped, from the beginning again at the end; at most `requests` in flight, and
//! once it has reached that number, no more until `batch` of them are done. It takes up to 4 MiB of one file before it
//! goes to the next, or checks whether enough is written.
//! **Origin** the bound is that of the block queue's slots, on which kernels' flushers slept: 2.5 had 128 and woke
//! their sleepers after 32 (MEMORY). The 4 MiB are MEMORY of 2.6 (`MAX_WRITEBACK_PAGES`).

use super::page::{PAGE_BYTES, Pages};
use super::runs::PageRuns;

/// What it takes of one file at a time \[pages\].
pub const CHUNK_PAGES: u64 = (4 << 20) / PAGE_BYTES;

/// How many writes it may have in flight, and its position.
///
/// ```
/// use blksched_workloads::host::{Flusher, PageRuns};
///
/// let mut dirty = PageRuns::default();
/// dirty.insert(10..14);
/// dirty.insert(90..91);
/// let mut flusher = Flusher::new(2, 1);
/// assert_eq!(flusher.take(&dirty, &(0..100), 2), Some(10..12));
/// dirty.remove(10..12);
/// assert_eq!(flusher.take(&dirty, &(0..100), 2), Some(12..14));
/// dirty.remove(12..14);
/// assert_eq!(flusher.take(&dirty, &(0..100), 2), None, "two are in flight");
/// flusher.completed();
/// assert_eq!(flusher.take(&dirty, &(0..100), 2), Some(90..91));
/// ```
#[derive(Clone, Debug)]
pub struct Flusher {
    requests: u32,
    batch: u32,
    out: u32,
    /// It had its maximum in flight and waits for a batch of them.
    full: bool,
    at: u64,
}

impl Flusher {
    /// At most `requests` writes in flight, woken after `batch` of them.
    ///
    /// # Panics
    /// If it may have none.
    pub fn new(requests: u32, batch: u32) -> Flusher {
        assert!(requests > 0, "a flusher that may not write");
        Flusher { requests, batch: batch.clamp(1, requests), out: 0, full: false, at: 0 }
    }

    /// Whether it may write.
    pub fn has_room(&self) -> bool {
        !self.full
    }

    /// Writes in flight.
    pub fn out(&self) -> u32 {
        self.out
    }

    /// Continues from this page, as if it had stopped there.
    pub fn seek(&mut self, page: u64) {
        self.at = page;
    }

    /// What [`Flusher::take`] would take.
    pub fn peek(&self, dirty: &PageRuns, file: &Pages, longest: u64) -> Option<Pages> {
        if self.full {
            return None;
        }
        let at = self.at.clamp(file.start, file.end);
        let run = dirty.first_within(&(at..file.end)).or_else(|| dirty.first_within(&(file.start..at)))?;
        Some(run.start..run.end.min(run.start + longest.max(1)))
    }

    /// The next pages of `dirty` within `file` to write, at most `longest`: they count as in flight, and the caller
    /// removes them from `dirty`. `None` if it has no room or nothing there is dirty.
    pub fn take(&mut self, dirty: &PageRuns, file: &Pages, longest: u64) -> Option<Pages> {
        let pages = self.peek(dirty, file, longest)?;
        self.at = pages.end;
        self.out += 1;
        self.full = self.out >= self.requests;
        Some(pages)
    }

    /// One of its writes is done.
    ///
    /// # Panics
    /// If none was in flight.
    pub fn completed(&mut self) {
        assert!(self.out > 0, "a write that the flusher never began is done");
        self.out -= 1;
        self.full &= self.out > self.requests - self.batch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirty(run: Pages) -> PageRuns {
        let mut dirty = PageRuns::default();
        dirty.insert(run);
        dirty
    }

    #[test]
    fn it_goes_up_and_begins_again_at_the_end() {
        let mut dirty = dirty(5..6);
        dirty.insert(40..41);
        let mut flusher = Flusher::new(100, 1);
        let mut order = Vec::new();
        for late in [None, Some(2..3), None, Some(50..51), None] {
            dirty.insert(late.unwrap_or(0..0));
            if let Some(pages) = flusher.take(&dirty, &(0..100), 8) {
                dirty.remove(pages.clone());
                order.push(pages.start);
            }
        }
        assert_eq!(order, [5, 40, 2, 50], "2 came behind its back, 50 ahead of it");
    }

    #[test]
    fn once_full_it_waits_for_a_batch() {
        let dirty = dirty(0..100);
        let mut flusher = Flusher::new(4, 3);
        for _ in 0..4 {
            assert!(flusher.take(&dirty, &(0..100), 1).is_some());
        }
        for done in 1..=3 {
            assert_eq!(flusher.take(&dirty, &(0..100), 1), None);
            flusher.completed();
            assert_eq!(flusher.has_room(), done == 3);
        }
    }

    #[test]
    fn it_stays_within_the_file() {
        let dirty = dirty(0..100);
        let mut flusher = Flusher::new(9, 1);
        assert_eq!(flusher.take(&dirty, &(30..40), 64), Some(30..40));
        assert_eq!(flusher.take(&dirty, &(50..50), 64), None);
    }
}
