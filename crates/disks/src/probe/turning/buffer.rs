//! **What for**: the drive's electronics and its look-ahead.
//!
//! **Rule**: a hit in the buffer costs a command and the interface, so two sizes determine both; several at once show
//! the overhead that queueing hides. After a read and a pause, sectors further on are hits as far as the drive has read
//! ahead. After reads at several places, the first is a hit as long as the drive has a segment for each.

use blksched::{Op, Span};

use super::super::ProbeError;
use super::super::session::{ProbeStep, Session};
use super::super::value::{Measured, median};

/// Commands and interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Electronics {
    /// \[ns\]
    pub(super) command: Measured,
    /// \[ns\]
    pub(super) queued: Measured,
    /// \[bytes/s\]
    pub(super) rate: Measured,
}

/// A small and a large hit \[sectors\].
const LARGE: u32 = 256;

pub(super) fn electronics(session: &mut Session<'_>) -> Result<Option<Electronics>, ProbeError> {
    session.stage("commands and interface")?;
    let block = session.block();
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let place = session.place(LARGE);
        session.read(place, LARGE)?;
        session.rest(Span::from_ms(20));
        // A host that has slept is slow once.
        session.read(place, block)?;
        small.push(session.read(place, block)?.latency());
        large.push(session.read(place, LARGE)?.latency());
    }
    let missed = small.iter().filter(|time| **time > 1e6).count();
    if missed > small.len() / 2 {
        return Ok(None);
    }
    let (Some(small), Some(large)) = (Measured::median_of(&mut small), Measured::median_of(&mut large)) else {
        return Ok(None);
    };
    let per_sector = ((large.value - small.value) / f64::from(LARGE - block)).max(0.001);
    let rate = 512e9 / per_sector;
    let spread = rate * (large.spread + small.spread) / (large.value - small.value).max(1.0);
    let command = small.less(per_sector * f64::from(block));
    let queued = queued(session, per_sector)?.unwrap_or(command);
    Ok(Some(Electronics { command, queued, rate: Measured::new(rate, spread) }))
}

/// What a hit costs while others are in flight; `None` for a drive that takes one at a time.
fn queued(session: &mut Session<'_>, per_sector: f64) -> Result<Option<Measured>, ProbeError> {
    let (block, depth) = (session.block(), session.facts().depth.min(8));
    if depth < 2 {
        return Ok(None);
    }
    let mut apart = Vec::new();
    for _ in 0..10 {
        let place = session.place(LARGE);
        session.read(place, LARGE)?;
        session.rest(Span::from_ms(20));
        let hits =
            session.closed_loop(depth, (0..depth).map(|_| ProbeStep { op: Op::Read, start: place, sectors: block }))?;
        let mut ends: Vec<u64> = hits.iter().map(|hit| hit.ended.as_ns()).collect();
        ends.sort_unstable();
        apart.extend(ends.windows(2).map(|pair| (pair[1] - pair[0]) as f64));
    }
    let floor = per_sector * f64::from(block);
    Ok(Measured::median_of(&mut apart).map(|apart| if apart.value > 1.05 * floor { apart } else { apart.times(0.5) }))
}

/// The look-ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadingAhead {
    /// How far it reads ahead \[sectors\].
    pub(super) segment: Measured,
    /// How many streams are remembered.
    pub(super) segments: Measured,
}

pub(super) fn ahead(
    session: &mut Session<'_>,
    hit_ns: f64,
    rate: f64,
    period: f64,
) -> Result<Option<ReadingAhead>, ProbeError> {
    session.stage("look-ahead")?;
    const FIRST: u64 = 64;
    if !reaches(session, FIRST, hit_ns, rate, period)? {
        return Ok(None);
    }
    let (mut low, mut high) = (FIRST, 2 * FIRST);
    while high < 1 << 18 && reaches(session, high, hit_ns, rate, period)? {
        (low, high) = (high, 2 * high);
    }
    while high - low > (low / 128).max(8) {
        let middle = low.midpoint(high) / 8 * 8;
        if reaches(session, middle, hit_ns, rate, period)? { low = middle } else { high = middle }
    }
    let segment = Measured::new(low.midpoint(high) as f64 + 8.0, (high - low) as f64 / 2.0);
    Ok(Some(ReadingAhead { segment, segments: segments(session, hit_ns)? }))
}

/// Whether the sector `distance` after a read is in the buffer after a rest. Four times of five: a read that misses is
/// as quick as a hit if the platters happen to be right, and a hit slow if the host is.
fn reaches(session: &mut Session<'_>, distance: u64, hit_ns: f64, rate: f64, period: f64) -> Result<bool, ProbeError> {
    let (mut hits, mut misses) = (0, 0);
    while hits < 4 && misses < 2 {
        let place = session.place(distance as u32 + 16);
        session.read(place, 8)?;
        let wait = 1.6 * distance as f64 * 512e9 / rate + 3.0 * period;
        session.rest(Span::from_ns(wait as u64));
        match session.read(place + distance, 8)?.latency() < hit_ns {
            true => hits += 1,
            false => misses += 1,
        }
    }
    Ok(hits >= 4)
}

/// How many places are remembered.
fn segments(session: &mut Session<'_>, hit_ns: f64) -> Result<Measured, ProbeError> {
    let (mut low, mut high) = (1, 2);
    while high < 256 && remembers(session, high, hit_ns)? {
        (low, high) = (high, 2 * high);
    }
    while high - low > 1 {
        let middle = (low + high) / 2;
        if remembers(session, middle, hit_ns)? { low = middle } else { high = middle }
    }
    Ok(Measured::new(low as f64, 0.5))
}

fn remembers(session: &mut Session<'_>, places: usize, hit_ns: f64) -> Result<bool, ProbeError> {
    let mut times = Vec::new();
    for _ in 0..3 {
        let first = session.place(8);
        session.read(first, 8)?;
        for _ in 1..places {
            let place = session.place(8);
            session.read(place, 8)?;
        }
        times.push(session.read(first, 8)?.latency());
    }
    Ok(median(&mut times) < hit_ns)
}
