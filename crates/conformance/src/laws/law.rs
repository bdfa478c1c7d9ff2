//! A law as the checker asks it, and what it shares with the elevators that it watches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blksched::Instant;

use crate::driver::Seen;

/// A law that is checked on the driver's events.
pub(super) trait Law {
    /// Its name, as in a violation.
    fn name(&self) -> &'static str;

    /// # Errors
    /// If it is broken: what happened, and what should have happened.
    fn see(&mut self, now: Instant, seen: &Seen<'_>) -> Result<(), String>;

    /// Called when everything has completed.
    ///
    /// # Errors
    /// As [`Law::see`].
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// The state shared by the checker and the elevators that it watches.
#[derive(Clone, Default)]
pub(super) struct SharedState(Arc<Mutex<CheckerState>>);

/// The shared state.
#[derive(Default)]
pub(super) struct CheckerState {
    /// The number of calls of the queue begun.
    pub(super) call: u64,
    /// Whether a knob was set, a group changed, or a command ended that may have been a flush, as no call of the
    /// elevator shows that.
    pub(super) changed_unseen: bool,
    /// The first broken law, and what happened.
    pub(super) broken: Option<(&'static str, String)>,
}

impl SharedState {
    pub(super) fn checked(&self) -> MutexGuard<'_, CheckerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a broken law; only the first counts, as others may follow from it.
    pub(super) fn accuse(&self, law: &'static str, what: impl FnOnce() -> String) {
        let mut checked = self.checked();
        if checked.broken.is_none() {
            checked.broken = Some((law, what()));
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.checked().broken.is_some()
    }
}
