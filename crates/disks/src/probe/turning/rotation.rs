//! **What for**: the rotational speed.
//!
//! **Rule**: a sector passes under the head once per revolution, so reads of one sector end whole revolutions apart,
//! whatever seek came before. Many places are read, more than the drive's buffer remembers; the slowest frequency at
//! which all places' ends agree is the platters'. Hits in the buffer are left out.

use super::super::ProbeError;
use super::super::session::{Session, Timed};
use super::super::value::Measured;

/// Rounds over all places.
const ROUNDS: usize = 9;
/// The range of frequencies \[1/s\]: 4,500 to 15,600 rpm.
const SLOWEST: f64 = 75.0;
const FASTEST: f64 = 260.0;
/// A faster read came out of the buffer \[ns\].
const HIT_NS: f64 = 700_000.0;

/// One revolution \[ns\].
pub(super) fn period(session: &mut Session<'_>) -> Result<Measured, ProbeError> {
    session.stage("rotation")?;
    let mut places = 40;
    loop {
        let reads = rounds(session, places)?;
        let hits = reads.iter().flatten().filter(|read| read.latency() < HIT_NS).count();
        if 5 * hits < places * ROUNDS || places > 1000 {
            return fundamental(session, &reads);
        }
        places *= 3;
    }
}

fn rounds(session: &mut Session<'_>, count: usize) -> Result<Vec<Vec<Timed>>, ProbeError> {
    let places: Vec<u64> = (0..count).map(|_| session.place(8)).collect();
    let block = session.block();
    let mut reads = vec![Vec::new(); count];
    let mut order: Vec<usize> = (0..count).collect();
    for _ in 0..ROUNDS {
        // In a fixed order each round would take the same time, and any part of it would look like a period.
        for left in (1..count).rev() {
            order.swap(left, session.below(left as u64 + 1) as usize);
        }
        for &at in &order {
            reads[at].push(session.read(places[at], block)?);
        }
    }
    Ok(reads)
}

/// The lowest frequency at which the ends of each place's reads agree.
fn fundamental(session: &mut Session<'_>, reads: &[Vec<Timed>]) -> Result<Measured, ProbeError> {
    let ends = |reads: &Vec<Timed>| -> Vec<f64> {
        let medium = reads.iter().filter(|read| read.latency() >= HIT_NS);
        medium.map(|read| read.ended.as_secs_f64()).collect()
    };
    let ends: Vec<Vec<f64>> = reads.iter().map(ends).filter(|ends| ends.len() > 2).collect();
    let span = ends.iter().flatten().fold(0.0, |last: f64, end| last.max(*end));
    let first = ends.iter().flatten().fold(span, |first: f64, end| first.min(*end));
    let step = 0.12 / (span - first).max(0.1);
    let steps = ((FASTEST - SLOWEST) / step) as usize;
    // With many reads this takes a busy processor longer than a user who interrupts wants to wait.
    let one = |nth: usize| {
        if nth.is_multiple_of(64) {
            session.stage("rotation")?;
        }
        Ok(coherence(&ends, SLOWEST + nth as f64 * step))
    };
    let scan = (0..steps).map(one).collect::<Result<Vec<f64>, ProbeError>>()?;
    let best = scan.iter().copied().fold(0.0, f64::max);
    if best < 0.6 {
        return Err(ProbeError::Unclear("they end at no common frequency: does it turn?".to_owned()));
    }
    // Multiples agree as well: the lowest one is right.
    let near = scan.iter().position(|value| *value > 0.85 * best).unwrap_or(0);
    let last = (near + 16).min(scan.len());
    let peak = (near..last).max_by(|a, b| scan[*a].total_cmp(&scan[*b])).unwrap_or(near);
    let frequency = climb(&ends, SLOWEST + peak as f64 * step, step);
    // Half a per cent of a revolution over the whole time: what noise may hide.
    Ok(Measured::new(1e9 / frequency, 1e9 / frequency * 0.005 / (frequency * (span - first))))
}

/// The top of the peak, by ternary search.
fn climb(ends: &[Vec<f64>], near: f64, step: f64) -> f64 {
    let (mut low, mut high) = (near - step, near + step);
    for _ in 0..50 {
        let third = (high - low) / 3.0;
        if coherence(ends, low + third) < coherence(ends, high - third) { low += third } else { high -= third }
    }
    low.midpoint(high)
}

/// 1 if all ends of each place have the same angle at this frequency, 0 if they are random.
fn coherence(ends: &[Vec<f64>], frequency: f64) -> f64 {
    let of_place = |ends: &Vec<f64>| {
        let (mut x, mut y) = (0.0, 0.0);
        for end in ends {
            let (sin, cos) = (core::f64::consts::TAU * (end * frequency).fract()).sin_cos();
            (x, y) = (x + cos, y + sin);
        }
        f64::hypot(x, y) / ends.len() as f64
    };
    ends.iter().map(of_place).sum::<f64>() / ends.len().max(1) as f64
}
