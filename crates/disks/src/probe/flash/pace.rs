//! **What for**: a controller that needs longer from one command to the next than for a single command: the map of a
//! USB stick or SD card, which is read from flash, or rewritten.
//!
//! **Rule**: a small command right after another is compared with one after a pause. If the former takes much longer,
//! the time from one to the next is the cost of the map, and everything else is measured after pauses.

use blksched::{Op, Span};

use super::super::ProbeError;
use super::super::session::{ProbeStep, Session};
use super::super::target::ProbeAccess;
use super::super::value::Measured;

/// The time from one command of 4 KiB to the next, one at a time \[ns\].
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) random_read: Measured,
    pub(super) sequential_read: Measured,
    /// Random and sequential writes, if writing is allowed.
    pub(super) writes: Option<(Measured, Measured)>,
}

impl Pace {
    /// A rest long enough for a controller to be idle again.
    pub(super) fn rest(&self) -> Span {
        let writes = self.writes.map_or(0.0, |(random, sequential)| random.value.max(sequential.value));
        Span::from_ns((3.0 * writes.max(self.random_read.value)) as u64)
    }
}

/// `None` if a command directly after another takes no longer.
pub(super) fn pace(session: &mut Session<'_>) -> Result<Option<Pace>, ProbeError> {
    session.stage("commands right behind each other")?;
    let mut rested = Vec::new();
    for _ in 0..40 {
        session.rest(Span::from_ms(20));
        let place = session.place(8);
        rested.push(session.read(place, 8)?.latency());
    }
    let random_read = period(session, Op::Read, true)?;
    let alone = Measured::median_of(&mut rested).map_or(0.0, |alone| alone.value);
    if random_read.value < 1.1 * alone {
        return Ok(None);
    }
    let sequential_read = period(session, Op::Read, false)?;
    let writes = match session.facts().access {
        ProbeAccess::ReadOnly => None,
        ProbeAccess::Destroy => {
            let random = period(session, Op::Write, true)?;
            session.rest(Span::from_ms(500));
            Some((random, period(session, Op::Write, false)?))
        }
    };
    Ok(Some(Pace { random_read, sequential_read, writes }))
}

/// The time of a command directly after another of its kind.
fn period(session: &mut Session<'_>, op: Op, random: bool) -> Result<Measured, ProbeError> {
    const COUNT: u64 = 120;
    let first = session.place(8 * COUNT as u32);
    let steps: Vec<ProbeStep> = (0..COUNT)
        .map(|nth| ProbeStep { op, start: if random { session.place(8) } else { first + 8 * nth }, sectors: 8 })
        .collect();
    let timed = session.closed_loop(1, steps)?;
    let mut took: Vec<f64> = timed.iter().skip(10).map(|timed| timed.latency()).collect();
    Ok(Measured::median_of(&mut took).unwrap_or(Measured::new(0.0, 0.0)))
}
