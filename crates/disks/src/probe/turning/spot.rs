//! **What for**: sectors per track, skews and heads, from the positions of sectors on the platter.
//!
//! **Rule**: the time at which a read ends gives its last sector's angle. A range of some tracks is read backwards, so
//! that the look-ahead never has what comes next; from one place to the next the angle moves by their distance over the
//! sectors per track, and by a skew more where a track begins. A host is sometimes late, so the range is read several
//! times and the median of each step counts. Then [`boundary`](super::boundary) refines the result.

use super::super::ProbeError;
use super::super::session::Session;
use super::super::value::{Measured, fraction, median};
use super::boundary::{Tracks, tracks};

/// The layout of sectors around one place.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// One revolution \[ns\].
    pub(super) period: f64,
    /// Sectors on a track.
    pub(super) per_track: f64,
    /// From a track to the next, and to the next cylinder \[revolutions\].
    pub(super) track_skew: Measured,
    pub(super) cylinder_skew: Measured,
    /// The number of surfaces, where skews or switches tell.
    pub(super) heads: Option<u32>,
    /// A sector with which a track begins; tracks are counted from here, downwards.
    pub(super) origin: u64,
    /// Which of the boundaries, counted from the origin, begin a cylinder, if skews tell: modulo `heads`.
    cylinder_phase: u64,
}

/// Angles that differ by less are equal \[revolutions\].
const SAME: f64 = 0.006;
/// The approximate number of steps in which a track is read.
const STEPS: f64 = 9.3;
/// The number of steps of the region that is read backwards.
const STRETCH: usize = 219;
/// How often the region is read.
const ROUNDS: usize = 5;
/// A faster read came out of the buffer, and says nothing about an angle \[ns\].
const HIT_NS: f64 = 700_000.0;

/// Examines the tracks below `top`, where a revolution's worth of data moves at about `rate` bytes per second.
pub(super) fn look(session: &mut Session<'_>, period: f64, rate: f64, top: u64) -> Result<Spot, ProbeError> {
    session.stage("tracks and skews")?;
    let step = step(session, period, rate);
    let mut rounds = vec![Vec::new(); STRETCH];
    for _ in 0..ROUNDS {
        let mut last = angle_again(session, period, top)?;
        for (nth, moved) in (1..).zip(&mut rounds) {
            let next = angle_again(session, period, top - nth * step)?;
            moved.extend(last.zip(next).map(|(last, next)| fraction(last - next)));
            last = next;
        }
    }
    let mut moved: Vec<f64> = rounds.iter().map(|moved| usual(moved)).collect();
    let middle = median(&mut moved.clone());
    let base = median(&mut moved.iter().copied().filter(|by| (by - middle).abs() < SAME).collect::<Vec<_>>());
    if base <= 0.0 {
        return Err(ProbeError::Unclear("angles of neighbouring sectors do not differ".to_owned()));
    }
    let per_track = step as f64 / base;
    moved.iter_mut().for_each(|by| *by = fraction(*by - base + 0.5) - 0.5);
    // No skew is half a revolution: what seems to go back was noticed late.
    let mut crossings: Vec<(usize, f64)> = moved.into_iter().enumerate().filter(|(_, by)| *by > SAME).collect();
    // Nor is one a quarter of the usual one.
    let usual_gain = median(&mut crossings.iter().map(|(_, by)| *by).collect::<Vec<_>>());
    crossings.retain(|(_, by)| *by > 0.25 * usual_gain);
    let (track_skew, cylinder_skew, heads, phase) = skews(&crossings);
    let &(last, _) = crossings.last().ok_or_else(|| ProbeError::Unclear("no track begins here".to_owned()))?;
    // The whole step and one on either side: a step's reads end after it.
    let (low, high) = (top - (last as u64 + 2) * step, top - (last as u64).saturating_sub(1) * step);
    let zone = (period, per_track, track_skew.value.min(cylinder_skew.value).max(SAME));
    let Tracks { per_track, origin, below, .. } =
        tracks(session, zone, (low, high), (top - STRETCH as u64 * step, top / 4))?;
    let cylinder_phase = phase + below;
    Ok(Spot { period, per_track, track_skew, cylinder_skew, heads, origin, cylinder_phase })
}

/// Where tracks are examined \[sectors\].
pub(super) fn top(session: &Session<'_>) -> u64 {
    session.facts().sectors / 50
}

/// A step of the region \[sectors\].
fn step(session: &Session<'_>, period: f64, rate: f64) -> u64 {
    let block = u64::from(session.block());
    let guess = rate * period / 1e9 / 512.0;
    ((guess / STEPS) as u64).max(block) / block * block
}

/// Checks that the disk has enough tracks for the region, if it spins at all.
pub(super) fn has_tracks(session: &Session<'_>, period: f64, rate: f64) -> Result<(), ProbeError> {
    // A closer examination goes a few steps beyond it.
    if (STRETCH as u64 + 10) * step(session, period, rate) < top(session) {
        return Ok(());
    }
    let track = rate * period / 1e9;
    let why =
        format!("a revolution of {:.1} ms would move {:.1} MB, too much for its size.", period / 1e6, track / 1e6);
    Err(ProbeError::Unclear(why))
}

/// The angle at which `sector` ends \[revolutions\].
pub(super) fn angle(session: &mut Session<'_>, period: f64, sector: u64) -> Result<f64, ProbeError> {
    let block = session.block();
    let read = session.read(sector, block)?;
    Ok(fraction(read.ended.as_ns() as f64 / period))
}

/// The same for one that may have been read before; `None` if it came out of the buffer.
fn angle_again(session: &mut Session<'_>, period: f64, sector: u64) -> Result<Option<f64>, ProbeError> {
    let block = session.block();
    let read = session.read(sector, block)?;
    Ok((read.latency() > HIT_NS).then(|| fraction(read.ended.as_ns() as f64 / period)))
}

/// The median of angles that may be on both sides of zero.
pub(super) fn usual(angles: &[f64]) -> f64 {
    let first = angles.first().copied().unwrap_or(0.0);
    let mut beside: Vec<f64> = angles.iter().map(|angle| fraction(angle - first + 0.5) - 0.5).collect();
    fraction(first + median(&mut beside))
}

/// Track skew, cylinder skew, heads and where cylinders begin, from the gain at each boundary.
fn skews(crossings: &[(usize, f64)]) -> (Measured, Measured, Option<u32>, u64) {
    let mut gains: Vec<f64> = crossings.iter().map(|(_, by)| fraction(*by)).collect();
    gains.sort_by(f64::total_cmp);
    let gap = gains.windows(2).map(|pair| pair[1] - pair[0]).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let (small, large) = match gap {
        Some((at, gap)) if gap > SAME => gains.split_at(at + 1),
        _ => (&gains[..], &gains[..0]),
    };
    let of = |some: &[f64]| Measured::median_of(&mut some.to_vec()).unwrap_or(Measured::new(0.0, 0.0));
    if large.is_empty() {
        return (of(small), of(small), None, 0);
    }
    let limit = small[small.len() - 1].midpoint(large[0]);
    // Counted from the last crossing upwards.
    let cylinders = crossings.iter().rev().enumerate().filter(|(_, (_, by))| fraction(*by) > limit);
    let at: Vec<usize> = cylinders.map(|(nth, _)| nth).collect();
    let mut apart: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let heads = (!apart.is_empty()).then(|| median(&mut apart) as u32);
    (of(small), of(large), heads, at.first().map_or(0, |nth| *nth as u64))
}

impl Spot {
    /// The sector `part` of a revolution into the track that is `track` tracks below the origin.
    pub(super) fn sector(&self, track: u64, part: f64) -> u64 {
        self.origin - (track as f64 * self.per_track).round() as u64 + (part * self.per_track) as u64
    }

    /// The angle of a sector that begins `part` into a track \[revolutions from the origin's\].
    pub(super) fn angle(&self, track: u64, part: f64) -> f64 {
        let cylinders = (1..=track).filter(|boundary| self.begins_cylinder(*boundary)).count() as f64;
        let skews = (track as f64 - cylinders) * self.track_skew.value + cylinders * self.cylinder_skew.value;
        part - skews
    }

    /// Whether the boundary above the `boundary`-th track below the origin is a cylinder's. Boundary 1 is the origin's
    /// own.
    pub(super) fn begins_cylinder(&self, boundary: u64) -> bool {
        self.heads.is_some_and(|heads| {
            (boundary + u64::from(heads) - 1 + self.cylinder_phase).is_multiple_of(u64::from(heads))
        })
    }
}
