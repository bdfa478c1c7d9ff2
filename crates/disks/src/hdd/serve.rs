//! The service of a command by buffer and medium: hit, pass, access, or a place in the cache.

use blksched::{Command, Instant, Op, Span};

use super::lookahead::{LookAhead, ReadFound, Start};
use super::mechanism::{Access, Accessed};
use super::ncq::Queued;
use super::wire::WireCase;
use super::write_cache::WriteCache;
use super::{Dirty, HEAD, Hdd, Medium, WaitingCommand};
use crate::{Activity, CommandOutcome, Finished, FlushMode, StintWork};

impl Hdd {
    /// The kind of command that one arriving at `now` will turn out to be.
    pub(super) fn case_of(&self, now: Instant, command: &Command) -> WireCase {
        let (start, end) = range(command);
        match command.op {
            Op::Read => {
                let dirty = self.cache.as_ref().is_some_and(|cache| cache.holds(start, end));
                let found = |ahead: &LookAhead| {
                    let begin = Start { sector: start, unrolled: self.mechanism.place(start).unrolled };
                    ahead.holds(ahead.segment_of(start, end), end)
                        || ahead.find(now, &begin, end, &self.mechanism).is_some_and(|found| ahead.is_hit(found))
                };
                if dirty || self.look_ahead.as_ref().is_some_and(found) {
                    WireCase::ReadHit
                } else {
                    WireCase::ReadMiss
                }
            }
            Op::Write | Op::WriteZeroes => match &self.cache {
                Some(cache) if !command.fua && cache.fits(command.sectors) => WireCase::WriteHit,
                _ => WireCase::WriteMiss,
            },
            Op::Flush | Op::Discard => WireCase::Other,
        }
    }

    pub(super) fn read(&mut self, now: Instant, ready: Instant, command: Command) {
        let (start, end) = range(&command);
        if self.cache.as_ref().is_some_and(|cache| cache.holds(start, end)) {
            return self.buffer_hit(now, ready, &command);
        }
        if matches!(self.medium, Medium::Idle) && self.destaging_goes_first(now) {
            self.stop_reading_ahead(now);
            self.begin_destaging(now);
        }
        // With the medium idle, it is served at once and the buffer is checked then; with the head waiting for a
        // stream, it may not be.
        let in_buffer = |ahead: &LookAhead| ahead.holds(ahead.segment_of(start, end), end);
        let is_engaged = !matches!(self.medium, Medium::Idle) || self.waits_for_stream(now);
        if is_engaged && self.look_ahead.as_ref().is_some_and(in_buffer) {
            return self.buffer_hit(now, ready, &command);
        }
        self.want_medium(now, ready, command);
    }

    pub(super) fn write(&mut self, now: Instant, ready: Instant, command: Command) {
        let (start, end) = range(&command);
        self.forget_read_data(ready, start, end);
        match &self.cache {
            Some(cache) if !command.fua && cache.fits(command.sectors) => {
                if self.waiting.is_empty() && cache.has_room(command.sectors) {
                    self.cache_write(now, ready, command);
                } else {
                    self.wait_for_room(now, WaitingCommand { command, ready });
                }
            }
            _ => {
                if let Some(cache) = &mut self.cache {
                    cache.cut(start, end, &self.mechanism);
                    self.admit_waiting(ready);
                }
                self.want_medium(now, ready, command);
            }
        }
    }

    pub(super) fn flush(&mut self, now: Instant, ready: Instant, command: Command) {
        if self.waiting.is_empty() && self.cache.as_ref().is_none_or(WriteCache::is_clean) {
            return self.end_at(ready, &command, overhead(now, ready), None);
        }
        match self.cache.as_ref().map(WriteCache::flush_mode) {
            Some(FlushMode::Alone) => self.flush_alone(now, WaitingCommand { command, ready }),
            _ => self.wait_for_room(now, WaitingCommand { command, ready }),
        }
    }

    fn want_medium(&mut self, now: Instant, ready: Instant, command: Command) {
        let (place, lane) = self.mechanism.locate(command.start.0);
        let queued = Queued { command, place, lane, arrived: now, ready };
        if !matches!(self.medium, Medium::Idle) {
            return self.queue.push(queued);
        }
        let nobody_else = self.queue.is_empty() && self.sequential_wait.is_zero();
        if nobody_else && (command.op == Op::Read || !self.destaging_goes_first(now)) {
            return self.serve(now, &queued);
        }
        self.queue.push(queued);
        self.decide(now);
    }

    /// Serves a command at `turn`, with or without the medium.
    pub(super) fn serve(&mut self, turn: Instant, queued: &Queued) {
        self.destage.command_served();
        match queued.command.op {
            Op::Read => self.serve_read(turn, queued),
            _ => self.serve_write(turn, queued),
        }
    }

    fn serve_write(&mut self, turn: Instant, queued: &Queued) {
        let &Queued { ref command, ref place, ref lane, arrived, ready } = queued;
        let (begun, asked) = (turn.max(arrived), turn.max(ready));
        let at = self.head_free(asked);
        self.stop_reading_ahead(at);
        let data = self.wire.data_ahead_of_medium(command.sectors);
        let accessed = self.mechanism.access_on(at, (place, lane), range(command).1, Access::Write, data);
        self.medium = Medium::Writing;
        self.end_access(at, accessed, asked.since(begun), command);
    }

    fn serve_read(&mut self, turn: Instant, queued: &Queued) {
        let &Queued { ref command, ref place, ref lane, arrived, ready } = queued;
        let (mut at, begun) = (turn.max(ready), turn.max(arrived));
        let overhead = at.since(begun);
        let (start, end) = range(command);
        let mut segment = None;
        if let Some(ahead) = &self.look_ahead {
            segment = ahead.segment_of(start, end);
            if ahead.holds(segment, end) {
                return self.buffer_hit(begun, at, command);
            }
            let begin = Start { sector: start, unrolled: place.unrolled };
            match ahead.find(at, &begin, end, &self.mechanism) {
                Some(ReadFound::Whole) => return self.buffer_hit(begun, at, command),
                Some(ReadFound::Passing(until)) => return self.pass(at, until, overhead, command),
                None => {
                    let free = self.head_free(at);
                    // While it waits, the head may pass over it.
                    if free > at
                        && let Some(found) = ahead.find(free, &begin, end, &self.mechanism)
                    {
                        let until = if let ReadFound::Passing(until) = found {
                            until
                        } else {
                            ahead.passed(end, &self.mechanism)
                        };
                        return self.pass(at, until, overhead, command);
                    }
                    at = free;
                    segment = self.look_elsewhere(at, (start, end), segment);
                }
            }
        }
        let from = self.look_ahead.as_ref().map_or(start, |ahead| ahead.from(start, segment));
        let accessed = if from == start {
            self.mechanism.access_on(at, (place, lane), end, Access::Read, Span::ZERO)
        } else {
            let (place, lane) = self.mechanism.locate(from);
            self.mechanism.access_on(at, (&place, &lane), end, Access::Read, Span::ZERO)
        };
        if segment.is_some() {
            self.last_sequential = Some(accessed.until);
        }
        let (unrolled, owner) = (accessed.unrolled, command.submitter);
        self.medium = Medium::Reading { range: (from, end), segment, unrolled, owner };
        self.end_access(at, accessed, overhead, command);
    }

    /// When a command that is ready at `at` may have the head.
    fn head_free(&self, at: Instant) -> Instant {
        self.look_ahead.as_ref().map_or(at, |ahead| ahead.may_leave(at, &self.mechanism))
    }

    /// The head leaves the spiral to read `start..end`, which began in the segment `was`; returns the segment that it
    /// begins in after the look-ahead has ended, which changes one segment.
    fn look_elsewhere(&mut self, at: Instant, (start, end): (u64, u64), was: Option<usize>) -> Option<usize> {
        let grown = self.look_ahead.as_ref().and_then(LookAhead::running);
        self.stop_reading_ahead(at);
        let ahead = self.look_ahead.as_ref()?;
        let concerned = grown.is_some_and(|grown| was == Some(grown) || ahead.continues_at(grown, start));
        if concerned { ahead.segment_of(start, end) } else { was }
    }

    /// The head is just reading what the command wants: it continues until that has passed.
    fn pass(&mut self, at: Instant, until: Instant, visible: Span, command: &Command) {
        let (start, end) = range(command);
        let behind = self.mechanism.behind(end - 1);
        self.stop_reading_ahead(at);
        // What is between the head and the command passes under the head too, and may be wanted next.
        let start = start.min(self.mechanism.next_sector());
        self.mechanism.rest_behind(&behind, end);
        let until = until.max(at);
        self.last_sequential = Some(until);
        let segment = self.look_ahead.as_ref().and_then(|ahead| ahead.segment_of(start, end));
        let (unrolled, owner) = (behind.unrolled, command.submitter);
        self.medium = Medium::Reading { range: (start, end), segment, unrolled, owner };
        let activity = Activity { transfer: until.since(at), ..Activity::default() };
        self.end_access(at, Accessed { until, unrolled: behind.unrolled, activity }, visible, command);
    }

    /// Records an access for a command; it ends when the medium is done and the interface has caught up.
    #[inline]
    fn end_access(&mut self, at: Instant, accessed: Accessed, overhead: Span, command: &Command) {
        self.wake = accessed.until;
        // Nothing else can have the head while the command is decoded.
        let begun = Instant::from_ns(at.as_ns() - overhead.as_ns());
        self.stints.note(HEAD, StintWork::Command(command.rq), begun, accessed.until);
        let end = match command.op {
            Op::Read => {
                let from = at + accessed.activity.positioning();
                self.wire.read_through(from, accessed.until, command.sectors)
            }
            _ => accessed.until.max(at + self.wire.time_of(command.sectors)),
        };
        let interface = accessed.activity.interface + end.since(accessed.until);
        self.end_at(end, command, Activity { overhead, interface, ..accessed.activity }, None);
    }

    fn buffer_hit(&mut self, now: Instant, ready: Instant, command: &Command) {
        let end = self.wire.carry(ready, command.sectors);
        let interface = self.wire.time_of(command.sectors);
        self.end_at(end, command, Activity { interface, ..overhead(now, ready) }, None);
        self.destage.read_served(end);
        // Buffered data of another place does not hold the head.
        let (start, behind) = range(command);
        if self.look_ahead.as_ref().is_some_and(|ahead| ahead.runs_over(start, behind)) {
            self.last_sequential = Some(end);
        }
        let may_restart = matches!(self.medium, Medium::Idle) && self.cache.as_ref().is_none_or(WriteCache::is_empty);
        if let Some(ahead) = &mut self.look_ahead {
            ahead.taken(ready, range(command), may_restart, &self.mechanism);
        }
    }

    pub(super) fn cache_write(&mut self, now: Instant, ready: Instant, command: Command) {
        let (start, _) = range(&command);
        let sectors = command.sectors;
        if let Some(cache) = &mut self.cache {
            cache.promise(sectors);
        }
        let dirty = Dirty { start, sectors, submitter: command.submitter };
        let end = self.wire.carry(ready, sectors);
        let service = Activity { interface: self.wire.time_of(sectors), ..overhead(now, ready) };
        self.end_at(end, &command, service, Some(dirty));
    }

    #[inline]
    pub(super) fn end_at(&mut self, at: Instant, command: &Command, service: Activity, dirty: Option<Dirty>) {
        let end_cost = self.wire.end_cost(command.op);
        let (at, service) = (at + end_cost, Activity { overhead: service.overhead + end_cost, ..service });
        self.ledger.charge(command.submitter, &service);
        self.endings.add(Finished { rq: command.rq, at, outcome: CommandOutcome::Ok, service }, dirty);
    }

    fn forget_read_data(&mut self, at: Instant, start: u64, end: u64) {
        if self.look_ahead.as_ref().is_some_and(|ahead| ahead.runs_over(start, end)) {
            self.stop_reading_ahead(at);
        }
        if let Some(ahead) = &mut self.look_ahead {
            ahead.trim(start, end);
            ahead.written(start, end);
        }
    }

    pub(super) fn stop_reading_ahead(&mut self, at: Instant) {
        if let Some(ahead) = &mut self.look_ahead
            && let Some((owner, look_ahead)) = ahead.stop(at, &mut self.mechanism)
        {
            self.ledger.charge_look_ahead(owner, look_ahead);
        }
    }
}

pub(super) fn range(command: &Command) -> (u64, u64) {
    (command.start.0, command.start.0 + u64::from(command.sectors))
}

pub(super) fn overhead(now: Instant, ready: Instant) -> Activity {
    Activity { overhead: ready.since(now), ..Activity::default() }
}
