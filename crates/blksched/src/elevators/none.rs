//! none: what a current kernel does without a scheduler.
//!
//! **Rule** First in, first out per software queue. A bio joins one of the newest eight requests that still wait there
//! (back or front), if operation and priority are the same; nothing coalesces, nothing is sorted. A process that
//! submits a burst collects it first (the plug), and most merging happens there.
//! **Origin** kernel documentation of blk-mq ("multi-queue block IO queueing mechanism"). One software queue, as in a
//! machine with one processor. MEMORY: with a free tag and nothing waiting, a kernel gives a request to the driver at
//! once, which results in the same decisions. Not decision-checked: there is no recording without a scheduler.
//! **In the kernel** `blk_mq_do_dispatch_ctx`, `blk_mq_insert_requests`, `blk_mq_try_issue_directly`.

#![doc(alias = "blk_mq_do_dispatch_ctx")]
#![doc(alias = "blk_mq_insert_requests")]
#![doc(alias = "blk_mq_try_issue_directly")]

use alloc::boxed::Box;

use crate::elevator::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, Run, Tuned};
use crate::elevators::ioprio::MergePriorities;
use crate::elevators::newest::NewestJoin;
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Preset, Wait};
use crate::explain::End;
use crate::kernel::{V4_19, V6_1, V6_18};
use crate::queue::merge::Merging;
use crate::queue::{Plugging, Slots};
use crate::request::{Bio, RequestId, Requests};

/// none in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "none",
    summary: "no scheduler: first in, first out; the default of current kernels on fast disks",
    presets: &[
        Preset {
            kernel: V4_19,
            source: "as 6.1, but priorities mix in a request, as recorded with kyber of 4.19.222; not decision-checked",
            row: &[MergePriorities::Any.row()],
            ..AT_6_1
        },
        AT_6_1,
        Preset {
            kernel: V6_18,
            source: "the same; a plug is sent in its order, and a batch of wake-ups is a whole one",
            slots: Slots::LINUX_6_12,
            ..AT_6_1
        },
    ],
    home: Home::Mainline,
    mechanisms: &[MergePriorities::MECHANISM],
    knobs: &[],
    bound,
    build: |choice: &Choice| Box::new(Unscheduled { waiting: NewestJoin::default(), priorities: choice.way() }),
};

const AT_6_1: Preset = Preset {
    kernel: V6_1,
    source: "kernel documentation of blk-mq; merging as recorded with kyber of 6.1.192; not decision-checked",
    row: &[MergePriorities::Same.row()],
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_1,
    max_sectors: 2560,
};

/// Requests are dispatched in order of arrival.
fn bound(_: &Choice) -> Bound {
    let wait = Wait::Bounded { ahead: Ahead::All, expire: None, batches: |_| 1, batch: |_| 1 };
    Bound { reads: wait, writes: wait }
}

/// A software queue, and nothing else.
#[derive(Debug)]
pub struct Unscheduled {
    waiting: NewestJoin,
    priorities: MergePriorities,
}

impl Elevator for Unscheduled {
    fn announces_deadline(&self) -> bool {
        true
    }

    #[inline(always)]
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        match at {
            Insert::First => self.waiting.push_front(rq, cx.rq(rq)),
            _ => self.waiting.push_back(rq, cx.rq(rq)),
        }
        Run::No
    }

    #[inline(always)]
    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        self.waiting.pop_front().map_or(Dispatch::Empty, Dispatch::Issue)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        unreachable!("{victim:?} has no neighbour here that could absorb it");
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.waiting.push_front(rq, cx.rq(rq));
    }

    fn check(&self, requests: &Requests) {
        self.waiting.check(requests);
    }
}

impl Merges for Unscheduled {
    fn merging(&self) -> Merging {
        Merging { kin: self.priorities.kin(), ..Merging::LINUX_6_1_NEWEST }
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn newest(&self, _bio: &Bio, than: Option<RequestId>) -> Option<RequestId> {
        self.waiting.newest(than)
    }

    #[inline(always)]
    fn newest_beside(
        &self,
        requests: &Requests,
        bio: &Bio,
        than: Option<RequestId>,
        left: &mut usize,
    ) -> Option<(RequestId, End)> {
        self.waiting.beside(requests, bio, than, left)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, _end: End) {
        self.waiting.grown(rq, cx.rq(rq));
    }
}

impl Admits for Unscheduled {
    fn schedules(&self) -> bool {
        false
    }
}

impl Grouped for Unscheduled {}
impl Tuned for Unscheduled {}
