//! What a trace holds, and first of all whether it can carry a verdict about queueing.

use std::collections::BTreeMap;
use std::ops::Range;

use blksched::{Op, Span};
use blksched_measure::Histogram;
use blksched_workloads::replay::{Event, What};

use super::events::Device;
use super::stream::{Met, Stream};
use super::{Begins, Format};

/// I/Os whose completion is looked for at most: whoever completes nothing does not fill the memory.
const MOST_UNDER_WAY: usize = 1 << 20;
/// Devices and processes that are told apart at most; the rest counts together.
const MOST_TOLD_APART: usize = 100_000;
/// Sizes that are told apart at most.
const MOST_SIZES: usize = 4096;

/// Can a verdict about queueing hang on a trace?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitness {
    /// Submissions, completions and moments are there.
    Good(String),
    /// Only as recorded moments on an open loop.
    OpenLoop(String),
    /// Nothing may be ranked by it.
    None(String),
}

impl Fitness {
    /// May schedulers be ranked by a replay of this?
    pub fn ranks(&self) -> bool {
        !matches!(self, Fitness::None(_))
    }
}

impl std::fmt::Display for Fitness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fitness::Good(why) => write!(f, "can carry a verdict about queueing: {why}"),
            Fitness::OpenLoop(why) => write!(f, "can carry a verdict about queueing for an open loop only: {why}"),
            Fitness::None(why) => write!(f, "cannot carry a verdict about queueing, and ranks nothing: {why}"),
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// I/Os that begin where the one before on the device and in its direction ended.
    pub sequential: u64,
    /// How long they took \[ns\], as far as the trace tells.
    pub latency: Option<Box<Histogram>>,
}

/// A device or a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// Its first sector.
    pub begin: u64,
    /// The end of its last sector.
    pub reach: u64,
}

/// A trace's summary.
#[derive(Debug, Default)]
pub struct Info {
    /// By kind: read, write, discard, flush.
    pub asked: [Asked; 4],
    /// By device.
    pub devices: BTreeMap<Device, Share>,
    /// By process.
    pub processes: BTreeMap<u32, Share>,
    /// I/Os by length \[sectors\]; 0 stands for further lengths.
    pub sizes: BTreeMap<u32, u64>,
    /// Completions.
    pub completions: u64,
    /// Requests with a priority.
    pub priorities: u64,
    /// Submissions that share their moment with the one before.
    pub together: u64,
    /// Under way at most.
    pub deepest: u64,
    /// Under way, times the time that it lasted \[ns\].
    depth_time: u128,
    under_way: u64,
    first: Option<u64>,
    last: u64,
    before: Option<u64>,
    resolution: u64,
    ends: BTreeMap<(Device, u8), u64>,
    /// When each was submitted, by where it ends and its number.
    open: BTreeMap<(Key, u64), u64>,
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
    /// Everything that is left of a trace, event by event.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(stream: &mut Stream) -> Result<Info, String> {
        let mut info = Info::default();
        while let Some(event) = stream.event()? {
            info.add(&event);
        }
        Ok(info)
    }

    /// One more event; they come in the order of their moments.
    pub(super) fn add(&mut self, event: &Event) {
        let first = *self.first.get_or_insert(event.time);
        self.depth_time += u128::from(event.time - self.last.max(first)) * u128::from(self.under_way);
        self.last = event.time;
        match event.what {
            What::Queue => self.submitted(event),
            What::Complete => self.completed(event),
            What::Request(_) => self.priorities += 1,
            What::Plug | What::Unplug => {}
        }
    }

    fn submitted(&mut self, event: &Event) {
        let bytes = u64::from(event.sectors) * 512;
        let end = event.start.saturating_add(u64::from(event.sectors));
        let asked = &mut self.asked[kind(event.op)];
        asked.ios += 1;
        asked.bytes += bytes;
        let before = self.ends.insert((event.device, kind(event.op) as u8), end);
        asked.sequential += u64::from(before == Some(event.start) && event.sectors > 0);
        let shares = [share(&mut self.devices, event.device), share(&mut self.processes, event.pid)];
        for share in shares.into_iter().flatten() {
            let begin = if share.ios == 0 { event.start } else { share.begin.min(event.start) };
            *share = Share { ios: share.ios + 1, bytes: share.bytes + bytes, begin, reach: share.reach.max(end) };
        }
        let known = self.sizes.len() < MOST_SIZES || self.sizes.contains_key(&event.sectors);
        *self.sizes.entry(if known { event.sectors } else { 0 }).or_default() += 1;
        self.together += u64::from(self.before == Some(event.time));
        self.before = Some(event.time);
        // Most traces are exact to 1 ns soon.
        if self.resolution != 1 {
            self.resolution = gcd(self.resolution, event.time);
        }
        // Where nothing ever completes, nobody need be waited for.
        let room = if self.completions == 0 { MOST_UNDER_WAY >> 6 } else { MOST_UNDER_WAY };
        if self.open.len() < room {
            self.open.insert((key_of(event), self.ios()), event.time);
            self.under_way += 1;
            self.deepest = self.deepest.max(self.under_way);
        }
    }

    /// A request's completion is that of every bio that ends inside of it.
    fn completed(&mut self, event: &Event) {
        self.completions += 1;
        let inside = inside(event);
        while let Some((&key, &since)) = self.open.range((inside.start, 0)..).next()
            && key.0 < inside.end
        {
            self.open.remove(&key);
            self.under_way -= 1;
            let latency = self.asked[kind(event.op)].latency.get_or_insert_with(|| Box::new(Histogram::new()));
            latency.record(Span::from_ns(event.time - since));
        }
    }

    /// All I/Os.
    pub fn ios(&self) -> u64 {
        self.asked.iter().map(|asked| asked.ios).sum()
    }

    /// The moment of the first event \[ns\].
    pub fn first(&self) -> Option<u64> {
        self.first
    }

    /// From the first event to the last.
    pub fn span(&self) -> Span {
        Span::from_ns(self.last - self.first.unwrap_or(self.last))
    }

    /// I/Os without a completion, in a trace that has completions.
    pub fn never_completed(&self) -> u64 {
        if self.completions > 0 { self.under_way } else { 0 }
    }

    /// Under way on the mean, if completions are there.
    pub fn depth(&self) -> Option<f64> {
        let span = self.span().as_ns();
        (self.completions > 0 && span > 0).then(|| self.depth_time as f64 / span as f64)
    }

    /// How long I/Os of a kind took, if any tells.
    pub fn took(&self, op: Op) -> Option<&Histogram> {
        self.asked[kind(op)].latency.as_deref().filter(|latency| !latency.is_empty())
    }

    /// What all moments are a multiple of.
    pub fn resolution(&self) -> Span {
        Span::from_ns(self.resolution)
    }

    /// May a verdict hang on it?
    pub fn fitness(&self, format: &Format, met: Met) -> Fitness {
        let (ios, span) = (self.ios(), self.span());
        if ios == 0 {
            return Fitness::None("there is no I/O in it".to_owned());
        }
        if span == Span::ZERO && ios > 1 {
            return Fitness::None("it has no times".to_owned());
        }
        if let Format::Tracefs(Begins::Issue) = format {
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
                "its moments are exact to {resolution}, and in that time {a_moment:.0} I/Os are submitted: their order \
                 and distances are not in it"
            ));
        }
        let moments = format!("{ios} I/Os in {:.3}s, moments exact to {resolution}", span.as_secs_f64());
        let completed: u64 = self.asked.iter().filter_map(|asked| Some(asked.latency.as_ref()?.count())).sum();
        match completed {
            0 => Fitness::OpenLoop(format!("{moments}; no completions, so nobody knows who waited for what")),
            some if some * 10 < ios * 9 => Fitness::OpenLoop(format!(
                "{moments}; only {some} of {ios} I/Os have their completion, so who waited for what is known in part"
            )),
            _ if matches!(format, Format::Tracefs(Begins::Insert)) => {
                Fitness::Good(format!("{moments}, and completions; what waited for a tag is not in it"))
            }
            _ => Fitness::Good(format!("{moments}, and completions")),
        }
    }
}

fn share<K: Ord + Copy>(shares: &mut BTreeMap<K, Share>, key: K) -> Option<&mut Share> {
    let room = shares.len() < MOST_TOLD_APART || shares.contains_key(&key);
    room.then(|| shares.entry(key).or_default())
}

/// By which a completion finds what it completes: device, kind and last sector.
pub(super) type Key = (Device, u8, u64);

/// A submission's key.
pub(super) fn key_of(event: &Event) -> Key {
    key(event, event.start.saturating_add(u64::from(event.sectors).saturating_sub(1)))
}

/// The keys of whatever ends inside a request.
pub(super) fn inside(event: &Event) -> Range<Key> {
    key(event, event.start)..key(event, event.start.saturating_add(u64::from(event.sectors).max(1)))
}

fn key(event: &Event, sector: u64) -> Key {
    (event.device, kind(event.op) as u8, sector)
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
