//! One process of a recording, played again.

use blksched::{Bio, GroupId, Instant, Sector, Span, SubmitterId, Tag};

use super::recording::{PlayedTo, ReplayIo};
use super::{Replay, Timing};
use crate::{Delivered, Emission, GaveUp, Source, Trouble};

/// The state machine of a process.
pub(super) struct Replayer {
    replay: Replay,
    timing: Timing,
    process: usize,
    submitter: SubmitterId,
    /// The next I/O, and its number in the process.
    io: Option<ReplayIo>,
    at: u64,
    to: PlayedTo,
    in_flight: u32,
    /// Since when it may go, apart from its pause; `None` while too many others are in flight.
    free_since: Option<Instant>,
    /// It does nothing before this time: it has just submitted or been told something.
    now: Instant,
    in_burst: bool,
    asleep: bool,
    finished: bool,
    errors: u64,
}

impl Replayer {
    pub fn new(replay: Replay, process: usize, submitter: SubmitterId) -> Replayer {
        let mut to = PlayedTo::default();
        Replayer {
            io: replay.recording.play(process, &mut to),
            to,
            timing: replay.timing(),
            now: replay.at,
            free_since: Some(replay.at),
            replay,
            process,
            submitter,
            at: 0,
            in_flight: 0,
            in_burst: false,
            asleep: false,
            finished: false,
            errors: 0,
        }
    }

    /// The next I/O; `None` if there is none left.
    pub fn io(&self) -> Option<&ReplayIo> {
        self.io.as_ref()
    }

    /// When it ends, once all of its I/Os are over.
    pub fn ended(&self) -> Option<Instant> {
        (self.io().is_none() && self.in_flight == 0).then_some(self.now)
    }

    fn scaled(&self, span: Span) -> Span {
        self.replay.played_in(span)
    }

    /// When the next I/O goes, unless that depends on a completion.
    fn due(&self, io: &ReplayIo) -> Option<Instant> {
        if self.in_burst {
            return Some(self.now);
        }
        match self.timing {
            Timing::Recorded => Some((self.replay.at + self.scaled(io.at)).max(self.now)),
            Timing::Closed => self.free_since.map(|since| (since + self.scaled(io.pause)).max(self.now)),
            Timing::NoStall => self.free_since.map(|since| since.max(self.now)),
        }
    }

    /// Something changed: checks whether the next I/O may go.
    fn look(&mut self, now: Instant) {
        if self.free_since.is_none() && self.io().is_some_and(|io| self.in_flight <= io.in_flight) {
            self.free_since = Some(now);
        }
    }

    fn bio(&self, io: &ReplayIo) -> Bio {
        let ReplayIo { op, sectors, waiter, hints, durability, priority, .. } = *io;
        let start = Sector(self.replay.place_of(io));
        let (tag, submitter, group) = (Tag(self.at), self.submitter, GroupId::ROOT);
        Bio { tag, op, start, sectors, waiter, priority, submitter, group, hints, durability }
    }
}

impl Source for Replayer {
    fn next(&self) -> Option<Instant> {
        if self.asleep || self.finished {
            return None;
        }
        match self.io() {
            Some(io) => self.due(io),
            None => self.ended(),
        }
    }

    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>) {
        if self.next().is_none_or(|next| now < next) {
            return;
        }
        self.now = now;
        let Some(io) = self.io else {
            self.finished = true;
            return out.push(Emission::Exit);
        };
        out.push(Emission::Submit(self.bio(&io)));
        self.in_flight += 1;
        self.at += 1;
        self.io = self.replay.recording.play(self.process, &mut self.to);
        self.in_burst = io.goes_on && self.io().is_some();
        if !self.in_burst {
            out.push(Emission::Waits);
        }
        self.free_since = None;
        self.look(now);
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        match what {
            Delivered::Done { failed, .. } => {
                self.in_flight -= 1;
                self.errors += u64::from(failed);
            }
            Delivered::Awake => self.asleep = false,
            Delivered::Told { .. } | Delivered::Exited(_) => return,
        }
        self.now = self.now.max(now);
        self.look(now);
    }

    fn asleep(&mut self) {
        self.asleep = true;
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn awaits_exits(&self) -> bool {
        false
    }

    fn submitter(&self) -> SubmitterId {
        self.submitter
    }

    fn trouble(&self) -> Trouble {
        let gave_up = self.replay.recording.trouble().map(|_| GaveUp::Io);
        Trouble { errors: self.errors, gave_up }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};
    use std::sync::Arc;

    use blksched::Op;

    use super::super::recording::{Recording, TraceAction, tests::event};
    use super::super::{Builder, Joint};
    use super::*;

    /// Two reads, the second 100 ns after the first was done, and a third directly after it.
    fn recording() -> Arc<Recording> {
        let events = vec![
            event(1000, TraceAction::Queue, 0),
            event(1400, TraceAction::Complete, 0),
            event(1500, TraceAction::Queue, 80),
            event(1500, TraceAction::Queue, 160),
        ];
        Arc::new(Recording::of(events, &BTreeMap::new()).unwrap())
    }

    /// When each I/O goes \[ns\], and where, with this latency \[ns\].
    fn played(said: &str, latency: u64) -> Vec<(u64, u64)> {
        let replay = Replay::of("trace", said, recording()).unwrap_or_else(|e| panic!("{e}"));
        let parts = replay.parts(1 << 20).unwrap();
        let mut source = replay.source(&parts[0], SubmitterId(0), &mut Joint::default());
        let (mut log, mut done, mut out) = (Vec::new(), VecDeque::new(), Vec::new());
        while !source.is_finished() {
            let first = done.front().map_or(Instant::NEVER, |(at, _)| *at);
            match source.next() {
                Some(now) if now < first => {
                    source.emit(now, &mut out);
                    for emission in out.drain(..) {
                        if let Emission::Submit(bio) = emission {
                            log.push((now.as_ns(), bio.start.0));
                            done.push_back((now + Span::from_ns(latency), bio.tag));
                        }
                    }
                }
                _ => {
                    let (now, tag) = done.pop_front().expect("it waits for something");
                    source.delivered(now, Delivered::Done { tag, failed: false });
                }
            }
        }
        log
    }

    #[test]
    fn recorded_moments_do_not_ask_how_slow_the_disk_is() {
        let expected = [(0, 0), (500, 80), (500, 160)];
        assert_eq!(played("", 1), expected);
        assert_eq!(played("", 10_000), expected);
        assert_eq!(played("time_scale=200,start=1us", 1), [(1000, 0), (1250, 80), (1250, 160)]);
    }

    #[test]
    fn closed_a_process_waits_for_what_it_waited_for_and_pauses_as_it_did() {
        assert_eq!(played("timing=closed", 10_000), [(0, 0), (10_100, 80), (10_100, 160)]);
        assert_eq!(played("timing=closed,time_scale=50", 10), [(0, 0), (210, 80), (210, 160)]);
    }

    #[test]
    fn loops_begin_where_the_recording_ended() {
        let once = played("timing=recorded", 10);
        let twice = played("timing=recorded,loops=2", 10);
        assert_eq!(twice.len(), 2 * once.len());
        assert_eq!(twice[..once.len()], once[..]);
        let gap = twice[once.len()].0 - once[0].0;
        assert!(twice.iter().skip(once.len()).zip(&once).all(|(later, first)| later.0 == first.0 + gap), "{twice:?}");
        assert!(twice.is_sorted_by_key(|io| io.0));
    }

    #[test]
    fn a_class_is_that_of_all_its_ios() {
        let replay = Replay::of("trace", "class=idle", recording()).unwrap();
        let ios = replay.recording.in_order();
        assert!(ios.iter().all(|io| io.priority.class == blksched::Class::Idle));
        assert!(Replay::of("trace", "class=idel", recording()).unwrap_err().contains("did you mean `idle`?"));
        assert!(Replay::of("trace", "loops=0", recording()).unwrap_err().contains("`loops`"));
    }

    #[test]
    fn a_process_whose_temporary_file_is_lost_gives_up_and_says_so() {
        let mut builder = Builder::keeping(0);
        (0..5000).for_each(|nth| builder.add(&event(1000 * nth, TraceAction::Queue, 80 * nth), |_| {}));
        let recording = Arc::new(builder.finish(&BTreeMap::new()).unwrap());
        let replay = Replay::of("trace", "", recording.clone()).unwrap();
        let parts = replay.parts(1 << 20).unwrap();
        let mut source = replay.source(&parts[0], SubmitterId(0), &mut Joint::default());
        assert_eq!(source.trouble().gave_up, None);
        recording.cut_off();
        let (mut submitted, mut out) = (0, Vec::new());
        while let Some(now) = source.next() {
            source.emit(now, &mut out);
            for emission in out.drain(..) {
                let Emission::Submit(bio) = emission else { continue };
                submitted += 1;
                source.delivered(now, Delivered::Done { tag: bio.tag, failed: false });
            }
        }
        assert!(source.is_finished() && (1..5000).contains(&submitted), "{submitted}");
        assert_eq!(source.trouble().gave_up, Some(GaveUp::Io));
        assert!(recording.without(Op::Write).unwrap_err().contains("temporary file"));
    }

    #[test]
    fn without_stalls_it_only_waits() {
        assert_eq!(played("timing=no_stall", 10), [(0, 0), (10, 80), (10, 160)]);
    }

    #[test]
    fn a_smaller_disk_needs_a_scale_and_the_least_one_is_said() {
        assert_eq!(played("scale=8,align=4k", 1), [(0, 0), (500, 8), (500, 16)]);
        let replay = Replay::of("trace", "", recording()).unwrap();
        let error = replay.parts(100).unwrap_err();
        assert!(error.contains("scale=2 would divide"), "{error}");
        assert!(Replay::of("trace", "scale=2", recording()).unwrap().parts(100).is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (said, expected) in [
            ("timming=closed", "did you mean `timing`?"),
            ("timing=close", "did you mean `closed`?"),
            ("scale=0", "at least 1"),
            ("align=3k", "power of two"),
            ("skip=read", "leaves nothing"),
        ] {
            let error = Replay::of("trace", said, recording()).unwrap_err();
            assert!(error.contains(expected), "{said}: {error}");
        }
        let alone = Recording::of(vec![event(0, TraceAction::Queue, 0)], &BTreeMap::new()).unwrap();
        let error = Replay::of("trace", "timing=closed", Arc::new(alone)).unwrap_err();
        assert!(error.contains("only timing=recorded"), "{error}");
    }
}
