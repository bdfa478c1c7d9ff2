//! **What for**: the write buffer, and the sustained write rate.
//!
//! **Rule**: a write that ends sooner than a read is buffered. A flush after one write takes the time of programming a
//! page, unless capacitors protect the buffer: then it takes no time. A burst of large writes runs at the interface's
//! rate until the buffer is full, then at that of the programs. Random writing continues until its rate falls: the
//! amount written until then found free blocks; the remaining rate includes collection.

use blksched::{Op, Span};

use super::super::ProbeError;
use super::super::session::{ProbeStep, Session};
use super::super::value::Measured;
use super::pace::Pace;
use super::reads::per_second;

/// The write buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffered {
    /// A 4 KiB write alone \[ns\].
    pub(super) alone: Measured,
    /// 4 KiB writes per second, deep.
    pub(super) deep: f64,
    /// A stream's rate after the buffer is full \[bytes/s\].
    pub(super) stream: Measured,
    /// The excess of a burst over that rate \[bytes\]; `None` if it does not show.
    pub(super) size: Option<Measured>,
    /// The burst in which it did not show \[bytes\].
    pub(super) burst: f64,
    /// A flush after one 4 KiB write \[ns\].
    pub(super) flush: Measured,
}

pub(super) fn buffered(session: &mut Session<'_>, pace: Option<&Pace>) -> Result<Buffered, ProbeError> {
    session.stage("write buffer")?;
    let pause = |usual: Span| pace.map_or(usual, Pace::rest);
    let mut times = Vec::new();
    for _ in 0..100 {
        let place = session.place(8);
        times.push(session.one(Op::Write, place, 8)?.latency());
        session.rest(pause(Span::from_ms(2)));
    }
    let alone = Measured::median_of(&mut times).unwrap_or(Measured::new(0.0, 0.0));
    let mut times = Vec::new();
    for _ in 0..60 {
        let place = session.place(8);
        session.one(Op::Write, place, 8)?;
        if let Some(pace) = pace {
            session.rest(pace.rest());
        }
        times.push(session.one(Op::Flush, 0, 0)?.latency());
        session.rest(pause(Span::from_ms(5)));
    }
    let flush = Measured::median_of(&mut times).unwrap_or(alone);
    let depth = session.facts().depth.min(256);
    let count = if pace.is_some() { 500 } else { 8_000 };
    let steps: Vec<ProbeStep> =
        (0..count).map(|_| ProbeStep { op: Op::Write, start: session.place(8), sectors: 8 }).collect();
    let deep = per_second(&session.closed_loop(depth, steps)?, count / 4);
    session.rest(Span::from_secs(1));
    let sectors = 256.min(session.facts().max_sectors);
    let start = session.place(2_000 * sectors);
    let step = |nth: u64| ProbeStep { op: Op::Write, start: start + nth * u64::from(sectors), sectors };
    let writes = session.closed_loop(4, (0..2_000).map(step))?;
    let bytes = f64::from(sectors) * 512.0;
    let ends: Vec<f64> = writes.iter().map(|write| write.ended.as_secs_f64()).collect();
    let late = |from: usize, to: usize| (to - from) as f64 * bytes / (ends[to] - ends[from]).max(1e-9);
    let stream = late(1_000, 1_999);
    let spread = (late(1_000, 1_500) - late(1_500, 1_999)) / 2.0;
    let quick = late(1, 12);
    // Where the first rate ends: what had been written by then, minus what was programmed meanwhile.
    let slow = (20..1_990).find(|at| late(at - 8, *at + 8) < 0.6 * quick + 0.4 * stream);
    let size = slow.filter(|_| quick > 1.3 * stream).map(|at| {
        let seconds = ends[at] - writes[0].begun.as_secs_f64();
        Measured::new(at as f64 * bytes - seconds * stream, 16.0 * bytes)
    });
    Ok(Buffered { alone, deep, stream: Measured::new(stream, spread), size, burst: 12.0 * bytes, flush })
}

/// Sustained random writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sustained {
    /// The rates before and after the drop \[bytes/s\].
    pub(super) fresh: f64,
    pub(super) used: Measured,
    /// How much had been written at the drop \[bytes\]; `None` if there was none.
    pub(super) after: Option<Measured>,
}

pub(super) fn sustained(session: &mut Session<'_>) -> Result<Sustained, ProbeError> {
    session.stage("long writing")?;
    let sectors = 256.min(session.facts().max_sectors);
    let bytes = f64::from(sectors) * 512.0;
    let most = (session.limit().as_secs_f64() * 0.45).min(session.left().as_secs_f64() * 0.9);
    let began = session.elapsed();
    let (mut written, mut rates) = (session.written() as f64 * 512.0, Vec::new());
    const ROUND: usize = 500;
    loop {
        let place = |session: &mut Session<'_>| session.place(sectors) / u64::from(sectors) * u64::from(sectors);
        let steps: Vec<ProbeStep> =
            (0..ROUND).map(|_| ProbeStep { op: Op::Write, start: place(session), sectors }).collect();
        let writes = session.closed_loop(32, steps)?;
        written += ROUND as f64 * bytes;
        rates.push((written, per_second(&writes, 64) * bytes));
        // Random writes hit some dies more often than others: rates of rounds vary by some per cent.
        let fresh = rates[1.min(rates.len() - 1)].1;
        let fallen = rates.iter().position(|(_, rate)| *rate < 0.85 * fresh);
        let seen = fallen.is_some_and(|at| rates.len() > at + 12);
        if seen || session.elapsed().saturating_sub(began).as_secs_f64() > most {
            let tail: Vec<f64> = rates[rates.len().saturating_sub(9)..].iter().map(|(_, rate)| *rate).collect();
            let used = Measured::median_of(&mut tail.clone()).unwrap_or(Measured::new(fresh, 0.0));
            let after = fallen.map(|at| Measured::new(rates[at].0 - ROUND as f64 * bytes / 2.0, ROUND as f64 * bytes));
            return Ok(Sustained { fresh, used, after });
        }
    }
}
