//! The files with dirty pages, since when they are dirty, and which of them the flusher serves next.
//!
//! **Rule** files are served round-robin in the order in which they became dirty, a chunk each. A file that has been
//! dirty for longer than the expiry is written as a whole: as many pages as were dirty when that was noticed. If it is
//! still dirty then, its time starts again.
//! **Origin** MEMORY: Linux keeps the age per file, not per page.

use std::collections::{BTreeSet, VecDeque};

use blksched::{Instant, Span};

use super::flusher::CHUNK_PAGES;
use super::page::{Pages, count};
use super::runs::PageRuns;

/// Why the flusher writes dirty pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlusherReason {
    /// There was more than the background limit.
    Background,
    /// Their file had been dirty for too long.
    Expired,
}

#[derive(Clone, Debug)]
struct DirtyFile {
    pages: Pages,
    since: Instant,
    /// The flusher's position in it.
    at: u64,
    /// Pages to be written because it expired.
    expired: u64,
}

/// Dirty files, in the order in which they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct DirtyFiles {
    files: VecDeque<DirtyFile>,
    /// The first page and the page after the last, of each.
    known: BTreeSet<(u64, u64)>,
    /// How much the first one may still write this time \[pages\], and why it is written.
    turn: Option<(u64, FlusherReason)>,
    /// Some files may have expired.
    look: bool,
}

impl DirtyFiles {
    /// Pages of this file became dirty.
    pub fn note(&mut self, now: Instant, pages: &Pages) {
        if self.known.insert((pages.start, pages.end)) {
            self.files.push_back(DirtyFile { pages: pages.clone(), since: now, at: pages.start, expired: 0 });
        }
    }

    /// The files, the next to be written first.
    pub fn all(&self) -> impl Iterator<Item = Pages> + '_ {
        self.files.iter().map(|file| file.pages.clone())
    }

    /// Marks files that have been dirty for `expire` to be written.
    pub fn expire(&mut self, now: Instant, expire: Span, dirty: &PageRuns) {
        for file in self.files.iter_mut().filter(|file| file.expired == 0 && now.since(file.since) >= expire) {
            file.expired = dirty.within(&file.pages);
            self.look |= file.expired > 0;
        }
    }

    /// The file to be written, the flusher's position in it, and the reason. `background`: whether more is dirty than
    /// should be.
    pub fn turn(&mut self, dirty: &PageRuns, background: bool) -> Option<(Pages, u64, FlusherReason)> {
        if let (Some((_, why)), Some(file)) = (self.turn, self.files.front()) {
            if dirty.first_within(&file.pages).is_some() {
                return Some((file.pages.clone(), file.at, why));
            }
            self.end_turn(dirty);
        }
        if !background && !self.look {
            return None;
        }
        let (files, known) = (&mut self.files, &mut self.known);
        files.retain(|file| {
            let is_dirty = dirty.first_within(&file.pages).is_some();
            is_dirty || !known.remove(&(file.pages.start, file.pages.end))
        });
        let why = if background { FlusherReason::Background } else { FlusherReason::Expired };
        let next = if background { Some(0) } else { self.files.iter().position(|file| file.expired > 0) };
        self.look = next.is_some();
        self.files.rotate_left(next?.min(self.files.len()));
        let file = self.files.front()?;
        self.turn = Some((CHUNK_PAGES, why));
        Some((file.pages.clone(), file.at, why))
    }

    /// These pages of the file to be written are being written.
    pub fn took(&mut self, now: Instant, pages: &Pages, dirty: &PageRuns) {
        let (Some((left, why)), Some(file)) = (self.turn, self.files.front_mut()) else { return };
        file.at = pages.end;
        if file.expired > 0 {
            file.expired = file.expired.saturating_sub(count(pages));
            if file.expired == 0 {
                file.since = now;
            }
        }
        let over = why == FlusherReason::Expired && file.expired == 0;
        self.turn = Some((left.saturating_sub(count(pages)), why)).filter(|(left, _)| *left > 0 && !over);
        if self.turn.is_none() {
            self.end_turn(dirty);
        }
    }

    fn end_turn(&mut self, dirty: &PageRuns) {
        self.turn = None;
        let Some(file) = self.files.pop_front() else { return };
        match dirty.first_within(&file.pages) {
            Some(_) => self.files.push_back(file),
            None => _ = self.known.remove(&(file.pages.start, file.pages.end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    fn set(runs: &[Pages]) -> PageRuns {
        let mut dirty = PageRuns::default();
        for run in runs {
            dirty.insert(run.clone());
        }
        dirty
    }

    /// Takes at most `most` pages of a file.
    fn take(files: &mut DirtyFiles, dirty: &mut PageRuns, now: Instant, background: bool) -> Option<Pages> {
        let (file, at, _) = files.turn(dirty, background)?;
        let run = dirty.first_within(&(at..file.end)).or_else(|| dirty.first_within(&file))?;
        let pages = run.start..run.end.min(run.start + 256);
        dirty.remove(pages.clone());
        files.took(now, &pages, dirty);
        Some(pages)
    }

    #[test]
    fn files_take_turns_of_four_mib() {
        let mut files = DirtyFiles::default();
        let mut dirty = set(&[0..2_000, 10_000..12_000]);
        files.note(at(0), &(0..2_000));
        files.note(at(0), &(10_000..12_000));
        let mut order = Vec::new();
        while let Some(pages) = take(&mut files, &mut dirty, at(1), true) {
            order.push(pages.start / 10_000);
        }
        let mut turns = order.clone();
        turns.dedup();
        assert_eq!(turns, [0, 1, 0, 1], "{order:?}");
        assert!(dirty.is_empty() && files.turn(&dirty, true).is_none() && files.files.is_empty());
    }

    #[test]
    fn an_expired_file_is_written_whole_and_a_young_one_not_at_all() {
        let mut files = DirtyFiles::default();
        let mut dirty = set(&[0..2_000, 10_000..12_000]);
        files.note(at(0), &(0..5_000));
        files.note(at(20), &(10_000..15_000));
        files.expire(at(30), Span::from_secs(30), &dirty);
        let mut written = 0;
        while let Some(pages) = take(&mut files, &mut dirty, at(30), false) {
            assert!(pages.end <= 2_000);
            written += count(&pages);
        }
        assert_eq!(written, 2_000);
    }

    #[test]
    fn what_was_dirtied_behind_the_look_waits_for_another_thirty_seconds() {
        let mut files = DirtyFiles::default();
        let mut dirty = PageRuns::default();
        dirty.insert(0..1);
        files.note(at(0), &(0..5_000));
        files.expire(at(30), Span::from_secs(30), &dirty);
        dirty.insert(100..101);
        assert_eq!(take(&mut files, &mut dirty, at(30), false), Some(0..1));
        assert_eq!(take(&mut files, &mut dirty, at(30), false), None);
        files.expire(at(59), Span::from_secs(30), &dirty);
        assert_eq!(take(&mut files, &mut dirty, at(59), false), None);
        files.expire(at(60), Span::from_secs(30), &dirty);
        assert_eq!(take(&mut files, &mut dirty, at(60), false), Some(100..101));
    }
}
