//! The order of queues, by the time when their slice is due.
//!
//! **Rule** A queue's key is `now + (n − 1)·(length(sync, 0) − length(queue)) ∓ residual` \[ticks\], where n is the
//! number of waiting queues: the shorter a queue's slice, the later it comes. A queue of the idle class comes 200 ms
//! after all others of that class; a preempting queue comes first. Equal keys in the order of arrival.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c10, #s1, #c33.1 and #c33.2; docs/behaviour/elevators-4.20.md#x.8.
//! With one tree ([`Trees::Single`]) the product is unsigned and 32 bits wide: an async slice longer than sync slices
//! makes a queue wait for 2³² ticks. In 2.6.33 the product is signed, and the joining queue is not counted, so the
//! first one's offset is negative. With groups, n counts the queues of the group.
//! **In the kernel** `cfq_rb_root`, `cfq_service_tree_add`, `cfq_resort_rr_list`, `cfq_slice_offset`, `rb_key`,
//! `cfq_add_cfqq_rr`, `cfq_del_cfqq_rr`, `cfq_rb_first`, `cfq_rb_erase`, `cfq_group_notify_queue_add`,
//! `cfq_group_notify_queue_del`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::decide::slice_length::by_level;
use crate::elevators::cfq::ids::{Gid, Qid, ROOT};
use crate::elevators::cfq::rules::{Clock, Grouping, Preemption, Residual, Trees};
use crate::elevators::cfq::state::service_trees::TreeAt;
use crate::request::Waiter;

/// Where a queue is inserted in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsertPosition {
    /// By its key.
    InOrder,
    /// It preempts.
    Front,
}

impl Cfq {
    /// The tree into which a queue would be inserted now.
    fn tree_for(&self, q: Qid) -> TreeAt {
        let queue = &self.queues[q];
        match self.rules.trees {
            Trees::Single => TreeAt::single(queue.group),
            _ => TreeAt::of(queue.group, queue.ioprio.class, queue.kind()),
        }
    }

    fn service_key(&mut self, q: Qid, tree: TreeAt, at: InsertPosition) -> i64 {
        let (clock, second) = (self.rules.clock, self.second() as i64);
        let now = (self.now as i64).wrapping_add(self.head_start);
        if self.queues[q].is_idle_class() {
            // 4.20 is meant to add the last key too, but never maintains the tree's rightmost pointer and so never
            // finds one: the key of the idle class is always `now + 200 ms` there. Kept.
            let last = self.service.last_of(tree).filter(|&last| last != q && clock == Clock::Jiffies);
            return second / 5 + last.map_or(now, |last| self.service.key(last));
        }
        if at == InsertPosition::Front {
            return match self.rules.preemption {
                // 2.6.31 puts it before every possible key; later kernels put it one second before the first.
                Preemption::Close => 0,
                _ => {
                    let first = self.service.first_of(tree).map(|first| clock.stored(self.service.key(first)));
                    first.unwrap_or(now).wrapping_sub(second)
                }
            };
        }
        let key = now.wrapping_add(self.slice_offset(q));
        let residual = self.queues[q].slice.take_residual();
        match self.rules.residual {
            // The wrong sign of 2.6.31: a queue that did not use up its slice waits longer. 2.6.32 fixed it.
            Residual::Added => key.wrapping_add(residual),
            Residual::Subtracted | Residual::Whole => key.wrapping_sub(residual),
        }
    }

    /// How much later a queue's slice is due than that of a queue of the highest level.
    fn slice_offset(&self, q: Qid) -> i64 {
        let (queue, ticks) = (&self.queues[q], self.ticks);
        let best = by_level(Waiter::Sync, 0, &ticks);
        let gap = best - by_level(queue.waiter, queue.ioprio.level, &ticks);
        let others = i64::from(self.service.in_group(queue.group)) - 1;
        match self.rules.trees {
            Trees::Single => {
                // Until 2.6.32 the joining queue is counted; 2.6.33 does not count it, so the first queue's offset is
                // negative.
                let others = others + i64::from(queue.served_in.is_none());
                let jiffy = self.jiffy as i64;
                // Unsigned, with 32 bits, as in the kernel: if async slices are longer than sync ones, the negative
                // offset becomes almost 2³² ticks, and write-back waits for all others. 2.6.33 computes with signed
                // numbers.
                i64::from((others as u32).wrapping_mul((gap / jiffy) as u32)) * jiffy
            }
            _ => others.wrapping_mul(gap),
        }
    }

    pub(super) fn service_add(&mut self, q: Qid, at: InsertPosition) {
        let tree = self.tree_for(q);
        let key = self.service_key(q, tree, at);
        let key = self.rules.clock.stored(key);
        if let Some(present) = self.queues[q].served_in {
            if present == tree && self.service.key(q) == key {
                return;
            }
            self.service.remove(present, q);
        }
        self.service.insert(tree, q, self.queues[q].ioprio.class, key);
        self.queues[q].served_in = Some(tree);
    }

    /// Moves a waiting queue to the place that it would get now.
    pub(super) fn resort(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.queues[q].served_in.is_none() {
            return;
        }
        if self.change_group(q) {
            self.join(cx, q);
        } else {
            self.service_add(q, InsertPosition::InOrder);
            self.position_add(cx, q);
        }
    }

    /// Makes a queue that has a request wait for a slice.
    pub(in crate::elevators::cfq) fn join(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.queues[q].served_in.is_some() {
            return;
        }
        self.change_group(q);
        self.service_add(q, InsertPosition::InOrder);
        self.position_add(cx, q);
        let (group, waiter) = (self.queues[q].group, self.queues[q].waiter);
        if self.service.count_in(group, waiter) && self.rules.groups == Grouping::On {
            let delay = self.newcomers_delay();
            self.groups.join(group, delay);
        }
    }

    pub(super) fn leave(&mut self, q: Qid) {
        self.position_remove(q);
        // Its key is lost with its place; the residual of its slice keeps the time that it is owed or owes.
        let Some(tree) = self.queues[q].served_in.take() else { return };
        self.service.remove(tree, q);
        let (group, waiter) = (self.queues[q].group, self.queues[q].waiter);
        if self.service.count_out(group, waiter) {
            self.groups[group].save(None);
            if self.rules.groups == Grouping::On {
                self.groups.quit(group);
            }
        }
    }

    /// The group to be served next.
    pub(super) fn due_group(&mut self) -> Gid {
        match self.rules.groups {
            Grouping::Off => ROOT,
            Grouping::On => self.groups.due().expect("a queue waits, so its group does"),
        }
    }

    /// Moves a queue to another group, out of its tree, if it counts for that group from now on; says whether it did.
    fn change_group(&mut self, q: Qid) -> bool {
        let Some(next) = self.next_group(q) else { return false };
        if self.queues[q].served_in.is_some() {
            self.leave(q);
        }
        let queue = &mut self.queues[q];
        self.groups.moved_in_flight(queue.group, next, queue.dispatched);
        queue.group = next;
        true
    }
}
