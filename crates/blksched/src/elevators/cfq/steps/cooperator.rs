//! Close cooperators: a queue that continues near the position where the active queue stopped.
//!
//! **What for** NFS servers, dump(8), iSCSI targets and virtual machines read one file from several processes; idling
//! for one of them keeps the disk from the next (mail of 2009-10-23).
//! **Rule** One tree per priority level, by the first sector of each queue's next request. The queue at the disk's
//! position, or the last one that a search for it visits, or that one's neighbour on the other side, if it is close: no
//! farther than the mean seek of the process being served (8192 sectors while that is unknown; with seek statistics per
//! queue also at most that, except for preemption).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c9; `jump` 2.6.31 and 2.6.32, `merge_split` 2.6.33 (file
//! `merge_split`); docs/behaviour/elevators-4.20.md#x.1, #x.6 and #x.7: only in one group, and close is 8192 sectors,
//! always.
//! **Costs when wrong** which of two close queues is found depends on the tree's shape. Trees compare the *current*
//! positions of queues, although a queue is moved only when it is reinserted.
//! **In the kernel** `cfq_close_cooperator`, `cfqq_close`, `cfq_rq_close`, `prio_trees`, `cfq_prio_tree_add`,
//! `cfq_dist_from_last`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{CooperationRule, Seeks};
use crate::elevators::cfq::state::seeks::seekiness;
use crate::estimate::SEEKY;
use crate::explain::Reason;
use crate::request::{RequestId, Sector};

/// The purpose of a search for a cooperator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CooperatorSearch {
    /// To know whether there is one.
    Probe,
    /// To serve it.
    Serve,
}

/// The purpose of a test of closeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosePurpose {
    Cooperator,
    Preemption,
}

impl Cfq {
    /// Inserts a queue at the position of its next request; if another queue is there, it is left out.
    pub(super) fn position_add(&mut self, cx: &Cx<'_>, q: Qid) {
        self.position_remove(q);
        let queue = &mut self.queues[q];
        let Some(next) = queue.next.filter(|_| !queue.is_idle_class()) else { return };
        let (start, level) = (cx.rq(next).start, queue.own_ioprio.level);
        if self.positions.insert(level, q, start) {
            queue.positioned_in = Some(level);
        }
    }

    pub(super) fn position_remove(&mut self, q: Qid) {
        if let Some(level) = self.queues[q].positioned_in.take() {
            self.positions.remove(level, q);
        }
    }

    /// Sets a queue's next request; the queue keeps its place in its tree.
    pub(super) fn set_next(&mut self, cx: &Cx<'_>, q: Qid, next: Option<RequestId>) {
        self.queues[q].next = next;
        self.position_moved(cx, q);
    }

    pub(super) fn position_moved(&mut self, cx: &Cx<'_>, q: Qid) {
        let queue = &self.queues[q];
        if let (Some(_), Some(next)) = (queue.positioned_in, queue.next) {
            self.positions.moved(q, cx.rq(next).start);
        }
    }

    pub(super) fn is_seeky(&self, q: Qid) -> bool {
        let owner = match self.rules.seeks {
            Seeks::PerProcess => self.processes.of(self.queues[q].owner),
            Seeks::PerQueue | Seeks::History => None,
        };
        seekiness(self.rules.seeks, &self.queues[q], owner.map(|pid| &self.processes[pid])).is_seeky
    }

    /// Whether `start` is close to the disk's position, for the active queue.
    pub(super) fn is_close(&self, start: Sector, asking: ClosePurpose) -> bool {
        let Some(active) = self.active.queue() else { return false };
        let mean = match self.rules.seeks {
            Seeks::PerProcess => {
                let Some(pid) = self.active.process() else { return false };
                self.processes[pid].seeks().valid_mean()
            }
            Seeks::PerQueue => self.queues[active].seeks.valid_mean(),
            Seeks::History => None,
        };
        let reach = match (mean, self.rules.seeks, asking) {
            (None, _, _) => SEEKY,
            // Until 2.6.32 there is no cap, and a process that seeks far finds cooperators everywhere. 2.6.33 caps it,
            // but not for preemption; no source says why.
            (Some(mean), Seeks::PerQueue, ClosePurpose::Cooperator) => mean.min(SEEKY),
            (Some(mean), _, _) => mean,
        };
        start.distance(self.head) <= reach
    }

    /// A queue that continues close to where the active queue `q` stopped.
    pub(super) fn cooperator(&mut self, cx: &mut Cx<'_>, q: Qid, search: CooperatorSearch) -> Option<Qid> {
        let found = match self.rules.cooperation {
            CooperationRule::None => return None,
            CooperationRule::Jump => self.may_jump(cx, q),
            CooperationRule::MergeSplit => self.may_join(cx, q),
        }?;
        if search == CooperatorSearch::Serve {
            if self.rules.cooperation == CooperationRule::Jump {
                self.queues[found].cooperation.jump();
            }
            let (owner, other) = (self.queues[q].owner, self.queues[found].owner);
            let distance = self.start_of(cx, found).distance(self.head);
            cx.explain(Reason::CooperatorFound { owner, other, distance });
        }
        Some(found)
    }

    fn may_jump(&self, cx: &Cx<'_>, q: Qid) -> Option<Qid> {
        self.active.process()?;
        let group = self.queues[q].group;
        // Only once until it has had a slice in order; otherwise two cooperators would hand the disk to each other for
        // ever. Write-back and other classes may jump too; 2.6.33 excludes them.
        let fits = |&found: &Qid| !self.queues[found].cooperation.is_on() && self.queues[found].group == group;
        self.closest(cx, self.queues[q].own_ioprio.level).filter(fits)
    }

    fn may_join(&self, cx: &Cx<'_>, q: Qid) -> Option<Qid> {
        // Seeky queues are close to each other only by chance, and would be split again at once.
        if !self.queues[q].is_sync() || self.is_seeky(q) || self.service.in_group(self.queues[q].group) <= 1 {
            return None;
        }
        let queue = &self.queues[q];
        let found = self.closest(cx, queue.own_ioprio.level)?;
        let other = &self.queues[found];
        let alike = other.group == queue.group && other.is_real_time() == queue.is_real_time();
        (alike && other.is_sync() && !self.is_seeky(found)).then_some(found)
    }

    fn start_of(&self, cx: &Cx<'_>, q: Qid) -> Sector {
        cx.rq(self.queues[q].next.expect("a queue with a position has requests")).start
    }

    fn closest(&self, cx: &Cx<'_>, level: u8) -> Option<Qid> {
        let met = self.positions.last_visited(level, self.head)?;
        let start = self.start_of(cx, met);
        if start == self.head || self.is_close(start, ClosePurpose::Cooperator) {
            return Some(met);
        }
        let other = if start < self.head { self.positions.next(met) } else { self.positions.previous(met) }?;
        self.is_close(self.start_of(cx, other), ClosePurpose::Cooperator).then_some(other)
    }
}
