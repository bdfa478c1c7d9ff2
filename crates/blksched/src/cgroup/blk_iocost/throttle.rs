//! The handling of a bio that did not merge.
//!
//! **Rule** Its group is charged. A group that has donated some of its share takes it back, step by step, when its
//! margin is short. A task that would be ahead of the device's clock sleeps, first come, first served; bios that must
//! not wait (metadata, swap) pass on credit.
//! **Origin** docs/behaviour/cgroup-io.md#k4 (activation) and #k5.
//! **Costs when wrong** The step back is computed in 32 bits: for weights above 2621 it is not a quarter.
//! **In the kernel** `ioc_rqos_throttle`, `adjust_inuse_and_calc_cost`, `abs_cost_to_cost`, `iocg_commit_bio`.

use alloc::vec::Vec;

use super::price::Priced;
use super::state::Forgiveness;
use super::weights::ratio_up;
use super::{CostTask, IoCost, Now, Overflows, Save, Verdict, WHOLE, Woken};
use crate::request::{Bio, GroupId};
use crate::time::Instant;

impl IoCost {
    /// A bio of `task` that did not merge asks to continue. This may wake other tasks, and also `task` itself, at once.
    pub fn throttle(&mut self, now: Instant, task: CostTask, bio: &Bio, woken: &mut Vec<Woken>) -> Verdict {
        let id = bio.group;
        let price = self.price(bio, Priced::Whole);
        if id == GroupId::ROOT || price == 0 || !self.activate(now, id) {
            return Verdict::Go { cost: 0 };
        }
        let now = self.now(now);
        self.account(id).stamp = self.period;
        self.account(id).cursor = bio.end().0;
        let cost = self.cost_after_stepping_back(now, id, price);
        let account = self.account(id);
        let fits = now.vnow.wrapping_sub(account.vtime.wrapping_add(cost)) as i64 >= 0;
        if !account.waits() && account.debt == 0 && fits {
            account.vtime = account.vtime.wrapping_add(cost);
            account.usage += price;
            return Verdict::Go { cost };
        }
        if bio.is_as_root() {
            self.incur_debt(now, id, price);
            self.delay_anew(now, id);
            return Verdict::Debt;
        }
        let mut pays = self.accounts[id.0 as usize].debt > 0;
        if !pays && self.tree.inuse(id) < self.tree.active(id) {
            let active = self.tree.active(id);
            self.set_weights(now, id, active, active, Save::Yes);
            pays = true;
        }
        // The kick may let this very bio go on at once.
        self.account(id).waiting.push_back((task, price));
        self.kick(now, id, pays, woken);
        Verdict::Sleep
    }

    /// A bio joined a request, which was charged or not; it costs its pages, on credit if they do not fit.
    pub fn merged(&mut self, now: Instant, bio: &Bio, is_back: bool, was_charged: bool) -> u64 {
        let id = bio.group;
        let price = self.price(bio, Priced::Pages);
        if id == GroupId::ROOT || price == 0 {
            return 0;
        }
        let now = self.now(now);
        if is_back && self.accounts[id.0 as usize].cursor == bio.start.0 {
            self.account(id).cursor = bio.end().0;
        }
        let cost = self.relative(id, price);
        let account = self.account(id);
        let fits = now.vnow.wrapping_sub(account.vtime.wrapping_add(cost)) as i64 >= 0;
        if was_charged && fits {
            account.vtime = account.vtime.wrapping_add(cost);
            account.usage += price;
            return cost;
        }
        if self.active.contains(&id) {
            self.incur_debt(now, id, price);
            self.delay_anew(now, id);
        }
        0
    }

    /// A group's cost for a price, by its share in use.
    pub(super) fn relative(&self, id: GroupId, price: u64) -> u64 {
        ratio_up(price, WHOLE, self.tree.hwi(id))
    }

    /// Activates the group. Returns false if its ancestors or descendants compete in its place.
    fn activate(&mut self, now: Instant, id: GroupId) -> bool {
        if self.active.contains(&id) {
            return true;
        }
        if self.tree.has_active_children(id) || self.tree.is_below_an_active_one(id) {
            // Its shares are those of this moment, though nothing is charged by them.
            self.tree.refresh(id);
            return false;
        }
        if self.period_ends.is_none() {
            self.begin_period(now);
            self.forgiveness = Forgiveness::from(self.pace.period_us);
        }
        let now = self.now(now);
        // It starts with the target margin, whatever it saved before: idle time earns no more than that.
        let target = now.vnow.wrapping_sub(self.margins.target as u64);
        let account = self.account(id);
        let moved = target.wrapping_sub(account.vtime);
        account.vtime = target;
        account.done = account.done.wrapping_add(moved);
        account.active_since = now.us;
        account.stamp = 0;
        // The group activated last is evaluated first.
        self.active.insert(0, id);
        self.tree.set_itself(id, true);
        let (weight, last) = (self.tree.weight(id), self.tree.last_inuse(id));
        self.set_weights(now, id, weight, if last == 0 { weight } else { last }, Save::Yes);
        true
    }

    /// The cost of a bio to its group, which takes back what it needs of its share.
    fn cost_after_stepping_back(&mut self, now: Now, id: GroupId, price: u64) -> u64 {
        let mut cost = self.relative(id, price);
        let account = &self.accounts[id.0 as usize];
        let (active, inuse) = (self.tree.active(id), self.tree.inuse(id));
        let margin = now.vnow.wrapping_sub(account.vtime).wrapping_sub(cost) as i64;
        if account.debt > 0 || inuse >= active || margin >= account.saved_margin || margin >= self.margins.low {
            return cost;
        }
        let (vtime, step) = (account.vtime, self.step(active));
        let mut claimed = inuse;
        loop {
            claimed += step;
            self.set_weights(now, id, active, claimed, Save::Yes);
            cost = self.relative(id, price);
            let fits = now.vnow.wrapping_sub(vtime.wrapping_add(cost)) as i64 >= 0;
            if fits || self.tree.inuse(id) >= active {
                return cost;
            }
        }
    }

    /// How much of its weight a group takes back at a time: a quarter, apart from the overflow.
    fn step(&self, active: u64) -> u64 {
        let quarter = active * 25 + 99;
        match self.config.overflows {
            Overflows::Kernel => u64::from(quarter as u32) / 100,
            Overflows::None => quarter / 100,
        }
    }
}
