//! The rule that ends a batch.
//!
//! **What for** A disk that continues in sector order is fast; a request elsewhere waits for the end of the batch.
//! **Rule, 2.5** A batch has `fifo_batch` points. A request that continues the one before it costs 1 (2.5.38) or 1 per
//! 256 sectors begun (2.5.45); any other costs `seek_cost`. The batch stops when its points are used up, or at the last
//! request of the order. So the default 64 at 16 a seek are four seeks, or 64 contiguous requests.
//! **Rule, 2.6 to 4.20** `fifo_batch` requests, however far apart; or the highest sector: it never wraps.
//! **Origin** the mail of 2002-09-26 (2.5.38), docs/behaviour/elevators-2.5-2.6.md#d25.6 and #d26.2.
//! **Shown by** the mail's table: from 64 to 16 points a read's wait falls from 5 s to 0.2 s.
//! **In the kernel** `fifo_batch`, `batching`, `seek_cost`.

use crate::mechanism;

mechanism! {
    /// the cost of a contiguous request to a batch (2.5)
    pub enum Cost = "cost" {
        /// 1: 2.5.38 (mail of 2002-09-26)
        PerRequest = "per_request",
        /// 1 per 128 KiB begun: 2.5.45
        PerSize = "per_size",
    }
}

/// The points left to a batch of 2.5.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left: i64,
}

impl Budget {
    pub(super) fn new(fifo_batch: i32) -> Budget {
        Budget { left: i64::from(fifo_batch) }
    }

    /// Charges a request that was just moved.
    pub(super) fn charge(&mut self, cost: Cost, contiguous: bool, sectors: u32, seek_cost: i32) {
        self.left -= match (contiguous, cost) {
            // A seek costs the same however short the request behind it is.
            (false, _) => i64::from(seek_cost),
            (true, Cost::PerRequest) => 1,
            (true, Cost::PerSize) => i64::from(sectors.div_ceil(256)),
        };
    }

    pub(super) fn is_spent(self) -> bool {
        self.left <= 0
    }
}

/// Whether a batch that has had `taken` requests may take another (since 2.6).
pub(in crate::elevators) fn goes_on(taken: u32, fifo_batch: i32) -> bool {
    // At 0 the first request is not asked, so every batch has one.
    i64::from(taken) < i64::from(fifo_batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many requests a batch moves if each is `sectors` long and all but the first are contiguous.
    fn moved(fifo_batch: i32, cost: Cost, sectors: u32) -> u32 {
        let mut budget = Budget::new(fifo_batch);
        for nth in 1.. {
            budget.charge(cost, nth > 1, sectors, 16);
            if budget.is_spent() {
                return nth;
            }
        }
        unreachable!()
    }

    #[test]
    fn a_batch_behind_a_seek_is_49_17_1_and_1_requests_long_at_the_mails_settings() {
        let lengths = [64, 32, 16, 8].map(|fifo_batch| moved(fifo_batch, Cost::PerRequest, 256));
        assert_eq!(lengths, [49, 17, 1, 1]);
    }

    #[test]
    fn seeks_cost_sixteen_so_64_points_are_four_of_them() {
        let mut budget = Budget::new(64);
        for _ in 0..3 {
            budget.charge(Cost::PerRequest, false, 8, 16);
            assert!(!budget.is_spent());
        }
        budget.charge(Cost::PerRequest, false, 8, 16);
        assert!(budget.is_spent());
    }

    #[test]
    fn in_2_5_45_a_contiguous_request_costs_its_length_in_128_kib() {
        assert_eq!(moved(64, Cost::PerSize, 1024), 13);
        assert_eq!(moved(64, Cost::PerSize, 8), 49);
    }

    #[test]
    fn since_2_6_a_batch_counts_requests_and_none_goes_on_at_zero() {
        assert!(goes_on(15, 16) && !goes_on(16, 16) && !goes_on(0, 0));
    }
}
