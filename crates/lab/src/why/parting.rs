//! The first moment at which two schedulers decide differently, with both reasons. Processors cost nothing there, so
//! only decisions make a difference.

use std::cell::RefCell;
use std::rc::Rc;

use blksched::{Instant, Span};
use blksched_measure::Reasons;
use blksched_simulate::Trial;
use blksched_simulate::story::{Close, DecisionLog, Onlooker, Sent, parting};

use crate::error::Error;
use crate::scene::{Contender, Scene, Stage};

/// How two schedulers' decisions compare.
pub struct Parting {
    /// How many commands both send alike, at the same moments, before the first that differs.
    pub alike: usize,
    /// Both at that moment; `None` if they decide alike for the whole run.
    pub sides: Option<[Close; 2]>,
}

impl Parting {
    /// Runs both with the scene's first seed, up to the first difference.
    ///
    /// # Errors
    /// If a run stands still.
    pub fn of(scene: &Scene, stage: &Stage, two: [&Contender; 2]) -> Result<Parting, Error> {
        let limit = stage.length(scene, two[0], 1.0)?.limit;
        // The schedulers' own processor costs would separate any two at their first command.
        let trial = |contender, limit| {
            let mut trial = stage.trial(scene, contender, limit);
            trial.surroundings.cpus = None;
            trial
        };
        let logs = two.map(|contender| log(&trial(contender, limit)));
        let [one, other] = logs;
        let (one, other) = (one?, other?);
        let Some(nth) = parting(&one, &other) else {
            return Ok(Parting { alike: one.len(), sides: None });
        };
        let end = |log: &[Sent]| log.get(nth).map_or(limit, |sent| sent.at.since(Instant::ZERO) + Span::from_ns(1));
        let side = |contender, log: &[Sent]| before(&trial(contender, end(log).min(limit)), Close::on(nth));
        Ok(Parting { alike: nth, sides: Some([side(two[0], &one)?, side(two[1], &other)?]) })
    }
}

fn log(trial: &Trial) -> Result<Vec<Sent>, Error> {
    before(trial, DecisionLog::default()).map(|log| log.sent)
}

fn before<O: Onlooker + 'static>(trial: &Trial, onlooker: O) -> Result<O, Error> {
    let shared = Rc::new(RefCell::new(onlooker));
    trial.simulate_before(shared.clone(), Reasons::new()).map_err(Error::input)?;
    Ok(Rc::into_inner(shared).expect("the run is over").into_inner())
}
