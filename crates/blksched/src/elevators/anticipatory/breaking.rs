//! The rule that says that waiting for a process is not worthwhile, before it begins or while it lasts.
//!
//! **Rule** Do not wait, or stop waiting, if: the request at hand is the process's own; the wait was long enough; the
//! process already has requests in flight; the request at hand is close ([`close`](super::close)); the process has
//! exited, and earlier processes that exited had no successor; the process is new, and new ones think longer than
//! `antic_expire`, or exit; its own think time exceeds `antic_expire`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.8, in this order.
//! **In the kernel** `as_can_break_anticipation`, `as_can_anticipate`.

use super::exits::Exits;
use crate::explain::WaitEnd;
use crate::time::Tick;

/// The request at hand while a process is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtHand {
    /// None, or none that matters.
    Nothing,
    /// A request of the process itself.
    ItsOwn,
    /// Another process's read, close by.
    Close,
}

/// The present state of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) at_hand: AtHand,
    /// How long the disk has been waiting for it; `None` if its last request is not complete.
    pub(super) waited: Option<Tick>,
    pub(super) antic_expire: Tick,
    /// The number of its requests that are queued or on the dispatch list.
    pub(super) on_their_way: u32,
}

/// A reason not to wait, from the present state.
pub(super) fn at_once(sight: Sight) -> Option<WaitEnd> {
    if sight.at_hand == AtHand::ItsOwn {
        return Some(WaitEnd::Arrived);
    }
    if sight.waited.is_some_and(|waited| waited >= sight.antic_expire) {
        return Some(WaitEnd::TimeIsUp);
    }
    if sight.on_their_way > 0 {
        return Some(WaitEnd::HasMore);
    }
    (sight.at_hand == AtHand::Close).then_some(WaitEnd::CloseEnough)
}

/// The expectations about the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expectation {
    pub(super) has_exited: bool,
    /// Its mean think time; `None` if it is new.
    pub(super) think: Option<Tick>,
    /// The mean think time of new processes.
    pub(super) newcomers_think: Tick,
    pub(super) exits: Exits,
    pub(super) antic_expire: Tick,
}

/// A reason not to wait, from the past.
pub(super) fn by_experience(of: Expectation) -> Option<WaitEnd> {
    let Expectation { has_exited, think, newcomers_think, exits, antic_expire } = of;
    if has_exited && exits.leave_nobody() {
        return Some(WaitEnd::Gone);
    }
    if think.unwrap_or(newcomers_think) > antic_expire {
        return Some(WaitEnd::ThinksLonger);
    }
    (think.is_none() && exits.are_likely()).then_some(WaitEnd::LikelyGone)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Sight = Sight { at_hand: AtHand::Nothing, waited: Some(2), antic_expire: 6, on_their_way: 0 };
    const STEADY: Expectation =
        Expectation { has_exited: false, think: Some(3), newcomers_think: 0, exits: EXITS, antic_expire: 6 };
    const EXITS: Exits = Exits::NONE;

    #[test]
    fn a_process_with_nothing_on_its_way_is_waited_for_until_its_time_is_up() {
        assert_eq!(at_once(ALONE), None);
        assert_eq!(at_once(Sight { waited: Some(6), ..ALONE }), Some(WaitEnd::TimeIsUp));
        assert_eq!(at_once(Sight { waited: None, ..ALONE }), None);
    }

    #[test]
    fn its_own_request_ends_the_wait_and_so_does_one_close_by() {
        assert_eq!(at_once(Sight { at_hand: AtHand::ItsOwn, ..ALONE }), Some(WaitEnd::Arrived));
        assert_eq!(at_once(Sight { at_hand: AtHand::Close, ..ALONE }), Some(WaitEnd::CloseEnough));
        assert_eq!(at_once(Sight { on_their_way: 1, ..ALONE }), Some(WaitEnd::HasMore));
    }

    #[test]
    fn a_process_that_thinks_longer_than_the_wait_is_not_waited_for() {
        assert_eq!(by_experience(STEADY), None);
        assert_eq!(by_experience(Expectation { think: Some(7), ..STEADY }), Some(WaitEnd::ThinksLonger));
        assert_eq!(
            by_experience(Expectation { think: None, newcomers_think: 7, ..STEADY }),
            Some(WaitEnd::ThinksLonger)
        );
    }

    #[test]
    fn a_process_that_has_exited_is_waited_for_while_others_usually_go_on_for_it() {
        let gone = Expectation { has_exited: true, ..STEADY };
        assert_eq!(by_experience(gone), None);
        let mut exits = Exits::NONE;
        (0..6).for_each(|_| exits.left_alone());
        assert_eq!(by_experience(Expectation { exits, ..gone }), Some(WaitEnd::Gone));
    }

    #[test]
    fn a_new_process_is_not_waited_for_once_new_ones_leave() {
        let mut exits = Exits::NONE;
        (0..40).for_each(|_| exits.left());
        (0..40).for_each(|_| exits.left_alone());
        assert_eq!(by_experience(Expectation { exits, ..STEADY }), None);
        assert_eq!(by_experience(Expectation { exits, think: None, ..STEADY }), Some(WaitEnd::LikelyGone));
    }
}
