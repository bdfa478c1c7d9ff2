//! The laws that every elevator keeps, and the queue with it.
//!
//! | law | file |
//! |---|---|
//! | each request is issued once, each bio delivered once | `once.rs` |
//! | the device does exactly what was submitted, and data is stable when it must be | `data.rs` |
//! | nothing is issued that is not queued; `Empty`, `Wait` and `Idle` mean what they say | `calls.rs` |
//! | the queue never polls; deadlines elapse in time | `calls.rs` |
//! | no request waits longer than the catalogue states | `waiting.rs` |
//! | every reason is given | `reasons.rs` |
//! | knobs keep what they are set to, and refuse what does not fit | `knobs.rs` |
//! | nothing is allocated in steady state | `steady.rs` |
//! | the same script is the same trace, listener or not | here |

use core::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use blksched::author::{Bound, Elevator, Entry};
use blksched::reasons::NoListener;
use blksched::{Catalogue, Instant, Reason};

use crate::driver::{KeepingListener, Run, Script, TraceHash};

mod calls;
mod checker;
#[cfg(test)]
mod court_tests;
mod data;
mod knobs;
mod law;
mod once;
mod reasons;
mod steady;
mod violation;
mod waiting;
mod watched;

pub use knobs::check as check_knobs;
pub use steady::check as check_steady;
pub use violation::{BreachPlace, Violation};

use checker::Checker;

/// Checks an elevator against every law for one script. `make` makes a new one each time; `bound` is the catalogue's.
///
/// # Errors
/// The first broken law.
pub fn check(make: &dyn Fn() -> Box<dyn Elevator>, bound: Bound, script: &Script) -> Result<TraceHash, Violation> {
    let first = run(make, bound, script, Vec::<(Instant, Reason)>::new())?;
    let again = run(make, bound, script, Vec::<(Instant, Reason)>::new())?;
    same("same script, same trace", "run twice", first, again)?;
    let unheard = run(make, bound, script, NoListener)?;
    same("listener on or off, same trace", "run with nobody listening", first, unheard)?;
    Ok(first)
}

/// The number of scripts that [`check_entry`] plays on each era, and their length \[steps\].
const SCRIPTS: u64 = 32;
const STEPS: usize = 400;

/// Checks an elevator of the catalogue, or one of your own, against every law that needs no counting allocator: in
/// every era, with many scripts, always the same.
///
/// # Errors
/// The first broken law, with the seed of its script.
pub fn check_entry(entry: &Entry) -> Result<(), Violation> {
    let catalogue = Catalogue::builtin().with(&[*entry]);
    let own = |era: &String| era.split('@').next() == Some(entry.name);
    for era in catalogue.eras().into_iter().filter(own) {
        check_era(&catalogue, &era, SCRIPTS)?;
    }
    Ok(())
}

fn check_era(catalogue: &Catalogue, era: &str, scripts: u64) -> Result<(), Violation> {
    let choice = catalogue.parse(era).map_err(|error| Violation::new("has a name", error.to_string()))?;
    let make = || choice.build().elevator;
    let bound = (choice.entry.bound)(&choice);
    let named = |violation: Violation, seed| {
        let place = BreachPlace { elevator: Some(era.to_owned()), seed, ..violation.place.clone() };
        Violation { place, ..violation }
    };
    check_knobs(&make).map_err(|violation| named(violation, None))?;
    for seed in 0..scripts {
        check(&make, bound, &Script::from_seed(seed, STEPS)).map_err(|violation| named(violation, Some(seed)))?;
    }
    Ok(())
}

fn same(law: &'static str, how: &str, first: TraceHash, second: TraceHash) -> Result<(), Violation> {
    if first == second {
        return Ok(());
    }
    Err(Violation::new(law, format!("the trace was {first}, and {second} when {how}")))
}

/// One run under the checker; a panic is a broken invariant.
fn run<L: KeepingListener>(
    make: &dyn Fn() -> Box<dyn Elevator>,
    bound: Bound,
    script: &Script,
    listener: L,
) -> Result<TraceHash, Violation> {
    let at = Cell::new(0);
    let (mut checker, bench) = Checker::new(bound, listener.is_listening(), script.config.limits.volatile_cache);
    let watched = |successor| bench.elevator(successor, make);
    let played = catch_unwind(AssertUnwindSafe(|| Run::new(script, &watched, listener, &mut checker).play(&at)));
    let result = played.unwrap_or_else(|panic| Err(checker.verdict_on(&*panic)));
    result.map_err(|violation| {
        let place = BreachPlace { step: Some(at.get()), ..violation.place };
        Violation { place, ..violation }
    })
}
