//! What a recording says without any model: how long each process waited, and for whom the disk worked meanwhile.
//!
//! **Rule** From one completion to the next the disk is taken to have worked for the process whose I/O the later one
//! ends, as a disk with one command at a time does; of several at a time it is the share in which it ends them. Every
//! I/O that waits in that time waits for that process. So an I/O's time is divided without a rest among those whose
//! I/Os ended meanwhile, itself among them.

use std::collections::BTreeMap;

use blksched::author::Waiter;
use blksched::{Op, Span};
use blksched_measure::Histogram;
use blksched_simulate::recording::Stream;
use blksched_workloads::replay::{InFlightIos, TraceAction, TraceEvent};

use crate::error::Error;
use crate::files::Files;
use crate::live::LiveKind;
use crate::scene::Word;

/// So many processes and kinds are told apart; those that come later count as one process.
const MOST_STREAMS: usize = 512;
/// A process that waits for another for less of its time than this does not wait for it to speak of.
const TO_SPEAK_OF: f64 = 0.2;
/// What processes are called that have no name of their own here.
const OTHERS: &str = "others";

/// The I/O of one process of one kind.
#[derive(Clone, Debug)]
pub struct WaitingStream {
    /// The process's name; processes of one name are taken together.
    pub process: String,
    /// The kind. A flush counts as a sync write, a discard as a write in the background.
    pub kind: LiveKind,
    /// I/Os submitted.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The latencies of those whose end was recorded, from submission to completion.
    pub waits: Histogram,
    /// For whom the disk worked while they waited, the greatest part first; the parts add up to 1.
    pub served: Vec<Served>,
}

/// A part of the time that I/Os waited.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// The process for which the disk worked.
    pub process: String,
    /// What it did.
    pub kind: LiveKind,
    /// The part, 0 to 1.
    pub part: f64,
    /// Of it, what went to other processes than the one that waited, which may have the same name.
    pub of_others: f64,
}

/// What a recording says by itself.
#[derive(Clone, Debug, Default)]
pub struct RecordedLoad {
    /// From its first event to its last.
    pub lasts: Span,
    /// I/Os submitted.
    pub ios: u64,
    /// Behind the last sector that one of them reached.
    pub reach: u64,
    /// Whether the end of any was recorded.
    pub has_completions: bool,
    /// Each process and kind; those that waited longest in all first.
    pub streams: Vec<WaitingStream>,
}

impl WaitingStream {
    /// Whether somebody waits for it.
    fn is_awaited(&self) -> bool {
        self.kind != LiveKind::Write
    }

    /// The other process that it waited for longest, with other work than its own or of another name; `None` if that is
    /// no part to speak of. Processes that do the same are taken for one program.
    pub fn culprit(&self) -> Option<&Served> {
        let is_like = |one: &&Served| one.process == self.process && one.kind == self.kind;
        let others = self.served.iter().filter(|one| !is_like(one) && one.of_others >= TO_SPEAK_OF);
        others.max_by(|a, b| a.of_others.total_cmp(&b.of_others))
    }

    /// How long its I/Os waited for another \[ns\].
    fn suffered(&self) -> f64 {
        self.culprit().map_or(0.0, |one| one.of_others) * self.waits.mean() * self.waits.count() as f64
    }
}

impl RecordedLoad {
    /// Reads the trace of this name from its beginning to its end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(name: &str, files: &dyn Files) -> Result<RecordedLoad, Error> {
        let Word::Trace(trace) = files.word(name, false)? else {
            return Err(Error::Input(format!(
                "{name}: not a recording: expected one of a disk, as from `blksched record`"
            )));
        };
        let (mut stream, _) = trace.stream(files)?;
        RecordedLoad::of(&mut stream).map_err(Error::Input)
    }

    /// The same of an open one.
    fn of(stream: &mut Stream) -> Result<RecordedLoad, String> {
        let mut reader = Reader::default();
        stream.each(|event| {
            reader.take(event);
            Ok(())
        })?;
        Ok(reader.finish(stream.names()))
    }

    /// Of those that somebody waits for, the one that lost most time to another; `None` if none lost a fifth of its
    /// time.
    pub fn victim(&self) -> Option<&WaitingStream> {
        let awaited = self.streams.iter().filter(|stream| stream.is_awaited() && stream.culprit().is_some());
        awaited.max_by(|a, b| a.suffered().total_cmp(&b.suffered()))
    }
}

/// An I/O in flight.
struct WaitingIo {
    stream: usize,
    since: u64,
}

/// Adds up the events.
#[derive(Default)]
struct Reader {
    /// By process and kind.
    places: BTreeMap<(u32, LiveKind), usize>,
    sums: Vec<StreamSum>,
    open: InFlightIos<WaitingIo>,
    /// The streams with I/Os in flight.
    waiting: Vec<usize>,
    first: Option<u64>,
    last: u64,
    reach: u64,
}

struct StreamSum {
    key: (u32, LiveKind),
    ios: u64,
    bytes: u64,
    waits: Histogram,
    in_flight: u32,
    /// The time its I/Os in flight have waited since the last completion \[ns\].
    pending: u64,
    /// The time they waited for each stream \[ns\].
    served: Vec<u64>,
}

impl Reader {
    fn take(&mut self, event: &TraceEvent) {
        match event.what {
            TraceAction::Queue => {
                self.pass(event.time);
                let at = self.place(event);
                let sum = &mut self.sums[at];
                sum.ios += 1;
                sum.bytes += u64::from(event.sectors) * 512;
                self.reach = self.reach.max(event.start.saturating_add(event.sectors.into()));
                if sum.in_flight == 0 {
                    self.waiting.push(at);
                }
                sum.in_flight += 1;
                self.open.add(event, WaitingIo { stream: at, since: event.time });
            }
            TraceAction::Complete => {
                self.pass(event.time);
                self.complete(event);
            }
            TraceAction::Request(_) | TraceAction::Plug | TraceAction::Unplug => {}
        }
    }

    /// Time goes by for all that wait.
    fn pass(&mut self, now: u64) {
        self.first.get_or_insert(now);
        let gone = now.saturating_sub(self.last);
        for &at in &self.waiting {
            let sum = &mut self.sums[at];
            sum.pending += gone * u64::from(sum.in_flight);
        }
        self.last = self.last.max(now);
    }

    fn complete(&mut self, event: &TraceEvent) {
        let mut ended: Vec<WaitingIo> = Vec::new();
        self.open.complete(event, |io| ended.push(io));
        // What nobody here submitted was in flight when the recording began: its time is nobody's.
        let Some(owner) = ended.first().map(|io| io.stream) else { return };
        for &at in &self.waiting {
            let sum = &mut self.sums[at];
            if sum.served.len() <= owner {
                sum.served.resize(owner + 1, 0);
            }
            sum.served[owner] += std::mem::take(&mut sum.pending);
        }
        for io in ended {
            let sum = &mut self.sums[io.stream];
            sum.waits.record(Span::from_ns(event.time.saturating_sub(io.since)));
            sum.in_flight -= 1;
            if sum.in_flight == 0 {
                self.waiting.retain(|at| *at != io.stream);
            }
        }
    }

    fn place(&mut self, event: &TraceEvent) -> usize {
        let kind = kind_of(event);
        let key = (event.pid, kind);
        if let Some(at) = self.places.get(&key) {
            return *at;
        }
        // The last places are for all that come late.
        let key = if self.sums.len() + LiveKind::ALL.len() < MOST_STREAMS { key } else { (u32::MAX, kind) };
        *self.places.entry(key).or_insert_with(|| {
            let (ios, bytes, in_flight, pending) = (0, 0, 0, 0);
            self.sums.push(StreamSum { key, ios, bytes, waits: Histogram::new(), in_flight, pending, served: vec![] });
            self.sums.len() - 1
        })
    }

    fn finish(self, names: &BTreeMap<u32, String>) -> RecordedLoad {
        let name = |(pid, _): (u32, LiveKind)| match (names.get(&pid), pid) {
            (Some(name), _) => name.clone(),
            (None, u32::MAX) => OTHERS.to_owned(),
            (None, pid) => format!("process {pid}"),
        };
        let keys: Vec<(String, LiveKind)> = self.sums.iter().map(|sum| (name(sum.key), sum.key.1)).collect();
        let mut by_name: BTreeMap<(String, LiveKind), (WaitingStream, PartsOfTime)> = BTreeMap::new();
        let pids: Vec<u32> = self.sums.iter().map(|sum| sum.key.0).collect();
        let ios = self.sums.iter().map(|sum| sum.ios).sum();
        for (sum, key) in self.sums.into_iter().zip(&keys) {
            let (process, kind) = key.clone();
            let (waits, served) = (Histogram::new(), Vec::new());
            let (stream, parts) = by_name
                .entry(key.clone())
                .or_insert_with(|| (WaitingStream { process, kind, ios: 0, bytes: 0, waits, served }, BTreeMap::new()));
            stream.ios += sum.ios;
            stream.bytes += sum.bytes;
            stream.waits.merge(&sum.waits);
            for (owner, ns) in sum.served.into_iter().enumerate().filter(|(_, ns)| *ns > 0) {
                let (all, others) = parts.entry(keys[owner].clone()).or_default();
                *all += ns;
                *others += if pids[owner] == sum.key.0 { 0 } else { ns };
            }
        }
        let mut streams: Vec<WaitingStream> = by_name.into_values().map(divided).collect();
        let waited = |stream: &WaitingStream| stream.waits.mean() * stream.waits.count() as f64;
        let total = |stream: &WaitingStream| if stream.waits.is_empty() { 0.0 } else { waited(stream) };
        streams.sort_by(|a, b| total(b).total_cmp(&total(a)));
        let lasts = Span::from_ns(self.first.map_or(0, |first| self.last - first));
        let has_completions = streams.iter().any(|stream| !stream.waits.is_empty());
        RecordedLoad { lasts, ios, reach: self.reach, has_completions, streams }
    }
}

/// For whom the disk worked, how long, and of that for other processes \[ns\].
type PartsOfTime = BTreeMap<(String, LiveKind), (u64, u64)>;

/// The stream with the parts of its time.
fn divided((mut stream, parts): (WaitingStream, PartsOfTime)) -> WaitingStream {
    let all = parts.values().map(|(all, _)| all).sum::<u64>() as f64;
    let of = |((process, kind), (part, others)): ((String, LiveKind), (u64, u64))| Served {
        process,
        kind,
        part: part as f64 / all,
        of_others: others as f64 / all,
    };
    stream.served = parts.into_iter().map(of).collect();
    stream.served.sort_by(|a, b| b.part.total_cmp(&a.part));
    stream
}

fn kind_of(event: &TraceEvent) -> LiveKind {
    match (event.op, event.waiter) {
        (Op::Read, _) => LiveKind::Read,
        (Op::Flush, _) | (Op::Write, Waiter::Sync) => LiveKind::SyncWrite,
        _ => LiveKind::Write,
    }
}

#[cfg(test)]
mod tests {
    use blksched::{Durability, Hints};

    use super::*;

    fn event(time: u64, what: TraceAction, pid: u32, op: Op, start: u64) -> TraceEvent {
        let waiter = if op == Op::Read { Waiter::Sync } else { Waiter::Async };
        let (hints, durability) = (Hints::default(), Durability::default());
        TraceEvent { time, what, device: (8, 0), pid, op, start, sectors: 8, waiter, hints, durability }
    }

    fn load(events: &[TraceEvent]) -> RecordedLoad {
        let mut reader = Reader::default();
        events.iter().for_each(|event| reader.take(event));
        reader.finish(&BTreeMap::from([(1, "db".to_owned()), (2, "cp".to_owned()), (3, "cp".to_owned())]))
    }

    #[test]
    fn the_time_of_a_waiting_read_goes_to_those_whose_ios_end_meanwhile() {
        let (queue, complete) = (TraceAction::Queue, TraceAction::Complete);
        // The writes were there first and end at 400 and 900; the read came at 100 and ends at 1000.
        let load = load(&[
            event(0, queue, 2, Op::Write, 100),
            event(0, queue, 3, Op::Write, 200),
            event(100, queue, 1, Op::Read, 300),
            event(400, complete, 0, Op::Write, 100),
            event(900, complete, 0, Op::Write, 200),
            event(1000, complete, 0, Op::Read, 300),
        ]);
        assert_eq!((load.ios, load.lasts, load.reach, load.has_completions), (3, Span::from_ns(1000), 308, true));
        let victim = load.victim().unwrap();
        assert_eq!((victim.process.as_str(), victim.kind, victim.ios, victim.bytes), ("db", LiveKind::Read, 1, 4096));
        // 900 ns: 800 until the last write ended, and 100 of its own.
        let parts: Vec<(&str, f64)> = victim.served.iter().map(|one| (one.process.as_str(), one.part)).collect();
        assert_eq!(parts, [("cp", 8.0 / 9.0), ("db", 1.0 / 9.0)]);
        assert_eq!(victim.culprit().unwrap().kind, LiveKind::Write);
        assert_eq!(victim.served.iter().map(|one| one.of_others).collect::<Vec<_>>(), [8.0 / 9.0, 0.0]);
        // Two processes of one name are one: 400 + 900.
        let cp = load.streams.iter().find(|stream| stream.process == "cp").unwrap();
        assert_eq!((cp.ios, cp.waits.count(), cp.waits.mean()), (2, 2, 650.0));
        assert!(cp.culprit().is_none(), "it waited for itself");
    }

    #[test]
    fn processes_of_one_name_with_other_work_are_others() {
        let (queue, complete) = (TraceAction::Queue, TraceAction::Complete);
        let of = |reader: u32| {
            load(&[
                event(0, queue, 3, Op::Write, 100),
                event(0, queue, reader, Op::Read, 300),
                event(900, complete, 0, Op::Write, 100),
                event(1000, complete, 0, Op::Read, 300),
            ])
        };
        let two = of(2);
        let victim = two.victim().unwrap();
        assert_eq!((victim.process.as_str(), victim.culprit().unwrap().kind), ("cp", LiveKind::Write));
        assert!(of(3).victim().is_none(), "it reads beside its own writes");
    }

    #[test]
    fn whoever_waits_only_for_itself_is_no_victim_and_parts_are_a_whole() {
        let (queue, complete) = (TraceAction::Queue, TraceAction::Complete);
        let mut events = Vec::new();
        for nth in 0..50_u64 {
            events.push(event(nth * 100, queue, 1, Op::Read, nth * 8));
            events.push(event(nth * 100 + 60, complete, 0, Op::Read, nth * 8));
        }
        let alone = load(&events);
        assert!(alone.victim().is_none());
        assert!((alone.streams[0].served.iter().map(|one| one.part).sum::<f64>() - 1.0).abs() < 1e-9);
        // A completion of what began before the recording, and an I/O that never ends, change nothing.
        let odd = load(&[event(5, complete, 0, Op::Read, 4), event(9, queue, 1, Op::Read, 8)]);
        assert_eq!((odd.ios, odd.streams[0].waits.count(), odd.streams[0].served.len()), (1, 0, 0));
        assert!(load(&[]).victim().is_none());
    }

    #[test]
    fn more_processes_than_are_told_apart_count_as_one() {
        let events: Vec<TraceEvent> = (0..2 * MOST_STREAMS as u32)
            .map(|pid| event(u64::from(pid), TraceAction::Queue, 1000 + pid, Op::Read, u64::from(pid) * 8))
            .collect();
        let load = load(&events);
        assert_eq!(load.ios, 2 * MOST_STREAMS as u64);
        assert!(load.streams.len() <= MOST_STREAMS, "{}", load.streams.len());
        assert!(load.streams.iter().any(|stream| stream.process == OTHERS && stream.ios > 1));
    }
}
