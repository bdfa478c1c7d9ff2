//! Debt: metadata and swap, which must not wait for other groups, pass on credit.
//!
//! **Rule** A group in debt claims nothing of its share until it has paid. While the debt is large, its tasks are
//! delayed on their way back to user space. When the device has been half idle for a while, debts are halved.
//! **Origin** docs/behaviour/cgroup-io.md#k8 and, forgiveness, #k7.
//! **In the kernel** `iocg_incur_debt`, `iocg_pay_debt`, `ioc_forgive_debts`, `iocg_kick_delay`, `abs_vdebt`.

use alloc::vec::Vec;

use super::state::Forgiveness;
use super::weights::ratio_up;
use super::{IoCost, Now, Save, WHOLE, Woken};
use crate::request::GroupId;

/// How often debts are examined \[us\].
const FORGIVE_EVERY: u64 = 100_000;
/// No debt is forgiven while more than this part of the device is used \[%\].
const FORGIVE_BELOW: u64 = 50;
/// Delays begin above the first of these parts of a period \[%\], and are longest at the second.
const OVERAGE: core::ops::RangeInclusive<i64> = 500..=25_000;
/// The shortest and the longest delay \[us\].
const DELAYS: core::ops::RangeInclusive<i64> = 250..=250_000;
const US_PER_S: u64 = 1_000_000;

impl IoCost {
    pub(super) fn incur_debt(&mut self, now: Now, id: GroupId, price: u64) {
        if self.accounts[id.0 as usize].debt == 0 {
            let active = self.tree.active(id);
            // It claims as good as nothing, and no other rule changes that until the debt is paid.
            self.set_weights(now, id, active, 0, Save::No);
        }
        let account = self.account(id);
        account.debt += price;
        account.usage += price;
    }

    /// Recomputes the delay of this group's tasks.
    pub(super) fn delay_anew(&mut self, now: Now, id: GroupId) {
        let per_cent = (self.period_us * self.pace.base) as i64;
        let share = self.tree.hwa(id);
        let account = self.account(id);
        let seconds = now.us.saturating_sub(account.delay_at) / US_PER_S;
        let old = if seconds < 64 { account.delay >> seconds } else { 0 };
        let ahead = account.vtime.wrapping_add(ratio_up(account.debt, WHOLE, share)).wrapping_sub(now.vnow) as i64;
        let over = (i128::from(ahead) * 100 / i128::from(per_cent.max(1))) as i64;
        let new = delay_of(over) as u64;
        // The stored delay halves every second; only a longer one replaces it.
        if new > old {
            (account.delay, account.delay_at) = (new, now.us);
        }
        if new.max(old) < *DELAYS.start() as u64 {
            account.delay = 0;
        }
    }

    /// A period has ended in which groups used this much \[us\].
    pub(super) fn forgive(&mut self, now: Now, debtors: usize, used: u64, woken: &mut Vec<Woken>) {
        if debtors == 0 {
            self.forgiveness = Forgiveness::from(now.us);
            return;
        }
        let busy = self.pace.busy > 0;
        // A busy device counts as used for at least the whole period.
        let at_least = if busy { self.period_us } else { 0 };
        let Forgiveness { since, used: before, remainder } = self.forgiveness;
        let (used, elapsed) = (before + used.max(at_least), now.us - since);
        if elapsed < FORGIVE_EVERY {
            self.forgiveness.used = used;
            return;
        }
        self.forgiveness = Forgiveness::from(now.us);
        if 100 * used / elapsed > FORGIVE_BELOW {
            return;
        }
        let cycles = (elapsed + remainder) / FORGIVE_EVERY;
        self.forgiveness.remainder = (elapsed + remainder) % FORGIVE_EVERY;
        let halved = |value: u64| if cycles < 64 { (value >> cycles).max(1) } else { 1 };
        for id in self.active.clone() {
            let account = self.account(id);
            if account.debt == 0 && account.delay == 0 {
                continue;
            }
            for value in [&mut account.debt, &mut account.delay] {
                *value = if *value > 0 { halved(*value) } else { 0 };
            }
            self.kick(now, id, true, woken);
        }
    }
}

/// The delay of a group that is ahead by this part of a period \[%\].
fn delay_of(over: i64) -> i64 {
    if over <= *OVERAGE.start() {
        0
    } else if over >= *OVERAGE.end() {
        *DELAYS.end()
    } else {
        let (least, most) = (*DELAYS.start(), *DELAYS.end());
        least + (most - least) * (over - OVERAGE.start()) / (OVERAGE.end() - OVERAGE.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_grows_from_a_quarter_of_a_millisecond_to_a_quarter_of_a_second() {
        assert_eq!(
            [500, 501, 12_750, 24_999, 25_000, 90_000].map(delay_of),
            [0, 260, 125_125, 249_989, 250_000, 250_000]
        );
    }
}
