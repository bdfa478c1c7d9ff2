//! The checker: every law that observes a run, in one observer.

use std::any::Any;

use blksched::author::{Bound, Elevator, Wait};
use blksched::{Catalogue, Instant};

use super::calls::Calls;
use super::data::Data;
use super::law::{Law, SharedState};
use super::once::Once;
use super::reasons::Reasons;
use super::violation::Violation;
use super::watched::Watched;
use crate::driver::{RunObserver, Seen, Successor};

/// All laws that watch a run.
pub(super) struct Checker {
    shared: SharedState,
    laws: Vec<Box<dyn Law>>,
}

/// Makes the elevators of a run.
pub(super) struct Bench {
    shared: SharedState,
    bound: Bound,
}

impl Checker {
    pub(super) fn new(bound: Bound, listening: bool, volatile_cache: bool) -> (Checker, Bench) {
        let shared = SharedState::default();
        let mut laws: Vec<Box<dyn Law>> = vec![Box::new(Once::new(listening)), Box::new(Data::new(volatile_cache))];
        if listening {
            laws.push(Box::new(Reasons::default()));
        }
        (Checker { shared: shared.clone(), laws }, Bench { shared, bound })
    }
}

impl Checker {
    /// The violation for a panic: a broken invariant, unless a law was broken before.
    pub(super) fn verdict_on(&self, panic: &(dyn Any + Send)) -> Violation {
        if let Some((law, what)) = self.shared.checked().broken.clone() {
            return Violation::new(law, what);
        }
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Violation::new("invariants hold", what.unwrap_or_else(|| "a panic".to_owned()))
    }
}

impl Bench {
    /// A watched elevator for the queue. Elevators not under test are checked against everything but a bound.
    pub(super) fn elevator(&self, successor: Successor, make: &dyn Fn() -> Box<dyn Elevator>) -> Box<dyn Elevator> {
        let other = Wait::None("not under test");
        let (inner, bound) = match successor {
            Successor::Fresh => (make(), self.bound),
            Successor::Other(name) => {
                let built = Catalogue::builtin().build(name).expect("the driver names elevators that exist");
                (built.elevator, Bound { reads: other, writes: other })
            }
        };
        Box::new(Watched::new(inner, Calls::new(self.shared.clone(), bound)))
    }
}

impl RunObserver for Checker {
    fn see(&mut self, now: Instant, seen: &Seen<'_>) -> Result<(), Violation> {
        let mut checked = self.shared.checked();
        match seen {
            Seen::CallBegins => checked.call += 1,
            Seen::KnobSet | Seen::GroupsChanged | Seen::Ended(..) | Seen::Requeued(_) => checked.changed_unseen = true,
            _ => {}
        }
        if let Some((law, what)) = checked.broken.clone() {
            return Err(Violation::new(law, what));
        }
        for law in &mut self.laws {
            law.see(now, seen).map_err(|what| Violation::new(law.name(), what))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Violation> {
        self.laws.iter_mut().try_for_each(|law| law.finish().map_err(|what| Violation::new(law.name(), what)))
    }
}
