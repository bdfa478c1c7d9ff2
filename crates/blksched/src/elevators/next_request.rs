//! Which request of a queue goes next, in CFQ and BFQ: the nearest ahead, unless one a little behind is nearer still.
//!
//! **Rule** A synchronous request before an asynchronous one; in CFQ metadata before data; then the nearer, by
//! `back_seek_penalty` and `back_seek_max` ([`TurningBack`]).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c3, docs/behaviour/elevators-6.1.md#b4.
//! **In the kernel** `cfq_choose_req`, `bfq_choose_req`.

#![doc(alias = "cfq_choose_req")]
#![doc(alias = "bfq_choose_req")]

use super::nearer::TurningBack;
use crate::request::{Request, RequestId, Sector, Waiter};

/// Does metadata go before data?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metadata {
    First,
    AsData,
}

/// By what rule one of two is preferred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preference {
    pub(crate) turning_back: TurningBack,
    pub(crate) metadata: Metadata,
}

/// What a choice looks at.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    start: Sector,
    waiter: Waiter,
    meta: bool,
}

impl Candidate {
    fn of(request: &Request) -> Candidate {
        Candidate { start: request.start, waiter: request.waiter, meta: request.hints.meta }
    }
}

impl Preference {
    fn first_goes(self, from: Sector, first: Candidate, second: Candidate) -> bool {
        if first.waiter != second.waiter {
            return first.waiter == Waiter::Sync;
        }
        if self.metadata == Metadata::First && first.meta != second.meta {
            return first.meta;
        }
        self.turning_back.prefers_first(from, first.start, second.start)
    }

    /// The one of two requests that goes, with the arm at `from`.
    #[inline(always)]
    pub(crate) fn better<'r>(
        self,
        request: impl Fn(RequestId) -> &'r Request,
        from: Sector,
        a: Option<RequestId>,
        b: Option<RequestId>,
    ) -> Option<RequestId> {
        let (Some(one), Some(two)) = (a, b) else { return a.or(b) };
        if one == two {
            return a;
        }
        if self.first_goes(from, Candidate::of(request(one)), Candidate::of(request(two))) { a } else { b }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Preference =
        Preference { turning_back: TurningBack { reach_sectors: 2 * 16_384, penalty: 2 }, metadata: Metadata::First };

    fn read(start: u64) -> Candidate {
        Candidate { start: Sector(start), waiter: Waiter::Sync, meta: false }
    }

    fn first_wins(first: Candidate, second: Candidate) -> bool {
        RULE.first_goes(Sector(100_000), first, second)
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
        let as_data = Preference { metadata: Metadata::AsData, ..RULE };
        assert!(!as_data.first_goes(Sector(100_000), meta, read(100_000)));
    }
}
