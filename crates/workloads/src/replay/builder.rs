//! Makes a recording from a trace's events, one by one.

use std::collections::BTreeMap;

use blksched::{Priority, Span};

use super::in_flight::InFlightIos;
use super::packed::PackedIos;
use super::recording::{RecordedProcess, Recording, ReplayIo, TraceAction, TraceEvent};
use super::spool::Spool;

/// The position of an I/O: its process, and its index among that process's I/Os.
type IoPlace = (u32, u32);

/// The most devices that are told apart; further ones count as the last. No simulation has this many disks.
const MOST_DEVICES: usize = u16::MAX as usize;

/// The most I/Os whose completions are looked for, so that a trace without completions does not fill the memory.
const MOST_IN_FLIGHT: usize = 1 << 20;

/// The most I/Os in one burst: a trace that lacks the end of a plug does not fill the memory. (Kernels flush a plug
/// after at most 64 requests.)
const MOST_PLUGGED: usize = 1 << 16;

/// The state of a process while the trace is read.
#[derive(Clone, Debug, Default)]
struct ProcessState {
    in_flight: u32,
    /// When it last submitted an I/O or one of its I/Os completed \[ns\].
    last: u64,
    plugged: bool,
    /// I/Os that are not packed yet, because a plug may still determine when they were submitted: the burst that the
    /// process collects, or else its last I/O.
    open: Vec<ReplayIo>,
    /// The number of its I/Os so far.
    ios: u32,
}

/// A recording in the making.
#[derive(Default)]
pub struct Builder {
    recording: Recording,
    processes: Vec<RecordedProcess>,
    /// The moment of the first event.
    first: Option<u64>,
    /// The index of each process.
    places: BTreeMap<u32, usize>,
    /// The process of the last event.
    last: Option<(u32, usize)>,
    devices: BTreeMap<(u32, u32), u16>,
    last_device: Option<((u32, u32), u16)>,
    states: Vec<ProcessState>,
    /// The I/Os in flight, each with its position and when it was submitted \[ns\].
    in_flight: InFlightIos<(IoPlace, u64)>,
    /// The number of I/Os so far.
    queued: usize,
    spool: Spool,
}

impl Builder {
    /// A builder that keeps at most this much of the recording in memory \[bytes\] and the rest in a temporary file, in
    /// `$TMPDIR` or `/var/tmp`. The default is [`KEPT_IN_MEMORY`](super::KEPT_IN_MEMORY).
    pub fn keeping(most: u64) -> Builder {
        Builder { spool: Spool::keeping(most), ..Builder::default() }
    }

    /// Why part of the recording is lost, if the temporary file cannot be written. There is no use in reading on.
    pub fn trouble(&self) -> Option<&str> {
        self.spool.trouble()
    }

    /// Adds an event; events are added in order of time. `completed` is called for each I/O that the event completes,
    /// with the time of its submission \[ns\], so that the caller need not look for it.
    #[inline]
    pub fn add(&mut self, event: &TraceEvent, completed: impl FnMut(u64)) {
        let first = *self.first.get_or_insert(event.time);
        let since = event.time - first;
        match event.what {
            TraceAction::Queue => self.queue(event, since),
            TraceAction::Request(priority) => self.tell_priority(event, priority),
            TraceAction::Complete => self.complete(event, since, completed),
            TraceAction::Plug | TraceAction::Unplug => self.plug(event, since),
            TraceAction::Mapped { .. } => return,
        }
        self.recording.length = Span::from_ns(since);
    }

    /// Returns the recording; `names` are the names of processes, as far as the trace tells.
    ///
    /// # Errors
    /// If the trace has no submitted I/O, or the temporary file cannot be written.
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
        if self.states[process].open.len() >= MOST_PLUGGED {
            self.unplug(process, since);
        }
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
            in_flight: state.in_flight,
            device,
            // The first I/O keeps its distance from the recording's beginning.
            pause: Span::from_ns(if state.ios == 0 { since } else { since - state.last }),
            goes_on: state.plugged,
        });
        self.queued += 1;
        state.in_flight += 1;
        state.last = since;
        if self.in_flight.len() < MOST_IN_FLIGHT {
            self.in_flight.add(event, ((process as u32, state.ios), event.time));
        }
        state.ios += 1;
    }

    /// The index of a device in the recording.
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
        self.in_flight.inside(event, ios);
    }

    /// A request's completion completes every bio that ends inside the request.
    fn complete(&mut self, event: &TraceEvent, since: u64, mut completed: impl FnMut(u64)) {
        self.recording.completions += 1;
        let states = &mut self.states;
        self.in_flight.complete(event, |((process, _), submitted)| {
            let state = &mut states[process as usize];
            state.in_flight -= 1;
            state.last = since;
            completed(submitted);
        });
    }

    /// blktrace reports a plug after the first bio in it.
    fn plug(&mut self, event: &TraceEvent, since: u64) {
        let Some(process) = self.process(event.pid) else { return };
        let state = &mut self.states[process];
        if event.what == TraceAction::Plug && !state.plugged {
            state.plugged = true;
            state.open.last_mut().expect("it has submitted something").goes_on = true;
        }
        if event.what == TraceAction::Unplug && state.plugged {
            self.unplug(process, since);
        }
    }

    /// The process submits its burst. The last I/O of it stays open: blktrace may report a further plug after it.
    fn unplug(&mut self, process: usize, since: u64) {
        let state = &mut self.states[process];
        state.plugged = false;
        let (last, before) = state.open.split_last_mut().expect("it has submitted something");
        (last.at, last.goes_on) = (Span::from_ns(since), false);
        let submitted = before.len();
        if submitted > 0 {
            let (packed, spool) = (&mut self.processes[process].ios, &mut self.spool);
            before.iter().for_each(|io| packed.push(&ReplayIo { at: Span::from_ns(since), ..*io }, spool));
            state.open.drain(..submitted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recording::tests::event;
    use super::*;

    /// Below, at and above the limit of a burst whose end the trace lacks.
    #[test]
    fn a_plug_that_is_never_opened_does_not_fill_the_memory() {
        for (ios, bursts) in [(MOST_PLUGGED - 1, 1), (MOST_PLUGGED, 1), (MOST_PLUGGED + 1, 2)] {
            let mut builder = Builder::default();
            builder.add(&event(0, TraceAction::Queue, 0), |_| {});
            builder.add(&event(0, TraceAction::Plug, 0), |_| {});
            for nth in 1..ios as u64 {
                builder.add(&event(nth, TraceAction::Queue, 8 * nth), |_| {});
            }
            assert!(builder.states[0].open.len() <= MOST_PLUGGED);
            let recording = builder.finish(&BTreeMap::new()).unwrap();
            // A burst without an end goes on until the recording's, which ends it.
            let all = recording.in_order();
            let ends = all.iter().take(ios - 1).filter(|io| !io.goes_on).count();
            assert_eq!((all.len(), ends + 1), (ios, bursts));
        }
    }
}
