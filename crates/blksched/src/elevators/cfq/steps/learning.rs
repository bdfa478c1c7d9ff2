//! Updates from an arrival: the think time and seeks of its process and queue, and whether idling for them is
//! worthwhile.
//!
//! **Rule** `decide/idle_window.rs`; the estimates are in `state/think.rs` and `state/seeks.rs`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c4, #c5 and #c7; docs/behaviour/elevators-4.20.md#e420.2.
//! **In the kernel** `cfq_update_io_thinktime`, `cfq_update_io_seektime`, `cfq_update_idle_window`.

use crate::elevator::Cx;
use crate::elevators::cfq::decide::idle_window::{Habits, window};
use crate::elevators::cfq::rules::{Idling, Mechanisms, Seeks, Think};
use crate::elevators::cfq::state::groups::Groups;
use crate::elevators::cfq::state::idle_window::{IdleWindow, QueueDepth};
use crate::elevators::cfq::state::process::Process;
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::seeks::seekiness;
use crate::elevators::cfq::tunables::{CfqTunables, Ticks};
use crate::request::{Bio, Dir, RequestId};
use crate::time::Tick;

/// What the updates depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learning<'c> {
    pub(crate) rules: &'c Mechanisms,
    pub(crate) ticks: &'c Ticks,
    pub(crate) knobs: &'c CfqTunables,
    /// Whether the disk queues requests itself.
    pub(crate) ncq: bool,
    pub(crate) now: Tick,
}

impl Learning<'_> {
    /// Updates the estimates for a request, consisting of this bio, that has been inserted.
    #[inline(always)]
    pub(crate) fn learn(
        self,
        cx: &Cx<'_>,
        bio: &Bio,
        queue: &mut CfqQueue,
        process: &mut Process,
        groups: &mut Groups,
    ) {
        let Learning { rules, ticks, now, .. } = self;
        // Until 2.6.33 write-back also ends it, so the think time of a process that writes in between seems
        // shorter than it is.
        if queue.is_sync() || rules.think == Think::PerProcess {
            process.arrived(now, ticks.slice_idle);
        }
        if rules.think != Think::PerProcess {
            groups.think_time_ends(queue, now, ticks, rules.groups);
        }
        match rules.seeks {
            Seeks::PerProcess => rules.first_seek.add(process.seeks_mut(), bio.start),
            Seeks::PerQueue => rules.first_seek.add(&mut queue.seeks, bio.start),
            Seeks::History => queue.history.add(bio.start, bio.sectors, cx.device().rotational),
        }
        // Whether it is now worth idling for.
        if queue.is_sync() && !queue.is_idle_class() {
            queue.window = self.window(cx, queue, process);
        }
        let end = bio.end();
        match rules.seeks {
            Seeks::PerProcess => process.seeks_mut().ended(end),
            Seeks::PerQueue => queue.seeks.ended(end),
            Seeks::History => queue.history.ended(end),
        }
    }

    #[inline(always)]
    fn window(self, cx: &Cx<'_>, queue: &CfqQueue, process: &Process) -> IdleWindow {
        let Learning { rules, ticks, knobs, ncq, .. } = self;
        let depth = if queue.sorted.len() >= 4 { QueueDepth::Deep } else { queue.window.depth() };
        let is_last = |next: RequestId| {
            let Bio { op, hints, .. } = **cx.rq(next);
            op.dir() == Dir::Write && hints.no_idle
        };
        let habits = Habits {
            gone: process.is_gone(),
            idle: ticks.slice_idle,
            seeky_idle: ticks.seeky_idle,
            think: process.mean_ttime(),
            seeks: seekiness(rules.seeks, queue, Some(process)),
            ends: rules.idling == Idling::TreeThinks && queue.next.is_some_and(is_last),
            depth,
            ncq,
            fairness: knobs.fairness,
            low_latency: knobs.low_latency,
            window: queue.window.state(),
        };
        IdleWindow::of(window(rules.idling, habits), depth)
    }
}
