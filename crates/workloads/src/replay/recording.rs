//! A recording: the events of a block trace, made into what each process asked for, when, and after what.

use std::collections::BTreeMap;

use blksched::author::Waiter;
use blksched::{Class, Durability, Hints, Op, Priority, Span};

use super::packed::{PackedIos, PackedPlace};
use super::under_way::UnderWay;

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
}

/// What was done, process by process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub(super) processes: Vec<RecordedProcess>,
    /// In the order of first appearance.
    devices: Vec<(u32, u32)>,
    completions: u64,
    priorities: bool,
    /// All of it has this class, whatever the trace says.
    class: Option<Class>,
    /// How often it is repeated, each time from where it ended.
    again: u64,
    /// The length of one repetition.
    length: Span,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedProcess {
    pub pid: u32,
    pub name: String,
    ios: PackedIos,
}

/// A process's position while it is played.
#[derive(Clone, Copy, Debug, Default)]
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
    pub under_way: u32,
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

/// The place of an I/O: process, and index among its I/Os.
type IoPlace = (u32, u32);

/// More devices than this count as one: simulating this many disks is not intended.
const MOST_DEVICES: usize = u16::MAX as usize;

/// The most I/Os whose completion is awaited: a trace without completions does not fill the memory.
const MOST_UNDER_WAY: usize = 1 << 20;

/// The state of a process while the trace is read.
#[derive(Clone, Debug, Default)]
struct ProcessState {
    under_way: u32,
    /// When it last submitted something or was told of a completion \[ns\].
    last: u64,
    plugged: bool,
    /// What is not packed yet, because a plug may still tell when it was submitted: what the process collects, else its
    /// last I/O.
    open: Vec<ReplayIo>,
    /// The number of its I/Os so far.
    ios: u32,
}

/// Builds a recording from a trace, event by event.
#[derive(Default)]
pub struct Builder {
    recording: Recording,
    /// The moment of the first event.
    first: Option<u64>,
    /// The index of each process.
    places: BTreeMap<u32, usize>,
    /// The process of the last event.
    last: Option<(u32, usize)>,
    devices: BTreeMap<(u32, u32), u16>,
    last_device: Option<((u32, u32), u16)>,
    states: Vec<ProcessState>,
    /// The place of each I/O in flight, and when it was submitted \[ns\].
    under_way: UnderWay<(IoPlace, u64)>,
    /// The number of I/Os so far.
    queued: usize,
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

    /// The same without I/Os of one kind.
    pub(crate) fn without(&self, op: Op) -> Recording {
        let left = |process: &RecordedProcess| {
            let (mut kept, mut last) = (PackedIos::default(), None::<ReplayIo>);
            for io in process.ios.iter() {
                match &mut last {
                    _ if io.op != op => last.replace(io).iter().for_each(|before| kept.push(before)),
                    // The I/O that ended its burst is gone.
                    Some(before) if !io.goes_on => before.goes_on = false,
                    _ => {}
                }
            }
            last.iter().for_each(|io| kept.push(io));
            RecordedProcess { ios: kept, name: process.name.clone(), pid: process.pid }
        };
        let mut processes: Vec<RecordedProcess> = self.processes.iter().map(left).collect();
        processes.retain(|process| process.ios.len() > 0);
        let &Recording { ref devices, completions, priorities, class, again, length, .. } = self;
        Recording { processes, devices: devices.clone(), completions, priorities, class, again, length }
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
    fn played(&self, process: usize) -> impl Iterator<Item = ReplayIo> {
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
        let (rounds, length) = (1 + self.again as usize, self.length * (1 + self.again));
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

impl Builder {
    /// The number of I/Os so far.
    pub fn ios(&self) -> usize {
        self.queued
    }

    /// Adds an event; events come in the order of their times. `completed` is called for each I/O that it completes,
    /// with the time of its submission \[ns\], so that the caller need not match completions itself.
    #[inline]
    pub fn add(&mut self, event: &TraceEvent, completed: impl FnMut(u64)) {
        let first = *self.first.get_or_insert(event.time);
        let since = event.time - first;
        match event.what {
            TraceAction::Queue => self.queue(event, since),
            TraceAction::Request(priority) => self.tell_priority(event, priority),
            TraceAction::Complete => self.complete(event, since, completed),
            TraceAction::Plug | TraceAction::Unplug => self.plug(event, since),
        }
        self.recording.length = Span::from_ns(since);
    }

    /// Completes the recording; `names` are those of processes, as far as the trace has them.
    ///
    /// # Errors
    /// If nothing was submitted.
    pub fn finish(mut self, names: &BTreeMap<u32, String>) -> Result<Recording, String> {
        for (process, state) in self.recording.processes.iter_mut().zip(&self.states) {
            state.open.iter().for_each(|io| process.ios.push(io));
            let name = names.get(&process.pid).cloned().unwrap_or_else(|| "process".to_owned());
            process.name = if process.writes_back(&name) { "write-back".to_owned() } else { name };
        }
        match self.recording.ios() {
            0 => Err("the trace has no I/O that a process submitted: it needs queue events (`Q` of blktrace, \
                      block_bio_queue of tracefs)"
                .to_owned()),
            _ => Ok(self.recording),
        }
    }

    fn queue(&mut self, event: &TraceEvent, since: u64) {
        let device = self.device(event.device);
        let process = self.process(event.pid).unwrap_or_else(|| self.newcomer(event.pid, since));
        let state = &mut self.states[process];
        if !state.plugged {
            let packed = &mut self.recording.processes[process].ios;
            state.open.iter().for_each(|io| packed.push(io));
            state.open.clear();
        }
        state.open.push(ReplayIo {
            nth: self.queued,
            at: Span::from_ns(since),
            op: event.op,
            start: event.start,
            sectors: event.sectors,
            waiter: event.waiter,
            hints: event.hints,
            durability: event.durability,
            priority: Priority::default(),
            under_way: state.under_way,
            device,
            // The first comes as long after the recording's beginning as it did.
            pause: Span::from_ns(if state.ios == 0 { since } else { since - state.last }),
            goes_on: state.plugged,
        });
        self.queued += 1;
        state.under_way += 1;
        state.last = since;
        if self.under_way.len() < MOST_UNDER_WAY {
            self.under_way.add(event, ((process as u32, state.ios), event.time));
        }
        state.ios += 1;
    }

    /// The index of a device among the recording's.
    fn device(&mut self, device: (u32, u32)) -> u16 {
        if let Some((last, place)) = self.last_device
            && last == device
        {
            return place;
        }
        let known = &mut self.recording.devices;
        let place = *self.devices.entry(device).or_insert_with(|| {
            known.push(device);
            known.len().min(MOST_DEVICES) as u16 - 1
        });
        self.last_device = Some((device, place));
        place
    }

    /// The index of a known process.
    fn process(&mut self, pid: u32) -> Option<usize> {
        match self.last {
            Some((last, process)) if last == pid => Some(process),
            _ => {
                let process = *self.places.get(&pid)?;
                self.last = Some((pid, process));
                Some(process)
            }
        }
    }

    fn newcomer(&mut self, pid: u32, since: u64) -> usize {
        let processes = &mut self.recording.processes;
        self.places.insert(pid, processes.len());
        processes.push(RecordedProcess { pid, name: String::new(), ios: PackedIos::default() });
        self.states.push(ProcessState { last: since, ..ProcessState::default() });
        self.states.len() - 1
    }

    fn tell_priority(&mut self, event: &TraceEvent, priority: Priority) {
        let Recording { processes, priorities, .. } = &mut self.recording;
        *priorities = true;
        let ios = |&((process, io), _): &(IoPlace, u64)| {
            processes[process as usize].ios.give_priority(io as usize, priority);
        };
        self.under_way.inside(event, ios);
    }

    /// A request's completion is that of every bio that ends inside it.
    fn complete(&mut self, event: &TraceEvent, since: u64, mut completed: impl FnMut(u64)) {
        self.recording.completions += 1;
        let states = &mut self.states;
        self.under_way.complete(event, |((process, _), submitted)| {
            let state = &mut states[process as usize];
            state.under_way -= 1;
            state.last = since;
            completed(submitted);
        });
    }

    /// blktrace reports a plug after the first bio that is in it.
    fn plug(&mut self, event: &TraceEvent, since: u64) {
        let Some(process) = self.process(event.pid) else { return };
        let state = &mut self.states[process];
        if event.what == TraceAction::Plug && !state.plugged {
            state.plugged = true;
            state.open.last_mut().expect("it has submitted something").goes_on = true;
        }
        if event.what == TraceAction::Unplug && core::mem::take(&mut state.plugged) {
            let (last, before) = state.open.split_last_mut().expect("it has submitted something");
            (last.at, last.goes_on) = (Span::from_ns(since), false);
            let handed_over = before.len();
            if handed_over > 0 {
                let packed = &mut self.recording.processes[process].ios;
                before.iter().for_each(|io| packed.push(&ReplayIo { at: Span::from_ns(since), ..*io }));
                state.open.drain(..handed_over);
            }
        }
    }
}

impl RecordedProcess {
    /// Whether it is a kernel's worker that only writes, which it does for the processes that dirtied memory.
    fn writes_back(&self, name: &str) -> bool {
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
    fn what_was_under_way_and_the_pause_since_are_read_off_the_completions() {
        let whole = TraceEvent { sectors: 16, ..event(900, TraceAction::Complete, 0) };
        let recording = read(vec![
            event(100, TraceAction::Queue, 0),
            event(150, TraceAction::Queue, 8),
            whole,
            event(1000, TraceAction::Queue, 16),
            event(1300, TraceAction::Complete, 16),
        ]);
        let ios = recording.in_order();
        let seen: Vec<_> = ios.iter().map(|io| (io.at.as_ns(), io.under_way, io.pause.as_ns())).collect();
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
        let left = recording.without(Op::Write);
        assert_eq!((left.ios(), left.in_order()[0].goes_on), (1, false));
        assert_eq!(left.without(Op::Read).ios(), 0);
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
