//! **What for**: what the arm and a head switch take.
//!
//! **Rule**: a read that begins a time `d` of turning behind the last one's end is reached in this revolution if
//! getting there takes at most `d`, else in the next. Short moves are aimed: angles around a place are known, so `d` is
//! chosen, and the step between made and missed is the time. Two steps show cylinders between the tracks. Long moves
//! are read at random angles: their times fill one revolution from the shortest, which is the answer.

use super::super::ProbeError;
use super::super::session::Session;
use super::super::value::{Measured, fraction};
use super::spot::Spot;
use super::zones::Rates;

/// One aimed hop.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// How long the platter took to bring the place \[ns\].
    due: f64,
    made: bool,
    boundary: u64,
}

/// What neighbouring tracks cost, with a command's overhead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    /// To another head of the cylinder \[ns\].
    pub(super) head: Measured,
    /// To the next cylinder \[ns\]; as `head` if both cost the same.
    pub(super) cylinder: Measured,
    /// Surfaces, if they showed.
    pub(super) heads: Option<u32>,
}

/// Hops from a track to the one before it, down from the spot's origin.
pub(super) fn neighbours(session: &mut Session<'_>, spot: &Spot) -> Result<Neighbours, ProbeError> {
    session.stage("head switch and shortest seek")?;
    let mut track = 2;
    let (few, many) = (session.scaled(300), session.scaled(500));
    let wide = aimed(session, spot, &mut track, few, 0.0..0.6 * spot.period)?;
    let (low, high) = edges(&wide);
    let margin = 0.02 * spot.period;
    let range = (low - margin).max(0.0)..high + margin;
    let mut hops = aimed(session, spot, &mut track, many, range)?;
    hops.extend(wide);
    let heads = spot.heads.map(|heads| (heads, None)).or_else(|| pattern(&hops));
    let cylinder_of = |hop: &Hop, (heads, phase): (u32, Option<u64>)| match phase {
        Some(phase) => (hop.boundary + phase).is_multiple_of(heads.into()),
        None => spot.begins_cylinder(hop.boundary),
    };
    let Some(found) = heads else {
        let both = threshold(&hops);
        return Ok(Neighbours { head: both, cylinder: both, heads: None });
    };
    let (cylinder, head): (Vec<Hop>, Vec<Hop>) = hops.into_iter().partition(|hop| cylinder_of(hop, found));
    Ok(Neighbours { head: threshold(&head), cylinder: threshold(&cylinder), heads: Some(found.0) })
}

fn aimed(
    session: &mut Session<'_>,
    spot: &Spot,
    track: &mut u64,
    count: u64,
    due: core::ops::Range<f64>,
) -> Result<Vec<Hop>, ProbeError> {
    let block = session.block();
    let length = f64::from(block) / spot.per_track;
    let (mut from, mut part) = (*track, session.unit() * 0.9);
    let mut last = session.read(spot.sector(from, part), block)?;
    let mut hops = Vec::new();
    // A shuffled comb of times: no two near each other in a row.
    for nth in 0..count {
        let share = fraction(nth as f64 * 0.618_033_988_749_895);
        let want = due.start + (due.end - due.start) * share;
        let (to, ended) = (from + 1, spot.angle(from, part) + length);
        let wanted = fraction(ended + want / spot.period - spot.angle(to, 0.0)).min(1.0 - 2.0 * length);
        let sector = session.aligned(spot.sector(to, wanted), block);
        let begin = spot.sector(to, 0.0);
        let there = (sector.max(begin) - begin) as f64 / spot.per_track;
        let turns = fraction(spot.angle(to, there) - ended);
        let read = session.read(sector, block)?;
        let took = read.ended.since(last.ended).as_ns() as f64 - length * spot.period;
        let made = took < (turns + 0.5) * spot.period;
        hops.push(Hop { due: turns * spot.period, made, boundary: to });
        (from, part, last) = (to, there, read);
    }
    *track = from + 2;
    Ok(hops)
}

/// The shortest time that was made and the longest that was not, outliers of one in fifty left out.
fn edges(hops: &[Hop]) -> (f64, f64) {
    let mut made: Vec<f64> = hops.iter().filter(|hop| hop.made).map(|hop| hop.due).collect();
    let mut missed: Vec<f64> = hops.iter().filter(|hop| !hop.made).map(|hop| hop.due).collect();
    made.sort_by(f64::total_cmp);
    missed.sort_by(f64::total_cmp);
    let low = made.get(made.len() / 200).copied().unwrap_or(0.0);
    let high = missed.get(missed.len().saturating_sub(1 + missed.len() / 200)).copied().unwrap_or(low);
    (low.min(high), low.max(high))
}

/// The time that parts made from missed with the fewest mistakes.
fn threshold(hops: &[Hop]) -> Measured {
    let mut hops = hops.to_vec();
    hops.sort_by(|a, b| a.due.total_cmp(&b.due));
    let made_below = |at: usize| hops[..at].iter().filter(|hop| hop.made).count();
    let missed = hops.iter().filter(|hop| !hop.made).count();
    let mistakes = |at: usize| made_below(at) + missed - (at - made_below(at));
    let Some(best) = (0..=hops.len()).min_by_key(|at| mistakes(*at)) else { return Measured::new(0.0, 0.0) };
    let due = |at: usize| hops.get(at).map_or(0.0, |hop| hop.due);
    let (low, high) = (due(best.saturating_sub(1)), due(best.min(hops.len().saturating_sub(1))));
    Measured::new(low.midpoint(high), (high - low) / 2.0)
}

/// Every how many boundaries, and from which on, hops differ from the others at the same times.
fn pattern(hops: &[Hop]) -> Option<(u32, Option<u64>)> {
    let (low, high) = edges(hops);
    let between: Vec<&Hop> = hops.iter().filter(|hop| hop.due > low && hop.due < high).collect();
    if high - low < 60_000.0 || between.len() < 30 {
        return None;
    }
    let made = between.iter().filter(|hop| hop.made).count();
    let rare_is_made = 2 * made < between.len();
    let mut best = (usize::MAX, 0, 0);
    for heads in 2..=24u64 {
        for phase in 0..heads {
            let odd = |hop: &&&Hop| (hop.boundary + phase).is_multiple_of(heads) != (hop.made == rare_is_made);
            let mistakes = between.iter().filter(odd).count();
            best = best.min((mistakes, heads, phase));
        }
    }
    let (mistakes, heads, phase) = best;
    (20 * mistakes <= between.len()).then_some((heads as u32, Some(phase)))
}

/// How long it takes over a part of the stroke, with a command's overhead \[ns\].
pub(super) fn long(
    session: &mut Session<'_>,
    rates: &Rates,
    period: f64,
    part: f64,
    count: u64,
) -> Result<Measured, ProbeError> {
    session.stage("seek curve")?;
    let block = session.block();
    let from = 0.5 * (1.0 - part);
    let jitter = from.min(0.004);
    let mut times = Vec::new();
    let mut last = None;
    for nth in 0..count {
        let base = from + jitter * (2.0 * session.unit() - 1.0);
        // The jitter of both ends would blur the distance: pairs share theirs.
        for end in [base, base + part] {
            let sector = rates.sector_at(end);
            let read = session.read(sector, block)?;
            let transfer = f64::from(block) * 512e9 / rates.rate_at(sector);
            if let Some(last) = last.filter(|_| end > base) {
                times.push(read.ended.since(last).as_ns() as f64 - transfer);
            }
            last = Some(read.ended);
        }
        if nth % 16 == 15 {
            session.stage("seek curve")?;
        }
    }
    Ok(shortest(&times, period))
}

/// Times that fill a revolution from the answer on: what both ends of them say.
fn shortest(times: &[f64], period: f64) -> Measured {
    let low = times.iter().copied().fold(f64::INFINITY, f64::min);
    let fits = times.iter().copied().filter(|time| *time <= low + 1.02 * period);
    let high = fits.fold(low, f64::max) - period;
    Measured::new(low.midpoint(high.min(low)), period / times.len().max(1) as f64)
}
