//! Flushes are charged: a tenant that flushes in a loop gets its share of the disk's time for that, and no more.
//!
//! **Rule** A flush goes ahead of everything in the elevator, and blocks the disk for all others while it lasts. So
//! after a flush that took time `took`, the tenant's next one waits `took × weights of the others that want the disk /
//! own weight`. If no other tenant wants the disk, it does not wait. Flushes that wait together are combined. A flush
//! that took much longer than this tenant's usually do met a stall, for which it does not pay (`turns/cost.rs`): beyond
//! [`CREDIT`] only half as much again as usual counts.

use blksched::Span;

use super::Shard;
use crate::config::Shares;
use crate::turns::CREDIT;

/// How long a tenant's next flush waits after one that took `took`; they usually take `usual`.
pub(super) fn pause(took: Span, usual: Span, own: u32, others: u32) -> Span {
    let times = |span: Span| {
        let ns = u128::from(span.as_ns()) * u128::from(others) / u128::from(own.max(1));
        Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    };
    times(took).min(times(usual + usual / 2).max(CREDIT))
}

impl Shard {
    /// The weights of the other tenants that want the disk now.
    pub(super) fn rivals(&self, tenant: usize) -> u32 {
        let others = self.tenants.iter().enumerate().filter(|&(at, other)| at != tenant && other.outstanding > 0);
        others.map(|(_, other)| other.share.weight).sum()
    }

    /// Releases the flushes that have waited long enough, or wait for nothing.
    pub(super) fn release_flushes(&mut self, tenant: usize) {
        // Where turns are taken, flushes take theirs.
        let early = self.setting.shares == Shares::ByScheduler && self.now < self.tenants[tenant].flushes_from;
        if self.tenants[tenant].held_flushes.is_empty() || (early && self.rivals(tenant) > 0) {
            return;
        }
        for piece in core::mem::take(&mut self.tenants[tenant].held_flushes) {
            self.offer(piece, tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_in_a_loop_take_no_more_than_their_share() {
        let took = Span::from_ms(10);
        assert_eq!(pause(took, took, 100, 0), Span::ZERO);
        assert_eq!(pause(took, took, 100, 300), Span::from_ms(30), "a quarter of the time for a quarter of the weight");
        assert_eq!(pause(Span::MAX, Span::from_secs(1 << 33), 1, u32::MAX), Span::MAX);
    }

    #[test]
    fn a_stall_is_not_multiplied_by_the_number_of_tenants() {
        let usual = Span::from_ms(2);
        assert_eq!(pause(Span::from_ms(3), usual, 100, 6300), Span::from_ms(189), "half as much again as usual");
        assert_eq!(pause(Span::from_ms(500), usual, 100, 6300), Span::from_ms(189));
        assert_eq!(pause(Span::from_ms(500), usual, 100, 1500), CREDIT, "which is no more than others' credit");
    }
}
