//! A disk that turns, measured: one file per mechanism, in the order in which one needs the other.

use super::ProbeError;
use super::session::Session;
use super::value::Measured;

mod buffer;
mod hop;
mod queue;
mod rotation;
mod spot;
mod toml;
mod zones;

use buffer::{Ahead, Electronics};
use hop::Neighbours;
use queue::Queue;
use spot::Spot;
use zones::Rates;

/// All that is known; what is `None` was not seen, or not reached.
#[derive(Debug)]
pub(super) struct Findings {
    period: Measured,
    rates: Rates,
    spot: Option<Spot>,
    electronics: Option<Electronics>,
    neighbours: Option<Neighbours>,
    /// Parts of the stroke, and what they take with a command's overhead \[ns\].
    seeks: Vec<(f64, Measured)>,
    ahead: Option<Ahead>,
    queue: Option<Queue>,
    pub(super) seen_to_the_end: bool,
}

/// Parts of the stroke that are measured; a third and nearly all are what `average` and `max` stand for.
const PARTS: [f64; 6] = [0.001, 0.01, 0.1, 1.0 / 3.0, 0.65, 0.98];

/// Measures it; what is known when something stops it is kept.
pub(super) fn probe(session: &mut Session<'_>) -> Result<(Findings, Option<ProbeError>), ProbeError> {
    let period = rotation::period(session)?;
    let rates = zones::rates(session, 21, 64)?;
    let mut found = Findings {
        period,
        rates,
        spot: None,
        electronics: None,
        neighbours: None,
        seeks: Vec::new(),
        ahead: None,
        queue: None,
        seen_to_the_end: false,
    };
    let stopped = found.rest(session).err();
    match stopped {
        Some(ProbeError::Failed(why)) => Err(ProbeError::Failed(why)),
        stopped => Ok((found, stopped)),
    }
}

impl Findings {
    fn rest(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        let (period, sectors) = (self.period.value, session.facts().sectors);
        self.electronics = buffer::electronics(session)?;
        let top = sectors / 50;
        let spot = spot::look(session, period, self.rates.rate_at(top), top)?;
        self.neighbours = Some(hop::neighbours(session, &spot)?);
        self.spot = Some(spot);
        for part in PARTS {
            self.seeks.push((part, hop::long(session, &self.rates, period, part, 140)?));
        }
        if let Some(electronics) = self.electronics {
            let hit_ns = 3.0 * electronics.command.value + 8.0 * 512e9 / electronics.rate.value + 150_000.0;
            self.ahead = buffer::ahead(session, hit_ns, self.rates.inner().value, period)?;
        }
        self.queue = queue::queue(session, 5)?;
        Ok(())
    }
}
