//! Measuring a disk from outside, in order to model it.
//!
//! The same prober works in virtual and in real time: it knows a [`Target`], which is a model in virtual time
//! ([`Modelled`]) or a real path by the wall clock. It reads (and writes only if it may destroy data), derives
//! parameters, writes them as a disk's TOML with their spread, and finally runs the new model on measurements that were
//! not used: the difference is its error.

use core::fmt;
use core::ops::ControlFlow;

use blksched::Span;

mod fit;
mod flash;
mod held_back;
mod session;
mod target;
mod text;
mod traced;
mod turning;
mod value;

pub use held_back::HeldBack;
pub use session::{ProbeProgress, Session};
pub use target::{CommandEnded, Modelled, ProbeAccess, ProbeClock, Target, TargetFacts};
pub use traced::{TraceFit, Traced, fit_trace};
pub use value::{Measured, demerit};

use crate::DiskSpec;

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeError {
    /// The caller interrupted it.
    Interrupted,
    /// The time is up.
    TimeIsUp,
    /// A command failed, in the system's words.
    Failed(String),
    /// What was observed makes no sense.
    Unclear(String),
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbeError::Interrupted => write!(f, "interrupted"),
            ProbeError::TimeIsUp => write!(f, "the time was up"),
            ProbeError::Failed(why) => write!(f, "{why}"),
            ProbeError::Unclear(what) => write!(f, "unclear: {what}"),
        }
    }
}

impl core::error::Error for ProbeError {}

/// The result of a measurement.
#[derive(Clone, Debug)]
pub struct ProbeOutcome {
    /// The disk's file.
    pub toml: String,
    /// The parsed file.
    pub spec: DiskSpec,
    /// The parts kept back, measured and as predicted by the new model, as far as it came; empty if it was interrupted
    /// earlier.
    pub held_back: Vec<HeldBack>,
    /// Why it ended early, if it did.
    pub stopped: Option<ProbeError>,
    /// How long it took.
    pub took: Span,
}

impl ProbeOutcome {
    /// The mean over the parts kept back of their demerit figures, as part of the measured means.
    pub fn error(&self) -> Option<f64> {
        let count = self.held_back.len();
        (count > 0).then(|| self.held_back.iter().map(HeldBack::relative).sum::<f64>() / count as f64)
    }
}

/// Measures `target` within `limit`, reporting to `progress`, which may end it; then what is known is written.
///
/// # Errors
/// If too little is known for a model.
pub fn measure(
    target: &mut dyn Target,
    limit: Span,
    seed: u64,
    progress: &mut dyn FnMut(ProbeProgress) -> ControlFlow<()>,
) -> Result<ProbeOutcome, ProbeError> {
    let mut session = Session::new(target, seed, limit, progress);
    let (mut found, mut stopped) = probe(&mut session)?;
    // Time was kept for it, but a user who interrupts wants no more. Done before the model is made, which takes
    // processor time.
    let why = stopped.clone();
    let mut parts = Vec::new();
    if matches!(stopped, None | Some(ProbeError::TimeIsUp)) {
        session.release();
        let (measured, early) = held_back::measure(&mut session, held_back::MEASURED);
        (parts, stopped) = (measured, stopped.or(early));
    }
    let toml = found.toml(&session, why.as_ref());
    let spec = read_back(&toml)?;
    let held_back = held_back::predict(&spec, parts, &session);
    let toml = text::with_error(&toml, &held_back) + &text::validated(&held_back);
    Ok(ProbeOutcome { toml, spec, held_back, stopped, took: session.elapsed() })
}

/// What was found out.
enum ProbeFound {
    Nothing,
    Turning(Box<turning::TurningFindings>),
    /// With the beginning of its file.
    Flash(String, Box<flash::FlashFindings>),
}

impl ProbeFound {
    /// The file for the kind of disk.
    fn toml(&mut self, session: &Session<'_>, stopped: Option<&ProbeError>) -> String {
        match self {
            ProbeFound::Nothing => text::null(session.facts()),
            ProbeFound::Turning(found) => found.toml(session, stopped),
            ProbeFound::Flash(note, found) => format!("{note}{}", found.toml(session, stopped)),
        }
    }
}

/// The kind of disk, and why not everything is known, if so. A disk that is as slow as a spinning one but shows no
/// revolution (a busy virtual disk, a card) is measured as flash, and the file says so. Where the host says that
/// nothing turns it is believed: a disk whose commands all take 2 ms would otherwise seem to turn while the host is
/// busy.
fn probe(session: &mut Session<'_>) -> Result<(ProbeFound, Option<ProbeError>), ProbeError> {
    let mut note = String::new();
    let usual = random_read(session)?;
    if usual < NOTHING_NS {
        return Ok((ProbeFound::Nothing, None));
    }
    held_back::plan(session, usual);
    if usual > TURNS_NS && !session.facts().never_turns {
        match turning::probe(session) {
            Ok((found, stopped)) => return Ok((ProbeFound::Turning(Box::new(found)), stopped)),
            Err(ProbeError::Unclear(why)) if usual > FLASH_NS => {
                let ms = usual / 1e6;
                return Err(ProbeError::Unclear(format!(
                    "its random reads take {ms:.1} ms, as those of a spinning disk, but {why} On a busy host, answers \
                     arrive late by more than this: try again at rest, or with priority over all others (chrt -f 40)"
                )));
            }
            Err(ProbeError::Unclear(why)) => {
                note = format!(
                    "# Its reads take as long as those of a spinning disk, but {why} \
                     Measured as a disk that does not spin.\n"
                );
            }
            Err(error) => return Err(error),
        }
    }
    let (found, stopped) = flash::probe(session)?;
    Ok((ProbeFound::Flash(note, Box::new(found)), stopped))
}

/// The median time of a random read \[ns\].
fn random_read(session: &mut Session<'_>) -> Result<f64, ProbeError> {
    session.stage("what it is")?;
    let mut times = Vec::new();
    for _ in 0..40 {
        let place = session.place(8);
        times.push(session.read(place, 8)?.latency());
    }
    Ok(value::median(&mut times))
}

fn read_back(toml: &str) -> Result<DiskSpec, ProbeError> {
    crate::parse("measured", toml)
        .map_err(|error| ProbeError::Unclear(format!("what was measured does not describe a disk: {error}\n{toml}")))
}

/// No disk has faster random reads: anything faster takes no time at all \[ns\].
const NOTHING_NS: f64 = 100.0;
/// The median random read of a spinning disk takes longer \[ns\].
const TURNS_NS: f64 = 1_500_000.0;
/// No model of flash is slower \[ns\].
const FLASH_NS: f64 = 10_000_000.0;
