//! The driver reaches the situations that the laws are about; a law about a situation that never occurs proves nothing.

use std::collections::BTreeSet;

use blksched::author::Elevator;
use blksched::{Catalogue, Instant, Reason};
use blksched_conformance::driver::{Run, RunObserver, Script, Seen, Successor};
use blksched_conformance::laws::Violation;
use std::cell::Cell;

/// Records the kinds of events that occur.
#[derive(Default)]
struct Naturalist(BTreeSet<String>);

impl RunObserver for Naturalist {
    fn see(&mut self, _now: Instant, seen: &Seen<'_>) -> Result<(), Violation> {
        let kind = |text: String| text.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        self.0.insert(match seen {
            Seen::Said(Reason::Unplugged(why)) => format!("Unplugged by {why:?}"),
            Seen::Said(reason) => kind(format!("{reason:?}")),
            Seen::Submitted { became, .. } => format!("became {}", kind(format!("{became:?}"))),
            Seen::Settled { answer, .. } => format!("answered {}", kind(format!("{answer:?}"))),
            other => kind(format!("{other:?}")),
        });
        Ok(())
    }
}

fn reached(elevator: &str) -> BTreeSet<String> {
    let mut seen = Naturalist::default();
    for seed in 0..60 {
        let script = Script::from_seed(seed, 400);
        let make = |successor: Successor| -> Box<dyn Elevator> {
            let name = match successor {
                Successor::Fresh => elevator,
                Successor::Other(name) => name,
            };
            Catalogue::builtin().build(name).unwrap().elevator
        };
        Run::new(&script, &make, Vec::new(), &mut seen).play(&Cell::new(0)).unwrap();
    }
    seen.0
}

#[test]
fn a_few_scripts_reach_everything_that_the_queue_can_say_and_do() {
    let reached = reached("deadline@2.6.33");
    for kind in [
        "Inserted",
        "Merged",
        "Coalesced",
        "Oversize",
        "Plugged",
        "Unplugged by Threshold",
        "Unplugged by Timer",
        "Unplugged by Waiting",
        "Slept",
        "Woke",
        "Issued",
        "Completed",
        "Requeued",
        "FlushAsked",
        "FlushSent",
        "Switched",
        "BatchBegan",
        "BatchContinued",
        "BatchMoved",
        "ReadsFirst",
        "WritesStarved",
        "AliasForced",
        "KnobSet",
        "became Inserted",
        "became Merged",
        "became Asleep",
        "became Held",
        "became Done",
        "answered Empty",
        "answered Full",
        "answered Plugged",
    ] {
        assert!(reached.contains(kind), "{kind} is not among {reached:?}");
    }
}
