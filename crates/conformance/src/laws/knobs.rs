//! Knobs keep the values they are set to; an invalid value is an error that changes nothing.

use blksched::author::Elevator;
use blksched::tunables::{Knob, KnobError, Tunables};

use super::violation::Violation;

const LAW: &str = "knobs keep what they are set to";

/// Tries every knob of a new elevator: each value worth trying, both ends of its range, and values beyond.
///
/// # Errors
/// If a value is not kept, an error changes something, or an invalid value is accepted.
pub fn check(make: &dyn Fn() -> Box<dyn Elevator>) -> Result<(), Violation> {
    let mut elevator = make();
    let knobs = elevator.tunables().knobs();
    let Some(tunables) = elevator.tunables_mut() else {
        let none = knobs.is_empty();
        return if none { Ok(()) } else { Err(broken("there are knobs, but none can be turned")) };
    };
    for knob in &knobs {
        for raw in knob.sweep.iter().copied().chain([knob.min, knob.max, knob.default]) {
            keeps(tunables, &knobs, knob, raw)?;
        }
        for beyond in [knob.min.checked_sub(1), knob.max.checked_add(1)].into_iter().flatten() {
            refuses(tunables, &knobs, knob.name, beyond)?;
        }
    }
    refuses(tunables, &knobs, "no_such_knob", 0)
}

fn broken(what: impl Into<String>) -> Violation {
    Violation::new(LAW, what.into())
}

fn values(tunables: &dyn Tunables, knobs: &[&Knob]) -> Vec<Option<i64>> {
    knobs.iter().map(|knob| tunables.get(knob.name)).collect()
}

/// Checks that `raw`, which is within the knob's range, is kept and the other knobs stay unchanged.
fn keeps(tunables: &mut dyn Tunables, knobs: &[&Knob], knob: &Knob, raw: i64) -> Result<(), Violation> {
    let mut expected = values(tunables, knobs);
    tunables.set(knob.name, raw).map_err(|error| broken(error.to_string()))?;
    for (value, other) in expected.iter_mut().zip(knobs) {
        if value_of(other) == value_of(knob) {
            *value = Some(raw);
        }
    }
    let kept = values(tunables, knobs);
    if kept == expected {
        return Ok(());
    }
    Err(broken(format!("{}={raw} left the knobs at {kept:?}, not {expected:?}", knob.name)))
}

/// The name of the knob whose value this is.
fn value_of(knob: &Knob) -> &'static str {
    knob.same_as.unwrap_or(knob.name)
}

fn refuses(tunables: &mut dyn Tunables, knobs: &[&Knob], name: &str, raw: i64) -> Result<(), Violation> {
    let before = values(tunables, knobs);
    let fitting = match tunables.set(name, raw) {
        Err(KnobError::OutOfRange { .. }) => knobs.iter().any(|knob| knob.name == name),
        Err(KnobError::Unknown { .. } | KnobError::OtherKernels { .. }) => !knobs.iter().any(|knob| knob.name == name),
        _ => false,
    };
    if !fitting {
        return Err(broken(format!("{name}={raw} should have been refused, with the reason")));
    }
    let after = values(tunables, knobs);
    if before == after { Ok(()) } else { Err(broken(format!("{name}={raw} was refused, but changed {before:?}"))) }
}
