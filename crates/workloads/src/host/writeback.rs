//! When the flusher writes: above the background limit, while writers sleep, and when files have been dirty for long.
//!
//! **Rule** every `dirty_writeback_centisecs` since the first page became dirty, files are searched for those that are
//! older than `dirty_expire_centisecs`. Above the background limit it does not wait for that.
//! **Origin** `Documentation/admin-guide/sysctl/vm.rst`.

use blksched::Instant;

use super::Host;
use super::dirty_files::FlusherReason;
use super::outbox::Wish;
use super::transfer::PageWriter;

impl Host {
    /// Schedules the next check of ages, if anything is dirty.
    pub(super) fn set_tick(&mut self, now: Instant) {
        let interval = self.knobs.dirty_writeback_centisecs;
        if self.tick.is_none() && !interval.is_zero() {
            self.tick = Some(now + interval);
        }
    }

    /// Checks the ages of all files.
    pub(super) fn look_at_ages(&mut self, now: Instant) {
        self.tick = None;
        self.dirty_files.expire(now, self.knobs.dirty_expire_centisecs, &self.dirty);
        if self.pool.total() > 0 {
            self.set_tick(now);
        }
        self.write_back(now);
    }

    /// Lets the flusher write what it should, as much as it may have in flight.
    pub(super) fn write_back(&mut self, now: Instant) {
        let mut any = false;
        while !self.stopped && self.flusher.has_room() && !self.out.sleeps(self.flusher_is.submitter) {
            let background = self.pool.wants_writeback();
            let Some((file, at, why)) = self.dirty_files.turn(&self.dirty, background) else { break };
            self.flusher.seek(at);
            let Some(pages) = self.flusher.take(&self.dirty, &file, self.longest) else { break };
            self.note_burst(why);
            self.start_write(pages.clone(), file, PageWriter::Flusher(why));
            self.dirty_files.took(now, &pages, &self.dirty);
            any = true;
        }
        if self.flusher.out() == 0 {
            self.burst = None;
        }
        if any {
            self.out.push(Wish::Waits(self.flusher_is.submitter));
        }
    }

    fn note_burst(&mut self, why: FlusherReason) {
        if self.burst.is_none() {
            self.burst = Some(why);
            match why {
                FlusherReason::Background => self.report.background_bursts += 1,
                FlusherReason::Expired => self.report.expired_bursts += 1,
            }
        }
    }
}
