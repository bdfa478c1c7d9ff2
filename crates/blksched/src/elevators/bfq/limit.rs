//! How many tags a process may use.
//!
//! **Rule** Reads that somebody waits for: all. Others: write-back a half, writes that somebody waits for three
//! quarters, and while anybody raised is busy three and six sixteenths; of each word of the tag map until 6.6, of all
//! tags since. With groups the share of those that a queue may have goes down from the top by weights: who has that
//! many requests on their way, or whose group has, may use one.
//! **Origin** docs/behaviour/elevators-6.1.md#b2.2, docs/behaviour/elevators-6.12-6.18.md#g8; amendments A2 and A8.
//! **Costs when wrong** A process that fills the tags makes the shares of everybody else worthless: they have nothing
//! queued that could be chosen.
//! **In the kernel** `bfq_limit_depth`, `bfqq_request_over_limit`, `bfq_update_depths`, `word_depths`.

#![doc(alias = "bfq_limit_depth")]
#![doc(alias = "bfqq_request_over_limit")]
#![doc(alias = "bfq_update_depths")]
#![doc(alias = "word_depths")]

use super::Bfq;
use super::entity::{Node, Place};
use super::groups::Groups;
use super::qid::Qid;
use crate::elevator::{Admission, DeviceFacts};
use crate::elevators::tags::Tags;
use crate::request::{Bio, Op, Waiter};

/// Sixteenths of the tags that writes may use: write-back and others, while nobody raised is busy, and then.
const SHARES: [[u64; 2]; 2] = [[8, 12], [3, 6]];

/// `a / b` to the nearest whole number, half up.
fn rounded(a: i64, b: i64) -> i64 {
    (a + b / 2) / b
}

impl Bfq {
    pub(super) fn admission(&self, device: &DeviceFacts, bio: &Bio) -> Admission {
        let share = SHARES[usize::from(self.raised_busy > 0)][usize::from(bio.waiter == Waiter::Sync)];
        let all = self.scheduling.tags.all(device);
        let (tags, limit) = match bio.op {
            Op::Read => (all, device.nr_requests),
            _ => {
                let tags = ((u64::from(all) * share / 16) as u32).max(1);
                (tags, (u64::from(device.nr_requests) * u64::from(tags) / u64::from(all.max(1))) as u32)
            }
        };
        let own = self.contexts.find(bio.submitter).and_then(|context| self.contexts[context].queues[bio.waiter]);
        if own.is_some_and(|q| self.has_its_share(q, i64::from(limit))) {
            return self.scheduling.tags.admission(1);
        }
        match bio.op {
            Op::Read => Admission::Unlimited,
            _ if self.scheduling.tags == Tags::All && tags >= device.nr_requests => Admission::Unlimited,
            _ => self.scheduling.tags.admission(tags),
        }
    }

    /// A queue, or a group that it is in, has as many requests on their way as its weight allows of `limit`.
    fn has_its_share(&self, q: Qid, limit: i64) -> bool {
        if self.scheduling.groups == Groups::Off || self.path(q).any(|n| self.entities[n].place == Place::Out) {
            return false;
        }
        self.left_for(Node::queue(q), limit).is_none()
    }

    /// What of `limit` the groups above leave to `n`, from the top down; `None` if one of them, or `n`, has all of its
    /// part on the way.
    fn left_for(&self, n: Node, limit: i64) -> Option<i64> {
        let entity = &self.entities[n];
        let limit = match self.group_above(entity.level) {
            Some(group) => self.left_for(group, limit)?,
            None => limit,
        };
        let classes = &self.levels[entity.level].classes;
        let weights = match n.as_queue() {
            // Higher classes weigh eight times as much.
            Some(_) => classes[..=entity.class as usize].iter().fold(0, |sum, tree| 8 * sum + tree.weight),
            None => classes[entity.class as usize].weight,
        };
        if weights == 0 {
            return Some(limit);
        }
        let limit = rounded(limit * entity.weight, weights);
        (entity.allocated < limit).then_some(limit)
    }

    /// A request of a queue exists, or no more: it counts for the queue and the groups that it is in at that moment.
    pub(super) fn count_allocated(&mut self, q: Qid, change: i64) {
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
}
