//! A recording: the events of a block trace, made into what each process asked for, when, and after what.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use blksched::author::Waiter;
use blksched::{Class, Durability, Hints, Op, Priority, Span};

use super::builder::Builder;
use super::packed::{PackedIos, PackedPlace};
use super::spool::{Spool, SpoolFile};

/// One event of a trace of any format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The time \[ns\], on a clock with any start.
    pub time: u64,
    /// What happened.
    pub what: TraceAction,
    /// The device, major and minor.
    pub device: (u32, u32),
    /// The process; only for its own actions.
    pub pid: u32,
    /// The kind of I/O; arbitrary for plugs.
    pub op: Op,
    /// First sector.
    pub start: u64,
    /// Length \[512-byte sectors\].
    pub sectors: u32,
    /// Whether a process waits for it.
    pub waiter: Waiter,
    /// The submitter's hints.
    pub hints: Hints,
    /// What must be stable.
    pub durability: Durability,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceAction {
    /// A process submitted a bio.
    Queue,
    /// The scheduler has a request with this priority.
    Request(Priority),
    /// A request is done.
    Complete,
    /// A process begins to collect what it submits …
    Plug,
    /// … and submits it.
    Unplug,
    /// What is submitted here next is a part of what another device got.
    Mapped {
        /// The device above.
        from: (u32, u32),
        /// The sector there.
        sector: u64,
    },
}

/// What was done, process by process.
#[derive(Clone, Default)]
pub struct Recording {
    pub(super) processes: Arc<[RecordedProcess]>,
    /// How much of them may be in memory \[bytes\], and where what is beyond it lies.
    most: u64,
    file: Option<Arc<SpoolFile>>,
    /// In the order of first appearance.
    pub(super) devices: Vec<(u32, u32)>,
    pub(super) completions: u64,
    pub(super) priorities: bool,
    /// All of it has this class, whatever the trace says.
    class: Option<Class>,
    /// How often it is repeated, each time from where it ended.
    again: u64,
    /// The length of one repetition.
    pub(super) length: Span,
}

impl PartialEq for Recording {
    /// Whether the same is played, wherever it lies.
    fn eq(&self, other: &Recording) -> bool {
        let said = |of: &Recording| (of.completions, of.priorities, of.class, of.again, of.length);
        said(self) == said(other) && self.devices == other.devices && self.processes == other.processes
    }
}

impl Eq for Recording {}

impl fmt::Debug for Recording {
    /// What is played, and not where it lies.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recording { processes, devices, completions, priorities, class, again, length, most: _, file: _ } = self;
        let mut all = f.debug_struct("Recording");
        all.field("processes", processes).field("devices", devices).field("completions", completions);
        all.field("priorities", priorities).field("class", class).field("again", again).field("length", length).finish()
    }
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedProcess {
    pub pid: u32,
    pub name: String,
    pub ios: PackedIos,
}

/// A process's position while it is played.
#[derive(Clone, Debug, Default)]
pub(super) struct PlayedTo {
    place: PackedPlace,
    /// How many rounds are over, how long they were, and how many I/Os all processes had in them.
    rounds: u64,
    later: Span,
    before: usize,
}

/// One I/O of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayIo {
    /// Its number in the recording.
    pub nth: usize,
    /// When it was submitted, from the recording's beginning.
    pub at: Span,
    pub op: Op,
    pub start: u64,
    pub sectors: u32,
    pub waiter: Waiter,
    pub hints: Hints,
    pub durability: Durability,
    pub priority: Priority,
    /// How many of the process's I/Os were in flight.
    pub in_flight: u32,
    /// The index of its device among the recording's.
    pub device: u16,
    /// The time since the process last submitted something or was told of a completion.
    pub pause: Span,
    /// The next one belongs to the same burst.
    pub goes_on: bool,
}

/// What a disk of the run stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandsFor {
    /// All devices of the recording, or its only one.
    Whole,
    /// This one of several, by its index.
    Nth(u16),
}

impl StandsFor {
    pub fn has(self, io: &ReplayIo) -> bool {
        match self {
            StandsFor::Whole => true,
            StandsFor::Nth(device) => io.device == device,
        }
    }
}

impl Recording {
    /// A recording from a trace's events, in the order of each CPU; `names` are those of processes, as far as the trace
    /// has them.
    ///
    /// # Errors
    /// If nothing was submitted.
    pub fn of(mut events: Vec<TraceEvent>, names: &BTreeMap<u32, String>) -> Result<Recording, String> {
        events.sort_by_key(|event| event.time);
        let mut builder = Builder::default();
        events.iter().for_each(|event| builder.add(event, |_| {}));
        builder.finish(names)
    }

    /// Takes the processes that were read, and keeps what `spool` wrote of them.
    pub(super) fn hold(&mut self, processes: Vec<RecordedProcess>, spool: &Spool) {
        self.processes = processes.into();
        (self.most, self.file) = (spool.most(), spool.file());
    }

    /// Why not all of it can be played: its temporary file cannot be read any more.
    pub(crate) fn trouble(&self) -> Option<&'static str> {
        let is_broken = self.file.as_ref().is_some_and(|file| file.is_broken());
        is_broken.then_some("the temporary file that holds the trace cannot be read again")
    }

    /// Loses what lies in the temporary file.
    #[cfg(test)]
    pub(super) fn cut_off(&self) {
        self.file.as_ref().expect("it needed a file").cut_off();
    }

    /// The same without I/Os of one kind.
    ///
    /// # Errors
    /// If a temporary file cannot be written or read.
    pub(crate) fn without(&self, op: Op) -> Result<Recording, String> {
        self.keeping(|io| io.op != op)
    }

    /// The same with these I/Os only.
    ///
    /// # Errors
    /// If a temporary file cannot be written or read.
    pub(super) fn keeping(&self, keeps: impl Fn(&ReplayIo) -> bool) -> Result<Recording, String> {
        let mut spool = self.spool();
        let mut left = |process: &RecordedProcess| {
            let (mut kept, mut last) = (PackedIos::default(), None::<ReplayIo>);
            for io in process.ios.iter() {
                match &mut last {
                    _ if keeps(&io) => {
                        last.replace(io).iter().for_each(|before| kept.push(before, &mut spool));
                    }
                    // The I/O that ended its burst is gone.
                    Some(before) if !io.goes_on => before.goes_on = false,
                    _ => {}
                }
            }
            last.iter().for_each(|io| kept.push(io, &mut spool));
            RecordedProcess { ios: kept, name: process.name.clone(), pid: process.pid }
        };
        let mut processes: Vec<RecordedProcess> = self.processes.iter().map(&mut left).collect();
        processes.retain(|process| process.ios.len() > 0);
        if let Some(trouble) = self.trouble().or(spool.trouble()) {
            return Err(trouble.to_owned());
        }
        let mut left = self.clone();
        left.hold(processes, &spool);
        Ok(left)
    }

    /// How long it is, repetitions included.
    pub(super) fn whole(&self) -> Span {
        self.length * (1 + self.again)
    }

    /// What a part of it is written to.
    pub(super) fn spool(&self) -> Spool {
        Spool::keeping(self.most)
    }

    /// The same, not repeated and of this length, for processes that [`hold`](Recording::hold) gives it.
    pub(super) fn once(&self, length: Span) -> Recording {
        Recording { again: 0, length, ..self.clone() }
    }

    /// The same with this class for all I/Os.
    pub(crate) fn of_class(&self, class: Class) -> Recording {
        Recording { class: Some(class), priorities: true, ..self.clone() }
    }

    /// The same repeated, each time from where it ended.
    pub(crate) fn repeated(&self, times: u64) -> Recording {
        Recording { again: times.saturating_sub(1), ..self.clone() }
    }

    /// The process's next I/O; the position moves on. `None` at the end.
    pub(super) fn play(&self, process: usize, to: &mut PlayedTo) -> Option<ReplayIo> {
        let ios = &self.processes.get(process)?.ios;
        let mut io = ios.read(&mut to.place);
        if io.is_none() && to.rounds < self.again {
            let (later, before) = (to.later + self.length, to.before + self.ios_once());
            *to = PlayedTo { place: PackedPlace::default(), rounds: to.rounds + 1, later, before };
            io = ios.read(&mut to.place);
        }
        let io = io?;
        let priority = Priority { class: self.class.unwrap_or(io.priority.class), ..io.priority };
        Some(ReplayIo { priority, nth: io.nth + to.before, at: io.at + to.later, ..io })
    }

    /// A process's I/Os.
    pub(super) fn played(&self, process: usize) -> impl Iterator<Item = ReplayIo> {
        let mut to = PlayedTo::default();
        core::iter::from_fn(move || self.play(process, &mut to))
    }

    /// How many I/Os it has.
    pub fn ios(&self) -> usize {
        self.ios_once() * (1 + self.again as usize)
    }

    fn ios_once(&self) -> usize {
        self.processes.iter().map(|process| process.ios.len()).sum()
    }

    /// All I/Os, of all processes, in their order.
    pub(crate) fn in_order(&self) -> Vec<ReplayIo> {
        let mut all: Vec<ReplayIo> = (0..self.processes.len()).flat_map(|process| self.played(process)).collect();
        all.sort_by_key(|io| (io.at, io.nth));
        all
    }

    /// The priority of a process's first I/O on `disk`; `None` if it has none there.
    pub(super) fn priority(&self, process: usize, disk: StandsFor) -> Option<Priority> {
        self.played(process).find(|io| disk.has(io)).map(|io| io.priority)
    }

    pub(super) fn has_completions(&self) -> bool {
        self.completions > 0
    }

    /// Its devices, in the order of first appearance.
    pub fn devices(&self) -> &[(u32, u32)] {
        &self.devices
    }

    /// The last sector at which anything on `disk` begins, and the greatest length \[sectors\].
    pub(crate) fn reach(&self, disk: StandsFor) -> (u64, u32) {
        let of = |process: &RecordedProcess| match disk {
            StandsFor::Whole => process.ios.reach(),
            StandsFor::Nth(_) => {
                let ios = process.ios.iter().filter(|io| disk.has(io));
                ios.fold((0, 0), |(start, sectors), io| (io.start.max(start), io.sectors.max(sectors)))
            }
        };
        let further = |all: (u64, u32), one: (u64, u32)| (all.0.max(one.0), all.1.max(one.1));
        self.processes.iter().map(of).fold((0, 0), further)
    }

    /// What it has of `disk` and what it lacks; `when` describes when its I/Os are submitted.
    pub(crate) fn notes(&self, name: &str, when: &str, disk: StandsFor) -> Vec<String> {
        let count =
            |number: usize, one: &str| if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") };
        let on_disk = |process: &RecordedProcess| match disk {
            StandsFor::Whole => process.ios.len(),
            StandsFor::Nth(_) => process.ios.iter().filter(|io| disk.has(io)).count(),
        };
        let each: Vec<usize> = self.processes.iter().map(on_disk).collect();
        let processes = each.iter().filter(|&&ios| ios > 0).count();
        let (rounds, length) = (1 + self.again as usize, self.whole());
        let several = if processes == 1 { "1 process" } else { &format!("{processes} processes") };
        let mut notes = vec![format!(
            "{name}: {} of {several} in {:.3}s, {when}; merges, waiting and completions are the simulation's",
            count(each.iter().sum::<usize>() * rounds, "I/O"),
            length.as_secs_f64()
        )];
        if !self.priorities {
            notes.push(format!("{name}: the trace tells no priorities: all are normal"));
        }
        notes
    }
}

impl RecordedProcess {
    /// Whether it is a kernel's worker that only writes, which it does for the processes that dirtied memory.
    pub fn writes_back(&self, name: &str) -> bool {
        let writes = |io: ReplayIo| matches!(io.op, Op::Write | Op::WriteZeroes | Op::Discard | Op::Flush);
        name.starts_with("kworker/") && self.ios.iter().all(writes)
    }

    /// How many I/Os it had in flight at most.
    pub(super) fn depth(&self) -> u32 {
        self.ios.deepest() + 1
    }

    /// Whether all of it is on `disk`.
    pub(super) fn is_wholly_on(&self, disk: StandsFor) -> bool {
        disk == StandsFor::Whole || self.ios.iter().all(|io| disk.has(&io))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Process 7 reads 4 KiB, or another action at that place.
    pub fn event(time: u64, what: TraceAction, start: u64) -> TraceEvent {
        TraceEvent {
            time,
            what,
            device: (8, 0),
            pid: 7,
            op: Op::Read,
            start,
            sectors: 8,
            waiter: Waiter::Sync,
            hints: Hints::default(),
            durability: Durability::default(),
        }
    }

    fn read(events: Vec<TraceEvent>) -> Recording {
        Recording::of(events, &BTreeMap::from([(7, "cat".to_owned())])).unwrap()
    }

    #[test]
    fn what_was_in_flight_and_the_pause_since_are_read_off_the_completions() {
        let whole = TraceEvent { sectors: 16, ..event(900, TraceAction::Complete, 0) };
        let recording = read(vec![
            event(100, TraceAction::Queue, 0),
            event(150, TraceAction::Queue, 8),
            whole,
            event(1000, TraceAction::Queue, 16),
            event(1300, TraceAction::Complete, 16),
        ]);
        let ios = recording.in_order();
        let seen: Vec<_> = ios.iter().map(|io| (io.at.as_ns(), io.in_flight, io.pause.as_ns())).collect();
        assert_eq!(seen, [(0, 0, 0), (50, 1, 50), (900, 0, 100)]);
        assert_eq!((recording.processes[0].depth(), recording.reach(StandsFor::Whole)), (2, (16, 8)));
    }

    #[test]
    fn what_was_plugged_together_is_one_burst_at_the_moment_of_its_unplugging() {
        let recording = read(vec![
            event(0, TraceAction::Queue, 0),
            event(10, TraceAction::Plug, 0),
            event(20, TraceAction::Queue, 8),
            event(30, TraceAction::Unplug, 0),
            event(40, TraceAction::Queue, 64),
        ]);
        let ios = recording.in_order();
        let seen: Vec<_> = ios.iter().map(|io| (io.at.as_ns(), io.goes_on)).collect();
        assert_eq!(seen, [(30, true), (30, false), (40, false)]);
    }

    #[test]
    fn a_requests_priority_is_that_of_its_bios() {
        let level = Priority { class: blksched::Class::RealTime, level: 2 };
        let request = TraceEvent { sectors: 16, ..event(5, TraceAction::Request(level), 0) };
        let recording = read(vec![event(0, TraceAction::Queue, 0), event(1, TraceAction::Queue, 64), request]);
        let ios = recording.in_order();
        assert_eq!((ios[0].priority, ios[1].priority), (level, Priority::default()));
    }

    #[test]
    fn a_burst_whose_end_is_left_out_ends_with_what_is_left() {
        let write = TraceEvent { op: Op::Write, ..event(20, TraceAction::Queue, 8) };
        let recording = read(vec![
            event(0, TraceAction::Queue, 0),
            event(10, TraceAction::Plug, 0),
            write,
            event(30, TraceAction::Unplug, 0),
        ]);
        let left = recording.without(Op::Write).unwrap();
        assert_eq!((left.ios(), left.in_order()[0].goes_on), (1, false));
        assert_eq!(left.without(Op::Read).unwrap().ios(), 0);
    }

    #[test]
    fn a_kernel_worker_that_only_writes_is_write_back() {
        let of = |op: Op| {
            let events = vec![TraceEvent { op, ..event(0, TraceAction::Queue, 0) }];
            let recording = Recording::of(events, &BTreeMap::from([(7, "kworker/u8:1".to_owned())])).unwrap();
            recording.processes[0].name.clone()
        };
        assert_eq!((of(Op::Write).as_str(), of(Op::Read).as_str()), ("write-back", "kworker/u8:1"));
    }

    #[test]
    fn a_trace_without_queue_events_is_refused() {
        let error = Recording::of(vec![event(0, TraceAction::Complete, 0)], &BTreeMap::new()).unwrap_err();
        assert!(error.contains("queue events"), "{error}");
    }
}
