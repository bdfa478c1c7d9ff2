//! Groups: cgroups or tenants, each with its own service trees, write-back queues and share.
//!
//! **Rule** Bios carry their group ([`GroupId`]). A process whose bios move to another group leaves its queues behind
//! (`steps/prepare`). Cooperation and merging stay inside a group; the depth limits, and whether the disk queues, apply
//! to the whole disk.
//! **Origin** docs/behaviour/elevators-4.20.md#g.1 to #g.9. Without groups everything is in one, the root.
//! **In the kernel** `cfq_group`, `cfq_get_cfqg`, `cfq_link_cfqq_cfqg`, `blkio_cgroup`, `cfq_update_group_weight`.

use alloc::vec;
use alloc::vec::Vec;

use crate::elevators::cfq::ids::{Gid, Qid, ROOT};
use crate::elevators::cfq::rules::Grouping;
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::service_trees::{TREES, TreeAt};
use crate::elevators::cfq::state::think::Ttime;
use crate::elevators::cfq::state::vdisktime::{Share, VirtualTime};
use crate::elevators::cfq::state::workload::Saved;
use crate::elevators::cfq::tunables::Ticks;
use crate::elevators::ioprio::{Ioprio, IoprioClass};
use crate::group::Group;
use crate::index::Tree;
use crate::request::{GroupId, Waiter};
use crate::time::Tick;

const NOWHERE: Gid = Gid::MAX;

/// Real time and best effort have eight levels each, the idle class one.
const LEVELS: usize = 17;

/// The state of a group.
#[derive(Clone, Debug)]
pub(crate) struct CfqGroup {
    pub(crate) id: GroupId,
    pub(crate) share: Share,
    pub(crate) ttime: Ttime,
    trees: [Ttime; TREES],
    /// The average number of waiting queues: best effort, real time.
    average: [u64; 2],
    /// The rest of the slice of the kind of load served last.
    saved: Option<Saved>,
    /// Its requests that are dispatched and not yet completed.
    in_flight: u32,
    /// The write-back queue of each class and level.
    write_back: [Option<Qid>; LEVELS],
    /// The number of its queues and child groups.
    users: u32,
    /// Whether it is announced and not removed.
    exists: bool,
}

fn level(ioprio: Ioprio) -> usize {
    match ioprio.class {
        IoprioClass::RealTime => usize::from(ioprio.level),
        IoprioClass::BestEffort => 8 + usize::from(ioprio.level),
        IoprioClass::Idle => LEVELS - 1,
    }
}

impl CfqGroup {
    fn new(id: GroupId, share: Share, now: Tick) -> CfqGroup {
        CfqGroup {
            id,
            share,
            ttime: Ttime::since(now),
            trees: [Ttime::since(now); TREES],
            average: [0; 2],
            saved: None,
            in_flight: 0,
            write_back: [None; LEVELS],
            users: 0,
            exists: true,
        }
    }

    /// The rest of the slice of the kind of load served last.
    pub(crate) fn saved(&self) -> Option<Saved> {
        self.saved
    }

    pub(crate) fn save(&mut self, rest: Option<Saved>) {
        self.saved = rest;
    }

    /// Its requests that are dispatched and not yet completed.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// A request of it is dispatched.
    #[inline(always)]
    pub(crate) fn dispatched(&mut self) {
        self.in_flight += 1;
    }

    /// A request of it completes.
    #[inline(always)]
    pub(crate) fn completed(&mut self) {
        self.in_flight -= 1;
    }

    /// The average number of waiting queues of a class.
    pub(crate) fn average(&self, class: IoprioClass) -> u64 {
        self.average[usize::from(class == IoprioClass::RealTime)]
    }

    /// Takes all of its write-back queues.
    pub(crate) fn take_write_back(&mut self) -> [Option<Qid>; LEVELS] {
        core::mem::take(&mut self.write_back)
    }

    /// The write-back queue of a class and level.
    pub(crate) fn write_back(&mut self, ioprio: Ioprio) -> &mut Option<Qid> {
        &mut self.write_back[level(ioprio)]
    }
}

/// All groups.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    table: Vec<CfqGroup>,
    free: Vec<Gid>,
    by_id: Vec<Gid>,
    /// The groups with queues that wait for a slice, by virtual time.
    pub(crate) waiting: Tree<VirtualTime>,
    /// A lower bound of the waiting groups' virtual times (`min_vdisktime`).
    pub(crate) least: VirtualTime,
}

impl Groups {
    /// Only the root group.
    pub(crate) fn new(now: Tick) -> Groups {
        let root = CfqGroup::new(GroupId::ROOT, Share::new(None, Group::ROOT.weight, Group::ROOT.leaf_weight), now);
        Groups {
            table: vec![root],
            free: Vec::new(),
            by_id: vec![ROOT],
            waiting: Tree::new(),
            least: VirtualTime::default(),
        }
    }

    pub(crate) fn of(&self, id: GroupId) -> Option<Gid> {
        self.by_id.get(id.0 as usize).copied().filter(|&g| g != NOWHERE)
    }

    /// The number of places in the table.
    pub(crate) fn places(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Gid, &CfqGroup)> {
        (0..).zip(&self.table).filter(|(_, group)| group.exists || group.users > 0)
    }

    /// Creates a group, or writes its weights.
    pub(crate) fn announce(&mut self, id: GroupId, group: Group, now: Tick) -> Gid {
        if let Some(g) = self.of(id) {
            self[g].share.write(group.weight, group.leaf_weight);
            return g;
        }
        let parent = self.of(group.parent).expect("a parent is announced ahead of its children");
        self[parent].users += 1;
        let made = CfqGroup::new(id, Share::new(Some(parent), group.weight, group.leaf_weight), now);
        let g = match self.free.pop() {
            Some(g) => {
                self[g] = made;
                g
            }
            None => {
                self.table.push(made);
                (self.table.len() - 1) as Gid
            }
        };
        let index = id.0 as usize;
        if index >= self.by_id.len() {
            self.by_id.resize(index + 1, NOWHERE);
        }
        self.by_id[index] = g;
        self.waiting.reserve(self.table.len());
        g
    }

    /// Removes a group; its place becomes free once no queue or child group uses it.
    pub(crate) fn remove(&mut self, id: GroupId, g: Gid) {
        self.by_id[id.0 as usize] = NOWHERE;
        self[g].exists = false;
        self.used(g);
        self.unused(g);
    }

    /// A queue with so many requests in flight counts for another group.
    pub(crate) fn moved_in_flight(&mut self, from: Gid, to: Gid, requests: u32) {
        self[from].in_flight -= requests;
        self[to].in_flight += requests;
    }

    /// Counts a new queue of the group.
    pub(crate) fn used(&mut self, g: Gid) {
        self[g].users += 1;
    }

    /// Uncounts a queue or child group of the group; an unused group's place becomes free.
    pub(crate) fn unused(&mut self, g: Gid) {
        let group = &mut self[g];
        group.users -= 1;
        if group.users > 0 || group.exists {
            return;
        }
        let parent = group.share.parent;
        self.free.push(g);
        if let Some(parent) = parent {
            self.unused(parent);
        }
    }

    /// Whether `g` is the group `above` or a descendant of it.
    #[inline]
    pub(crate) fn is_within(&self, g: Gid, above: Gid) -> bool {
        g == above || self.is_below(g, above)
    }

    #[inline(never)]
    fn is_below(&self, g: Gid, above: Gid) -> bool {
        core::iter::successors(Some(g), |&g| self[g].share.parent).any(|g| g == above)
    }

    /// Ends the think time of a queue's tree and group when the queue gets a request.
    #[inline]
    pub(crate) fn think_time_ends(&mut self, queue: &CfqQueue, now: Tick, ticks: &Ticks, grouping: Grouping) {
        if queue.is_sync() {
            let tree = queue.served_in.expect("a queue with a request waits for a slice");
            self.ttime_of(tree).end(now, ticks.slice_idle);
        }
        if grouping == Grouping::On {
            self[queue.group].ttime.end(now, ticks.group_idle);
        }
    }

    /// Begins the think time of a queue's tree and group when one of the queue's requests completes.
    #[inline]
    pub(crate) fn think_time_begins(&mut self, queue: &CfqQueue, waiter: Waiter, now: Tick, grouping: Grouping) {
        if waiter == Waiter::Sync {
            let now_in = || TreeAt::of(queue.group, queue.ioprio.class, queue.kind());
            self.ttime_of(queue.served_in.unwrap_or_else(now_in)).begin(now);
        }
        if grouping == Grouping::On {
            self[queue.group].ttime.begin(now);
        }
    }

    pub(crate) fn ttime_of(&mut self, tree: TreeAt) -> &mut Ttime {
        &mut self[tree.group()].trees[tree.nth()]
    }

    pub(crate) fn tree_ttime_is_big(&self, tree: TreeAt, idle: Tick) -> bool {
        self[tree.group()].trees[tree.nth()].is_big(idle)
    }
}

impl core::ops::Index<Gid> for Groups {
    type Output = CfqGroup;
    fn index(&self, g: Gid) -> &CfqGroup {
        &self.table[g as usize]
    }
}

impl core::ops::IndexMut<Gid> for Groups {
    fn index_mut(&mut self, g: Gid) -> &mut CfqGroup {
        &mut self.table[g as usize]
    }
}

impl CfqGroup {
    /// Updates and returns the average number of busy queues of a class, `busy` now: it rises fast and falls slowly.
    pub(crate) fn averaged(&mut self, class: IoprioClass, busy: u64) -> u64 {
        let average = &mut self.average[usize::from(class == IoprioClass::RealTime)];
        *average = (3 * (*average).max(busy) + (*average).min(busy) + 2) / 4;
        *average
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_reused_once_a_group_is_gone_and_its_last_queue_too() {
        let mut groups = Groups::new(0);
        let a = groups.announce(GroupId(7), Group::default(), 0);
        groups.used(a);
        groups.remove(GroupId(7), a);
        assert_ne!(groups.announce(GroupId(8), Group::default(), 0), a);
        groups.unused(a);
        assert_eq!(groups.announce(GroupId(9), Group::default(), 0), a);
        assert_eq!((groups.of(GroupId(7)), groups.iter().count()), (None, 3));
    }

    #[test]
    fn each_class_and_level_has_a_write_back_queue_of_its_own() {
        let all = |class| (0..8).map(move |n| level(Ioprio { class, level: n }));
        let mut seen: Vec<usize> = all(IoprioClass::RealTime).chain(all(IoprioClass::BestEffort)).collect();
        seen.push(level(Ioprio { class: IoprioClass::Idle, level: 7 }));
        assert!(seen.into_iter().eq(0..LEVELS));
    }
}
