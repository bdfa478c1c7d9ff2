//! What a recording says without any model: how long each process waited, and for whom the disk worked meanwhile.
//!
//! **Rule** What ended while an I/O waited, itself included, is counted by whose it was; a stream's parts are those of
//! its I/Os, each weighted by how long it waited. That is what happened, not whose fault it was: on a drive that works
//! on many at a time the others may have harmed nobody. So beside it stands how long those took during which nothing
//! of others ended, and who took hardly longer beside others is not named.

use std::collections::{BTreeMap, BTreeSet};

use blksched::author::Waiter;
use blksched::{Op, Span};
use blksched_measure::Histogram;
use blksched_simulate::recording::Stream;
use blksched_traces::groups::RecordedGroups;
use blksched_traces::machine::Device;
use blksched_workloads::replay::{InFlightIos, TraceAction, TraceEvent};

use crate::error::Error;
use crate::files::Files;
use crate::live::LiveKind;
use crate::scene::Word;

/// So many processes and kinds are told apart; those that come later count as one process.
const MOST_STREAMS: usize = 128;
/// Of so many I/Os in flight it is known what ended meanwhile; of more, only how long they took.
const MOST_FOLLOWED: usize = 1 << 16;
/// Where others' I/Os are a smaller part of what ended meanwhile, they are nothing to speak of.
const TO_SPEAK_OF: f64 = 0.2;
/// Who takes less than so many times as long beside others as without them is not harmed to speak of.
const HARMED: f64 = 1.5;
/// A mean of fewer I/Os without others says little.
const ENOUGH: u64 = 10;
/// What processes are called that have no name of their own here.
const OTHERS: &str = "others";

/// The I/O of one process of one kind.
#[derive(Clone, Debug)]
pub struct WaitingStream {
    /// The process's name; processes of one name are taken together.
    pub process: String,
    /// Its control group, from the root, if the recording tells.
    pub group: Option<String>,
    /// The kind. A flush counts as a sync write, a discard as a write in the background.
    pub kind: LiveKind,
    /// I/Os submitted.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The latencies of those whose end was recorded, from submission to completion.
    pub waits: Histogram,
    /// The latencies of those during which nothing of other processes ended.
    pub alone: Histogram,
    /// What ended while they waited, the greatest part first; the parts add up to 1.
    pub served: Vec<Served>,
}

/// A part of what ended while I/Os waited.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// Whose it was.
    pub process: String,
    /// Its kind.
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
    /// The weights of control groups that are not the kernel's default, by the names of their files.
    pub weights: BTreeMap<String, BTreeMap<String, u32>>,
    /// Each process and kind; those that waited longest in all first.
    pub streams: Vec<WaitingStream>,
}

impl WaitingStream {
    /// Whether somebody waits for it.
    fn is_awaited(&self) -> bool {
        self.kind != LiveKind::Write
    }

    /// Those of others, with other work than its own or of another name. Processes that do the same are taken for one
    /// program.
    fn others(&self) -> impl Iterator<Item = &Served> {
        self.served.iter().filter(|one| (&one.process, one.kind) != (&self.process, self.kind))
    }

    /// The part of others in what ended meanwhile, 0 to 1.
    pub fn of_others(&self) -> f64 {
        self.others().map(|one| one.of_others).sum()
    }

    /// The other process with the greatest part; `None` if all of them have no part to speak of, or it takes hardly
    /// longer beside them.
    pub fn culprit(&self) -> Option<&Served> {
        let is_harmed = self.alone.count() < ENOUGH || self.waits.mean() >= HARMED * self.alone.mean();
        let others = self.others().filter(|_| is_harmed && self.of_others() >= TO_SPEAK_OF);
        others.max_by(|a, b| a.of_others.total_cmp(&b.of_others))
    }

    /// How long its I/Os waited in all, by the part of others \[ns\].
    fn suffered(&self) -> f64 {
        self.of_others() * self.waits.mean() * self.waits.count() as f64
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
        Ok(reader.finish(stream.names(), stream.groups()))
    }

    /// The groups whose weights nothing obeys on a disk like this: BFQ obeys io.bfq.weight, io.cost io.weight. None if
    /// the scheduler is not known.
    pub fn ignored_weights(&self, device: Option<&Device>) -> Vec<(&str, &BTreeMap<String, u32>)> {
        let word = |name: &str| device.and_then(|device| device.word(name));
        let (scheduler, has_cost) = (word("scheduler"), word("io_cost") == Some("1"));
        let obeys = |file: &str| match file {
            "io.bfq.weight" => scheduler == Some("bfq"),
            _ => has_cost,
        };
        let is_ignored =
            |weights: &BTreeMap<String, u32>| !weights.is_empty() && !weights.keys().any(|file| obeys(file));
        let all = self.weights.iter().filter(|(_, weights)| scheduler.is_some() && is_ignored(weights));
        all.map(|(group, weights)| (group.as_str(), weights)).collect()
    }

    /// The stream of this process and kind.
    pub fn stream_of(&self, served: &Served) -> Option<&WaitingStream> {
        self.streams.iter().find(|one| (&one.process, one.kind) == (&served.process, served.kind))
    }

    /// Of those that somebody waits for, the one that waited longest beside others; `None` if none did to speak of.
    pub fn victim(&self) -> Option<&WaitingStream> {
        let awaited = self.streams.iter().filter(|stream| stream.is_awaited() && stream.culprit().is_some());
        awaited.max_by(|a, b| a.suffered().total_cmp(&b.suffered()))
    }
}

/// An I/O in flight.
struct WaitingIo {
    stream: usize,
    since: u64,
    /// How many of each stream had ended before; `None` of too many in flight.
    before: Option<Box<[u64]>>,
}

/// Adds up the events.
#[derive(Default)]
struct Reader {
    /// By process and kind.
    places: BTreeMap<(u32, LiveKind), usize>,
    sums: Vec<StreamSum>,
    /// How many of each stream have ended.
    ended: Vec<u64>,
    open: InFlightIos<WaitingIo>,
    first: Option<u64>,
    last: u64,
    reach: u64,
}

struct StreamSum {
    key: (u32, LiveKind),
    ios: u64,
    bytes: u64,
    waits: Histogram,
    alone: Histogram,
    /// What ended meanwhile: of each stream, weighted by the time of each wait \[ns\].
    served: Vec<f64>,
}

impl Reader {
    fn take(&mut self, event: &TraceEvent) {
        self.first.get_or_insert(event.time);
        self.last = self.last.max(event.time);
        match event.what {
            TraceAction::Queue => {
                let at = self.place(event);
                let sum = &mut self.sums[at];
                sum.ios += 1;
                sum.bytes += u64::from(event.sectors) * 512;
                self.reach = self.reach.max(event.start.saturating_add(event.sectors.into()));
                let before = (self.open.len() < MOST_FOLLOWED).then(|| self.ended.clone().into_boxed_slice());
                self.open.add(event, WaitingIo { stream: at, since: event.time, before });
            }
            TraceAction::Complete => self.complete(event),
            TraceAction::Request(_) | TraceAction::Plug | TraceAction::Unplug | TraceAction::Mapped { .. } => {}
        }
    }

    fn complete(&mut self, event: &TraceEvent) {
        let mut ended: Vec<WaitingIo> = Vec::new();
        self.open.complete(event, |io| ended.push(io));
        for io in &ended {
            self.ended[io.stream] += 1;
        }
        for io in ended {
            let waited = event.time.saturating_sub(io.since);
            self.sums[io.stream].waits.record(Span::from_ns(waited));
            let Some(before) = io.before else { continue };
            let of = |nth: usize| self.ended[nth] - before.get(nth).copied().unwrap_or(0);
            let own = self.sums[io.stream].key.0;
            let all: u64 = (0..self.ended.len()).map(of).sum();
            let others: u64 = (0..self.ended.len()).filter(|nth| self.sums[*nth].key.0 != own).map(of).sum();
            let parts: Vec<(usize, u64)> =
                (0..self.ended.len()).map(|nth| (nth, of(nth))).filter(|(_, count)| *count > 0).collect();
            let sum = &mut self.sums[io.stream];
            sum.served.resize(self.ended.len(), 0.0);
            for (nth, count) in parts {
                sum.served[nth] += waited as f64 * count as f64 / all as f64;
            }
            if others == 0 {
                sum.alone.record(Span::from_ns(waited));
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
            let (waits, alone) = (Histogram::new(), Histogram::new());
            self.sums.push(StreamSum { key, ios: 0, bytes: 0, waits, alone, served: Vec::new() });
            self.ended.push(0);
            self.sums.len() - 1
        })
    }

    fn finish(self, names: &BTreeMap<u32, String>, groups: &RecordedGroups) -> RecordedLoad {
        let plain = |(pid, _): (u32, LiveKind)| match (names.get(&pid), pid) {
            // A kernel's worker has a name that nobody chose.
            (Some(name), _) if name.starts_with("kworker/") => "kworker".to_owned(),
            (Some(name), _) => name.clone(),
            (None, u32::MAX) => OTHERS.to_owned(),
            (None, pid) => format!("process {pid}"),
        };
        let mut groups_of: BTreeMap<String, BTreeSet<Option<&String>>> = BTreeMap::new();
        for sum in &self.sums {
            groups_of.entry(plain(sum.key)).or_default().insert(groups.of_task.get(&sum.key.0));
        }
        // Of one name in several groups, each group's is one by itself.
        let name = |key: (u32, LiveKind)| match (plain(key), groups.of_task.get(&key.0)) {
            (plain, Some(group)) if groups_of[&plain].len() > 1 => format!("{plain} in {}", last_part(group)),
            (plain, _) => plain,
        };
        let keys: Vec<(String, LiveKind)> = self.sums.iter().map(|sum| (name(sum.key), sum.key.1)).collect();
        let mut by_name: BTreeMap<(String, LiveKind), (WaitingStream, PartsOfTime)> = BTreeMap::new();
        let pids: Vec<u32> = self.sums.iter().map(|sum| sum.key.0).collect();
        let ios = self.sums.iter().map(|sum| sum.ios).sum();
        for (sum, key) in self.sums.into_iter().zip(&keys) {
            let (process, kind) = key.clone();
            let (waits, alone, served) = (Histogram::new(), Histogram::new(), Vec::new());
            let group = groups.of_task.get(&sum.key.0).cloned();
            let stream = WaitingStream { process, group, kind, ios: 0, bytes: 0, waits, alone, served };
            let (stream, parts) = by_name.entry(key.clone()).or_insert_with(|| (stream, BTreeMap::new()));
            stream.ios += sum.ios;
            stream.bytes += sum.bytes;
            stream.waits.merge(&sum.waits);
            stream.alone.merge(&sum.alone);
            for (owner, ns) in sum.served.into_iter().enumerate().filter(|(_, ns)| *ns > 0.0) {
                let (all, others) = parts.entry(keys[owner].clone()).or_default();
                *all += ns;
                *others += if pids[owner] == sum.key.0 { 0.0 } else { ns };
            }
        }
        let mut streams: Vec<WaitingStream> = by_name.into_values().map(divided).collect();
        let waited = |stream: &WaitingStream| stream.waits.mean() * stream.waits.count() as f64;
        let total = |stream: &WaitingStream| if stream.waits.is_empty() { 0.0 } else { waited(stream) };
        streams.sort_by(|a, b| total(b).total_cmp(&total(a)));
        let lasts = Span::from_ns(self.first.map_or(0, |first| self.last - first));
        let has_completions = streams.iter().any(|stream| !stream.waits.is_empty());
        // A weight matters to whom has I/O in the group or below it.
        let used: Vec<&String> = pids.iter().filter_map(|pid| groups.of_task.get(pid)).collect();
        let is_used = |group: &str| {
            used.iter().any(|one| one.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        };
        let weights = groups.weights.iter().filter(|(group, _)| is_used(group));
        let weights = weights.map(|(group, weights)| (group.clone(), weights.clone())).collect();
        RecordedLoad { lasts, ios, reach: self.reach, has_completions, weights, streams }
    }
}

/// The name of a group's own folder, which says enough to whoever knows the machine.
pub fn last_part(group: &str) -> &str {
    group.rsplit('/').next().unwrap_or(group)
}

/// What ended meanwhile, weighted by the time of each wait, and of that what was of other processes \[ns\].
type PartsOfTime = BTreeMap<(String, LiveKind), (f64, f64)>;

/// The stream with the parts of its time.
fn divided((mut stream, parts): (WaitingStream, PartsOfTime)) -> WaitingStream {
    let all = parts.values().map(|(all, _)| all).sum::<f64>();
    let of = |((process, kind), (part, others)): ((String, LiveKind), (f64, f64))| Served {
        process,
        kind,
        part: part / all,
        of_others: others / all,
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
        reader.finish(&names(), &RecordedGroups::default())
    }

    fn names() -> BTreeMap<u32, String> {
        BTreeMap::from([(1, "db".to_owned()), (2, "cp".to_owned()), (3, "cp".to_owned())])
    }

    #[test]
    fn what_ended_while_a_read_waited_is_counted_by_whose_it_was() {
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
        // Two writes and itself.
        let parts: Vec<(&str, f64)> = victim.served.iter().map(|one| (one.process.as_str(), one.part)).collect();
        assert_eq!(parts, [("cp", 2.0 / 3.0), ("db", 1.0 / 3.0)]);
        assert_eq!(victim.culprit().unwrap().kind, LiveKind::Write);
        assert_eq!(victim.served.iter().map(|one| one.of_others).collect::<Vec<_>>(), [2.0 / 3.0, 0.0]);
        assert_eq!(victim.alone.count(), 0);
        // Two processes of one name are one: 400 + 900.
        let cp = load.streams.iter().find(|stream| stream.process == "cp").unwrap();
        assert_eq!((cp.ios, cp.waits.count(), cp.waits.mean()), (2, 2, 650.0));
        assert!(cp.culprit().is_none(), "it waited for itself");
    }

    #[test]
    fn who_takes_as_long_without_others_is_not_harmed_and_an_end_that_is_missing_changes_nothing() {
        let (queue, complete) = (TraceAction::Queue, TraceAction::Complete);
        let beside = |long: u64| {
            // The end of the first I/O is missing.
            let mut events = vec![event(0, queue, 1, Op::Read, 0)];
            for nth in 1..101_u64 {
                let (at, place) = (nth * 100_000, nth * 8);
                // Every second read has three writes beside it, and takes as long as said.
                let took = if nth % 2 == 0 { long } else { 1_000 };
                events.push(event(at, queue, 1, Op::Read, place));
                for write in (0..3).filter(|_| nth % 2 == 0) {
                    events.push(event(at + 10, queue, 2, Op::Write, 1_000_000 + 100 * nth + 10 * write));
                    events.push(event(at + 20, complete, 0, Op::Write, 1_000_000 + 100 * nth + 10 * write));
                }
                events.push(event(at + took, complete, 0, Op::Read, place));
            }
            load(&events)
        };
        let harmed = beside(9_000);
        let victim = harmed.victim().unwrap();
        assert_eq!((victim.waits.mean(), victim.alone.mean(), victim.alone.count()), (5_000.0, 1_000.0, 50));
        assert!(victim.of_others() > 0.6 && victim.of_others() < 0.75, "{}", victim.of_others());
        assert!(beside(1_200).victim().is_none());
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
    fn groups_tell_processes_of_one_name_apart_and_weights_that_nothing_obeys_are_found() {
        let (queue, complete) = (TraceAction::Queue, TraceAction::Complete);
        let mut groups = RecordedGroups::default();
        for line in [
            "# task 1 /system.slice/db.service",
            "# task 2 /user.slice/a",
            "# task 3 /user.slice/b",
            "# group /system.slice/db.service io.weight=800 io.bfq.weight=800",
            "# group /user.slice",
            "# group /user.slice/c io.weight=700",
        ] {
            assert!(groups.take(line));
        }
        let mut reader = Reader::default();
        for (time, pid, place) in [(0, 2, 100), (0, 3, 200), (100, 1, 300)] {
            reader.take(&event(time, queue, pid, Op::Read, place));
        }
        for (time, place) in [(400, 100), (900, 200), (1000, 300)] {
            reader.take(&event(time, complete, 0, Op::Read, place));
        }
        let load = reader.finish(&names(), &groups);
        let all: BTreeSet<(&str, Option<&str>)> =
            load.streams.iter().map(|one| (one.process.as_str(), one.group.as_deref())).collect();
        let (a, b) = (("cp in a", Some("/user.slice/a")), ("cp in b", Some("/user.slice/b")));
        assert_eq!(all, BTreeSet::from([("db", Some("/system.slice/db.service")), a, b]));
        let served = load.victim().unwrap().culprit().unwrap();
        assert!(load.stream_of(served).unwrap().group.as_deref().unwrap().starts_with("/user.slice/"));
        let ignored = |words: &[(&str, &str)]| {
            let words = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let device = Device { words, knobs: BTreeMap::new() };
            load.ignored_weights(Some(&device)).iter().map(|(group, _)| (*group).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ignored(&[("scheduler", "none")]), ["/system.slice/db.service"]);
        assert_eq!(ignored(&[("scheduler", "none"), ("io_cost", "0")]), ["/system.slice/db.service"]);
        assert!(ignored(&[("scheduler", "bfq")]).is_empty() && ignored(&[]).is_empty());
        assert!(ignored(&[("scheduler", "none"), ("io_cost", "1")]).is_empty());
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
