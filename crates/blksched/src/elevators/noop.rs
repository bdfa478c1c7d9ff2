//! noop: first in, first out, with merging. The baseline for every other elevator.
//!
//! **Origin** 2.6: `noop-iosched.c` as its documentation describes it; no recording exists, so not decision-checked.
//! 2.4: docs/behaviour/elevator-linus.md#n, where it shares linus's list (`linus/arrival.rs`); recorded.
//! **In the kernel** `noop_dispatch`, `noop_add_request`.

#![doc(alias = "noop_dispatch")]
#![doc(alias = "noop_add_request")]

use alloc::boxed::Box;

use super::linus::{Linus, LinusTunables, Rule};
use crate::elevator::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, Neighbours, Run, Tuned};
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Preset, Wait};
use crate::index::List;
use crate::kernel::Kernel;
use crate::queue::merge::Merging;
use crate::queue::{Plugging, Slots};
use crate::request::{Bio, RequestId, Requests};

const V2_4_21: Kernel = Kernel::new(2, 4, 21);

/// noop in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "noop",
    summary: "first in, first out; merges adjacent requests, never sorts",
    presets: &[
        Preset {
            kernel: V2_4_21,
            source: "a recording of 2.4.20, which is the same text",
            row: &[],
            plugging: Plugging::TaskQueue,
            slots: Slots::LINUX_2_4,
            max_sectors: 128,
        },
        Preset {
            kernel: Kernel::new(2, 6, 33),
            source: "Documentation/block of 2.6; not decision-checked",
            row: &[],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
    ],
    home: Home::Mainline,
    mechanisms: &[],
    knobs: &[],
    bound,
    build,
};

fn build(choice: &Choice) -> Box<dyn Elevator> {
    if choice.kernel() == V2_4_21 {
        return Box::new(Linus::new(Rule::Arrival, LinusTunables::of(V2_4_21)));
    }
    Box::new(Noop::default())
}

/// Requests are dispatched in order of arrival.
fn bound(_: &Choice) -> Bound {
    let wait = Wait::Bounded { ahead: Ahead::All, expire: None, batches: |_| 1, batch: |_| 1 };
    Bound { reads: wait, writes: wait }
}

/// First in, first out.
#[derive(Debug, Default)]
pub struct Noop {
    fifo: List,
}

impl Elevator for Noop {
    fn announces_deadline(&self) -> bool {
        true
    }

    #[inline(always)]
    fn insert(&mut self, _cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        match at {
            Insert::First => self.fifo.push_front(rq),
            _ => self.fifo.push_back(rq),
        }
        Run::No
    }

    #[inline(always)]
    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        self.fifo.pop_front().map_or(Dispatch::Empty, Dispatch::Issue)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.fifo.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.fifo.remove(victim);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.fifo.push_front(rq);
    }

    fn check(&self, requests: &Requests) {
        self.fifo.check(requests);
    }
}

impl Merges for Noop {
    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        Neighbours { before: self.fifo.before(rq), behind: self.fifo.behind(rq) }
    }
}

impl Admits for Noop {}
impl Grouped for Noop {}
impl Tuned for Noop {}
