//! Idling: when the queue being served runs empty, leave the disk alone for a moment, since its process will send a
//! request close by.
//!
//! **Rule** Two questions. Is the queue's *idle window* open, judged at each of its insertions: it thinks no longer
//! than `slice_idle` and does not seek too much ([`Idling`])? And at the completion that leaves it empty: is the timer
//! worth arming now? The timer runs `slice_idle`; until 2.6.32 at most 2 ms for a process that seeks.
//! **Origin** notes C5, C15, C16, C33.4 and C33.6; `fairness` is the patch of the mail of 2009-09-03.
//! **Costs when wrong** too little: a seek per request and no fairness; too much: an idle disk.

use super::Cfq;
use super::queue::Qid;
use super::service_tree::Trees;
use super::slice::Rest;
use crate::elevator::{Cx, IdleFor, Run};
use crate::estimate::SeekDistance;
use crate::explain::{NotIdled, Reason, SliceEnd};
use crate::request::SubmitterId;
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
    seeks: SeekDistance,
    deep: bool,
    /// The disk queues.
    ncq: bool,
    fairness: bool,
    low_latency: bool,
    open: bool,
}

/// Is it worth idling for this queue?
fn window(rule: Idling, habits: Habits) -> bool {
    let Habits { gone, idle, seeky_idle, think, seeks, deep, ncq, fairness, low_latency, open } = habits;
    let too_seeky = match rule {
        Idling::UnlessSeeky => !fairness && ncq && seeks.is_seeky(),
        Idling::SeekyShortly => !low_latency && ncq && seeks.is_seeky(),
        Idling::UnlessSeekyAndShallow => !deep && seeks.is_surely_seeky(),
    };
    let longest = if rule == Idling::SeekyShortly && seeks.is_surely_seeky() { seeky_idle } else { idle };
    !gone && idle > 0 && !too_seeky && think.map_or(open, |think| think <= longest)
}

impl Cfq {
    /// A process sent a request into its queue: is it worth idling for now?
    pub(super) fn look_at_habits(&mut self, pid: SubmitterId, q: Qid) {
        let (process, queue) = (&self.processes[&pid], &self.queues[q]);
        if !queue.is_sync() || queue.is_idle_class() {
            return;
        }
        let deep = queue.idling.deep || queue.sorted.len() >= 4;
        let habits = Habits {
            gone: process.gone,
            idle: self.ticks().slice_idle,
            seeky_idle: self.jiffies.ticks(SEEKY_IDLE),
            think: process.think.believed(),
            seeks: self.seeks_of(q, Some(pid)),
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
        let queue = &self.queues[q];
        match self.rules.trees {
            Trees::Single => queue.idling.open,
            Trees::ByWorkload if queue.is_idle_class() => false,
            Trees::ByWorkload if queue.idling.open && self.has_arm(cx) => true,
            Trees::ByWorkload => queue.is_sync() && queue.served_in.is_some_and(|tree| self.service.count(tree) == 1),
        }
    }

    /// Idling pays: the disk has an arm to keep in place, or does not queue.
    fn has_arm(&self, cx: &Cx<'_>) -> bool {
        cx.device.rotational || !self.ncq.queues()
    }

    /// The queue being served ran empty: idle for it, if that is worth it.
    pub(super) fn try_to_idle(&mut self, cx: &mut Cx<'_>, q: Qid) {
        match self.worth_idling(cx, q) {
            Ok((pid, length)) => {
                let until = self.now(cx) + length;
                self.queues[q].slice.waits_for_request = true;
                self.timer = Some(until);
                let until = self.jiffies.instant(until);
                cx.explain(Reason::Armed { until, why: IdleFor::Submitter(pid) });
            }
            Err(why) => cx.explain(Reason::NotIdled { owner: self.queues[q].owner, why }),
        }
    }

    fn worth_idling(&self, cx: &Cx<'_>, q: Qid) -> Result<(SubmitterId, Tick), NotIdled> {
        let (queue, idle) = (&self.queues[q], self.ticks().slice_idle);
        if !self.has_arm(cx) {
            return Err(NotIdled::NoArm);
        }
        if idle == 0 || !self.should_idle(cx, q) {
            return Err(NotIdled::NotWorthIt);
        }
        let in_flight = match self.rules.trees {
            Trees::Single => self.in_driver.sync + self.in_driver.async_,
            Trees::ByWorkload => queue.dispatched,
        };
        if in_flight > 0 {
            return Err(NotIdled::DiskBusy);
        }
        let pid = self.active_process.ok_or(NotIdled::Gone)?;
        let process = self.processes.get(&pid).filter(|process| !process.gone).ok_or(NotIdled::Gone)?;
        let left = queue.slice.left_unsigned(self.now(cx));
        if self.rules.idling != Idling::UnlessSeeky && process.think.believed().is_some_and(|think| left < think) {
            return Err(NotIdled::SliceTooShort);
        }
        let short = self.rules.idling != Idling::UnlessSeekyAndShallow;
        let seeky = self.seeks_of(q, Some(pid)).is_surely_seeky();
        let length = if short && seeky { idle.min(self.jiffies.ticks(SEEKY_IDLE)) } else { idle };
        Ok((pid, length))
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
    use crate::request::Sector;

    fn habits(starts: &[u64], think: Tick) -> Habits {
        let mut seeks = SeekDistance::default();
        for &start in starts {
            seeks.add(Sector(start));
            seeks.ended(Sector(start + 8));
        }
        Habits {
            gone: false,
            idle: 8,
            seeky_idle: 2,
            think: Some(think),
            seeks,
            deep: false,
            ncq: true,
            fairness: false,
            low_latency: true,
            open: true,
        }
    }

    const RANDOM: &[u64] = &[0, 1 << 30, 8 << 20, 1 << 29, 5];
    const IN_ORDER: &[u64] = &[800, 808, 816, 824];

    #[test]
    fn a_sequential_reader_is_idled_for_as_long_as_it_thinks_no_longer_than_slice_idle() {
        for rule in [Idling::UnlessSeeky, Idling::SeekyShortly, Idling::UnlessSeekyAndShallow] {
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
    fn nobody_is_idled_for_who_is_gone_or_when_idling_is_off() {
        let reader = habits(IN_ORDER, 1);
        assert!(!window(Idling::UnlessSeeky, Habits { gone: true, ..reader }));
        assert!(!window(Idling::UnlessSeeky, Habits { idle: 0, ..reader }));
    }

    #[test]
    fn as_long_as_nothing_is_known_the_window_stays_as_it_is() {
        let unknown = Habits { think: None, ..habits(&[], 0) };
        assert!(window(Idling::SeekyShortly, unknown));
        assert!(!window(Idling::SeekyShortly, Habits { open: false, ..unknown }));
    }
}
