//! Which dirty pages the flusher writes next, since 3.1.
//!
//! **Rule** files wait in the order in which they became dirty. The flusher takes the first, writes at most a chunk of
//! it, ascending from where it stopped in it and from its beginning again at its end, and puts it behind the others if
//! it is still dirty. The disk's own inode, with the dirty metadata of a file system, waits among them and is written
//! whole. There are two kinds of work: *background* goes on as long as too much is dirty, which is asked
//! after every chunk; *aged* writes the files that have been dirty for `dirty_expire_centisecs`, each with everything
//! that is dirty in it by then, but not more in all than was dirty when the work began. A work that has begun is ended
//! before the other begins.
//! **Origin** recordings of 6.18: `writeback_single_inode` names file, chunk and position. A file that became clean is
//! young again when it becomes dirty.
//!
//! In the kernel: `wb_writeback`, `b_dirty`, `b_io`, `b_more_io`, `range_cyclic`.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Instant, Span};

use super::dirty_files::FlusherReason;
use super::page::{Pages, count};
use super::runs::PageRuns;

#[derive(Clone, Debug)]
struct QueuedFile {
    pages: Pages,
    /// Since when it is dirty.
    since: Instant,
    /// Where the flusher stopped in it.
    at: u64,
}

/// The chunk that the first file is written of.
#[derive(Clone, Copy, Debug)]
struct Turn {
    why: FlusherReason,
    /// Pages left of the chunk.
    left: u64,
}

/// What a turn may be begun for.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnOffer {
    /// Whether too much is dirty.
    pub is_over_background: bool,
    /// How much of one file is written before the next \[pages\].
    pub chunk: u64,
    /// Files that are dirty since then, or longer, are old.
    pub old_since: Option<Instant>,
}

/// The pages of the disk's own inode, in place of a file's.
const METADATA: Pages = u64::MAX..u64::MAX;

/// Dirty files, the next to be written first.
#[derive(Clone, Debug, Default)]
pub(super) struct FlushQueue {
    files: VecDeque<QueuedFile>,
    /// The first page and the page after the last, of each.
    known: BTreeMap<u64, u64>,
    turn: Option<Turn>,
    /// The work in progress, as long as there is more of it.
    work: Option<FlusherReason>,
    wants_background: bool,
    /// Whether the disk's inode is among the files.
    has_metadata: bool,
    /// How much the aged work may still write \[pages\], if it has been asked for.
    aged_left: Option<u64>,
}

impl FlushQueue {
    /// Pages of this file are about to become dirty, of which `dirty` are so far. Those who open different parts of a
    /// file from its beginning, as of a device, open the same file.
    pub fn note(&mut self, now: Instant, pages: &Pages, dirty: &PageRuns) {
        let Some(end) = self.known.get_mut(&pages.start) else {
            self.known.insert(pages.start, pages.end);
            return self.files.push_back(QueuedFile { pages: pages.clone(), since: now, at: pages.start });
        };
        let grows = pages.end > *end;
        *end = pages.end.max(*end);
        let whole = pages.start..*end;
        let is_dirty = dirty.first_within(&whole).is_some();
        if is_dirty && !grows {
            return;
        }
        let at = self.files.iter().position(|file| file.pages.start == whole.start).expect("a known file is queued");
        self.files[at].pages = whole;
        if is_dirty {
            return;
        }
        self.files[at].since = now;
        let is_written = at == 0 && self.turn.is_some();
        if let Some(file) = (!is_written).then(|| self.files.remove(at)).flatten() {
            self.files.push_back(file);
        }
    }

    /// Metadata became dirty: unless the disk's inode is among the files already, though it may have been written in
    /// another way, it comes behind them.
    pub fn note_metadata(&mut self, now: Instant) {
        if !core::mem::replace(&mut self.has_metadata, true) {
            self.files.push_back(QueuedFile { pages: METADATA, since: now, at: 0 });
        }
    }

    /// Whether the disk's inode is among the files.
    pub fn has_metadata(&self) -> bool {
        self.has_metadata
    }

    /// If it is the metadata's turn: takes it, with the turn.
    pub fn take_metadata(&mut self) -> bool {
        let is_next = self.turn.is_some() && self.files.front().is_some_and(|file| file.pages == METADATA);
        if is_next {
            self.turn = None;
            self.has_metadata = false;
            self.files.pop_front();
        }
        is_next
    }

    /// The files, the next to be written first.
    pub fn all(&self) -> impl Iterator<Item = Pages> + '_ {
        self.files.iter().map(|file| file.pages.clone())
    }

    /// Too much is dirty: the flusher is to write.
    pub fn wants_background(&mut self) {
        self.wants_background = true;
    }

    /// It is time to look for old files, while this many pages are dirty.
    pub fn wants_aged(&mut self, dirty: u64) {
        self.aged_left.get_or_insert(dirty + u64::from(self.has_metadata()));
    }

    /// Whether there may be anything to write.
    pub fn has_work(&self) -> bool {
        self.turn.is_some() || self.wants_background || self.aged_left.is_some()
    }

    /// The next pages of the turn, at most `longest`, the file, and why; `None` once the turn is over.
    pub fn next(&mut self, dirty: &PageRuns, longest: u64) -> Option<(Pages, Pages, FlusherReason)> {
        let turn = self.turn?;
        let file = self.files.front().expect("whoever has a turn is in the queue");
        let ahead = dirty.first_within(&(file.at.max(file.pages.start)..file.pages.end));
        // At the end of the file it begins again (`range_cyclic`), so that a writer behind its position is not left
        // for ever.
        let run = ahead.or_else(|| dirty.first_within(&(file.pages.start..file.at.min(file.pages.end))));
        let Some(run) = run.filter(|_| turn.left > 0) else {
            self.end_turn(dirty);
            return None;
        };
        let pages = run.start..run.end.min(run.start + longest.clamp(1, turn.left));
        Some((pages, file.pages.clone(), turn.why))
    }

    /// These pages, the next ones, are being written.
    pub fn took(&mut self, pages: &Pages) {
        let (Some(turn), Some(file)) = (&mut self.turn, self.files.front_mut()) else { return };
        file.at = pages.end;
        turn.left = turn.left.saturating_sub(count(pages));
        // Without this bound a writer as fast as the disk would keep the aged work going for ever.
        if let (FlusherReason::Expired, Some(left)) = (turn.why, &mut self.aged_left) {
            *left = left.saturating_sub(count(pages));
        }
    }

    /// Begins a turn, if there is anything to write.
    pub fn begin(&mut self, dirty: &PageRuns, offer: &TurnOffer) -> bool {
        // The work in progress is asked first: a work that has begun ends before the other begins, as recorded.
        let in_progress = self.work.into_iter().chain([FlusherReason::Expired, FlusherReason::Background]);
        for why in in_progress.collect::<Vec<_>>() {
            let found = match why {
                FlusherReason::Background => self.background(dirty, offer.is_over_background),
                FlusherReason::Expired => self.aged(dirty, offer.old_since),
            };
            if found {
                self.work = Some(why);
                self.turn = Some(Turn { why, left: offer.chunk.max(1) });
                return true;
            }
        }
        self.work = None;
        false
    }

    /// The first file for the background, if anything is to be written there.
    fn background(&mut self, dirty: &PageRuns, is_over: bool) -> bool {
        self.wants_background &= is_over;
        if self.wants_background {
            self.drop_clean(dirty);
            self.wants_background = !self.files.is_empty();
        }
        self.wants_background
    }

    /// The first old file comes to the front.
    fn aged(&mut self, dirty: &PageRuns, old_since: Option<Instant>) -> bool {
        let (Some(left), Some(old)) = (self.aged_left, old_since) else { return false };
        let next = (left > 0).then(|| {
            self.drop_clean(dirty);
            self.files.iter().position(|file| file.since <= old && is_dirty(file, dirty))
        });
        match next.flatten() {
            Some(at) => self.files.rotate_left(at),
            None => self.aged_left = None,
        }
        self.aged_left.is_some()
    }

    /// Files at the front that were written by others leave.
    fn drop_clean(&mut self, dirty: &PageRuns) {
        while let Some(file) = self.files.front()
            && !is_dirty(file, dirty)
        {
            self.known.remove(&file.pages.start);
            self.files.pop_front();
        }
    }

    fn end_turn(&mut self, dirty: &PageRuns) {
        self.turn = None;
        let Some(file) = self.files.pop_front() else { return };
        match dirty.first_within(&file.pages) {
            Some(_) => self.files.push_back(file),
            None if file.pages == METADATA => self.has_metadata = false,
            None => _ = self.known.remove(&file.pages.start),
        }
    }
}

fn is_dirty(file: &QueuedFile, dirty: &PageRuns) -> bool {
    file.pages == METADATA || dirty.first_within(&file.pages).is_some()
}

/// Since when files have to be dirty to be old.
pub(super) fn old_since(now: Instant, expire: Span) -> Option<Instant> {
    now.as_ns().checked_sub(expire.as_ns()).map(Instant::from_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Pages = 0..5_000;
    const SECOND: Pages = 10_000..15_000;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    /// A queue, its dirty pages, and what is offered.
    struct Rig {
        queue: FlushQueue,
        dirty: PageRuns,
        background: u64,
        chunk: u64,
    }

    /// Takes the next pages.
    fn take(queue: &mut FlushQueue, dirty: &PageRuns, longest: u64) -> Option<(Pages, Pages, FlusherReason)> {
        let next = queue.next(dirty, longest)?;
        queue.took(&next.0);
        Some(next)
    }

    impl Rig {
        fn new(background: u64, chunk: u64) -> Rig {
            Rig { queue: FlushQueue::default(), dirty: PageRuns::default(), background, chunk }
        }

        fn dirty(&mut self, now: Instant, file: Pages, pages: Pages) {
            self.queue.note(now, &file, &self.dirty);
            self.dirty.insert(pages);
        }

        /// Writes until there is nothing to do; returns each chunk's file and pages.
        fn flush(&mut self, now: Instant) -> Vec<(u64, u64)> {
            let mut chunks = Vec::new();
            loop {
                let mut written = 0;
                let mut first = None;
                while let Some((pages, file, _)) = take(&mut self.queue, &self.dirty, 32) {
                    assert_eq!(self.dirty.remove(pages.clone()), count(&pages));
                    first.get_or_insert(file.start);
                    written += count(&pages);
                }
                chunks.extend(first.map(|file| (file, written)));
                let offer = TurnOffer {
                    is_over_background: self.dirty.len() > self.background,
                    chunk: self.chunk,
                    old_since: old_since(now, Span::from_secs(30)),
                };
                if !self.queue.begin(&self.dirty, &offer) {
                    return chunks;
                }
            }
        }
    }

    #[test]
    fn files_take_turns_of_a_chunk_and_a_chunk_that_has_begun_is_finished() {
        let mut rig = Rig::new(1_000, 1_024);
        rig.dirty(at(0), FIRST, 0..2_000);
        rig.dirty(at(0), SECOND, 10_000..11_500);
        assert_eq!(rig.flush(at(1)), [], "nobody has asked");
        rig.queue.wants_background();
        assert_eq!(rig.flush(at(1)), [(0, 1_024), (10_000, 1_024), (0, 976)], "476 are left, below 1000");
        assert!(!rig.queue.has_work());
    }

    #[test]
    fn an_old_file_goes_whole_with_what_was_dirtied_a_moment_ago_and_a_young_one_stays() {
        let mut rig = Rig::new(100_000, 1_024);
        rig.dirty(at(0), FIRST, 0..2_000);
        rig.dirty(at(20), SECOND, 10_000..10_100);
        rig.dirty(at(29), FIRST, 4_000..4_010);
        rig.queue.wants_aged(rig.dirty.len());
        assert_eq!(rig.flush(at(29)), []);
        rig.queue.wants_aged(rig.dirty.len());
        assert_eq!(rig.flush(at(30)), [(0, 1_024), (0, 986)]);
        rig.queue.wants_aged(rig.dirty.len());
        assert_eq!(rig.flush(at(50)), [(10_000, 100)]);
    }

    #[test]
    fn processes_that_use_different_parts_of_a_device_use_one_file() {
        let mut rig = Rig::new(0, 100);
        rig.dirty(at(0), 0..5_000, 4_000..4_250);
        rig.dirty(at(0), 0..1_000, 0..50);
        rig.dirty(at(0), 0..20_000, 19_000..19_010);
        rig.dirty(at(0), 0..1_000, 50..60);
        rig.queue.wants_background();
        assert_eq!(rig.flush(at(1)), [(0, 100), (0, 100), (0, 100), (0, 20)], "in the order of the device");
        assert!(rig.queue.files.is_empty() && rig.queue.known.is_empty());
    }

    #[test]
    fn a_file_that_was_clean_is_young_again() {
        let mut rig = Rig::new(100_000, 1_024);
        rig.dirty(at(0), FIRST, 0..10);
        rig.dirty(at(1), SECOND, 10_000..10_010);
        rig.dirty.remove(0..10);
        rig.dirty(at(28), FIRST, 0..10);
        rig.queue.wants_aged(rig.dirty.len());
        assert_eq!(rig.flush(at(35)), [(10_000, 10)], "an fsync had written the first");
        rig.queue.wants_aged(rig.dirty.len());
        assert_eq!(rig.flush(at(58)), [(0, 10)]);
    }

    #[test]
    fn aged_work_ends_however_fast_its_file_is_dirtied() {
        let mut rig = Rig::new(100_000, 100);
        rig.dirty(at(0), FIRST, 0..300);
        rig.queue.wants_aged(300);
        let mut written = 0;
        for _ in 0..100 {
            let offer = TurnOffer { is_over_background: false, chunk: 100, old_since: Some(at(5)) };
            let begun = rig.queue.begin(&rig.dirty, &offer);
            while let Some((pages, ..)) = take(&mut rig.queue, &rig.dirty, 32) {
                written += count(&pages);
            }
            if !begun {
                break;
            }
        }
        assert_eq!((written, rig.queue.has_work()), (300, false));
    }

    #[test]
    fn the_flusher_continues_where_it_stopped_and_turns_round_at_the_end() {
        let mut rig = Rig::new(0, 100);
        rig.dirty(at(0), FIRST, 4_900..5_000);
        rig.queue.wants_background();
        assert_eq!(rig.flush(at(0)), [(0, 100)]);
        rig.dirty(at(0), FIRST, 4_990..5_000);
        rig.dirty(at(0), FIRST, 10..20);
        rig.queue.wants_background();
        let offer = TurnOffer { is_over_background: true, chunk: 100, old_since: None };
        assert!(rig.queue.begin(&rig.dirty, &offer));
        let (pages, ..) = take(&mut rig.queue, &rig.dirty, 32).unwrap();
        assert_eq!(pages, 10..20, "it stood at the end");
    }

    #[test]
    fn a_background_work_in_progress_goes_before_old_files() {
        let mut rig = Rig::new(150, 100);
        rig.dirty(at(0), FIRST, 0..250);
        rig.dirty(at(50), SECOND, 10_000..10_050);
        rig.queue.wants_background();
        let offer = TurnOffer { is_over_background: true, chunk: 100, old_since: Some(at(20)) };
        assert!(rig.queue.begin(&rig.dirty, &offer));
        rig.queue.wants_aged(300);
        let mut reasons = Vec::new();
        loop {
            while let Some((pages, _, why)) = take(&mut rig.queue, &rig.dirty, 200) {
                rig.dirty.remove(pages.clone());
                reasons.push((why, count(&pages)));
            }
            let is_over_background = rig.dirty.len() > 150;
            if !rig.queue.begin(&rig.dirty, &TurnOffer { is_over_background, ..offer }) {
                break;
            }
        }
        let background = FlusherReason::Background;
        assert_eq!(
            reasons,
            [(background, 100), (background, 50), (FlusherReason::Expired, 100), (FlusherReason::Expired, 50)]
        );
    }
}
