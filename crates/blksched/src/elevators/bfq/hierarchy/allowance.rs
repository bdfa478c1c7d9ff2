//! How many of the tags each entity may use.
//!
//! **Rule** From the top down, each group gets its part of its parent group's allowance, by weight; a higher class
//! counts eight times as much as the next.
//! **Origin** docs/behaviour/elevators-6.12-6.18.md#d1.
//! **In the kernel** `bfqq_request_over_limit`, `allocated`.

use crate::elevators::bfq::hierarchy::Hierarchy;
use crate::elevators::bfq::hierarchy::entity::{EntityPlace, Node};
use crate::elevators::bfq::ids::Qid;

/// `a / b` to the nearest whole number, half up.
fn rounded(a: i64, b: i64) -> i64 {
    (a + b / 2) / b
}

/// `n < rounded(a, b)` without a division, for positive `a` and `b`.
fn is_below_rounded(n: i64, a: i64, b: i64) -> bool {
    (n + 1) * b <= a + b / 2
}

impl Hierarchy {
    /// Whether a queue, or a group that it is in, has as many requests allocated as its weight allows of `limit`.
    #[inline]
    pub(crate) fn has_its_share(&self, q: Qid, limit: i64) -> bool {
        let entity = self.entity(q);
        match self.group_above(entity.level) {
            None => entity.place != EntityPlace::Out && self.has_its_part(Node::queue(q), limit),
            Some(_) => self.has_its_share_below(q, limit),
        }
    }

    /// The same for a queue in a group.
    #[inline(never)]
    fn has_its_share_below(&self, q: Qid, limit: i64) -> bool {
        if self.path(q).any(|n| self.entities[n].place == EntityPlace::Out) {
            return false;
        }
        self.left_for(Node::queue(q), limit).is_none()
    }

    /// The part of `limit` that is left to `n`, from the top down; `None` if it, or a group above it, has used up its
    /// part.
    pub(crate) fn left_for(&self, n: Node, limit: i64) -> Option<i64> {
        let limit = match self.group_above(self.entities[n].level) {
            Some(group) => self.left_for(group, limit)?,
            None => limit,
        };
        self.part_of(n, limit)
    }

    /// The part for `n` of `limit`, which it shares with its siblings; `None` if it has used it up.
    #[inline]
    fn part_of(&self, n: Node, limit: i64) -> Option<i64> {
        let (entity, weights) = (&self.entities[n], self.weights_beside(n));
        // Nothing of its class is on a tree, so there is no share to compute.
        if weights == 0 {
            return Some(limit);
        }
        let limit = rounded(limit * entity.weight, weights);
        (entity.allocated < limit).then_some(limit)
    }

    /// Whether `n` has used up its part.
    #[inline]
    fn has_its_part(&self, n: Node, limit: i64) -> bool {
        let (entity, weights) = (&self.entities[n], self.weights_beside(n));
        let has = weights != 0 && !is_below_rounded(entity.allocated, limit * entity.weight, weights);
        debug_assert_eq!(has, self.part_of(n, limit).is_none());
        has
    }

    /// The total weight of `n` and of its siblings in its class and, for a queue, in higher classes.
    #[inline]
    fn weights_beside(&self, n: Node) -> i64 {
        let entity = &self.entities[n];
        let classes = &self.levels[entity.level].classes;
        match n.as_queue() {
            // Higher classes weigh eight times as much.
            Some(_) => classes[..=entity.class as usize].iter().fold(0, |sum, tree| 8 * sum + tree.weight),
            None => classes[entity.class as usize].weight,
        }
    }

    /// Counts a request allocated or freed, for its queue and the groups that the queue is in at that moment.
    #[inline(always)]
    pub(crate) fn count_allocated(&mut self, q: Qid, change: i64) {
        let mut at = Some(Node::queue(q));
        while let Some(n) = at {
            let entity = &mut self.entities[n];
            entity.allocated += change;
            let level = entity.level;
            at = self.group_above(level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_to_the_nearest_and_a_half_up() {
        assert_eq!([rounded(7, 2), rounded(10, 4), rounded(9, 4), rounded(1, 3)], [4, 3, 2, 0]);
    }

    #[test]
    fn a_count_is_compared_with_a_share_as_if_that_was_worked_out() {
        for (n, a, b) in (0..20 * 40 * 12).map(|at| (at % 20 - 4, at / 20 % 40, at / 800 + 1)) {
            assert_eq!(is_below_rounded(n, a, b), n < rounded(a, b), "{n} < {a} / {b}");
        }
    }
}
