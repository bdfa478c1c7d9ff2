//! **What for**: the drive's own queue: whether it reorders, and how long a command may wait behind others.
//!
//! **Rule**: many random reads at a time are faster than one by one if the drive chooses among them. A read far away
//! beside many near each other, or beside a stream, waits until the drive's patience ends; its longest wait says when.
//! A drive that expects a stream to continue delays even a single read right after one: such reads take longer than
//! others over the same distance by this delay. Both are spread over one revolution from their shortest on, so rotation
//! cancels out. (A command is decoded while the drive waits.)

use blksched::Op;

use super::super::ProbeError;
use super::super::session::{ProbeStep, Random, Session};
use super::super::value::{Measured, median};
use super::hop::shortest;

/// The observed behaviour of the drive's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriveQueue {
    /// Reads per second, one at a time and as many as it accepts.
    pub(super) alone: f64,
    pub(super) deep: f64,
    /// How long a far read waits beside many near ones, and beside a stream \[ns\].
    pub(super) near: Measured,
    pub(super) stream: Measured,
    /// By how much a single far read waits longer after a stream that has just been read \[ns\].
    pub(super) behind: Measured,
}

impl DriveQueue {
    /// Whether it reorders.
    pub(super) fn reorders(&self) -> bool {
        self.deep > 1.15 * self.alone
    }
}

/// A smaller part of a revolution does not count as a wait: two draws of angles differ by that.
pub(super) const NO_WAIT: f64 = 0.05;

/// Measures the queue; `command` is the time to decode a command, `period` a revolution \[ns\].
pub(super) fn queue(
    session: &mut Session<'_>,
    far_reads: usize,
    (command, period): (f64, f64),
) -> Result<Option<DriveQueue>, ProbeError> {
    session.stage("command queue")?;
    let depth = session.facts().depth.min(64);
    if depth < 2 {
        return Ok(None);
    }
    let alone = per_second(session, 1, 150)?;
    let deep = per_second(session, depth, 500)?;
    let near = wait(session, depth, far_reads, false)?;
    let stream = wait(session, depth, far_reads, true)?;
    let behind = behind(session, period)?;
    // Without a wait nothing is decoded meanwhile.
    let meanwhile = if behind.value > period * NO_WAIT { command } else { 0.0 };
    let behind = Measured::new(behind.value + meanwhile, behind.spread);
    Ok(Some(DriveQueue { alone, deep, near, stream, behind }))
}

/// How much longer a far read takes directly after a stream than after a single read of the same place.
fn behind(session: &mut Session<'_>, period: f64) -> Result<Measured, ProbeError> {
    const FAR_READS: u64 = 150;
    const STREAM: u64 = 16;
    // Further than any buffer reads ahead: a hit on an earlier read must not delay the head.
    const APART: u64 = 32_768;
    let sectors = session.facts().sectors;
    let mut took = [Vec::new(), Vec::new()];
    let mut near = sectors / 10;
    // Interleaved, so that a disturbance affects both.
    for _ in 0..session.scaled(FAR_READS) {
        for (of, times) in [1, STREAM].into_iter().zip(&mut took) {
            near = if near < sectors / 8 { near + APART + session.below(2_000) } else { sectors / 10 };
            for nth in 0..of {
                session.read(near + nth * 128, 128)?;
            }
            let far = near + sectors / 3 + session.below(APART / 2);
            times.push(session.read(far, 8)?.latency());
        }
    }
    let [single, stream] = took.map(|times| shortest(&times, period));
    Ok(Measured::new(stream.value - single.value, stream.spread + single.spread))
}

/// Random 4 KiB reads per second.
fn per_second(session: &mut Session<'_>, depth: u32, count: usize) -> Result<f64, ProbeError> {
    let steps: Vec<ProbeStep> =
        (0..count).map(|_| ProbeStep { op: Op::Read, start: session.place(8), sectors: 8 }).collect();
    let reads = session.closed_loop(depth, steps)?;
    let last = reads.iter().map(|read| read.ended).max().unwrap_or(reads[0].begun);
    Ok(count as f64 / last.since(reads[0].begun).as_secs_f64())
}

/// How long a far read waits beside others, with the variation of its waits.
fn wait(session: &mut Session<'_>, depth: u32, count: usize, stream: bool) -> Result<Measured, ProbeError> {
    let mut times = waits(session, depth, count, stream)?;
    let middle = median(&mut times);
    Ok(Measured::new(middle, (times[times.len() - 1] - times[0]) / 2.0))
}

/// How long far reads wait beside others that are near each other, or sequential \[ns\].
pub(super) fn waits(session: &mut Session<'_>, depth: u32, count: usize, stream: bool) -> Result<Vec<f64>, ProbeError> {
    let sectors = session.facts().sectors;
    let near = sectors / 10 / 8 * 8;
    let far: Vec<ProbeStep> = (0..count)
        .map(|_| ProbeStep { op: Op::Read, start: sectors / 2 + session.below(sectors / 3), sectors: 8 })
        .collect();
    // A host keeps three reads of a stream in order, but not thirty.
    let depth = if stream { depth.min(4) } else { depth };
    let (width, mut at) = (sectors / 2000 / 8, near);
    let mut random = Random::new(7);
    let mut others = core::iter::from_fn(|| {
        let step = match stream {
            true => ProbeStep { op: Op::Read, start: at, sectors: 128 },
            false => ProbeStep { op: Op::Read, start: near + random.below(width.max(1)) * 8, sectors: 8 },
        };
        at += 128;
        Some(step)
    });
    let [far, _] = session.two_loops((1, &mut far.into_iter()), (depth - 1, &mut others))?;
    Ok(far.iter().map(|read| read.latency()).collect())
}
