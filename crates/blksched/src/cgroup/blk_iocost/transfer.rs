//! The transfer of donors' unneeded shares to all other groups, in proportion to the weights.
//!
//! **Rule** Each donor keeps what it needs; the sum of weights in use shrinks so that all others' shares grow
//! proportionally.
//! **Origin** docs/behaviour/cgroup-io.md#k7, step d. Inner nodes are the ancestors of donors alone, root included.
//! **In the kernel** `transfer_surpluses`.

use alloc::vec::Vec;

use super::usage::Donor;
use super::weights::ratio_up;
use super::{IoCost, Now, Save, WHOLE};
use crate::request::GroupId;

/// An inner group on the way from the root to donors.
#[derive(Clone, Copy, Debug, Default)]
struct Inner {
    id: GroupId,
    depth: usize,
    /// Its share by weight; the parts of it that donors below have and keep.
    share: u64,
    given: u64,
    kept: u64,
    /// Its share after the transfer, and the sum of the claims below it.
    after: u64,
    sum: u64,
}

impl IoCost {
    /// Transfers donors' shares; the claims of other groups stay, but are worth more.
    pub(super) fn transfer(&mut self, now: Now, donors: &mut [Donor]) {
        scale_down(donors);
        let mut inner = self.inner_groups(donors);
        for nth in 0..inner.len() {
            self.weigh_inner(&mut inner, nth);
        }
        for nth in 0..inner.len() {
            self.shift_inner(&mut inner, nth);
        }
        for donor in donors {
            if self.accounts[donor.id.0 as usize].debt > 0 {
                continue;
            }
            let above = of(&inner, self.tree.parent(donor.id));
            let claim = ratio_up(above.sum, donor.keeps, above.after);
            let active = self.tree.active(donor.id);
            self.set_weights(now, donor.id, active, claim, Save::Yes);
        }
    }

    /// The ancestors of donors, the root first, with what donors below them have and keep.
    fn inner_groups(&self, donors: &[Donor]) -> Vec<Inner> {
        let mut inner: Vec<Inner> = Vec::new();
        for donor in donors {
            for id in self.tree.above(donor.id) {
                let at = inner.iter().position(|inner| inner.id == id).unwrap_or_else(|| {
                    inner.push(Inner { id, depth: self.tree.above(id).count(), ..Inner::default() });
                    inner.len() - 1
                });
                inner[at].given += donor.share;
                inner[at].kept += donor.keeps;
            }
        }
        inner.sort_by_key(|inner| (inner.depth, inner.id));
        inner
    }

    fn weigh_inner(&self, inner: &mut [Inner], nth: usize) {
        let id = inner[nth].id;
        inner[nth].share = match id {
            GroupId::ROOT => WHOLE,
            _ => {
                let above = of(inner, self.tree.parent(id)).share;
                ratio_up(above, self.tree.active(id), self.tree.sums(self.tree.parent(id)).0)
            }
        };
        let Inner { share, given, kept, .. } = inner[nth];
        inner[nth].given = given.min(share);
        inner[nth].kept = kept.min(inner[nth].given.saturating_sub(1));
    }

    fn shift_inner(&self, inner: &mut [Inner], nth: usize) {
        let root = inner[0];
        let Inner { id, share, given, kept, .. } = inner[nth];
        let suma = self.tree.sums(id).0;
        if id == GroupId::ROOT {
            inner[nth].after = WHOLE;
            inner[nth].sum = ratio_up(suma, WHOLE - given, WHOLE - kept);
            return;
        }
        let gamma = ratio_up(WHOLE - root.kept, WHOLE, WHOLE - root.given.min(WHOLE - 1));
        let after = ratio_up(gamma, share - given, WHOLE) + kept;
        let above = of(inner, self.tree.parent(id));
        let claim = ratio_up(above.sum, after, above.after);
        let theirs = ratio_up(suma, given, share);
        let active = self.tree.active(id);
        let theirs_after = ratio_up(theirs, ratio_up(claim, kept, after), ratio_up(active, given, share));
        inner[nth].after = after;
        inner[nth].sum = suma - theirs + theirs_after;
    }
}

fn of(inner: &[Inner], id: GroupId) -> Inner {
    *inner.iter().find(|inner| inner.id == id).expect("an ancestor of a donor is among them")
}

/// Rounding up can make donors keep everything; then those that keep more than their share keep less.
fn scale_down(donors: &mut [Donor]) {
    let kept: u64 = donors.iter().map(|donor| donor.keeps).sum();
    if kept < WHOLE {
        return;
    }
    let over: u64 = donors.iter().filter(|donor| donor.keeps > donor.share).map(|donor| donor.keeps).sum();
    let excess = kept - (WHOLE - 1);
    for donor in donors.iter_mut().filter(|donor| donor.keeps > donor.share) {
        donor.keeps = (donor.keeps * over.saturating_sub(excess) / over).max(1);
    }
}
