//! **What for**: the times of arm movements and of a head switch.
//!
//! **Rule**: a read that begins a rotation time `d` after the last one's end is reached in this revolution if getting
//! there takes at most `d`, otherwise in the next. Short moves are aimed: angles around a place are known, so `d` can
//! be chosen, and the threshold between reached and missed is the time. Two steps show cylinders between the tracks.
//! Long moves are read at random angles: their times are spread over one revolution from the shortest, which is the
//! answer. A host notices a completion late and issues later still, so `d` counts from the time of issue, and where the
//! platters are then follows from the ends of the last few reads.

use super::super::ProbeError;
use super::super::session::Session;
use super::super::value::{Measured, fraction, median};
use super::spot::{Spot, usual};
use super::zones::Rates;

/// This many fewer mistakes are not due to chance.
const BEYOND_CHANCE: usize = 12;

/// How closely times around a cylinder's threshold are searched, first and then, no closer than this \[revolutions\]:
/// on a host that notices late the first estimate is rough.
const CLOSER: [f64; 2] = [0.02, 0.004];

/// One aimed hop.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// How long the platter took to bring the place round \[ns\].
    due: f64,
    made: bool,
    boundary: u64,
}

/// The costs of reaching neighbouring tracks, including a command's overhead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    /// To another head of the cylinder \[ns\].
    pub(super) head: Measured,
    /// To the next cylinder \[ns\]; as `head` if both cost the same.
    pub(super) cylinder: Measured,
    /// The number of surfaces, if they showed.
    pub(super) heads: Option<u32>,
}

/// Hops from each track to the previous one, beginning at the spot's origin.
pub(super) fn neighbours(session: &mut Session<'_>, spot: &Spot) -> Result<Neighbours, ProbeError> {
    session.stage("head switch and shortest seek")?;
    let mut track = 2;
    let (few, many) = (session.scaled(300), session.scaled(500));
    let wide = aimed(session, spot, &mut track, few, 0.0..0.6 * spot.period, &|_| true)?;
    // A value far from the single threshold is a late answer, not another threshold.
    let ((low, high), middle) = (edges(&wide), threshold(&wide).value);
    let (margin, far) = (0.02 * spot.period, 0.08 * spot.period);
    let range = (low - margin).max(middle - far).max(0.0)..(high + margin).min(middle + far);
    let mut hops = aimed(session, spot, &mut track, many, range, &|_| true)?;
    hops.extend(wide);
    let heads = spot.heads.map(|heads| (heads, None)).or_else(|| pattern(&hops));
    let Some(found) = heads else {
        let both = threshold(&hops);
        return Ok(Neighbours { head: both, cylinder: both, heads: None });
    };
    let is_cylinder = |boundary: u64| match found {
        (heads, Some(phase)) => (boundary + phase).is_multiple_of(heads.into()),
        (_, None) => spot.begins_cylinder(boundary),
    };
    let (mut cylinder, head): (Vec<Hop>, Vec<Hop>) = hops.into_iter().partition(|hop| is_cylinder(hop.boundary));
    // One hop in as many as there are heads went to another cylinder: too few to measure that step as accurately as the
    // other.
    for least in CLOSER {
        let rough = threshold(&cylinder);
        let reach = (2.0 * rough.spread).max(least * spot.period);
        let range = (rough.value - reach).max(0.0)..rough.value + reach;
        let few = session.scaled(40);
        cylinder.extend(aimed(session, spot, &mut track, few, range, &is_cylinder)?);
    }
    Ok(Neighbours { head: threshold(&head), cylinder: threshold(&cylinder), heads: Some(found.0) })
}

/// `count` hops to the previous boundaries that are `wanted`.
fn aimed(
    session: &mut Session<'_>,
    spot: &Spot,
    track: &mut u64,
    count: u64,
    due: core::ops::Range<f64>,
    wanted: &dyn Fn(u64) -> bool,
) -> Result<Vec<Hop>, ProbeError> {
    let block = session.block();
    let length = f64::from(block) / spot.per_track;
    let part = session.unit() * 0.9;
    let mut walk = TrackWalk {
        spot,
        length,
        from: *track,
        part,
        platters: Platters { period: spot.period, zeros: vec![], lags: vec![] },
    };
    walk.start(session)?;
    let mut hops = Vec::new();
    // A shuffled comb of times: no two similar ones in a row.
    for nth in 0..count {
        let share = fraction(nth as f64 * 0.618_033_988_749_895);
        let passed = (walk.from + 1..).take_while(|boundary| !wanted(*boundary)).count() as u64;
        if passed > 0 {
            walk.from += passed;
            walk.start(session)?;
        }
        hops.push(walk.hop(session, due.start + (due.end - due.start) * share)?);
    }
    *track = walk.from + 2;
    Ok(hops)
}

/// Walks from each track to the previous one.
struct TrackWalk<'w> {
    spot: &'w Spot,
    platters: Platters,
    /// The smallest command \[revolutions\].
    length: f64,
    /// The place of the last read: the track, and how far into it.
    from: u64,
    part: f64,
}

impl TrackWalk<'_> {
    /// Reads at its present position.
    fn start(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        let block = session.block();
        let read = session.read(self.spot.sector(self.from, self.part), block)?;
        self.platters.ended(read.ended.as_ns() as f64, self.spot.angle(self.from, self.part) + self.length);
        Ok(())
    }

    /// Hops to the previous track, `want` revolutions away.
    fn hop(&mut self, session: &mut Session<'_>, want: f64) -> Result<Hop, ProbeError> {
        let (spot, length, block) = (self.spot, self.length, session.block());
        let (to, ended) = (self.from + 1, spot.angle(self.from, self.part) + length);
        let want = want + self.platters.lag();
        let wanted = fraction(ended + want / spot.period - spot.angle(to, 0.0)).min(1.0 - 2.0 * length);
        let sector = session.aligned(spot.sector(to, wanted), block);
        let begin = spot.sector(to, 0.0);
        let there = (sector.max(begin) - begin) as f64 / spot.per_track;
        let read = session.read(sector, block)?;
        let asked = self.platters.asked(read.begun.as_ns() as f64, ended);
        let due = fraction(spot.angle(to, there) - asked) * spot.period;
        let took = read.latency() - length * spot.period;
        self.platters.ended(read.ended.as_ns() as f64, spot.angle(to, there) + length);
        (self.from, self.part) = (to, there);
        Ok(Hop { due, made: took < due + 0.5 * spot.period, boundary: to })
    }
}

/// The angle of the platters, according to the last few reads at known places.
struct Platters {
    period: f64,
    /// The angle at time 0, according to each read \[revolutions\].
    zeros: Vec<f64>,
    /// The time from the end of each read to the next request \[ns\].
    lags: Vec<f64>,
}

impl Platters {
    /// How many reads count.
    const RECENT: usize = 9;

    /// A read that ends at `angle` was noticed at `time` \[ns\].
    fn ended(&mut self, time: f64, angle: f64) {
        self.zeros.push(fraction(angle - time / self.period));
    }

    /// The angle at `time` \[ns\], when a request is made; the previous read ended at `ended`.
    fn asked(&mut self, time: f64, ended: f64) -> f64 {
        let recent = &self.zeros[self.zeros.len().saturating_sub(Platters::RECENT)..];
        let angle = fraction(time / self.period + usual(recent));
        self.lags.push((fraction(angle - ended + 0.25) - 0.25) * self.period);
        angle
    }

    /// How long after a completion the next read is requested \[ns\].
    fn lag(&self) -> f64 {
        median(&mut self.lags[self.lags.len().saturating_sub(Platters::RECENT)..].to_vec())
    }
}

/// The shortest time that was made and the longest that was not, without outliers of one in fifty.
fn edges(hops: &[Hop]) -> (f64, f64) {
    let mut made: Vec<f64> = hops.iter().filter(|hop| hop.made).map(|hop| hop.due).collect();
    let mut missed: Vec<f64> = hops.iter().filter(|hop| !hop.made).map(|hop| hop.due).collect();
    made.sort_by(f64::total_cmp);
    missed.sort_by(f64::total_cmp);
    let low = made.get(made.len() / 200).copied().unwrap_or(0.0);
    let high = missed.get(missed.len().saturating_sub(1 + missed.len() / 200)).copied().unwrap_or(low);
    (low.min(high), low.max(high))
}

/// The time that separates made from missed hops with the fewest mistakes.
fn threshold(hops: &[Hop]) -> Measured {
    let mut hops = hops.to_vec();
    hops.sort_by(|a, b| a.due.total_cmp(&b.due));
    let (_, best) = fewest_mistakes(&hops);
    let due = |at: usize| hops.get(at).map_or(0.0, |hop| hop.due);
    let (low, high) = (due(best.saturating_sub(1)), due(best.min(hops.len().saturating_sub(1))));
    Measured::new(low.midpoint(high), (high - low) / 2.0)
}

/// For hops sorted by time: how many are on the wrong side of the best threshold, and how many hops are before it.
fn fewest_mistakes(hops: &[Hop]) -> (usize, usize) {
    let mut mistakes = hops.iter().filter(|hop| !hop.made).count();
    let mut best = (mistakes, 0);
    for (nth, hop) in hops.iter().enumerate() {
        if hop.made {
            mistakes += 1
        } else {
            mistakes -= 1
        }
        best = best.min((mistakes, nth + 1));
    }
    best
}

/// The period and the phase of boundaries whose hops have a threshold of their own: with it, fewer hops are on the
/// wrong side of their threshold than with a single one, by more than the best of three hundred guesses would achieve
/// by chance.
fn pattern(hops: &[Hop]) -> Option<(u32, Option<u64>)> {
    let mut hops = hops.to_vec();
    hops.sort_by(|a, b| a.due.total_cmp(&b.due));
    let (alone, _) = fewest_mistakes(&hops);
    let mut best = (usize::MAX, 0, 0);
    for heads in 2..=24u64 {
        for phase in 0..heads {
            let (odd, others): (Vec<Hop>, Vec<Hop>) =
                hops.iter().partition(|hop| (hop.boundary + phase).is_multiple_of(heads));
            best = best.min((fewest_mistakes(&odd).0 + fewest_mistakes(&others).0, heads, phase));
        }
    }
    let (mistakes, heads, phase) = best;
    (3 * mistakes <= 2 * alone && alone - mistakes >= BEYOND_CHANCE).then_some((heads as u32, Some(phase)))
}

/// The time of a seek over a part of the stroke, including a command's overhead \[ns\].
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
    for nth in 0..count {
        let base = from + jitter * (2.0 * session.unit() - 1.0);
        // The jitter of both ends would blur the distance, so the commands of a pair share theirs. The place within a
        // track is drawn, or the angle between the ends would be the same each time.
        session.read(rates.sector_at(base), block)?;
        let there = rates.sector_at(base + part);
        let track = (rates.rate_at(there) * period / 512e9) as u64;
        let sector = there - session.below(track.max(1)).min(there);
        let read = session.read(sector, block)?;
        times.push(read.latency() - f64::from(block) * 512e9 / rates.rate_at(sector));
        if nth % 16 == 15 {
            session.stage("seek curve")?;
        }
    }
    Ok(shortest(&times, period))
}

/// The shortest of times that fill one revolution, from both ends of their range.
pub(super) fn shortest(times: &[f64], period: f64) -> Measured {
    let low = times.iter().copied().fold(f64::INFINITY, f64::min);
    let fits = times.iter().copied().filter(|time| *time <= low + 1.02 * period);
    let high = fits.fold(low, f64::max) - period;
    Measured::new(low.midpoint(high.min(low)), period / times.len().max(1) as f64)
}
