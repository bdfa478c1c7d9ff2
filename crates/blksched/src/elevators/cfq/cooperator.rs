//! Close cooperators: a queue that goes on near to where the queue being served stopped.
//!
//! **What for** NFS servers, dump(8), iSCSI targets and virtual machines read one file from several processes; idling
//! for one of them keeps the disk from the next (mail of 2009-10-23).
//! **Rule** One tree per priority level, by the first sector of each queue's next request. The queue at the disk's
//! position, or the last one that a search for it visits, or that one's neighbour on the other side, if it is close: no
//! farther than the mean seek of the process being served (8192 sectors while that is unknown; by queue also at most
//! that, except to preempt).
//! **Origin** note C9; `jump` 2.6.31 and 2.6.32, `merge_split` 2.6.33 (file `merge_split`).
//! **Costs when wrong** which of two close queues is met depends on the tree's shape. Trees compare where queues are
//! *now*, though a queue moves only when it is put in again.

use super::Cfq;
use super::queue::Qid;
use crate::elevator::Cx;
use crate::estimate::{SEEKY, SeekDistance};
use crate::explain::Reason;
use crate::index::{Forest, Root};
use crate::request::{RequestId, Sector, SubmitterId};

/// What becomes of a close cooperator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooperation {
    /// Nobody looks for one.
    None,
    /// It is served next, once (2.6.31, 2.6.32).
    Jump,
    /// It is served next, and the two queues become one until they seek (2.6.33).
    MergeSplit,
}

/// Whose seeks are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeks {
    /// Each process's, reads and write-back together (2.6.31, 2.6.32).
    PerProcess,
    /// Each queue's (2.6.33).
    PerQueue,
}

/// What a queue has to do with others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sharing {
    /// Served out of turn as a cooperator (jump), or shared by several processes (merge and split).
    pub(super) cooperates: bool,
    /// It preempted as a cooperator, so the mark above outlives the beginning of its turn (2.6.32).
    pub(super) preempted: bool,
    /// Shared, and its processes no longer read side by side: each gets its own.
    pub(super) splits: bool,
    /// Its processes change to this queue.
    pub(super) target: Option<Qid>,
}

/// What a search for a cooperator is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// To know whether there is one.
    Probe,
    /// To serve it.
    Serve,
}

/// What "close" is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    Cooperator,
    Preemption,
}

/// Where queues are, level by level.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions {
    forest: Forest<Sector>,
    roots: [Root; 8],
}

impl Positions {
    pub(super) fn reserve(&mut self, queues: usize) {
        self.forest.reserve(queues);
    }
}

impl Cfq {
    /// Put a queue where its next request is; where another one is already, it is left out.
    pub(super) fn position_add(&mut self, cx: &Cx<'_>, q: Qid) {
        self.position_remove(q);
        let queue = &mut self.queues[q];
        let Some(next) = queue.next.filter(|_| !queue.is_idle_class()) else { return };
        let (start, level) = (cx.rq(next).start, queue.standing.level);
        let root = &mut self.positions.roots[usize::from(level)];
        if self.positions.forest.find(*root, start).0.is_none() {
            self.positions.forest.insert(root, q, start);
            queue.positioned_in = Some(level);
        }
    }

    pub(super) fn position_remove(&mut self, q: Qid) {
        if let Some(level) = self.queues[q].positioned_in.take() {
            self.positions.forest.remove(&mut self.positions.roots[usize::from(level)], q);
        }
    }

    /// Its next request is another one, but it stays where it is in its tree.
    pub(super) fn set_next(&mut self, cx: &Cx<'_>, q: Qid, next: Option<RequestId>) {
        self.queues[q].next = next;
        self.position_moved(cx, q);
    }

    pub(super) fn position_moved(&mut self, cx: &Cx<'_>, q: Qid) {
        let queue = &self.queues[q];
        if let (Some(_), Some(next)) = (queue.positioned_in, queue.next) {
            self.positions.forest.rekey(q, cx.rq(next).start);
        }
    }

    /// The seeks that count for a queue.
    pub(super) fn seeks_of(&self, q: Qid, process: Option<SubmitterId>) -> SeekDistance {
        match self.rules.seeks {
            Seeks::PerQueue => self.queues[q].seeks,
            Seeks::PerProcess => {
                let known = process.and_then(|pid| self.processes.get(&pid));
                known.map_or(self.queues[q].seeks, |process| process.seeks)
            }
        }
    }

    pub(super) fn is_seeky(&self, q: Qid) -> bool {
        self.seeks_of(q, Some(self.queues[q].owner)).is_seeky()
    }

    /// Is `start` close to the disk's position, for the queue being served?
    pub(super) fn is_close(&self, start: Sector, asking: Asking) -> bool {
        let Some(active) = self.active else { return false };
        let believed = match self.rules.seeks {
            Seeks::PerProcess => {
                let Some(process) = self.active_process.and_then(|pid| self.processes.get(&pid)) else { return false };
                process.seeks.believed()
            }
            Seeks::PerQueue => self.queues[active].seeks.believed(),
        };
        let reach = match (believed, self.rules.seeks, asking) {
            (None, _, _) => SEEKY,
            (Some(mean), Seeks::PerQueue, Asking::Cooperator) => mean.min(SEEKY),
            (Some(mean), _, _) => mean,
        };
        start.distance(self.head) <= reach
    }

    /// A queue that goes on close to where the queue being served, `q`, stopped.
    pub(super) fn cooperator(&mut self, cx: &mut Cx<'_>, q: Qid, search: Search) -> Option<Qid> {
        let found = match self.rules.cooperation {
            Cooperation::None => return None,
            Cooperation::Jump => self.may_jump(cx, q),
            Cooperation::MergeSplit => self.may_join(cx, q),
        }?;
        if search == Search::Serve {
            if self.rules.cooperation == Cooperation::Jump {
                self.queues[found].sharing.cooperates = true;
            }
            let (owner, other) = (self.queues[q].owner, self.queues[found].owner);
            let distance = self.start_of(cx, found).distance(self.head);
            cx.explain(Reason::CooperatorFound { owner, other, distance });
        }
        Some(found)
    }

    fn may_jump(&self, cx: &Cx<'_>, q: Qid) -> Option<Qid> {
        self.active_process?;
        self.closest(cx, self.queues[q].standing.level).filter(|&found| !self.queues[found].sharing.cooperates)
    }

    fn may_join(&self, cx: &Cx<'_>, q: Qid) -> Option<Qid> {
        if !self.queues[q].is_sync() || self.is_seeky(q) || self.service.busy() <= 1 {
            return None;
        }
        let found = self.closest(cx, self.queues[q].standing.level)?;
        let other = &self.queues[found];
        let fits = other.is_sync() && !self.is_seeky(found) && other.is_real_time() == self.queues[q].is_real_time();
        fits.then_some(found)
    }

    fn start_of(&self, cx: &Cx<'_>, q: Qid) -> Sector {
        cx.rq(self.queues[q].next.expect("a queue with a position has requests")).start
    }

    fn closest(&self, cx: &Cx<'_>, level: u8) -> Option<Qid> {
        let Positions { forest, roots } = &self.positions;
        let met = forest.last_visited(roots[usize::from(level)], self.head)?;
        let start = self.start_of(cx, met);
        if start == self.head || self.is_close(start, Asking::Cooperator) {
            return Some(met);
        }
        let other = if start < self.head { forest.next(met) } else { forest.previous(met) }?;
        self.is_close(self.start_of(cx, other), Asking::Cooperator).then_some(other)
    }
}
