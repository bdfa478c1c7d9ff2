//! **What for**: how many sectors a track has, to a hundredth, and where one begins.
//!
//! **Rule**: where a track begins, the angle of neighbouring sectors jumps by the skew. A range around such a place is
//! read backwards in small steps (so that the look-ahead never has what comes next), and the jump is where two straight
//! lines fit best. The distance between two boundaries is a whole number of tracks, but this number must be known. So
//! the second boundary is searched for a few tracks ahead, then further, up to a thousand, each time as far as the
//! current precision allows.

use super::super::ProbeError;
use super::super::session::Session;
use super::super::value::{fraction, median};
use super::spot::angle;

/// What is known of a zone's tracks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracks {
    pub(super) period: f64,
    pub(super) per_track: f64,
    /// The smallest skew \[revolutions\].
    pub(super) skew: f64,
    /// A sector with which a track begins.
    pub(super) origin: u64,
    /// How many tracks before the first boundary that is.
    pub(super) below: u64,
}

/// The number of steps into which a range is divided.
const STEPS: u64 = 32;
/// How many tracks before the first boundary the others are searched.
const DISTANCES: [u64; 3] = [12, 100, 800];
/// The possible error of a first estimate \[parts of a track\].
const ROUGH: f64 = 0.004;

/// There is a boundary between `low` and `high`, and everything from `read` on may be in the buffer: searches for
/// boundaries below that, but not below `lowest`.
pub(super) fn tracks(
    session: &mut Session<'_>,
    (period, per_track, skew): (f64, f64, f64),
    (low, high): (u64, u64),
    (read, lowest): (u64, u64),
) -> Result<Tracks, ProbeError> {
    let down = ((high - read.min(high)) as f64 / per_track).ceil() + 1.0;
    let [low, high] = [low, high].map(|sector| sector - (down * per_track) as u64);
    let mut known = Tracks { period, per_track, skew, origin: high, below: down as u64 };
    let Some(first) = boundary(session, &known, low, high)? else { return Ok(known) };
    known.origin = first;
    let mut wrong = ROUGH * per_track;
    for distance in DISTANCES {
        let expected = first as f64 - distance as f64 * known.per_track;
        let reach = (distance as f64 * wrong * 1.5).max(4.0 * f64::from(session.block()));
        // Another boundary must not be within reach.
        if expected - reach < lowest as f64 || reach > 0.4 * per_track {
            break;
        }
        let Some(found) = boundary(session, &known, (expected - reach) as u64, (expected + reach) as u64)? else {
            break;
        };
        known.per_track = (first - found) as f64 / distance as f64;
        (known.origin, known.below) = (found, down as u64 + distance);
        wrong = f64::from(session.block()).max(2.0 * reach / STEPS as f64) / distance as f64;
    }
    let rounded = known.per_track.round();
    if (known.per_track - rounded).abs() < 0.1 {
        known.per_track = rounded;
    }
    Ok(known)
}

/// The first sector of the track that begins between two sectors; `None` if none is observed.
fn boundary(session: &mut Session<'_>, known: &Tracks, low: u64, high: u64) -> Result<Option<u64>, ProbeError> {
    let block = u64::from(session.block());
    let step = ((high - low) / STEPS).max(block) / block * block;
    let high = high / block * block;
    let places: Vec<u64> = (0..).map(|nth| high - nth * step).take_while(|place| *place + step >= low).collect();
    let mut beside = Vec::new();
    for &place in &places {
        let along = (high - place) as f64 / known.per_track;
        beside.push(angle(session, known.period, place)? + along);
    }
    let first = beside[0];
    beside.iter_mut().for_each(|angle| *angle = fraction(*angle - first + 0.5) - 0.5);
    let off = |split: usize| -> f64 { [&beside[..split], &beside[split..]].iter().map(|part| distance(part)).sum() };
    let Some(split) = (1..places.len()).min_by(|a, b| off(*a).total_cmp(&off(*b))) else { return Ok(None) };
    let jump = median(&mut beside[split..].to_vec()) - median(&mut beside[..split].to_vec());
    Ok((jump.abs() > 0.6 * known.skew).then(|| places[split].midpoint(places[split - 1]).next_multiple_of(block)))
}

/// The sum of the distances of some angles from their median.
fn distance(angles: &[f64]) -> f64 {
    let middle = median(&mut angles.to_vec());
    angles.iter().map(|angle| (angle - middle).abs()).sum()
}
