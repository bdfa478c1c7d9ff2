//! Waking tasks when their group has budget again.
//!
//! **Rule** Debt is paid first. Then tasks wake in the order of their arrival, as far as the budget allows; for the
//! next one a timer is set.
//! **Origin** docs/behaviour/cgroup-io.md#k6.
//! **In the kernel** `iocg_kick_waitq`, `iocg_wake_fn`, `iocg_waitq_timer_fn`.

use alloc::vec::Vec;

use super::weights::{ratio, ratio_up};
use super::{IoCost, Now, Save, WHOLE, Woken};
use crate::request::GroupId;

impl IoCost {
    /// Wakes the tasks for which there is budget; `pays`: debt is paid from it first.
    pub(super) fn kick(&mut self, now: Now, id: GroupId, pays: bool, woken: &mut Vec<Woken>) {
        let account = &self.accounts[id.0 as usize];
        let mut budget = now.vnow.wrapping_sub(account.vtime) as i64;
        if pays && account.debt > 0 && budget > 0 {
            budget = self.pay(now, id, budget);
        }
        let account = &self.accounts[id.0 as usize];
        if account.debt > 0 || account.delay > 0 {
            self.delay_anew(now, id);
        }
        let account = &self.accounts[id.0 as usize];
        if account.debt > 0 {
            // Nothing is left for tasks; the timer is set for when the debt is paid, too.
            budget = (budget - ratio_up(account.debt, WHOLE, self.tree.hwa(id)) as i64).min(0);
        }
        while let Some(&(task, price)) = self.accounts[id.0 as usize].waiting.front() {
            let cost = self.relative(id, price);
            budget -= cost as i64;
            if budget < 0 {
                break;
            }
            let account = self.account(id);
            account.waiting.pop_front();
            account.vtime = account.vtime.wrapping_add(cost);
            account.usage += price;
            woken.push(Woken { task, cost });
        }
        if self.accounts[id.0 as usize].waits() {
            self.arm(now, id, budget.unsigned_abs());
        }
    }

    /// Pays debt from a budget; returns the rest of the budget.
    fn pay(&mut self, now: Now, id: GroupId, budget: i64) -> i64 {
        let share = self.tree.hwa(id);
        let account = self.account(id);
        let paid = ratio_up(budget as u64, share, WHOLE).min(account.debt);
        let cost = ratio_up(paid, WHOLE, share);
        account.vtime = account.vtime.wrapping_add(cost);
        account.done = account.done.wrapping_add(cost);
        account.debt -= paid;
        if account.debt == 0 {
            let (active, inuse) = (self.tree.active(id), self.tree.last_inuse(id));
            self.set_weights(now, id, active, inuse, Save::No);
        }
        budget - cost as i64
    }

    /// Arms the timer for when the clock has advanced by the missing amount; a timer that is near enough stays.
    fn arm(&mut self, now: Now, id: GroupId, missing: u64) {
        let slack = self.period_us * 10;
        let expires = now.ns + missing.div_ceil(self.pace.base) * 1000 + slack;
        let account = self.account(id);
        if account.wakes_at.is_none_or(|at| at.abs_diff(expires) > slack) {
            account.wakes_at = Some(expires);
        }
    }

    /// A group's full price of a cost, by its share, rounded up.
    pub(super) fn full_price(&self, id: GroupId, cost: u64) -> u64 {
        ratio_up(cost, self.tree.hwi(id), WHOLE)
    }

    /// Takes away budget beyond the target margin; returns how much, in the group's own virtual time.
    pub(super) fn forfeit(&mut self, now: Now, id: GroupId) -> u64 {
        let target = self.margins.target;
        let account = self.account(id);
        let excess = (now.vnow.wrapping_sub(account.vtime) as i64).saturating_sub(target);
        if excess <= 0 {
            return 0;
        }
        let excess = excess as u64;
        let share = self.tree.hwi(id);
        self.pace.err -= ratio(excess, share, WHOLE) as i64;
        excess
    }
}
