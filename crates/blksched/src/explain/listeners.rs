//! Who receives reasons; and the simplest receivers: one that ignores everything, and one that keeps everything.

use alloc::vec::Vec;

use super::{Index, Reason};
use crate::request::{Dir, RequestId, Sector, SubmitterId};
use crate::time::Instant;

/// Receives every reason, in the order of events.
pub trait Listener {
    /// Called with `reason`, which applied at `at`.
    fn on_event(&mut self, at: Instant, reason: Reason);

    /// False if there is no real listener: reasons are then not even made.
    fn is_listening(&self) -> bool {
        true
    }

    /// Called for [`Reason::Inserted`]. The reasons that every request has mostly arrive through methods of their own,
    /// so that a listener whose cost matters need not tell them apart from all others. It must do the same in
    /// `on_event`.
    fn on_inserted(
        &mut self,
        at: Instant,
        rq: RequestId,
        dir: Dir,
        start: Sector,
        sectors: u32,
        submitter: SubmitterId,
    ) {
        self.on_event(at, Reason::Inserted { rq, dir, start, sectors, submitter });
    }

    /// Called for [`Reason::Issued`].
    fn on_issued(&mut self, at: Instant, rq: RequestId, dir: Dir, sectors: u32, submitter: SubmitterId) {
        self.on_event(at, Reason::Issued { rq, dir, sectors, submitter });
    }

    /// Called for [`Reason::Completed`].
    fn on_completed(&mut self, at: Instant, rq: RequestId, dir: Dir, sectors: u32, submitter: SubmitterId) {
        self.on_event(at, Reason::Completed { rq, dir, sectors, submitter });
    }

    /// Called for [`Reason::Searched`].
    fn on_searched(&mut self, at: Instant, index: Index, steps: u32) {
        self.on_event(at, Reason::Searched { index, steps });
    }
}

/// There is no listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoListener;

impl Listener for NoListener {
    fn on_event(&mut self, _at: Instant, _reason: Reason) {}

    fn is_listening(&self) -> bool {
        false
    }
}

/// Keeps everything; for tests and replays.
impl Listener for Vec<(Instant, Reason)> {
    fn on_event(&mut self, at: Instant, reason: Reason) {
        self.push((at, reason));
    }
}
