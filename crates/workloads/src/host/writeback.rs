//! When the flusher writes: above the background limit, while writers sleep, and when files have been dirty for long.
//!
//! **Rule** every `dirty_writeback_centisecs` since the first page became dirty, files are searched for those that are
//! older than `dirty_expire_centisecs`. Above the background limit it does not wait for that. Before 3.1 it has a
//! number of writes in flight at most; since 3.1 it submits as fast as there are request slots, and sleeps for one.
//! **Origin** `Documentation/admin-guide/sysctl/vm.rst`; since 3.1 recordings: the search comes with the grain of the
//! kernel's timers, 5.12 s after the last for 5 s, 1.024 s for 1 s.

use blksched::Instant;

use super::Host;
use super::dirty_files::FlusherReason;
use super::dirty_memory::{DirtyMemory, flusher_number};
use super::flush_queue::{TurnOffer, old_since};
use super::fs::Agent;
use super::outbox::Wish;
use super::transfer::PageWriter;

impl Host {
    /// Checks the ages of all files.
    pub(super) fn look_at_ages(&mut self, now: Instant) {
        self.timers.set_age_check(None);
        match &mut self.memory {
            DirtyMemory::Stopping(memory) => {
                memory.files.expire(now, self.knobs.dirty_expire_centisecs, self.mapping.dirty());
                let old = old_since(now, self.knobs.dirty_expire_centisecs);
                if memory.metadata.take_if(|since| old.is_some_and(|old| *since <= old)).is_some()
                    && let Some(filing) = &mut self.filing
                {
                    filing.write_home(Agent::Flusher);
                }
            }
            DirtyMemory::Balanced(memory) => memory.wants_aged(self.mapping.dirty()),
        }
        if self.memory.total() > 0 || self.memory.has_metadata() {
            self.set_age_check(now);
        }
        self.write_back(now);
    }

    /// Before 3.1: lets the flusher write what it should, as much as it may have in flight. Since then it goes on by
    /// itself ([`Host::flush_on`]).
    pub(super) fn write_back(&mut self, now: Instant) {
        let mut any = false;
        while let Some((pages, file, why)) = self.next_in_bounds(now) {
            self.note_burst(0, why);
            self.start_write(now, pages.clone(), file, PageWriter::Flusher(why));
            if let DirtyMemory::Stopping(memory) = &mut self.memory {
                memory.files.took(now, &pages, self.mapping.dirty());
            }
            any = true;
        }
        if let DirtyMemory::Stopping(memory) = &self.memory
            && memory.flusher.out() == 0
        {
            self.bursts[0] = None;
        }
        if any {
            self.out.push(Wish::Waits(self.flusher_is.submitter));
        }
        self.obey_files(now);
    }

    /// Before 3.1: the flusher's next write, its file, and why.
    fn next_in_bounds(&mut self, now: Instant) -> Option<(super::page::Pages, super::page::Pages, FlusherReason)> {
        let DirtyMemory::Stopping(memory) = &mut self.memory else { return None };
        if self.stopped || !memory.flusher.has_room() || self.out.sleeps(self.flusher_is.submitter) {
            return None;
        }
        let background = memory.pool.wants_writeback();
        let (file, at, why) = memory.files.turn(self.mapping.dirty(), background)?;
        memory.flusher.seek(at);
        // Looked at and not yet taken: if the file system puts the flusher to sleep, it comes back for the same
        // pages.
        let pages = memory.flusher.peek(self.mapping.dirty(), &file, self.mapping.longest())?;
        if !self.may_write_back(now, &pages) {
            return None;
        }
        let DirtyMemory::Stopping(memory) = &mut self.memory else { return None };
        let pages = memory.flusher.take(self.mapping.dirty(), &file, self.mapping.longest())?;
        Some((pages, file, why))
    }

    /// Since 3.1: the flushers' next write, if they have anything to do. One goes on until it sleeps or has nothing
    /// left, and then the next.
    pub(super) fn flush_on(&mut self, now: Instant) {
        if !self.memory.flushes() {
            return;
        }
        for number in 0..self.memory.flushers() {
            let DirtyMemory::Balanced(memory) = &self.memory else { return };
            if memory.writes(number) {
                self.flush_one(now, number);
                if !self.out.is_empty() {
                    return;
                }
            }
        }
    }

    fn flush_one(&mut self, now: Instant, number: usize) {
        let expire = self.knobs.dirty_expire_centisecs;
        loop {
            let DirtyMemory::Balanced(memory) = &mut self.memory else { return };
            let queue = &mut memory.flusher(number).queue;
            if queue.take_metadata() {
                if let Some(filing) = &mut self.filing {
                    filing.write_home(Agent::Flusher);
                }
                return self.obey_files(now);
            }
            if let Some((pages, file, why)) = queue.next(self.mapping.dirty(), self.mapping.longest()) {
                if !self.may_write_back(now, &pages) {
                    self.memory.flusher_sleeps(number, true);
                    return self.obey_files(now);
                }
                let DirtyMemory::Balanced(memory) = &mut self.memory else { return };
                memory.flusher(number).queue.took(&pages);
                self.note_burst(number, why);
                self.start_write(now, pages, file, PageWriter::Flusher(why));
                return;
            }
            memory.wrote_chunk(now, number);
            let is_over_background = memory.is_over_background(now, number);
            let chunk = memory.chunk(number);
            let offer = TurnOffer { is_over_background, chunk, old_since: old_since(now, expire) };
            if !memory.flusher(number).queue.begin(self.mapping.dirty(), &offer) {
                memory.flusher_rests(number);
                self.bursts[number] = None;
                // It sleeps until there is work, and a task that sleeps opens its plug.
                return self.out.push(Wish::Waits(flusher_number(self.flusher_is.submitter, number)));
            }
        }
    }

    fn note_burst(&mut self, flusher: usize, why: FlusherReason) {
        if self.bursts[flusher].is_none() {
            self.bursts[flusher] = Some(why);
            match why {
                FlusherReason::Background => self.report.background_bursts += 1,
                FlusherReason::Expired => self.report.expired_bursts += 1,
            }
        }
    }
}
