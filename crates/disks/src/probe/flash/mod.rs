//! A disk of flash, measured: latency by size, commands by depth, rates, the write buffer, collection; and what only
//! mixtures show, fitted.

use super::ProbeError;
use super::fit::{Fitted, Mixture, Took, fit};
use super::session::Session;
use super::target::ProbeAccess;
use super::value::Measured;

mod mixtures;
mod reads;
mod toml;
mod writes;

use mixtures::{Mixed, PARAMETERS};
use reads::{Depths, Sizes};
use writes::{Buffered, Sustained};

/// All that is known; what is `None` was not reached, or not allowed.
#[derive(Debug)]
pub(super) struct Findings {
    sizes: Sizes,
    depths: Option<Depths>,
    /// Sequential reads, deep \[bytes/s\].
    stream: Option<Measured>,
    buffered: Option<Buffered>,
    sustained: Option<Sustained>,
    mixtures: Vec<(Mixed, Took)>,
    fitted: Vec<Fitted>,
}

/// Measures it; what is known when something stops it is kept.
pub(super) fn probe(session: &mut Session<'_>) -> Result<(Findings, Option<ProbeError>), ProbeError> {
    let sizes = reads::sizes(session)?;
    let mut found = Findings {
        sizes,
        depths: None,
        stream: None,
        buffered: None,
        sustained: None,
        mixtures: Vec::new(),
        fitted: Vec::new(),
    };
    match found.rest(session).err() {
        Some(ProbeError::Failed(why)) => Err(ProbeError::Failed(why)),
        stopped => Ok((found, stopped)),
    }
}

impl Findings {
    fn rest(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        self.depths = Some(reads::depths(session)?);
        self.stream = Some(reads::stream(session)?);
        let destroy = session.facts().access == ProbeAccess::Destroy;
        if destroy {
            self.buffered = Some(writes::buffered(session)?);
        }
        for mixture in Mixed::ALL.into_iter().filter(|mixture| destroy || !mixture.writes()) {
            session.stage("mixtures")?;
            self.mixtures.push((mixture, mixture.run(session)?));
        }
        if destroy {
            self.sustained = Some(writes::sustained(session)?);
        }
        Ok(())
    }

    /// Its file; what only mixtures show is fitted now.
    pub(super) fn toml(&mut self, session: &Session<'_>, stopped: Option<&ProbeError>) -> String {
        if !self.mixtures.is_empty() {
            let access = session.facts().access;
            let known: &[&str] = if self.program().is_some() { &["flash.program"] } else { &[] };
            self.fitted = fit(&self.text(session, stopped), PARAMETERS, &self.mixtures, access, known);
        }
        self.text(session, stopped)
    }
}
