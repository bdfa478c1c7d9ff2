//! Idling: when the queue being served runs empty, leave the disk alone for a moment, since its process will send a
//! request close by.
//!
//! **Rule** Two questions. Is the queue's *idle window* open, judged at each of its insertions: it thinks no longer
//! than `slice_idle` and does not seek too much ([`Idling`])? And at the completion that leaves it empty: is the timer
//! worth arming now? The timer runs `slice_idle`; until 2.6.32 at most 2 ms for a process that seeks. What a group is
//! idled for stands in `group_idle`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5, #c15, #c16, #c33.4 and #c33.6;
//! docs/behaviour/elevators-4.20.md#x.3 to #x.5 and #x.13; `fairness` is the patch of the mail of 2009-09-03. **Costs
//! when wrong** too little: a seek per request and no fairness; too much: an idle disk.
//! **In the kernel** `cfq_arm_slice_timer`, `cfq_idle_slice_timer`, `cfq_should_idle`, `cfq_update_idle_window`,
//! `slice_idle`.

#![doc(alias = "cfq_arm_slice_timer")]
#![doc(alias = "cfq_idle_slice_timer")]
#![doc(alias = "cfq_should_idle")]
#![doc(alias = "cfq_update_idle_window")]
#![doc(alias = "slice_idle")]

use super::Cfq;
use super::context::Pid;
use super::cooperator::Seekiness;
use super::qid::Qid;
use super::service_tree::Trees;
use super::slice::Rest;
use crate::elevator::{Cx, IdleFor, Run};
use crate::explain::{NotIdled, Reason, SliceEnd};
use crate::request::{Dir, RequestId};
use crate::time::{Span, Tick};

/// For whom the disk may idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idling {
    /// Not for who seeks, if the disk queues; `fairness` changes that (2.6.31).
    UnlessSeeky,
    /// For who seeks only if it thinks no longer than 2 ms (2.6.32).
    SeekyShortly,
    /// Not for who seeks, unless it has four requests queued at once (2.6.33).
    UnlessSeekyAndShallow,
    /// The same; nor after a write that says that none follows, nor for the last of a tree that thinks too long. And
    /// for groups (4.20).
    TreeThinks,
}

/// A seeky process is worth so long.
const SEEKY_IDLE: Span = Span::from_ms(2);

/// What the window looks at \[ticks\].
#[derive(Clone, Copy, Debug)]
struct Habits {
    gone: bool,
    idle: Tick,
    seeky_idle: Tick,
    think: Option<Tick>,
    seeks: Seekiness,
    /// Its next request is a write that says that none follows.
    ends: bool,
    deep: bool,
    /// The disk queues.
    ncq: bool,
    fairness: bool,
    low_latency: bool,
    open: bool,
}

/// Is it worth idling for this queue?
fn window(rule: Idling, habits: Habits) -> bool {
    let Habits { gone, idle, seeky_idle, think, seeks, ends, deep, ncq, fairness, low_latency, open } = habits;
    let too_seeky = match rule {
        Idling::UnlessSeeky => !fairness && ncq && seeks.is_seeky,
        Idling::SeekyShortly => !low_latency && ncq && seeks.is_seeky,
        Idling::UnlessSeekyAndShallow | Idling::TreeThinks => !deep && seeks.is_surely,
    };
    let longest = if rule == Idling::SeekyShortly && seeks.is_surely { seeky_idle } else { idle };
    let ends = ends && rule == Idling::TreeThinks;
    !gone && !ends && idle > 0 && !too_seeky && think.map_or(open, |think| think <= longest)
}

impl Cfq {
    /// A process sent a request into its queue: is it worth idling for now?
    pub(super) fn look_at_habits(&mut self, cx: &Cx<'_>, pid: Pid, q: Qid) {
        let (process, queue) = (&self.processes[pid], &self.queues[q]);
        if !queue.is_sync() || queue.is_idle_class() {
            return;
        }
        let deep = queue.idling.deep || queue.sorted.len() >= 4;
        let is_last = |next: RequestId| cx.rq(next).dir() == Dir::Write && cx.rq(next).hints.no_idle;
        let habits = Habits {
            gone: process.gone,
            idle: self.ticks.slice_idle,
            seeky_idle: self.unit.ticks(SEEKY_IDLE),
            think: process.pauses.believed(),
            seeks: self.seeks_of(q, Some(pid)),
            ends: queue.next.is_some_and(is_last),
            deep,
            ncq: self.ncq.queues(),
            fairness: self.knobs.fairness,
            low_latency: self.knobs.low_latency,
            open: queue.idling.open,
        };
        let idling = &mut self.queues[q].idling;
        idling.open = window(self.rules.idling, habits);
        idling.deep = deep;
    }

    /// The disk is to idle for this queue when it runs empty.
    pub(super) fn should_idle(&self, cx: &Cx<'_>, q: Qid) -> bool {
        let (queue, idle) = (&self.queues[q], self.ticks.slice_idle);
        let by_tree = self.rules.idling == Idling::TreeThinks;
        if queue.is_idle_class() && self.rules.trees != Trees::Single || by_tree && idle == 0 {
            return false;
        }
        if self.rules.trees == Trees::Single {
            return queue.idling.open;
        }
        if queue.idling.open && self.has_arm(cx) {
            return true;
        }
        let alone = queue.served_in.filter(|&tree| queue.is_sync() && self.service.count(tree) == 1);
        alone.is_some_and(|tree| !by_tree || !self.groups.tree_pauses_are_long(tree, idle))
    }

    /// Idling pays: the disk has an arm to keep in place, or does not queue.
    pub(super) fn has_arm(&self, cx: &Cx<'_>) -> bool {
        cx.device().rotational || !self.ncq.queues()
    }

    /// The queue being served ran empty: idle for it, if that is worth it.
    pub(super) fn try_to_idle(&mut self, cx: &mut Cx<'_>, q: Qid) {
        match self.worth_idling(cx, q) {
            Ok((why, length)) => {
                let until = self.now(cx) + length;
                self.queues[q].slice.waits_for_request = true;
                self.timer = Some(until);
                self.idles_for = why;
                cx.explain(Reason::Armed { until: self.unit.instant(until), why });
            }
            Err(why) => cx.explain(Reason::NotIdled { owner: self.queues[q].owner, why }),
        }
    }

    fn worth_idling(&self, cx: &Cx<'_>, q: Qid) -> Result<(IdleFor, Tick), NotIdled> {
        let (queue, ticks) = (&self.queues[q], self.ticks);
        let group_idle = if self.rules.idling == Idling::TreeThinks { ticks.group_idle } else { 0 };
        if !self.has_arm(cx) && group_idle == 0 {
            return Err(NotIdled::NoArm);
        }
        let for_queue = ticks.slice_idle > 0 && self.should_idle(cx, q);
        if !for_queue && group_idle == 0 {
            return Err(NotIdled::NotWorthIt);
        }
        let in_flight = match self.rules.trees {
            Trees::Single => self.in_driver.sync + self.in_driver.async_,
            _ => queue.dispatched,
        };
        if in_flight > 0 {
            return Err(NotIdled::DiskBusy);
        }
        let pid = self.active_process.ok_or(NotIdled::Gone)?;
        let process = &self.processes[pid];
        if process.gone {
            return Err(NotIdled::Gone);
        }
        let left = queue.slice.left_unsigned(self.now(cx));
        if self.rules.idling != Idling::UnlessSeeky && process.pauses.believed().is_some_and(|think| left < think) {
            return Err(NotIdled::SliceTooShort);
        }
        if !for_queue {
            return self.worth_idling_for_group(q);
        }
        let short = matches!(self.rules.idling, Idling::UnlessSeeky | Idling::SeekyShortly);
        let seeky = short && self.seeks_of(q, Some(pid)).is_surely;
        let length = if seeky { ticks.slice_idle.min(self.unit.ticks(SEEKY_IDLE)) } else { ticks.slice_idle };
        Ok((IdleFor::Submitter(process.id), length))
    }

    /// Half of its slice must be used before a queue that seeks is idled for because it is deep (4.20).
    pub(super) fn give_up_deep_seeker(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.rules.idling != Idling::TreeThinks {
            return;
        }
        let (queue, now) = (&self.queues[q], self.now(cx));
        if queue.idling.open && queue.slice.is_young(now) && self.is_seeky(q) {
            self.queues[q].idling = super::queue::IdleWindow { open: false, deep: false };
        }
    }

    pub(super) fn cancel_timer(&mut self, cx: &mut Cx<'_>) {
        if self.timer.take().is_some() {
            cx.explain(Reason::Cancelled);
        }
    }

    /// The disk has idled long enough.
    pub(super) fn timer_fired(&mut self, cx: &mut Cx<'_>) -> Run {
        self.timer = None;
        let now = self.now(cx);
        if let Some(a) = self.active
            && !self.queues[a].slice.must_dispatch
        {
            let queue = &self.queues[a];
            if queue.slice.is_used(now) {
                self.expire(cx, Rest::Dropped, SliceEnd::Used);
            } else if self.service.busy() == 0 {
                return Run::No;
            } else if queue.is_empty() {
                self.queues[a].idling.deep = false;
                self.expire(cx, Rest::Dropped, SliceEnd::IdledInVain);
            }
        }
        self.wish_run();
        self.take_wish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn habits(is_seeky: bool, think: Tick) -> Habits {
        Habits {
            gone: false,
            idle: 8,
            seeky_idle: 2,
            think: Some(think),
            seeks: Seekiness { is_seeky, is_surely: is_seeky },
            ends: false,
            deep: false,
            ncq: true,
            fairness: false,
            low_latency: true,
            open: true,
        }
    }

    const RANDOM: bool = true;
    const IN_ORDER: bool = false;

    #[test]
    fn a_sequential_reader_is_idled_for_as_long_as_it_thinks_no_longer_than_slice_idle() {
        let rules = [Idling::UnlessSeeky, Idling::SeekyShortly, Idling::UnlessSeekyAndShallow, Idling::TreeThinks];
        for rule in rules {
            assert!(window(rule, habits(IN_ORDER, 8)) && !window(rule, habits(IN_ORDER, 9)));
        }
    }

    #[test]
    fn a_seeky_queue_is_not_idled_for_unless_fairness_depth_or_haste_speak_for_it() {
        let seeky = habits(RANDOM, 2);
        assert!(!window(Idling::UnlessSeeky, seeky));
        assert!(window(Idling::UnlessSeeky, Habits { fairness: true, ..seeky }));
        assert!(window(Idling::SeekyShortly, seeky));
        assert!(!window(Idling::SeekyShortly, Habits { think: Some(3), ..seeky }));
        assert!(!window(Idling::UnlessSeekyAndShallow, seeky));
        assert!(window(Idling::UnlessSeekyAndShallow, Habits { deep: true, ..seeky }));
    }

    #[test]
    fn in_4_20_nobody_is_idled_for_whose_next_write_says_that_it_is_the_last() {
        let last = Habits { ends: true, ..habits(IN_ORDER, 1) };
        assert!(window(Idling::UnlessSeekyAndShallow, last) && !window(Idling::TreeThinks, last));
    }

    #[test]
    fn nobody_is_idled_for_who_is_gone_or_when_idling_is_off() {
        let reader = habits(IN_ORDER, 1);
        assert!(!window(Idling::UnlessSeeky, Habits { gone: true, ..reader }));
        assert!(!window(Idling::UnlessSeeky, Habits { idle: 0, ..reader }));
    }

    #[test]
    fn as_long_as_nothing_is_known_the_window_stays_as_it_is() {
        let unknown = Habits { think: None, ..habits(IN_ORDER, 0) };
        assert!(window(Idling::SeekyShortly, unknown));
        assert!(!window(Idling::SeekyShortly, Habits { open: false, ..unknown }));
    }
}
