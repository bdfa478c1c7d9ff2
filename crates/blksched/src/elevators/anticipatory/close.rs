//! The rule that says that a request is as near as the awaited one would be.
//!
//! **Rule** Within 8192 sectors ahead of where the arm was left (half as far back); twice as far for each tick waited;
//! anything once 20 ms or `antic_expire` have passed. Else: nearer than the awaited process seeks on average.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.8.
//! **Costs when wrong** If it is too narrow, two processes that read one file wait for each other; if it is too wide,
//! the disk leaves the process that it waits for.
//! **In the kernel** `as_close_req`.

use crate::request::Sector;
use crate::time::{Jiffies, Tick};

/// The initial distance that is near \[sectors\].
const NEAR: u64 = 8192;

/// The inputs of the rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosenessInputs {
    /// Where the last request of the batch's class ended.
    pub(super) arm: Sector,
    /// How long the disk has been left idle; 0 if it is not.
    pub(super) waited: Tick,
    /// How long it may be left idle.
    pub(super) antic_expire: Tick,
    /// The mean seek of the awaited process, or of new ones \[sectors\].
    pub(super) seek_mean: u64,
}

pub(super) fn is_close(place: ClosenessInputs, start: Sector, jiffies: Jiffies) -> bool {
    let ClosenessInputs { arm, waited, antic_expire, seek_mean } = place;
    let longest = (20 * u64::from(jiffies.hz()) / 1000).min(antic_expire);
    if waited > 0 && waited > longest {
        return true;
    }
    let near = NEAR << waited;
    let around = arm.0 <= start.0.saturating_add(near / 2) && start.0 <= arm.0.saturating_add(near);
    around || start.distance(arm) < seek_mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(waited: Tick, offset: i64) -> bool {
        let place = ClosenessInputs { arm: Sector(1 << 20), waited, antic_expire: 6, seek_mean: 0 };
        is_close(place, Sector((1u64 << 20).checked_add_signed(offset).unwrap()), Jiffies::new(1000))
    }

    #[test]
    fn near_is_four_mebibytes_ahead_or_two_back() {
        assert!(close(0, 8192) && !close(0, 8193) && close(0, -4096) && !close(0, -4097));
    }

    #[test]
    fn near_doubles_with_each_tick_waited_until_anything_is() {
        assert!(!close(1, 16385) && close(1, 16384) && close(6, 8192 << 6) && !close(6, (8192 << 6) + 1));
        assert!(close(7, 1 << 40));
    }

    #[test]
    fn after_20_ms_anything_is_close_however_long_the_wait_may_be() {
        let far = |waited, hz| {
            let place = ClosenessInputs { arm: Sector(0), waited, antic_expire: 100, seek_mean: 0 };
            is_close(place, Sector(1 << 50), Jiffies::new(hz))
        };
        assert!(!far(20, 1000) && far(21, 1000) && !far(2, 100) && far(3, 100));
    }

    #[test]
    fn a_process_that_seeks_far_is_not_preferred_to_one_that_is_nearer() {
        let place = ClosenessInputs { arm: Sector(0), waited: 0, antic_expire: 6, seek_mean: 100_000 };
        let close = |start| is_close(place, Sector(start), Jiffies::new(1000));
        assert!(close(99_999) && !close(100_000));
    }
}
