//! The cost of a bio, by the model.
//!
//! **Rule** Its pages, plus a sequential or a random I/O; a bio that joins a request costs only its pages. An I/O is
//! random if it begins more than 16 MiB from where its group's last one ended.
//! **In the kernel** `calc_vtime_cost`, `calc_vtime_cost_builtin`.
//! **Origin** docs/behaviour/cgroup-io.md#k3.

use super::IoCost;
use crate::request::{Bio, Dir, Op};

/// An I/O that begins farther away than this is random \[pages\].
const FAR: u64 = 4096;
/// The number of sectors in a page.
const PAGE_SECTORS: u64 = 8;

/// The part of a bio that is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priced {
    /// Pages and the I/O itself.
    Whole,
    /// Only pages, because it joined a request.
    Pages,
}

impl IoCost {
    /// The full price of a bio; 0: free.
    pub(super) fn price(&self, bio: &Bio, kind: Priced) -> u64 {
        let Some(dir) = priced(bio) else { return 0 };
        let prices = self.coefficients.of(dir);
        let pages = (u64::from(bio.sectors) / PAGE_SECTORS).max(1) * prices.page;
        let cursor = self.accounts[bio.group.0 as usize].cursor;
        let distance = if cursor == 0 { 0 } else { bio.start.0.abs_diff(cursor) / PAGE_SECTORS };
        match kind {
            Priced::Pages => pages,
            Priced::Whole if distance > FAR => pages + prices.random,
            Priced::Whole => pages + prices.sequential,
        }
    }
}

/// The direction whose price applies; everything except reads and writes is free.
pub(super) fn priced(bio: &Bio) -> Option<Dir> {
    match bio.op {
        Op::Read => Some(Dir::Read),
        Op::Write if bio.sectors > 0 => Some(Dir::Write),
        _ => None,
    }
}
