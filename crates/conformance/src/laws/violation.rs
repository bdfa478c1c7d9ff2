//! A broken law, and where it was broken.

use core::fmt;

/// A broken law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is broken{}: {what}", self.law, self.place)]
pub struct Violation {
    /// The name of the law.
    pub law: &'static str,
    /// The run and the place in it, as far as known.
    pub place: BreachPlace,
    /// What happened, and what should have happened.
    pub what: String,
}

/// Where a law was broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreachPlace {
    /// The elevator's name, as a user would type it.
    pub elevator: Option<String>,
    /// The seed of [`Script::from_seed`](crate::driver::Script::from_seed).
    pub seed: Option<u64>,
    /// The step of the script; the number of steps stands for the final phase, in which everything completes.
    pub step: Option<usize>,
}

impl fmt::Display for BreachPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(elevator) = &self.elevator {
            write!(f, " by {elevator}")?;
        }
        if let Some(seed) = self.seed {
            write!(f, " with seed {seed}")?;
        }
        if let Some(step) = self.step {
            write!(f, " at step {step}")?;
        }
        Ok(())
    }
}

impl Violation {
    /// Creates a violation of `law`: `what` happened.
    pub fn new(law: &'static str, what: String) -> Violation {
        Violation { law, place: BreachPlace::default(), what }
    }
}
