//! Measuring a spinning disk: one file per mechanism, in the order of their dependencies.

use blksched::Span;

use super::ProbeError;
use super::fit::{Fitted, Mixture, Took, fit};
use super::session::Session;
use super::target::ProbeAccess;
use super::value::Measured;

mod boundary;
mod buffer;
mod hop;
mod layout;
mod queue;
mod rotation;
mod spot;
mod toml;
mod writes;
mod zones;

use buffer::{Electronics, ReadingAhead};
use hop::Neighbours;
use queue::DriveQueue;
use spot::Spot;
use writes::{Mixed, PARAMETERS, Writes};
use zones::Rates;

/// All results; `None` for what was not observed or not reached.
#[derive(Debug)]
pub(super) struct TurningFindings {
    period: Measured,
    rates: Rates,
    spot: Option<Spot>,
    electronics: Option<Electronics>,
    neighbours: Option<Neighbours>,
    /// Parts of the stroke, and the times of seeks over them, including a command's overhead \[ns\].
    seeks: Vec<(f64, Measured)>,
    ahead: Option<ReadingAhead>,
    queue: Option<DriveQueue>,
    writes: Option<Writes>,
    mixtures: Vec<(Mixed, Took)>,
    fitted: Vec<Fitted>,
}

/// Parts of the stroke to measure; a third and nearly all are what `average` and `max` stand for.
const PARTS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 1.0 / 3.0, 0.65, 0.98];

/// Those measured first when time is short.
const FEW: [f64; 3] = [0.01, 1.0 / 3.0, 0.98];

/// With less time than this for reads and writes, not everything can be measured.
const ENOUGH: Span = Span::from_secs(200);

/// Measures it; what is known when something stops it is kept.
pub(super) fn probe(session: &mut Session<'_>) -> Result<(TurningFindings, Option<ProbeError>), ProbeError> {
    let period = rotation::period(session)?;
    let rates = zones::rates(session, 21, 64)?;
    spot::has_tracks(session, period.value, rates.rate_at(spot::top(session)))?;
    let mut found = TurningFindings {
        period,
        rates,
        spot: None,
        electronics: None,
        neighbours: None,
        seeks: Vec::new(),
        ahead: None,
        queue: None,
        writes: None,
        mixtures: Vec::new(),
        fitted: Vec::new(),
    };
    let stopped = found.rest(session).err();
    match stopped {
        Some(ProbeError::Failed(why)) => Err(ProbeError::Failed(why)),
        stopped => Ok((found, stopped)),
    }
}

impl TurningFindings {
    fn rest(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        self.electronics = buffer::electronics(session)?;
        // What a model errs most without comes first, and what is known of the class anyway last.
        if session.facts().access == ProbeAccess::Destroy && session.limit() < ENOUGH {
            self.cache(session)?;
            self.arm(session, &FEW)?;
            self.look_ahead(session)?;
            self.commands(session)?;
            self.tracks(session)?;
        } else {
            self.tracks(session)?;
            self.arm(session, &PARTS)?;
            self.look_ahead(session)?;
            self.commands(session)?;
            self.cache(session)?;
        }
        let (has_queue, is_cached) =
            (self.queue.is_some(), self.writes.as_ref().is_some_and(|writes| writes.size.is_some()));
        let wanted = |mixture: &Mixed| if mixture.writes() { is_cached } else { has_queue };
        for mixture in Mixed::ALL.into_iter().filter(wanted) {
            session.stage("reads and writes together")?;
            self.mixtures.push((mixture, mixture.run(session)?));
        }
        Ok(())
    }

    fn tracks(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        let top = spot::top(session);
        let spot = spot::look(session, self.period.value, self.rates.rate_at(top), top)?;
        self.neighbours = Some(hop::neighbours(session, &spot)?);
        self.spot = Some(spot);
        Ok(())
    }

    fn arm(&mut self, session: &mut Session<'_>, parts: &[f64]) -> Result<(), ProbeError> {
        let count = session.scaled(140);
        for &part in parts {
            self.seeks.push((part, hop::long(session, &self.rates, self.period.value, part, count)?));
        }
        Ok(())
    }

    fn look_ahead(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        if let Some(electronics) = self.electronics {
            let hit_ns = 3.0 * electronics.command.value + 8.0 * 512e9 / electronics.rate.value + 150_000.0;
            self.ahead = buffer::ahead(session, hit_ns, self.rates.inner().value, self.period.value)?;
        }
        Ok(())
    }

    fn commands(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        let command = self.electronics.map_or(0.0, |electronics| electronics.command.value);
        // Where a drive prefers streams, each of them waits for seconds.
        let far_reads = session.scaled(5).clamp(3, 5) as usize;
        self.queue = queue::queue(session, far_reads, (command, self.period.value))?;
        Ok(())
    }

    fn cache(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        if session.facts().access == ProbeAccess::Destroy {
            self.writes = Some(writes::writes(session, self.period.value)?);
        }
        Ok(())
    }

    /// Its file; fits what only mixtures show.
    pub(super) fn toml(&mut self, session: &Session<'_>, stopped: Option<&ProbeError>) -> String {
        if !self.mixtures.is_empty() {
            self.fitted = fit(&self.text(session, stopped), PARAMETERS, &self.mixtures, session.facts().access, &[]);
        }
        self.text(session, stopped)
    }
}
