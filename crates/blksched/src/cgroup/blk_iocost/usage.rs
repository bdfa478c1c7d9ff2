//! How much of its share a group needs.
//!
//! **Rule** Its usage in the last period divided by its possible usage; more while it falls behind. A group with
//! waiters needs all it can get, a group in debt nothing.
//! **Origin** docs/behaviour/cgroup-io.md#k7, step c.
//! **Costs when wrong** The product of use and whole is computed in 32 bits: a group that used *all* of its time is
//! taken for one that used none, and donates everything for a period.
//! **In the kernel** `hweight_after_donation`.

use alloc::vec::Vec;

use super::weights::ratio_up;
use super::{IoCost, Now, Overflows, WHOLE};
use crate::request::GroupId;

/// The result of examining all groups.
#[derive(Clone, Debug, Default)]
pub(super) struct UsageFound {
    /// The number of groups whose I/O is stuck in the device.
    pub(super) lagging: u32,
    /// The number of groups that want more than they have.
    pub(super) shortages: u32,
    /// The groups that donate, and what each keeps.
    pub(super) donors: Vec<Donor>,
    /// The time that all of them used \[us\].
    pub(super) used: u64,
}

/// A group that donates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Donor {
    pub(super) id: GroupId,
    pub(super) share: u64,
    /// The share that it keeps.
    pub(super) keeps: u64,
}

impl IoCost {
    /// Examines every active group.
    pub(super) fn look_at_usage(&mut self, now: Now) -> UsageFound {
        let mut found = UsageFound::default();
        let period = now.vnow.wrapping_sub(self.pace.period_vtime) as i64;
        let ids = self.active.clone();
        let mut usages = Vec::with_capacity(ids.len());
        for &id in &ids {
            let base = self.pace.base;
            let used = core::mem::take(&mut self.account(id).usage) / base;
            usages.push(used);
            found.used += used;
        }
        for (&id, used) in ids.iter().zip(usages) {
            found.lagging += u32::from(self.lags(now, id, period));
            // By the shares of the last commit, even if a group before it has just changed its weight: only `most` uses
            // the present sums.
            self.judge(now, id, used, &mut found);
        }
        found
    }

    /// Whether its I/O has been stuck in the device for periods.
    fn lags(&self, now: Now, id: GroupId, period: i64) -> bool {
        let account = &self.accounts[id.0 as usize];
        let behind = |vtime: u64| now.vnow.wrapping_sub(vtime) as i64;
        self.qos.has_percentile()
            && account.delay == 0
            && account.vtime.wrapping_sub(account.done) as i64 > 0
            && behind(account.vtime) < 10 * period
            && behind(account.done) > period
    }

    fn judge(&mut self, now: Now, id: GroupId, used: u64, found: &mut UsageFound) {
        let (hwa, hwi) = (self.tree.hwa(id), self.tree.hwi(id));
        let account = &self.accounts[id.0 as usize];
        let margin = now.vnow.wrapping_sub(account.vtime) as i64;
        if !(hwi < hwa || (!account.waits() && margin > self.margins.low)) {
            found.shortages += 1;
            return;
        }
        let used = self.used_share(now, id, used);
        let most = self.tree.most(id);
        let keeps = self.needs(now, id, used, most);
        if keeps < most && hwa >= 2 {
            found.donors.push(Donor { id, share: hwa, keeps });
        } else if self.accounts[id.0 as usize].debt == 0 {
            let active = self.tree.active(id);
            self.set_weights(now, id, active, active, super::Save::Yes);
            found.shortages += 1;
        }
    }

    /// The part that it used of the time in which it was active.
    fn used_share(&self, now: Now, id: GroupId, used: u64) -> u64 {
        let account = &self.accounts[id.0 as usize];
        let flying = account.vtime.wrapping_sub(account.done);
        let used = match flying {
            0 => used,
            flying => used.max(self.full_price(id, flying).div_ceil(self.pace.base)),
        };
        let there = now.us.saturating_sub(self.pace.period_us.max(account.active_since)).max(1);
        ratio_up(used, WHOLE, there).clamp(1, WHOLE)
    }

    /// The share that it keeps.
    fn needs(&mut self, now: Now, id: GroupId, used: u64, most: u64) -> u64 {
        let account = &self.accounts[id.0 as usize];
        if account.debt > 0 {
            return 1;
        }
        let margin = now.vnow.wrapping_sub(account.vtime) as i64;
        if account.waits() || margin < self.margins.min {
            return most;
        }
        let excess = self.forfeit(now, id);
        let account = self.account(id);
        account.vtime = account.vtime.wrapping_add(excess);
        account.done = account.done.wrapping_add(excess);
        let left = now.vnow.wrapping_sub(account.vtime) as i64;
        let period = (now.vnow.wrapping_sub(self.pace.period_vtime) as i64).max(1);
        let part = (i128::from(WHOLE) * i128::from(left) / i128::from(period)) as i64;
        // In the kernel's 32 bits a group that used all of its time seems to have used none, and keeps almost nothing.
        let over = match self.config.overflows {
            Overflows::Kernel => u64::from((WHOLE * used) as u32),
            Overflows::None => WHOLE * used,
        };
        let needs = over as i64 / (WHOLE as i64 / 2 + part).max(1);
        needs.clamp(1, most as i64) as u64
    }
}
