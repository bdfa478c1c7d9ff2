//! Which request of a queue goes next: the nearest ahead, unless one a little behind is nearer still.
//!
//! **Rule** A request somebody waits for before one nobody does, metadata before data; then the nearer, by
//! `back_seek_penalty` and `back_seek_max` ([`TurningBack`]).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c3; 2.6.31, 2.6.32 and 2.6.33 differ in where they measure from
//! ([`NextRequest`]).
//! **In the kernel** `cfq_choose_req`, `cfq_find_next_rq`, `next_rq`.

#![doc(alias = "cfq_choose_req")]
#![doc(alias = "cfq_find_next_rq")]
#![doc(alias = "next_rq")]

use super::tunables::CfqTunables;
use crate::elevators::nearer::TurningBack;
use crate::request::{Request, Sector, Waiter};

/// From where the next request is chosen once one is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRequest {
    /// From where the disk is; a request that goes because of its age changes nothing (2.6.31).
    Kept,
    /// From where the disk is (2.6.32).
    FromDisk,
    /// From the request taken (2.6.33).
    FromTaken,
}

/// What a choice looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) start: Sector,
    pub(super) waiter: Waiter,
    pub(super) meta: bool,
}

impl Candidate {
    pub(super) fn of(request: &Request) -> Candidate {
        Candidate { start: request.start, waiter: request.waiter, meta: request.hints.meta }
    }
}

/// Which of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    First,
    Second,
}

pub(super) fn choose(first: Candidate, second: Candidate, from: Sector, knobs: &CfqTunables) -> Chosen {
    let yes = |first_wins: bool| if first_wins { Chosen::First } else { Chosen::Second };
    if first.waiter != second.waiter {
        return yes(first.waiter == Waiter::Sync);
    }
    if first.meta != second.meta {
        return yes(first.meta);
    }
    let turning_back = TurningBack {
        reach_sectors: 2 * u64::try_from(knobs.back_seek_max).unwrap_or(0),
        penalty: knobs.back_seek_penalty.max(1) as u64,
    };
    yes(turning_back.prefers_first(from, first.start, second.start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elevators::cfq::tunables::V2_6_33;

    fn read(start: u64) -> Candidate {
        Candidate { start: Sector(start), waiter: Waiter::Sync, meta: false }
    }

    fn first_wins(first: Candidate, second: Candidate) -> bool {
        choose(first, second, Sector(100_000), &CfqTunables::of(V2_6_33)) == Chosen::First
    }

    #[test]
    fn a_short_seek_back_beats_a_long_one_ahead_and_pays_double() {
        assert!(first_wins(read(99_990), read(100_021)));
        assert!(!first_wins(read(99_990), read(100_019)));
    }

    #[test]
    fn what_lies_too_far_back_waits_for_everything_else() {
        assert!(!first_wins(read(100), read(1 << 40)));
        assert!(first_wins(read(100), read(200)));
    }

    #[test]
    fn metadata_and_whoever_is_waited_for_go_first() {
        let meta = Candidate { meta: true, ..read(1 << 40) };
        let write_back = Candidate { waiter: Waiter::Async, ..meta };
        assert!(first_wins(meta, read(100_000)) && !first_wins(write_back, read(1 << 41)));
    }
}
