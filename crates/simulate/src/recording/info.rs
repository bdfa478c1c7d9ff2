//! Summary of a trace, and first of all whether it supports a verdict about queueing.

use std::collections::BTreeMap;

use blksched::{Op, Span};
use blksched_measure::Histogram;
use blksched_traces::snoop::RecordedSide;
use blksched_workloads::replay::{InFlightIos, TraceAction, TraceEvent};

use super::apart::{Apart, SizeCounts};
use super::events::DeviceNumber;
use super::paired::{Paired, Pairing};
use super::stream::{Met, Stream};
use super::{Format, doubts};

/// The most I/Os whose completion is awaited: a trace without completions does not fill the memory.
const MOST_IN_FLIGHT: usize = 1 << 20;

/// Whether a trace can support a verdict about queueing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitness {
    /// It has submissions, completions and times.
    Good(String),
    /// Only with its recorded times, in an open loop.
    OpenLoop(String),
    /// Nothing may be ranked by it.
    None(String),
}

impl Fitness {
    /// Whether schedulers may be ranked by replaying it.
    pub fn ranks(&self) -> bool {
        !matches!(self, Fitness::None(_))
    }
}

impl std::fmt::Display for Fitness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fitness::Good(why) => write!(f, "supports a verdict about queueing: {why}"),
            Fitness::OpenLoop(why) => write!(f, "supports a verdict about queueing for an open loop only: {why}"),
            Fitness::None(why) => write!(f, "does not support a verdict about queueing, and ranks nothing: {why}"),
        }
    }
}

/// The I/O of one kind.
#[derive(Clone, Debug, Default)]
pub struct LoadAsked {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// I/Os that begin where the previous one on the device and in the same direction ended.
    pub sequential: u64,
    /// Their latencies \[ns\], as far as the trace has them.
    pub latency: Option<Box<Histogram>>,
}

/// A device's or a process's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadShare {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// Its first sector.
    pub begin: u64,
    /// The end of its last sector.
    pub reach: u64,
}

impl LoadShare {
    fn add(&mut self, begin: u64, end: u64, bytes: u64) {
        let first = if self.ios == 0 { begin } else { self.begin.min(begin) };
        *self = LoadShare { ios: self.ios + 1, bytes: self.bytes + bytes, begin: first, reach: self.reach.max(end) };
    }
}

/// A trace's summary.
#[derive(Debug, Default)]
pub struct Info {
    /// By kind: read, write, discard, flush.
    pub asked: [LoadAsked; 4],
    devices: Apart<DeviceNumber, SharedDevice>,
    processes: Apart<u32, LoadShare>,
    sizes: SizeCounts,
    /// Completions.
    pub completions: u64,
    /// Requests with a priority.
    pub priorities: u64,
    /// Submissions at the same time as the previous one.
    pub together: u64,
    /// The most I/Os in flight.
    pub deepest: u64,
    /// The number in flight, integrated over time \[ns\].
    depth_time: u128,
    first: Option<u64>,
    last: u64,
    before: Option<u64>,
    /// The longest I/O but for discards and flushes \[sectors\].
    longest: u32,
    resolution: u64,
    /// The submission time of each I/O in flight.
    open: InFlightIos<u64>,
}

/// The I/Os of a device, and where the last of each kind ended.
#[derive(Clone, Copy, Debug, Default)]
struct SharedDevice {
    share: LoadShare,
    ends: [Option<u64>; 4],
}

/// Its place in [`Info::asked`].
fn kind(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write | Op::WriteZeroes => 1,
        Op::Discard => 2,
        Op::Flush => 3,
    }
}

impl Info {
    /// Reads the rest of a trace, event by event.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(stream: &mut Stream) -> Result<Info, String> {
        let mut info = Info::default();
        stream.each(|event| {
            info.add(event);
            Ok(())
        })?;
        Ok(info)
    }

    /// The same of a trace of devices above one another, where a bio counts once, unless one device was asked for.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn paired(stream: &mut Stream) -> Result<(Info, Paired), String> {
        if stream.is_of_one_device() {
            return Ok((Info::of(stream)?, Paired::default()));
        }
        let (mut info, mut pairing) = (Info::default(), Pairing::of(stream.machine()));
        stream.each(|event| {
            pairing.take(event, |event| {
                info.add(event);
                Ok(())
            })
        })?;
        Ok((info, pairing.finish()))
    }

    /// Adds an event; events come in the order of their times.
    #[inline]
    pub(super) fn add(&mut self, event: &TraceEvent) {
        if matches!(event.what, TraceAction::Plug | TraceAction::Unplug | TraceAction::Mapped { .. }) {
            return;
        }
        let first = self.first.unwrap_or(event.time);
        self.depth_time += u128::from(event.time - self.last.max(first)) * self.open.len() as u128;
        self.first.get_or_insert(event.time);
        self.last = event.time;
        match event.what {
            TraceAction::Queue => {
                self.submitted(event);
                self.goes_in_flight(event);
            }
            TraceAction::Complete => {
                self.completions += 1;
                self.completed(event);
            }
            TraceAction::Request(_) => self.priorities += 1,
            TraceAction::Plug | TraceAction::Unplug | TraceAction::Mapped { .. } => {}
        }
    }

    /// Adds only what a verdict depends on ([`fitness`](Info::fitness)), and each device's number of I/Os; for a caller
    /// that matches completions itself and reports them ([`took_so_long`](Info::took_so_long)).
    #[inline]
    pub(super) fn count(&mut self, event: &TraceEvent) {
        match event.what {
            TraceAction::Plug | TraceAction::Unplug | TraceAction::Mapped { .. } => return,
            TraceAction::Queue => {
                self.judged(event);
                if let Some(device) = self.device(event.device) {
                    device.share.ios += 1;
                }
            }
            TraceAction::Complete => self.completions += 1,
            TraceAction::Request(_) => {}
        }
        self.first.get_or_insert(event.time);
        self.last = event.time;
    }

    /// Reports an I/O of this kind as complete, with its latency.
    #[inline]
    pub(super) fn took_so_long(&mut self, op: Op, took: Span) {
        let latency = &mut self.asked[kind(op)].latency;
        latency.get_or_insert_with(|| Box::new(Histogram::new())).record(took);
    }

    fn submitted(&mut self, event: &TraceEvent) {
        let bytes = u64::from(event.sectors) * 512;
        let end = event.start.saturating_add(u64::from(event.sectors));
        self.judged(event);
        if let Some(device) = self.device(event.device) {
            let before = device.ends[kind(event.op)].replace(end);
            device.share.add(event.start, end, bytes);
            self.asked[kind(event.op)].sequential += u64::from(before == Some(event.start) && event.sectors > 0);
        }
        if let Some(share) = self.processes.at(event.pid, event.pid) {
            share.add(event.start, end, bytes);
        }
        self.sizes.add(event.sectors);
    }

    /// What a verdict depends on.
    #[inline]
    fn judged(&mut self, event: &TraceEvent) {
        let asked = &mut self.asked[kind(event.op)];
        asked.ios += 1;
        asked.bytes += u64::from(event.sectors) * 512;
        if matches!(event.op, Op::Read | Op::Write) {
            self.longest = self.longest.max(event.sectors);
        }
        self.together += u64::from(self.before == Some(event.time));
        self.before = Some(event.time);
        // In most traces the resolution soon turns out to be 1 ns.
        if self.resolution != 1 {
            self.resolution = gcd(self.resolution, event.time);
        }
    }

    #[inline]
    fn device(&mut self, device: DeviceNumber) -> Option<&mut SharedDevice> {
        self.devices.at(device, device.0 ^ device.1)
    }

    fn goes_in_flight(&mut self, event: &TraceEvent) {
        // In a trace without completions there is nothing to wait for.
        let room = if self.completions == 0 { MOST_IN_FLIGHT >> 6 } else { MOST_IN_FLIGHT };
        if self.open.len() < room {
            self.open.add(event, event.time);
            self.deepest = self.deepest.max(self.open.len() as u64);
        }
    }

    /// A request's completion is that of every bio that ends inside it.
    fn completed(&mut self, event: &TraceEvent) {
        let latency = &mut self.asked[kind(event.op)].latency;
        self.open.complete(event, |since| {
            latency.get_or_insert_with(|| Box::new(Histogram::new())).record(Span::from_ns(event.time - since));
        });
    }

    /// The I/O of each device.
    pub fn devices(&self) -> BTreeMap<DeviceNumber, LoadShare> {
        self.devices.iter().map(|(device, of)| (*device, of.share)).collect()
    }

    /// The I/O of each process.
    pub fn processes(&self) -> BTreeMap<u32, LoadShare> {
        self.processes.iter().copied().collect()
    }

    /// I/Os by length \[sectors\]; 0 stands for all other lengths.
    pub fn sizes(&self) -> BTreeMap<u32, u64> {
        self.sizes.all()
    }

    /// The number of I/Os.
    pub fn ios(&self) -> u64 {
        self.asked.iter().map(|asked| asked.ios).sum()
    }

    /// The time of the first event \[ns\].
    pub fn first(&self) -> Option<u64> {
        self.first
    }

    /// The time from the first event to the last.
    pub fn span(&self) -> Span {
        Span::from_ns(self.last - self.first.unwrap_or(self.last))
    }

    /// I/Os without a completion, in a trace that has completions.
    pub fn never_completed(&self) -> u64 {
        if self.completions > 0 { self.open.len() as u64 } else { 0 }
    }

    /// The mean number in flight, if there are completions.
    pub fn depth(&self) -> Option<f64> {
        let span = self.span().as_ns();
        (self.completions > 0 && span > 0).then(|| self.depth_time as f64 / span as f64)
    }

    /// The latencies of I/Os of a kind, if known.
    pub fn took(&self, op: Op) -> Option<&Histogram> {
        self.asked[kind(op)].latency.as_deref().filter(|latency| !latency.is_empty())
    }

    /// The longest read or write \[sectors\].
    pub(super) fn longest(&self) -> u32 {
        self.longest
    }

    /// The greatest common divisor of all times.
    pub fn resolution(&self) -> Span {
        Span::from_ns(self.resolution)
    }

    /// Whether it can support a verdict.
    pub fn fitness(&self, format: &Format, met: Met) -> Fitness {
        let (ios, span) = (self.ios(), self.span());
        if ios == 0 && self.completions > 0 {
            let some = self.completions;
            return Fitness::None(format!(
                "it has {some} completions and nothing that was submitted: record Q, or I and D (blktrace -a queue -a \
                 issue -a complete)"
            ));
        }
        if ios == 0 {
            return Fitness::None("it contains no I/O".to_owned());
        }
        let of_a_kernel = format.begins().is_some();
        if of_a_kernel && u64::from(self.longest) * 512 >= doubts::LONGEST_IO {
            return Fitness::None(format!(
                "its reads and writes are up to {} MiB long, which is more than Linux sends a disk at a time, so \
                 their lengths are probably misread",
                self.longest >> 11
            ));
        }
        if span == Span::ZERO && ios > 1 {
            return Fitness::None("it has no times".to_owned());
        }
        if ios == 1 {
            return Fitness::None("it contains one I/O, and one alone waits for nothing".to_owned());
        }
        if format.side() == RecordedSide::Disk {
            return Fitness::None(
                "only what the disk was given is recorded, as the scheduler that ran ordered it, not what was submitted"
                    .to_owned(),
            );
        }
        if met.lost > ios / 1000 {
            return Fitness::None(format!("{} events were lost while it was recorded", met.lost));
        }
        let (resolution, rate) = (self.resolution(), ios as f64 / span.as_secs_f64().max(1e-9));
        let a_moment = rate * resolution.as_secs_f64();
        if a_moment > 1.0 && self.together * 2 > ios {
            return Fitness::None(format!(
                "its timestamps are exact to {resolution}, and in that time {a_moment:.0} I/Os are submitted, so their \
                 order and distances are lost"
            ));
        }
        let moments = format!("{ios} I/Os in {:.3}s, timestamps exact to {resolution}", span.as_secs_f64());
        let completed: u64 = self.asked.iter().filter_map(|asked| Some(asked.latency.as_ref()?.count())).sum();
        match completed {
            0 => Fitness::OpenLoop(format!(
                "{moments}; no completions, so it is not known which process waited for what"
            )),
            some if some * 10 < ios * 9 => Fitness::OpenLoop(format!(
                "{moments}; only {some} of {ios} I/Os have their completion, so it is only partly known which \
                 process waited for what"
            )),
            _ if format.side() == RecordedSide::Scheduler => {
                Fitness::Good(format!("{moments}, and completions; what waited for a tag is not in it"))
            }
            _ => Fitness::Good(format!("{moments}, and completions")),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
