//! **What for**: the write cache: its capacity, its drain rate, and its cost for readers.
//!
//! **Rule**: a write that ends sooner than the medium could is cached. A burst of small writes ends quickly until the
//! drive runs out of extents, one of large writes until it runs out of room; the amount drained meanwhile, at the rate
//! to which the burst falls, is subtracted. Parameters that show only in a mixture are fitted: see
//! [`fit`](super::super::fit).

use blksched::{Op, Span};

use super::super::ProbeError;
use super::super::fit::{Mixture, Parameter, Took};
use super::super::session::{ProbeStep, Random, Session, Timed};
use super::super::value::{Measured, median};
use super::queue::waits;
use crate::spec::{DiskSpec, Model};

/// The observed behaviour of the cache.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    /// Dirty data \[sectors\]; `None` for write-through.
    pub(super) size: Option<Measured>,
    /// The number of separate extents.
    pub(super) extents: Measured,
    /// Whether `size` is only what the extents allow.
    pub(super) one_limit: bool,
    /// A single random write \[ns\].
    pub(super) alone: Measured,
}

const SMALL: u32 = 8;
/// 32 MiB: a few cylinders \[512-byte sectors\].
const NEAR: u64 = 65_536;
const LARGE: u32 = 1024;

pub(super) fn writes(session: &mut Session<'_>, period: f64) -> Result<Writes, ProbeError> {
    session.stage("write cache")?;
    let mut alone = Vec::new();
    for _ in 0..20 {
        let place = session.place(SMALL);
        alone.push(session.one(Op::Write, place, SMALL)?.latency());
        session.rest(Span::from_ms(60));
    }
    let none = Measured::new(1.0, 0.0);
    let Some(alone) = Measured::median_of(&mut alone) else {
        return Ok(Writes { size: None, extents: none, one_limit: false, alone: none });
    };
    if alone.value > 0.25 * period {
        return Ok(Writes { size: None, extents: none, one_limit: false, alone });
    }
    let extents = taken(session, SMALL, 30_000, period)?;
    let large = LARGE.min(session.facts().max_sectors);
    let rough = taken(session, large, 3_000, period)?;
    // Small enough for a fine count, and large enough that the room runs out before the extents do.
    let fine = (2.0 * rough.value * f64::from(large) / extents.value) as u32 / 8 * 8;
    let fine = fine.clamp(SMALL, large);
    let size = taken(session, fine, 30_000, period)?;
    let one_limit = size.value > 0.9 * extents.value;
    Ok(Writes { size: Some(size.times(fine.into())), extents, one_limit, alone })
}

/// How many random writes of `sectors` an empty cache takes before one waits.
fn taken(session: &mut Session<'_>, sectors: u32, most: usize, period: f64) -> Result<Measured, ProbeError> {
    let mut counts = Vec::new();
    for _ in 0..2 {
        session.rest(Span::from_secs(4));
        let mut burst: Vec<Timed> = Vec::new();
        let (mut waits, mut quick) = (0, f64::INFINITY);
        // Until it has waited often enough to know its drain rate.
        while waits < 60 && burst.len() < most {
            let place = session.place(sectors);
            let write = session.one(Op::Write, place, sectors)?;
            quick = quick.min(write.latency());
            waits += usize::from(write.latency() > quick + 0.15 * period || waits > 0);
            burst.push(write);
        }
        let first = burst.len() - waits;
        let last = burst.len() - 1;
        let drained = match waits > 1 {
            true => {
                let rate = (waits - 1) as f64 / burst[last].ended.since(burst[first].ended).as_secs_f64();
                rate * burst[first].ended.since(burst[0].begun).as_secs_f64()
            }
            false => 0.0,
        };
        counts.push((first as f64 - drained).max(1.0));
    }
    let spread = (counts[0] - counts[1]) / 2.0;
    Ok(Measured::new(median(&mut counts), spread))
}

/// A load whose outcome is compared with the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mixed {
    /// Random writes after the cache is full.
    Overflow,
    /// The same within a few cylinders: settling hardly shows there, but the choice among extents does.
    NearOverflow,
    /// Random reads beside a stream of writes.
    ReaderBesideStream,
    /// The same beside random writes.
    ReaderBesideRandom,
    /// A reader with think time while something is dirty.
    Thoughtful,
    /// Far reads beside a stream of reads.
    FarBesideStream,
}

impl Mixed {
    pub(super) const ALL: [Mixed; 6] = [
        Mixed::FarBesideStream,
        Mixed::Overflow,
        Mixed::NearOverflow,
        Mixed::ReaderBesideStream,
        Mixed::ReaderBesideRandom,
        Mixed::Thoughtful,
    ];

    /// Whether it writes.
    pub(super) fn writes(self) -> bool {
        self != Mixed::FarBesideStream
    }
}

impl Mixture for Mixed {
    fn run(self, session: &mut Session<'_>) -> Result<Took, ProbeError> {
        session.rest(Span::from_secs(5));
        let sectors = session.facts().sectors;
        let (depth, depth_of_all) = (session.facts().depth.min(8), session.facts().depth.min(64));
        let mut random = Random::new(77);
        let mut anywhere = move || random.below((sectors - 8) / 8) * 8;
        let latencies = |timed: Vec<Timed>| timed.iter().map(|timed| timed.latency()).collect::<Vec<f64>>();
        match self {
            Mixed::Overflow | Mixed::NearOverflow => {
                let write = |start| ProbeStep { op: Op::Write, start, sectors: SMALL };
                let near = |start: u64| sectors / 3 / 8 * 8 + start % NEAR.min(sectors / 3);
                let place = |start| if self == Mixed::NearOverflow { near(start) } else { start };
                // The choice among extents shows less than settling does.
                let count = if self == Mixed::NearOverflow { 9_000 } else { 3_000 };
                let steps: Vec<ProbeStep> = (0..count).map(|_| write(place(anywhere()))).collect();
                let mut took = latencies(session.closed_loop(4, steps)?);
                let (first, rest) = took.split_at_mut(2_000);
                Ok(vec![first.to_vec(), rest.to_vec()])
            }
            Mixed::ReaderBesideStream | Mixed::ReaderBesideRandom => {
                let is_stream = self == Mixed::ReaderBesideStream;
                let mut reads = (0..220).map(|_| ProbeStep { op: Op::Read, start: anywhere(), sectors: SMALL });
                let mut random = Random::new(78);
                let mut at = sectors / 3 / 8 * 8;
                let mut writes = core::iter::from_fn(|| {
                    at += 256;
                    let start = random.below((sectors - 8) / 8) * 8;
                    Some(match is_stream {
                        true => ProbeStep { op: Op::Write, start: at, sectors: 256 },
                        false => ProbeStep { op: Op::Write, start, sectors: SMALL },
                    })
                });
                let [reads, writes] = session.two_loops((1, &mut reads), (depth.max(2) - 1, &mut writes))?;
                Ok(vec![latencies(reads), latencies(writes)])
            }
            // Which of two consecutive far reads goes at once is luck; the longest wait shows when the drive's patience
            // ends.
            Mixed::FarBesideStream => {
                let waits = waits(session, depth_of_all, 6, true)?;
                Ok(vec![vec![waits.into_iter().fold(0.0, f64::max)]])
            }
            Mixed::Thoughtful => {
                let mut took = Vec::new();
                for _ in 0..12 {
                    for _ in 0..24 {
                        session.one(Op::Write, anywhere(), SMALL)?;
                    }
                    let near = anywhere();
                    for nth in 0..40 {
                        session.rest(Span::from_ms(3));
                        took.push(session.read(near + nth * 4096, SMALL)?.latency());
                    }
                }
                Ok(vec![took])
            }
        }
    }
}

/// No read waits longer for a stream than for anything else.
fn age_limit(spec: &DiskSpec) -> Option<Span> {
    match &spec.model {
        Model::Hdd(hdd) => hdd.ncq.as_ref().map(|ncq| ncq.age_limit),
        _ => None,
    }
}

/// Parameters that only mixtures show.
pub(super) const PARAMETERS: &[Parameter<Mixed>] = &[
    Parameter {
        key: "seek.write_settle",
        values: &["0ms", "0.25ms", "0.5ms", "1ms", "2ms"],
        shows_in: &[Mixed::Overflow],
        between: true,
        with: None,
        highest: None,
    },
    Parameter {
        key: "write_cache.order",
        values: &["position", "fifo"],
        shows_in: &[Mixed::Overflow],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "write_cache.reach",
        values: &["1", "4", "8", "16", "32", "64", "128"],
        shows_in: &[Mixed::NearOverflow],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "write_cache.idle",
        values: &["0s", "2ms", "5ms", "20ms", "100ms"],
        shows_in: &[Mixed::Thoughtful],
        between: true,
        with: None,
        highest: None,
    },
    Parameter {
        key: "look_ahead.hold",
        values: &["0KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1024KiB"],
        shows_in: &[Mixed::Thoughtful],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "write_cache.share",
        values: &["10%", "20%", "40%", "60%", "80%"],
        shows_in: &[Mixed::ReaderBesideStream, Mixed::ReaderBesideRandom],
        between: true,
        with: None,
        highest: None,
    },
    Parameter {
        key: "write_cache.turn",
        values: &["5ms", "10ms", "20ms", "40ms", "80ms", "160ms", "400ms"],
        shows_in: &[Mixed::ReaderBesideStream, Mixed::ReaderBesideRandom],
        between: true,
        with: None,
        highest: None,
    },
    Parameter {
        key: "write_cache.dirty_limit",
        values: &["0.1s", "0.4s", "1.6s", "6.4s"],
        shows_in: &[Mixed::Thoughtful],
        between: true,
        with: None,
        highest: None,
    },
    Parameter {
        key: "ncq.sequential_limit",
        values: &["10ms", "40ms", "160ms", "640ms", "2500ms"],
        shows_in: &[Mixed::FarBesideStream],
        between: true,
        with: None,
        highest: Some(age_limit),
    },
];
