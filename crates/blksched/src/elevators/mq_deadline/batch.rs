//! The batch: one direction in sector order, its state shared by all classes.
//!
//! **Rule** While the batch may continue, the class continues after its own last request in the batch's direction.
//! Otherwise a direction is chosen and a batch begins: with the class's oldest request of that direction if that one
//! has expired or nothing lies behind its last one, otherwise after the last one.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "pick" a to d.
//! **Costs when wrong** Direction, length and `writes_starved`'s count are *one* for all classes: a real-time batch of
//! reads is continued by a best-effort one. Separate counts would begin batches where a kernel does not.
//! **In the kernel** `__dd_dispatch_request`, `fifo_batch`, `batching`, `last_dir`.

use super::class::ClassQueue;
use super::tunables::MqDeadlineTunables;
use crate::elevator::Cx;
use crate::elevators::deadline::{Expiry, Starved, goes_on};
use crate::explain::{BatchStart, Reason};
use crate::request::{Dir, RequestId};
use crate::time::Jiffies;

/// The current batch.
#[derive(Debug)]
pub(super) struct Batch {
    dir: Dir,
    /// The number of requests taken in it.
    taken: u32,
    starved: Starved,
}

impl Default for Batch {
    /// Nothing taken, and as if writes had been last.
    fn default() -> Batch {
        Batch { dir: Dir::Write, taken: 0, starved: Starved::default() }
    }
}

/// The request that could be next, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) dir: Dir,
    pub(super) rq: RequestId,
    why: Why,
}

#[derive(Clone, Copy, Debug)]
enum Why {
    Continues,
    Begins(BatchStart),
}

impl Batch {
    /// The request that `class` would dispatch next. If this begins a batch, the batch has begun whether or not the
    /// request is then taken.
    #[inline(always)]
    pub(super) fn candidate(
        &mut self,
        cx: &mut Cx<'_>,
        class: &mut ClassQueue,
        tunables: &MqDeadlineTunables,
        jiffies: Jiffies,
    ) -> Option<Candidate> {
        let goes_on = goes_on(self.taken, tunables.fifo_batch);
        if goes_on && let Some(rq) = class.lanes[self.dir].next() {
            return Some(Candidate { dir: self.dir, rq, why: Why::Continues });
        }
        let (reads, writes) = (class.lanes.read.has_any(), class.lanes.write.has_any());
        let dir = self.starved.choose(cx, reads, writes, tunables.writes_starved)?;
        let (rq, why) = begin(&cx.apart(), class, dir, jiffies);
        // Before the age of the request is looked at, as in the kernel: a request that is then refused has ended the
        // batch.
        (self.dir, self.taken) = (dir, 0);
        Some(Candidate { dir, rq, why: Why::Begins(why) })
    }

    /// Notes that the candidate is taken.
    #[inline(always)]
    pub(super) fn took(&mut self, cx: &mut Cx<'_>, Candidate { dir, rq, why }: Candidate) {
        self.taken += 1;
        cx.explain(match why {
            Why::Begins(why) => Reason::BatchBegan { dir, rq, why },
            Why::Continues => Reason::BatchContinued { rq, nth: self.taken },
        });
    }
}

#[inline(never)]
fn begin(cx: &Cx<'_>, class: &mut ClassQueue, dir: Dir, jiffies: Jiffies) -> (RequestId, BatchStart) {
    let lane = &mut class.lanes[dir];
    let oldest = lane.aged.head().expect("this direction waits");
    match (lane.aged.late(cx.now, jiffies, Expiry::At), lane.next()) {
        (Some(late), _) => (oldest, BatchStart::Expired { late }),
        (None, Some(next)) => (next, BatchStart::NextInOrder),
        // At the end of the sweep the next one begins where the oldest is, not at the lowest sector.
        (None, None) => (oldest, BatchStart::Oldest),
    }
}
