//! The end of a period: the evaluation.
//!
//! **Rule** Latencies are evaluated; idle groups leave; donors are found and donate; the clock's rate is adjusted;
//! debts are forgiven; the next period begins if any group is left.
//! **Origin** docs/behaviour/cgroup-io.md#k7. Shares change at two commits only: once idle groups have left, and once
//! donors have donated.
//! **In the kernel** `ioc_timer_fn`, `ioc_check_iocgs`, `ioc_lat_stat`, `period_at`.

use alloc::vec::Vec;

use super::state::SharesFollow;
use super::{IoCost, Now, Save, Woken};
use crate::request::GroupId;
use crate::time::Instant;

impl IoCost {
    /// Handles the period's timer.
    pub fn end_period(&mut self, at: Instant, woken: &mut Vec<Woken>) {
        let now = self.now(at);
        self.shares = SharesFollow::AtCommits;
        let observed = self.observe();
        let debtors = self.settle_groups(now, woken);
        self.commit();
        // Groups are evaluated by the shares of this commit; what donors give takes effect at the next.
        let mut found = self.look_at_usage(now);
        if !found.donors.is_empty() && found.shortages > 0 {
            self.transfer(now, &mut found.donors);
        }
        self.commit();
        self.adjust_rate(observed, found.shortages, found.lagging);
        self.check_class(now);
        self.forgive(now, debtors, found.used, woken);
        self.shares = SharesFollow::AtOnce;
        self.period += 1;
        self.period_ends = None;
        if self.active.is_empty() {
            (self.pace.busy, self.pace.err) = (0, 0);
        } else {
            self.begin_period(at);
        }
        let now = self.now(at);
        self.refresh_rate(now);
    }

    /// Handles waiting tasks, and deactivates idle groups; returns the number of groups in debt or delayed.
    fn settle_groups(&mut self, now: Now, woken: &mut Vec<Woken>) -> usize {
        let mut debtors = 0;
        for id in self.active.clone() {
            let account = &self.accounts[id.0 as usize];
            if account.waits() || account.debt > 0 || account.delay > 0 {
                self.kick(now, id, true, woken);
                let account = &self.accounts[id.0 as usize];
                debtors += usize::from(account.debt > 0 || account.delay > 0);
            } else if account.stamp != self.period && account.done == account.vtime {
                self.leave(now, id);
            }
        }
        debtors
    }

    /// Deactivates a group that has sent nothing for a whole period and has nothing in flight.
    fn leave(&mut self, now: Now, id: GroupId) {
        self.forfeit(now, id);
        self.set_weights(now, id, 0, 0, Save::No);
        self.tree.set_itself(id, false);
        self.active.retain(|&active| active != id);
    }
}
