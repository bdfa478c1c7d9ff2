//! The medium's next action: the single place that decides it, and its start.

use blksched::{Instant, Op, Span};

use super::lookahead::LookAhead;
use super::mechanism::Access;
use super::{Dirty, HEAD, Hdd, Medium, WaitingCommand};
use crate::{Activity, StintWork as Of};

/// Work for the idle medium.
enum MediumWork {
    /// A queued command.
    Command(usize),
    /// A piece of the dirty sectors.
    Destage,
    /// Everything that an exclusive flush waited for is done.
    EndFlush,
    /// Nothing, or nothing before `until`: the head reads ahead.
    Nothing { until: Instant },
}

impl MediumWork {
    const NOTHING: MediumWork = MediumWork::Nothing { until: Instant::NEVER };
}

impl Hdd {
    /// The medium has finished its work.
    pub(super) fn step(&mut self, at: Instant) {
        match core::mem::replace(&mut self.medium, Medium::Idle) {
            Medium::Idle | Medium::Writing => {}
            Medium::Reading { range, segment, unrolled, owner } => {
                self.destage.read_served(at);
                if let Some(ahead) = &mut self.look_ahead {
                    ahead.read(at, range, segment, unrolled, owner, &self.mechanism);
                }
            }
            Medium::Draining { sectors } => {
                if let Some(cache) = &mut self.cache {
                    cache.drained(sectors);
                }
                self.admit_waiting(at);
            }
        }
        self.decide(at);
    }

    /// Gives the medium its next work, if there is any.
    pub(super) fn decide(&mut self, at: Instant) {
        self.wake = Instant::NEVER;
        while matches!(self.medium, Medium::Idle) {
            match self.next_work(at) {
                MediumWork::Command(index) => {
                    let queued = self.queue.remove(index);
                    self.serve(at, &queued);
                }
                MediumWork::Destage => self.begin_destaging(at),
                MediumWork::EndFlush => self.end_flush(at),
                MediumWork::Nothing { until } => {
                    self.wake = until;
                    return;
                }
            }
        }
    }

    /// What the idle medium does next.
    fn next_work(&mut self, at: Instant) -> MediumWork {
        let dirty = self.has_dirty();
        if self.exclusive.is_some() && self.unfinished() == 0 {
            return if dirty { MediumWork::Destage } else { MediumWork::EndFlush };
        }
        let hold = self.look_ahead.as_ref().filter(|_| dirty).and_then(|ahead| ahead.hold_until(&self.mechanism));
        let is_held = self.queue.is_empty() && hold.is_some_and(|hold| hold > at);
        if !is_held && self.destaging_goes_first(at) {
            return MediumWork::Destage;
        }
        if let Some(oldest) = self.queue.oldest() {
            let window = self.look_ahead.as_ref().and_then(LookAhead::window);
            return match self.stream_until(oldest) {
                Some(until) if until > at && !self.queue.continues(window) => MediumWork::Nothing { until },
                _ => self.queue.choose(at, &self.mechanism, window).map_or(MediumWork::NOTHING, MediumWork::Command),
            };
        }
        if !dirty {
            return MediumWork::NOTHING;
        }
        let urgent = self.is_urgent(at);
        let until = self.destage.may_begin(hold, urgent);
        if until > at { MediumWork::Nothing { until } } else { MediumWork::Destage }
    }

    /// How long the head waits for the next read of a stream, although a command that arrived at `oldest` is queued.
    fn stream_until(&self, oldest: Instant) -> Option<Instant> {
        let last = self.last_sequential?;
        Some((last + self.sequential_wait).min(oldest + self.queue.sequential_limit()))
    }

    /// Whether a command that arrives at `now` would wait for a stream, although nothing else delays it.
    pub(super) fn waits_for_stream(&self, now: Instant) -> bool {
        self.stream_until(self.queue.oldest().unwrap_or(now)).is_some_and(|until| until > now)
    }

    fn has_dirty(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| !cache.is_empty())
    }

    fn is_urgent(&mut self, at: Instant) -> bool {
        let limit = self.destage.dirty_limit();
        !self.waiting.is_empty() || self.cache.as_mut().is_some_and(|cache| cache.is_overdue(at, limit))
    }

    /// Whether destaging goes first, whatever else waits.
    pub(super) fn destaging_goes_first(&mut self, at: Instant) -> bool {
        self.has_dirty() && self.is_urgent(at) && self.destage.goes_first(at, !self.queue.is_empty())
    }

    /// Writes the next piece of the dirty sectors.
    pub(super) fn begin_destaging(&mut self, at: Instant) {
        self.stop_reading_ahead(at);
        let Some(cache) = &mut self.cache else { return };
        let Some(extent) = cache.choose(at, &self.mechanism) else { return };
        let piece = cache.take(at, extent, &self.mechanism);
        let begin = (&piece.place, &piece.lane);
        let accessed = self.mechanism.access_on(at, begin, piece.end(), Access::Write, Span::ZERO);
        self.ledger.charge(piece.submitter, &accessed.activity);
        self.stints.note(HEAD, Of::Cached(piece.submitter), at, accessed.until);
        self.medium = Medium::Draining { sectors: piece.sectors };
        self.destage.began();
        self.wake = accessed.until;
    }

    /// A write without room, or a flush among other commands, waits for dirty sectors to be written.
    pub(super) fn wait_for_room(&mut self, now: Instant, waiting: WaitingCommand) {
        self.waiting.push_back(waiting);
        if matches!(self.medium, Medium::Idle) {
            self.decide(now);
        }
    }

    /// There is room again: admits what waits for it, in order.
    pub(super) fn admit_waiting(&mut self, at: Instant) {
        while let Some(&WaitingCommand { command, ready }) = self.waiting.front() {
            let Some(cache) = &self.cache else { return };
            let ready = ready.max(at);
            match command.op {
                Op::Flush if cache.is_clean() => self.end_at(ready, &command, Activity::default(), None),
                Op::Write | Op::WriteZeroes if cache.has_room(command.sectors) => {
                    self.cache_write(ready, ready, command)
                }
                _ => return,
            }
            self.waiting.pop_front();
        }
    }

    /// A cached write's data has arrived.
    pub(super) fn dirtied(&mut self, at: Instant, dirty: Dirty) {
        let Some(cache) = &mut self.cache else { return };
        cache.insert(at, (dirty.start, u64::from(dirty.sectors)), dirty.submitter, &self.mechanism);
        if !self.waiting.is_empty() {
            self.admit_waiting(at);
        }
        if matches!(self.medium, Medium::Idle) {
            self.decide(at);
        }
    }

    /// An exclusive flush: what came before it ends, then dirty sectors are destaged, and what comes later is held.
    pub(super) fn flush_alone(&mut self, now: Instant, flush: WaitingCommand) {
        self.exclusive = Some(flush);
        if matches!(self.medium, Medium::Idle) {
            self.decide(now);
        }
    }

    /// Commands begun that have not ended, without the flush that waits for them.
    pub(super) fn unfinished(&self) -> usize {
        self.in_flight as usize - self.held.len() - usize::from(self.exclusive.is_some())
    }

    fn end_flush(&mut self, at: Instant) {
        let Some(WaitingCommand { command, ready }) = self.exclusive.take() else { return };
        let at = at.max(ready);
        self.end_at(at, &command, Activity::default(), None);
        while self.exclusive.is_none()
            && let Some((command, outcome)) = self.held.pop_front()
        {
            self.begin(at, command, outcome);
        }
    }
}
