//! Measuring an SSD: latency by size, commands by depth, rates, the write buffer, collection; and parameters that only
//! mixtures show, which are fitted. If a model without dies comes nearer to the mixtures, the disk is written as a
//! volume.

use super::ProbeError;
use super::fit::{Fitted, Mixture, Took, fit, misses};
use super::session::Session;
use super::target::ProbeAccess;
use super::value::Measured;

mod mixtures;
mod pace;
mod reads;
mod toml;
mod volume;
mod writes;

use mixtures::{Mixed, PARAMETERS};
use pace::Pace;
use reads::{Depths, Sizes};
use volume::{Volume, VolumeLimit};
use writes::{Buffered, Sustained};

/// All results; `None` for what was not reached or not allowed.
#[derive(Debug)]
pub(super) struct FlashFindings {
    /// `None` if a command directly after another takes no longer.
    pace: Option<Pace>,
    sizes: Sizes,
    depths: Option<Depths>,
    /// Sequential reads, deep \[bytes/s\].
    stream: Option<Measured>,
    /// Measured if several commands are accepted at a time.
    volume: Option<Volume>,
    buffered: Option<Buffered>,
    sustained: Option<Sustained>,
    mixtures: Vec<(Mixed, Took)>,
    fitted: Vec<Fitted>,
}

/// Measures it; what is known when something stops it is kept.
pub(super) fn probe(session: &mut Session<'_>) -> Result<(FlashFindings, Option<ProbeError>), ProbeError> {
    let pace = pace::pace(session)?;
    let sizes = reads::sizes(session, pace.as_ref())?;
    let mut found = FlashFindings {
        pace,
        sizes,
        depths: None,
        stream: None,
        volume: None,
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

/// FIT: what a model of fewer parameters may be worse by, a quarter. On a disk that serves one command at a time a cap
/// at just its rate comes as near, by chance nearer. Which file is written hangs on it.
const SIMPLER: f64 = 0.8;

impl FlashFindings {
    fn rest(&mut self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        self.depths = Some(reads::depths(session)?);
        self.stream = Some(reads::stream(session)?);
        if session.facts().depth > 1 {
            let most = self.depths.as_ref().map_or(0.0, |depths| depths.deepest().value);
            self.volume = Some(volume::volume(session, most)?);
        }
        let destroy = session.facts().access == ProbeAccess::Destroy;
        if destroy {
            self.buffered = Some(writes::buffered(session, self.pace.as_ref())?);
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

    /// Its file; fits what only mixtures show, and checks whether it is flash at all.
    pub(super) fn toml(&mut self, session: &Session<'_>, stopped: Option<&ProbeError>) -> String {
        if self.mixtures.is_empty() {
            return self.text(session, stopped);
        }
        let access = session.facts().access;
        let known: &[&str] = if self.program().is_some() { &["flash.program"] } else { &[] };
        self.fitted = fit(&self.text(session, stopped), PARAMETERS, &self.mixtures, access, known);
        let flash = self.text(session, stopped);
        let volumes = VolumeLimit::ALL.into_iter().filter_map(|limit| {
            // Caps say more than a number of commands at a time, so they must fit clearly better.
            let weight = if limit == VolumeLimit::Channels { SIMPLER } else { 1.0 };
            Some((weight, self.volume_text(session, limit, stopped)?))
        });
        let all = core::iter::once((1.0, flash.clone())).chain(volumes);
        let known = all.filter_map(|(weight, text)| Some((weight * misses(&text, &self.mixtures, access)?, text)));
        known.min_by(|(a, _), (b, _)| a.total_cmp(b)).map_or(flash, |(_, text)| text)
    }
}
