//! What a trial needs of the machine.

use blksched::{Instant, Span};

use super::{LiveCount, LiveIo, LiveStall, Place};

/// The machine whose settings take turns.
pub trait LiveMachine {
    /// A setting's value, as it can be written again.
    ///
    /// # Errors
    /// If there is no such setting.
    fn read(&mut self, place: &Place) -> Result<String, String>;

    /// Sets it.
    ///
    /// # Errors
    /// If the kernel refuses it.
    fn write(&mut self, place: &Place, value: &str) -> Result<(), String>;

    /// Whether this is a file of a group that is no more, so that there is nothing to be given back to.
    fn is_gone(&mut self, _place: &Place) -> bool {
        false
    }

    /// The names of the knobs of the scheduler in use.
    fn knobs(&mut self) -> Vec<String>;

    /// The files of groups in which BFQ has a weight for this disk alone, which a switch to another scheduler forgets.
    ///
    /// # Errors
    /// If there is one that cannot be given back.
    fn weighted(&mut self) -> Result<Vec<Place>, String> {
        Ok(Vec::new())
    }

    /// The time.
    fn now(&mut self) -> Instant;

    /// Waits for `span`, or less if the trial is to stop.
    ///
    /// # Errors
    /// If the machine can no longer be watched.
    fn watch(&mut self, span: Span) -> Result<LiveTick, String>;
}

/// What a short time brought.
#[derive(Clone, Debug, Default)]
pub struct LiveTick {
    /// The I/Os that were done.
    pub done: Vec<LiveIo>,
    /// What was counted, if they cannot be watched.
    pub counted: Vec<LiveCount>,
    /// What PSI says then.
    pub stalled: Vec<LiveStall>,
    /// The submission of the oldest one that is not.
    pub oldest: Option<Instant>,
    /// The part of the time that PSI calls full.
    pub psi_full: Option<f64>,
    /// The trial is to stop: Ctrl-C or a signal.
    pub stop: bool,
}
