//! Groups in the order of their virtual disk time: the one with the smallest is next.
//!
//! **Rule** A group that is charged `c` moves on by `c·2²⁴ / fraction`, where `fraction` (of 4096) is its share of the
//! disk among those that are active now: `4096 · leaf_weight/Σ` in its own group, times `weight/Σ` at each level above.
//! A group that becomes active begins just behind the last one; its earlier virtual time is forgotten. Weights written
//! while it is active take effect when it is next inserted (leaf weight), or when its subtree next becomes active
//! (weight).
//! **Origin** docs/behaviour/elevators-4.20.md#g.1 to #g.4 and #g.7.
//! **Shown by** the shares in the README.
//! **Costs when wrong** tenants get what they did not pay for.
//! **In the kernel** `vdisktime`, `cfq_group_service_tree_add`, `cfq_choose_cfqg`, `min_vdisktime`,
//! `cfq_group_service_tree_del`, `update_min_vdisktime`.

use crate::elevators::cfq::ids::Gid;
use crate::elevators::cfq::state::groups::Groups;
use crate::elevators::cfq::state::vdisktime::WHOLE;

impl Groups {
    /// Adds a group when its first queue begins to wait for a slice.
    pub(crate) fn join(&mut self, g: Gid, delay: u64) {
        let last = self.waiting.last().map(|last| self[last].share.at);
        self[g].share.at = last.map_or(self.least, |last| last.after(delay));
        self.put_in(g);
    }

    /// Removes a group when none of its queues waits any more.
    pub(crate) fn quit(&mut self, g: Gid) {
        self.waiting.remove(g);
        let share = &mut self[g].share;
        share.weights -= share.leaf_weight;
        self.less_active(g);
    }

    /// Charges a group when a slice of one of its queues is over.
    pub(crate) fn charge(&mut self, g: Gid, charge: u64) {
        let fraction = self[g].share.fraction;
        // Removed and inserted again, which is when a new leaf weight and the other groups' changes take effect.
        self.quit(g);
        self[g].share.at = self[g].share.at.after((charge << 24) / fraction);
        self.put_in(g);
    }

    /// The group to be served next.
    pub(crate) fn due(&mut self) -> Option<Gid> {
        let first = self.waiting.first()?;
        self.least = self.least.max(self[first].share.at);
        Some(first)
    }

    pub(crate) fn is_waiting(&self, g: Gid) -> bool {
        self.waiting.contains(g)
    }

    fn put_in(&mut self, g: Gid) {
        let share = &mut self[g].share;
        share.leaf_weight = share.new_leaf_weight.take().unwrap_or(share.leaf_weight);
        let mut begins = share.active == 0;
        share.active += 1;
        share.weights += share.leaf_weight;
        let mut fraction = WHOLE * share.leaf_weight / share.weights;
        let mut at = g;
        while let Some(above) = self[at].share.parent {
            if begins {
                let share = &mut self[at].share;
                share.weight = share.new_weight.take().unwrap_or(share.weight);
                let weight = share.weight;
                let parent = &mut self[above].share;
                begins = parent.active == 0;
                parent.active += 1;
                parent.weights += weight;
            }
            fraction = fraction * self[at].share.weight / self[above].share.weights;
            at = above;
        }
        // At least 1, because charges are divided by it.
        self[g].share.fraction = fraction.max(1);
        let key = self[g].share.at;
        self.waiting.insert(g, key);
    }

    fn less_active(&mut self, g: Gid) {
        let mut at = g;
        loop {
            let share = &mut self[at].share;
            share.active -= 1;
            let (Some(above), 0) = (share.parent, share.active) else { return };
            let weight = share.weight;
            self[above].share.weights -= weight;
            at = above;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use crate::request::GroupId;

    const DELAY: u64 = 200_000_000;

    /// Groups given by parent, weight and leaf weight; group 0 is the root.
    fn groups(of: &[(u32, u32, u32)]) -> Groups {
        let mut groups = Groups::new(0);
        for (id, &(parent, weight, leaf_weight)) in (0..).zip(of) {
            groups.announce(GroupId(id), Group { parent: GroupId(parent), weight, leaf_weight }, 0);
        }
        groups
    }

    fn fractions(groups: &Groups, of: &[Gid]) -> Vec<u64> {
        of.iter().map(|&g| groups[g].share.fraction()).collect()
    }

    #[test]
    fn siblings_divide_the_disk_by_weight_among_those_that_are_active() {
        let mut groups = groups(&[(0, 1000, 1000), (0, 100, 500), (0, 300, 500)]);
        groups.join(1, DELAY);
        assert_eq!(fractions(&groups, &[1]), [4096]);
        groups.join(2, DELAY);
        // The first group's fraction changes only at its next charge.
        assert_eq!(fractions(&groups, &[1, 2]), [4096, 3072]);
        groups.charge(1, 1);
        assert_eq!(fractions(&groups, &[1, 2]), [1024, 3072]);
    }

    #[test]
    fn a_groups_own_queues_compete_with_its_children_by_leaf_weight() {
        let mut groups = groups(&[(0, 1000, 1000), (0, 500, 500), (1, 300, 500), (1, 200, 500)]);
        for g in [0, 1, 2, 3] {
            groups.join(g, DELAY);
        }
        (0..4).for_each(|g| groups.charge(g, 0));
        // The root's own queues have 1000/1500. Group 1's third is divided 500 : 300 : 200.
        assert_eq!(fractions(&groups, &[0, 1, 2, 3]), [2730, 682, 409, 273]);
    }

    #[test]
    fn the_group_that_has_had_least_of_its_due_is_next() {
        let mut groups = groups(&[(0, 1000, 1000), (0, 100, 500), (0, 200, 500), (0, 700, 500)]);
        (1..=3).for_each(|g| groups.join(g, DELAY));
        let mut slices = [0i32; 4];
        for _ in 0..1000 {
            let g = groups.due().unwrap();
            slices[g as usize] += 1;
            groups.charge(g, 1_000_000);
        }
        // The first slices are charged by fractions computed before the other groups joined.
        let off = slices.iter().zip([0, 100, 200, 700]).map(|(had, due)| (had - due).abs());
        assert!(off.max() <= Some(2), "{slices:?}");
    }

    #[test]
    fn a_new_weight_counts_when_the_subtree_becomes_active_and_a_leaf_weight_at_the_next_charge() {
        let mut groups = groups(&[(0, 1000, 1000), (0, 100, 500), (0, 100, 500)]);
        (1..=2).for_each(|g| groups.join(g, DELAY));
        groups.announce(GroupId(1), Group { parent: GroupId(0), weight: 300, leaf_weight: 500 }, 0);
        groups.charge(2, 1);
        assert_eq!(fractions(&groups, &[2]), [2048]);
        // As the only active member of its subtree, it becomes active again within its charge.
        groups.charge(1, 1);
        assert_eq!(fractions(&groups, &[1]), [3072]);
    }

    #[test]
    fn a_newcomer_begins_behind_the_last_and_at_rest_everything_begins_at_the_least() {
        let mut groups = groups(&[(0, 1000, 1000), (0, 100, 500), (0, 100, 500)]);
        groups.join(1, DELAY);
        groups.charge(1, 1 << 30);
        groups.join(2, DELAY);
        assert_eq!(groups[2].share.at, groups[1].share.at.after(DELAY));
        assert_eq!(groups.due(), Some(1));
        let least = groups[1].share.at;
        (1..=2).for_each(|g| groups.quit(g));
        groups.join(2, DELAY);
        assert_eq!(groups[2].share.at, least);
    }
}
