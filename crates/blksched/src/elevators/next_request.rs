//! Which request of a queue goes next, in CFQ and BFQ: the nearest ahead, unless one a little behind is nearer still.
//!
//! **Rule** In CFQ metadata before data; then the nearer, by `back_seek_penalty` and `back_seek_max` ([`TurningBack`]).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c3, docs/behaviour/elevators-6.1.md#b4.
//! **In the kernel** `cfq_choose_req`, `bfq_choose_req`.

use super::nearer::TurningBack;
use crate::index::Forest;
use crate::request::{Request, RequestId, Sector};

/// Whether metadata is dispatched before data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metadata {
    First,
    /// Metadata is treated as data, or there is none.
    AsData,
}

/// The rule for choosing one of two requests of a queue, with the arm at `from`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) turning_back: TurningBack,
    pub(crate) metadata: Metadata,
    pub(crate) from: Sector,
}

impl Choice {
    /// The rule for a queue of CFQ with this many requests for metadata.
    #[inline(always)]
    pub(crate) fn of(turning_back: TurningBack, metadata: u32, from: Sector) -> Choice {
        let metadata = if metadata > 0 { Metadata::First } else { Metadata::AsData };
        Choice { turning_back, metadata, from }
    }

    /// The better of two requests. Their start sectors are read from the keys of the queue's order, which are accessed
    /// anyway.
    #[inline(always)]
    pub(crate) fn better<'r>(
        self,
        sorted: &Forest<Sector>,
        request: impl Fn(RequestId) -> &'r Request,
        a: Option<RequestId>,
        b: Option<RequestId>,
    ) -> Option<RequestId> {
        let (Some(one), Some(two)) = (a, b) else { return a.or(b) };
        // Kernels also compare whether the requests are synchronous; here all requests of a queue are alike.
        debug_assert_eq!(request(one).waiter, request(two).waiter, "{one:?} and {two:?} are of two queues");
        if self.metadata == Metadata::First && request(one).hints.meta != request(two).hints.meta {
            return if request(one).hints.meta { a } else { b };
        }
        let start = |rq: RequestId| sorted.key(rq.index() as u32);
        debug_assert!([one, two].iter().all(|&rq| start(rq) == request(rq).start));
        if self.turning_back.prefers_first(self.from, start(one), start(two)) { a } else { b }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Bio, Requests, Stage, SubmitterId};
    use crate::time::Instant;

    const ARM: Sector = Sector(100_000);

    /// Whether a request at `first` is chosen rather than one at `second`; each is metadata or not.
    fn first_wins(metadata: Metadata, first: (u64, bool), second: (u64, bool)) -> bool {
        let (mut requests, mut sorted, mut root) = (Requests::with_capacity(2), Forest::new(), Default::default());
        let [a, b] = [first, second].map(|(start, meta)| {
            let mut bio = Bio::read(0, SubmitterId(1), Sector(start), 8);
            bio.hints.meta = meta;
            let rq = requests.make(Stage::Queued, Instant::ZERO, &bio, 0);
            sorted.insert(&mut root, rq.index() as u32, bio.start);
            rq
        });
        let turning_back = TurningBack { reach_sectors: 2 * 16_384, penalty: 2 };
        let choice = Choice { turning_back, metadata, from: ARM };
        choice.better(&sorted, |rq| &requests[rq], Some(a), Some(b)) == Some(a)
    }

    #[test]
    fn a_short_seek_back_beats_a_long_one_ahead_and_pays_double() {
        let first_wins = |first, second| first_wins(Metadata::First, (first, false), (second, false));
        assert!(first_wins(99_990, 100_021));
        assert!(!first_wins(99_990, 100_019));
    }

    #[test]
    fn what_lies_too_far_back_waits_for_everything_else() {
        let first_wins = |first, second| first_wins(Metadata::First, (first, false), (second, false));
        assert!(!first_wins(100, 1 << 40));
        assert!(first_wins(100, 200));
    }

    #[test]
    fn metadata_goes_first_where_it_is_more_than_data() {
        let (far, near) = ((1 << 40, true), (100_000, false));
        assert!(first_wins(Metadata::First, far, near) && !first_wins(Metadata::First, near, far));
        assert!(!first_wins(Metadata::AsData, far, near));
    }
}
