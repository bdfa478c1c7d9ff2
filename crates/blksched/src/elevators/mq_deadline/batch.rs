//! The batch: one direction in sector order, its state shared by all classes.
//!
//! **Rule** While the batch may go on, the class that is asked goes on behind its own last request in the batch's
//! direction. Else a direction is chosen, and a batch begins: with the class's oldest request there if that one's time
//! is up or nothing lies behind its last one, else behind the last.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "pick" a to d.
//! **Costs when wrong** Direction, length and `writes_starved`'s count are *one* for all classes: a real-time batch of
//! reads is continued by a best-effort one. Three counts would begin batches that a kernel does not.
//! **In the kernel** `__dd_dispatch_request`, `fifo_batch`, `batching`, `last_dir`.

#![doc(alias = "__dd_dispatch_request")]
#![doc(alias = "fifo_batch")]
#![doc(alias = "batching")]
#![doc(alias = "last_dir")]

use super::class::ClassQueue;
use super::tunables::MqDeadlineTunables;
use crate::elevator::Cx;
use crate::elevators::deadline::{Expiry, Starved, goes_on};
use crate::explain::{BatchStart, Reason};
use crate::request::{Dir, RequestId};
use crate::time::Jiffies;

/// The batch that runs.
#[derive(Debug)]
pub(super) struct Batch {
    dir: Dir,
    /// How many requests it has had.
    taken: u32,
    starved: Starved,
}

impl Default for Batch {
    /// Nothing taken; as if writes had gone last.
    fn default() -> Batch {
        Batch { dir: Dir::Write, taken: 0, starved: Starved::default() }
    }
}

/// A request that could go next, and why it.
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
    /// What `class` would send next. A batch that this begins has begun, whether or not the request is then taken.
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
        (self.dir, self.taken) = (dir, 0);
        Some(Candidate { dir, rq, why: Why::Begins(why) })
    }

    /// It is taken.
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
        (None, None) => (oldest, BatchStart::Oldest),
    }
}
