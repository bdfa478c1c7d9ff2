//! A process that does one thing after the other, as most programs do: read, process, read on.
//!
//! A program writes down its [`Steps`]; [`Stepper`] makes a [`Source`] of them: it submits, waits, thinks, sleeps for a
//! request slot and exits.

use blksched::{Bio, Dir, Instant, Priority, Sector, Span, SubmitterId};

use crate::{Delivered, Emission, Source};

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// The direction.
    pub dir: Dir,
    /// Its first sector.
    pub start: Sector,
    /// Its length \[512-byte sectors\].
    pub sectors: u32,
}

impl Io {
    /// A read.
    pub fn read(start: u64, sectors: u32) -> Io {
        Io { dir: Dir::Read, start: Sector(start), sectors }
    }

    /// A write.
    pub fn write(start: u64, sectors: u32) -> Io {
        Io { dir: Dir::Write, start: Sector(start), sectors }
    }
}

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Submit it and continue.
    Start(Io),
    /// Wait until at most this many of its I/Os are in flight.
    Await(u32),
    /// Do something else for this long.
    Think(Span),
    /// Send a message to another process, and continue.
    Tell(SubmitterId, u64),
    /// Wait for any event: a message, a completion, a process's exit.
    Listen,
    /// The same, but no longer than until this time.
    ListenUntil(Instant),
    /// The end.
    Exit,
}

/// A program's steps.
pub trait Steps: Send {
    /// The next step; called at the time at which it begins. After [`Step::Exit`] it is not called again.
    fn step(&mut self, now: Instant) -> Step;

    /// Something came back or arrived; the next [`Steps::step`] may be later, or at once.
    fn hear(&mut self, _what: Delivered) {}

    /// Whether a process waits for its writes; it always waits for reads.
    fn writes(&self) -> WriteKind {
        WriteKind::Back
    }
}

/// Whether a process waits for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Write-back: no process waits.
    Back,
    /// Direct: its submitter waits.
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepperState {
    /// It continues at this time.
    Ready(Instant),
    /// It waits until at most this many are in flight.
    Awaits(u32),
    /// It waits for any event, or until this time, if there is one.
    Listens(Option<Instant>),
    /// It sleeps for a request slot.
    Asleep,
    Finished,
}

/// A source that executes steps.
pub struct Stepper<S> {
    submitter: SubmitterId,
    priority: Priority,
    steps: S,
    state: StepperState,
    in_flight: u32,
    next_tag: u64,
    /// It has submitted something since it last waited, so its system call is open.
    open: bool,
}

impl<S: Steps> Stepper<S> {
    /// A process that begins at `at`.
    pub fn new(submitter: SubmitterId, at: Instant, steps: S) -> Stepper<S> {
        let priority = Priority::default();
        Stepper { submitter, priority, steps, state: StepperState::Ready(at), in_flight: 0, next_tag: 0, open: false }
    }

    /// The same with another I/O priority.
    pub fn with_priority(self, priority: Priority) -> Stepper<S> {
        Stepper { priority, ..self }
    }

    fn bio(&mut self, io: Io) -> Bio {
        let Io { dir, start, sectors } = io;
        let (tag, submitter) = (self.next_tag, self.submitter);
        self.next_tag += 1;
        self.in_flight += 1;
        let bio = match (dir, self.steps.writes()) {
            (Dir::Read, _) => Bio::read(tag, submitter, start, sectors),
            (Dir::Write, WriteKind::Direct) => Bio::write(tag, submitter, start, sectors),
            (Dir::Write, WriteKind::Back) => Bio::write_back(tag, submitter, start, sectors),
        };
        Bio { priority: self.priority, ..bio }
    }

    /// Its system call returns or sleeps.
    fn close(&mut self, out: &mut Vec<Emission>) {
        if core::mem::take(&mut self.open) {
            out.push(Emission::Waits);
        }
    }
}

impl<S: Steps> Source for Stepper<S> {
    fn next(&self) -> Option<Instant> {
        match self.state {
            StepperState::Ready(at) => Some(at),
            StepperState::Listens(until) => until,
            _ => None,
        }
    }

    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>) {
        while self.next().is_some_and(|at| at <= now) {
            self.state = StepperState::Ready(now);
            match self.steps.step(now) {
                Step::Start(io) => {
                    self.open = true;
                    // One bio per call: it may find no slot, and then the process sleeps at once.
                    return out.push(Emission::Submit(self.bio(io)));
                }
                Step::Await(most) => {
                    self.close(out);
                    if self.in_flight > most {
                        self.state = StepperState::Awaits(most);
                    }
                }
                Step::Think(span) => {
                    self.close(out);
                    self.state = StepperState::Ready(now + span);
                    if !span.is_zero() {
                        return;
                    }
                }
                Step::Tell(to, word) => out.push(Emission::Tell { to, word }),
                Step::Listen => {
                    self.close(out);
                    self.state = StepperState::Listens(None);
                }
                Step::ListenUntil(at) => {
                    self.close(out);
                    self.state = StepperState::Listens(Some(at));
                    if at > now {
                        return;
                    }
                }
                Step::Exit => {
                    self.close(out);
                    self.state = StepperState::Finished;
                    out.push(Emission::Exit);
                }
            }
        }
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        self.steps.hear(what);
        if matches!(self.state, StepperState::Listens(_)) && what != Delivered::Awake {
            self.state = StepperState::Ready(now);
        }
        match what {
            Delivered::Done { .. } => {
                assert!(self.in_flight > 0, "{:?} hears of an I/O that it never submitted", self.submitter);
                self.in_flight -= 1;
                if matches!(self.state, StepperState::Awaits(most) if self.in_flight <= most) {
                    self.state = StepperState::Ready(now);
                }
            }
            Delivered::Awake if self.state == StepperState::Asleep => self.state = StepperState::Ready(now),
            _ => {}
        }
    }

    fn asleep(&mut self) {
        self.state = StepperState::Asleep;
        // A process that falls asleep has flushed its plug.
        self.open = false;
    }

    fn is_finished(&self) -> bool {
        self.state == StepperState::Finished
    }

    fn submitter(&self) -> SubmitterId {
        self.submitter
    }
}

#[cfg(test)]
mod tests {
    use blksched::Tag;

    use super::*;

    /// Two reads at once, a wait for both, a think time, the end.
    struct Scripted(std::vec::IntoIter<Step>);

    impl Steps for Scripted {
        fn step(&mut self, _now: Instant) -> Step {
            self.0.next().unwrap_or(Step::Exit)
        }
    }

    fn scripted(steps: Vec<Step>) -> Stepper<Scripted> {
        Stepper::new(SubmitterId(3), Instant::ZERO, Scripted(steps.into_iter()))
    }

    fn emitted(source: &mut impl Source, now: Instant) -> Vec<Emission> {
        let mut out = Vec::new();
        source.emit(now, &mut out);
        out
    }

    fn done(tag: u64) -> Delivered {
        Delivered::Done { tag: Tag(tag), failed: false }
    }

    #[test]
    fn reads_go_out_one_a_call_and_their_burst_ends_where_it_waits() {
        let read = Io::read(8, 8);
        let mut source = scripted(vec![Step::Start(read), Step::Start(read), Step::Await(0)]);
        let first = emitted(&mut source, Instant::ZERO);
        assert!(matches!(first[..], [Emission::Submit(bio)] if bio.tag == Tag(0) && bio.sectors == 8));
        assert!(matches!(emitted(&mut source, Instant::ZERO)[..], [Emission::Submit(_)]));
        assert_eq!(emitted(&mut source, Instant::ZERO), [Emission::Waits]);
        assert_eq!(source.next(), None);
        source.delivered(Instant::from_ns(5), done(1));
        assert_eq!(source.next(), None);
        source.delivered(Instant::from_ns(9), done(0));
        assert_eq!(source.next(), Some(Instant::from_ns(9)));
        assert_eq!(emitted(&mut source, Instant::from_ns(9)), [Emission::Exit]);
        assert!(source.is_finished());
    }

    #[test]
    fn thinking_takes_time_and_a_sleeper_does_nothing_until_it_is_woken() {
        let mut source = scripted(vec![Step::Think(Span::from_ns(7)), Step::Start(Io::write(0, 8))]);
        assert_eq!(emitted(&mut source, Instant::ZERO), []);
        assert_eq!(source.next(), Some(Instant::from_ns(7)));
        emitted(&mut source, Instant::from_ns(7));
        source.asleep();
        assert_eq!(source.next(), None);
        source.delivered(Instant::from_ns(20), Delivered::Awake);
        assert_eq!(source.next(), Some(Instant::from_ns(20)));
    }

    #[test]
    fn a_listener_goes_on_when_anything_is_heard_or_when_its_time_has_come() {
        let until = Instant::from_ns(50);
        let tell = Step::Tell(SubmitterId(9), 4);
        let mut source = scripted(vec![Step::Listen, tell, Step::ListenUntil(until), tell, Step::Exit]);
        assert_eq!(emitted(&mut source, Instant::ZERO), []);
        assert_eq!(source.next(), None);
        source.delivered(Instant::from_ns(3), Delivered::Told { from: SubmitterId(9), word: 1 });
        let said = Emission::Tell { to: SubmitterId(9), word: 4 };
        assert_eq!(emitted(&mut source, Instant::from_ns(3)), [said]);
        assert_eq!(source.next(), Some(until));
        assert_eq!(emitted(&mut source, until), [said, Emission::Exit]);
    }
}
