//! Every law notices when it is broken.

use std::cell::Cell;

use crate::elevators::company::Company;
use crate::elevators::faulty::{Fault, Faulty};
use blksched::author::merge::Merging;
use blksched::author::{Ahead, Bound, Elevator, Wait};
use blksched_conformance::driver::Script;
use blksched_conformance::laws::{self, Violation};

const STEPS: usize = 300;

/// The bound of first in, first out.
fn in_order() -> Bound {
    let wait = Wait::Bounded { ahead: Ahead::All, expire: None, batches: |_| 1, batch: |_| 1 };
    Bound { reads: wait, writes: wait }
}

/// No bound.
fn no_bound() -> Bound {
    Bound { reads: Wait::None("not looked at"), writes: Wait::None("not looked at") }
}

/// The first law broken in any of a few scripts.
fn first_violation(make: &dyn Fn() -> Box<dyn Elevator>, bound: Bound) -> Option<Violation> {
    (0..40).find_map(|seed| laws::check(make, bound, &Script::from_seed(seed, STEPS)).err())
}

fn caught(fault: Fault) -> Option<&'static str> {
    let make = || Faulty::boxed(fault, Merging::LINUX_2_6);
    let bound = if fault == Fault::Starves { in_order() } else { no_bound() };
    laws::check_knobs(&make).err().or_else(|| first_violation(&make, bound)).map(|violation| violation.law)
}

#[test]
fn without_a_fault_no_law_is_broken_whichever_way_requests_merge() {
    for merging in [
        Merging::NEVER,
        Merging::LINUX_2_5,
        Merging::LINUX_2_5_TREE,
        Merging::LINUX_2_6,
        Merging::LINUX_4_20,
        Merging::LINUX_6_1,
        Merging::LINUX_6_1_NEWEST,
    ] {
        let make = || Faulty::boxed(Fault::None, merging);
        assert_eq!(first_violation(&make, in_order()), None, "{merging:?}");
        assert_eq!(laws::check_knobs(&make), Ok(()));
    }
}

#[test]
fn an_elevator_with_a_timer_keeps_the_laws() {
    assert_eq!(first_violation(&|| -> Box<dyn Elevator> { Box::new(Company::default()) }, in_order()), None);
}

#[test]
fn a_request_lost_on_insertion_or_requeue_is_found() {
    assert_eq!(caught(Fault::Loses), Some("never Empty with requests queued"));
    assert_eq!(caught(Fault::ForgetsRequeued), Some("never Empty with requests queued"));
    assert_eq!(caught(Fault::EmptyTooSoon), Some("never Empty with requests queued"));
}

#[test]
fn a_request_issued_twice_absorbed_or_out_of_nowhere_is_found() {
    for fault in [Fault::IssuesTwice, Fault::IssuesAbsorbed, Fault::IssuesOutOfNowhere] {
        assert_eq!(caught(fault), Some("nothing is issued that is not queued"), "{fault:?}");
    }
}

#[test]
fn waiting_for_nothing_and_idling_without_a_deadline_are_found() {
    assert_eq!(caught(Fault::WaitsForNothing), Some("never Wait with nothing in flight and no deadline"));
    assert_eq!(caught(Fault::WaitsWithNothingQueued), Some("never Wait with nothing in flight and no deadline"));
    assert_eq!(caught(Fault::IdlesWithoutDeadline), Some("Idle only with a deadline"));
}

#[test]
fn a_deadline_left_in_the_past_and_one_that_always_comes_again_are_found() {
    assert_eq!(caught(Fault::DeadlineStays), Some("no deadline stays in the past"));
    assert_eq!(caught(Fault::NeverSettles), Some("settles"));
}

#[test]
fn a_deadline_armed_without_a_word_is_found() {
    assert_eq!(caught(Fault::ArmsSilently), Some("reasons are complete"));
}

#[test]
fn a_request_that_waits_beyond_its_bound_is_found() {
    assert_eq!(caught(Fault::Starves), Some("bounded waiting"));
}

#[test]
fn a_broken_invariant_is_found() {
    assert_eq!(caught(Fault::BreaksInvariants), Some("invariants hold"));
}

#[test]
fn a_knob_that_forgets_takes_anything_or_slips_is_found() {
    for fault in [Fault::KnobForgets, Fault::KnobTakesAnything, Fault::KnobSlips] {
        assert_eq!(caught(fault), Some("knobs keep what they are set to"), "{fault:?}");
    }
}

/// The violation by an elevator that behaves differently in one of the runs that `check` compares: the nth of each
/// three.
fn otherwise_in(run: u32) -> Option<&'static str> {
    let made = Cell::new(0);
    // Successors in a script with switches count too, so only scripts without switches are played.
    let make = || -> Box<dyn Elevator> {
        made.set(made.get() + 1);
        if made.get() == run { Box::new(Company::default()) } else { Faulty::boxed(Fault::None, Merging::LINUX_2_6) }
    };
    let without_switches = |seed| {
        let mut script = Script::from_seed(seed, STEPS);
        script.steps.retain(|step| !matches!(step, blksched_conformance::driver::ScriptStep::Switch(_)));
        script
    };
    let broken = (0..40).find_map(|seed| {
        made.set(0);
        laws::check(&make, in_order(), &without_switches(seed)).err()
    });
    broken.map(|violation| violation.law)
}

#[test]
fn another_trace_of_the_same_script_is_found() {
    assert_eq!(otherwise_in(2), Some("same script, same trace"));
}

#[test]
fn another_trace_with_nobody_listening_is_found() {
    assert_eq!(otherwise_in(3), Some("listener on or off, same trace"));
    assert_eq!(otherwise_in(4), None);
}
