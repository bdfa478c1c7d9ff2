//! Reads a recording off a trace's events, one by one.

use std::collections::BTreeMap;

use blksched::{Priority, Span};

use super::packed::PackedIos;
use super::recording::{RecordedProcess, Recording, ReplayIo, TraceAction, TraceEvent};
use super::spool::Spool;
use super::under_way::UnderWay;

/// Where an I/O stands: process, and place among its I/Os.
type IoPlace = (u32, u32);

/// More devices than this count as one: a simulation of this many disks is not meant.
const MOST_DEVICES: usize = u16::MAX as usize;

/// Those whose completion is looked for at most: a trace that completes nothing does not fill the memory.
const MOST_UNDER_WAY: usize = 1 << 20;

/// What a process is at while the trace is read.
#[derive(Clone, Debug, Default)]
struct ProcessState {
    under_way: u32,
    /// When it last submitted something or heard of a completion \[ns\].
    last: u64,
    plugged: bool,
    /// What is not packed yet, because a plug may still say when it was handed over: what the process collects, else
    /// its last I/O.
    open: Vec<ReplayIo>,
    /// How many it had so far.
    ios: u32,
}

/// Reads a trace, event by event.
#[derive(Default)]
pub struct Builder {
    recording: Recording,
    processes: Vec<RecordedProcess>,
    /// The moment of the first event.
    first: Option<u64>,
    /// Each process's place.
    places: BTreeMap<u32, usize>,
    /// The process of the last event.
    last: Option<(u32, usize)>,
    devices: BTreeMap<(u32, u32), u16>,
    last_device: Option<((u32, u32), u16)>,
    states: Vec<ProcessState>,
    /// Whose they are, and when each was submitted \[ns\].
    under_way: UnderWay<(IoPlace, u64)>,
    /// How many I/Os there were so far.
    queued: usize,
    spool: Spool,
}

impl Builder {
    /// Of what is read, this much stays in memory \[bytes\]; what is beyond lies in a temporary file, in `$TMPDIR` or
    /// `/var/tmp`. Without it: [`KEPT_IN_MEMORY`](super::KEPT_IN_MEMORY).
    pub fn keeping(most: u64) -> Builder {
        Builder { spool: Spool::keeping(most), ..Builder::default() }
    }

    /// Why some of it is lost: the temporary file cannot be written. Then reading on is of no use.
    pub fn trouble(&self) -> Option<&str> {
        self.spool.trouble()
    }

    /// One more event; they come in the order of their moments. `completed` hears when each I/O that it completes was
    /// submitted \[ns\], so that nobody beside has to look for it again.
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

    /// All of them; `names` are those of processes, as far as the trace tells.
    ///
    /// # Errors
    /// If nobody submitted anything, or the temporary file cannot be written.
    pub fn finish(mut self, names: &BTreeMap<u32, String>) -> Result<Recording, String> {
        for (process, state) in self.processes.iter_mut().zip(&self.states) {
            state.open.iter().for_each(|io| process.ios.push(io, &mut self.spool));
            let name = names.get(&process.pid).cloned().unwrap_or_else(|| "process".to_owned());
            process.name = if process.writes_back(&name) { "write-back".to_owned() } else { name };
        }
        if let Some(trouble) = self.spool.trouble() {
            return Err(trouble.to_owned());
        }
        self.recording.hold(self.processes, &self.spool);
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
            let (packed, spool) = (&mut self.processes[process].ios, &mut self.spool);
            state.open.iter().for_each(|io| packed.push(io, spool));
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

    /// The place of a device among the recording's.
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

    /// The place of a process that is known.
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
        self.places.insert(pid, self.processes.len());
        self.processes.push(RecordedProcess { pid, name: String::new(), ios: PackedIos::default() });
        self.states.push(ProcessState { last: since, ..ProcessState::default() });
        self.states.len() - 1
    }

    fn tell_priority(&mut self, event: &TraceEvent, priority: Priority) {
        self.recording.priorities = true;
        let processes = &mut self.processes;
        let ios = |&((process, io), _): &(IoPlace, u64)| {
            processes[process as usize].ios.give_priority(io, priority);
        };
        self.under_way.inside(event, ios);
    }

    /// A request's completion is that of every bio that ends inside of it.
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

    /// blktrace tells of a plug behind the first bio that is in it.
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
                let (packed, spool) = (&mut self.processes[process].ios, &mut self.spool);
                before.iter().for_each(|io| packed.push(&ReplayIo { at: Span::from_ns(since), ..*io }, spool));
                state.open.drain(..handed_over);
            }
        }
    }
}
