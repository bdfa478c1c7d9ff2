//! **What for**: the rates over the disk.
//!
//! **Rule**: at places all over the disk a range is read in large commands, several at a time so that the medium never
//! waits; the rate is computed between completions that are half of the range apart. The rates give the part of the
//! arm's stroke before a sector: a track holds the data of one revolution.

use blksched::Op;

use super::super::ProbeError;
use super::super::session::{ProbeStep, Session};
use super::super::target::ProbeClock;
use super::super::value::Measured;

/// Rates from the first sector to the last.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// The place, and the rate there \[sector, bytes/s\].
    pub(super) at: Vec<(u64, Measured)>,
    sectors: u64,
    /// The part of the stroke before each of `at`.
    stroke: Vec<f64>,
}

const COMMAND: u32 = 1024;
/// Halves of a measurement that differ by less (half of it, relative to the rate) were read undisturbed.
const EVEN: f64 = 0.015;
/// The number of commands in flight.
const DEPTH: u32 = 4;
/// Fewer commands than this say nothing.
const FEWEST: u64 = 24;
/// How often a measurement is made at most.
const TRIES: usize = 4;

pub(super) fn rates(session: &mut Session<'_>, places: u64, commands: u64) -> Result<Rates, ProbeError> {
    session.stage("rates by zone")?;
    let sectors = session.facts().sectors;
    let length = commands * u64::from(COMMAND);
    let last = sectors.saturating_sub(length);
    let (mut at, mut commands): (Vec<(u64, Measured)>, u64) = (Vec::new(), commands);
    let depth = depth(session, FEWEST)?;
    for nth in 0..places {
        let start = session.aligned(last / (places - 1) * nth, COMMAND);
        let begun = session.elapsed();
        at.push((start, rate(session, start, commands, depth)?));
        // A slow disk is read for less long: at most a tenth of all the time for all places.
        let (took, most) = (session.elapsed() - begun, session.limit().as_secs_f64() / (10.0 * places as f64));
        if took.as_secs_f64() > most {
            commands = (commands * 2 / 3).max(FEWEST);
        }
    }
    Ok(Rates::new(sectors, at))
}

/// The number of commands in flight with which a host reads fastest: commands that it splits may overtake each other.
fn depth(session: &mut Session<'_>, commands: u64) -> Result<u32, ProbeError> {
    if session.facts().clock == ProbeClock::Virtual {
        return Ok(DEPTH);
    }
    let many = stretch(session, 0, commands, DEPTH)?.value;
    let alone = stretch(session, commands * u64::from(COMMAND), commands, 1)?.value;
    Ok(if alone > 1.05 * many { 1 } else { DEPTH })
}

/// The rate from `start` on \[bytes/s\]; a measurement whose halves differ is repeated, since a command was late.
fn rate(session: &mut Session<'_>, start: u64, commands: u64, depth: u32) -> Result<Measured, ProbeError> {
    let mut best = stretch(session, start, commands, depth)?;
    for _ in 1..TRIES {
        let has_time = session.elapsed() * 5 < session.limit();
        if best.spread <= EVEN * best.value || !has_time {
            break;
        }
        let again = stretch(session, start, commands, depth)?;
        if again.spread < best.spread {
            best = again;
        }
    }
    Ok(best)
}

fn stretch(session: &mut Session<'_>, start: u64, commands: u64, depth: u32) -> Result<Measured, ProbeError> {
    let sectors = COMMAND.min(session.facts().max_sectors);
    let step = |nth: u64| ProbeStep { op: Op::Read, start: start + nth * u64::from(sectors), sectors };
    let reads = session.closed_loop(depth, (0..commands).map(step))?;
    let ends: Vec<f64> = reads.iter().map(|read| read.ended.as_secs_f64()).collect();
    let rate = |ends: &[f64]| f64::from(sectors) * 512.0 / pace(ends);
    let (first, middle) = (ends.len() / 8, ends.len() * 9 / 16);
    let halves = rate(&ends[first..middle]) - rate(&ends[middle..]);
    Ok(Measured::new(rate(&ends[first..]), halves / 2.0))
}

/// The time from one completion to the next, from pairs half of them apart, without the lowest and the highest quarter:
/// a late completion spoils two pairs.
fn pace(ends: &[f64]) -> f64 {
    let half = (ends.len() / 2).max(1);
    let mut apart: Vec<f64> = ends.iter().zip(&ends[half.min(ends.len())..]).map(|(a, b)| b - a).collect();
    apart.sort_by(f64::total_cmp);
    let usual = &apart[apart.len() / 4..apart.len() - apart.len() / 4];
    usual.iter().sum::<f64>() / (usual.len() * half).max(1) as f64
}

impl Rates {
    pub(super) fn new(sectors: u64, at: Vec<(u64, Measured)>) -> Rates {
        let mut stroke = vec![0.0];
        for pair in at.windows(2) {
            let width = (pair[1].0 - pair[0].0) as f64 / pair[0].1.value.midpoint(pair[1].1.value);
            stroke.push(stroke.last().copied().unwrap_or_default() + width);
        }
        let all = stroke.last().copied().unwrap_or(1.0);
        stroke.iter_mut().for_each(|part| *part /= all);
        Rates { at, sectors, stroke }
    }

    pub(super) fn outer(&self) -> Measured {
        self.at[0].1
    }

    pub(super) fn inner(&self) -> Measured {
        self.at[self.at.len() - 1].1
    }

    /// The part of the stroke before each of `at`.
    pub(super) fn strokes(&self) -> &[f64] {
        &self.stroke
    }

    /// The number of tracks of the whole disk, each of which moves for `track_ns`.
    pub(super) fn tracks(&self, track_ns: f64) -> f64 {
        let each = self.at.windows(2).map(|pair| {
            let bytes = (pair[1].0 - pair[0].0) as f64 * 512.0;
            bytes / (pair[0].1.value.midpoint(pair[1].1.value) * track_ns / 1e9)
        });
        each.sum()
    }

    /// The rate at a sector \[bytes/s\].
    pub(super) fn rate_at(&self, sector: u64) -> f64 {
        let behind = self.at.partition_point(|(start, _)| *start <= sector).clamp(1, self.at.len() - 1);
        let ((a, low), (b, high)) = (self.at[behind - 1], self.at[behind]);
        let part = (sector.saturating_sub(a) as f64 / (b - a) as f64).min(1.0);
        low.value + (high.value - low.value) * part
    }

    /// The sector after a part of the stroke.
    pub(super) fn sector_at(&self, part: f64) -> u64 {
        let behind = self.stroke.partition_point(|stroke| *stroke <= part).clamp(1, self.stroke.len() - 1);
        let (low, high) = (self.stroke[behind - 1], self.stroke[behind]);
        let (a, b) = (self.at[behind - 1].0, self.at[behind].0);
        let sector = a as f64 + (b - a) as f64 * ((part - low) / (high - low)).clamp(0.0, 1.0);
        (sector as u64).min(self.sectors - 1)
    }
}
