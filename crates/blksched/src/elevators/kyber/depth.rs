//! The feedback: depths computed from latencies.
//!
//! **Rule** If the 90th percentile of any domain's latency *in the device* exceeds its target, the device is
//! overloaded: each domain is resized to depth × quarters ÷ 4, where `quarters` is the 99th percentile of its total
//! latency in quarters of the target. So a fast domain shrinks, at most to a quarter, and a slow one grows, at most to
//! twice its depth. A domain whose total latency misses its target grows by that formula in any case. A depth is at
//! least 1 and at most the initial one. While the device is overloaded, a domain without a new percentile uses its last
//! one, once.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber "Timer".
//! **In the kernel** `kyber_timer_fn`, `kyber_resize_domain`, `calculate_percentile`, `kyber_depth`, `domain_p99`.

use super::latency::Judged;
use crate::explain::DepthChange;

/// The last percentile of a domain's total latency.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Remembered(Option<Judged>);

impl Remembered {
    /// The total latency to use, given the present judgement.
    pub(super) fn go_by(&mut self, judged: Option<Judged>, device_has_too_much: bool) -> Option<Judged> {
        if device_has_too_much {
            let last = self.0.take();
            return judged.or(last);
        }
        self.0 = judged.or(self.0);
        judged
    }
}

/// A domain's new depth, if it changes, and why.
pub(super) fn decide(depth: u32, most: u32, total: Judged, device_has_too_much: bool) -> Option<(u32, DepthChange)> {
    if !device_has_too_much && !total.is_bad() {
        return None;
    }
    let quarters = total.quarters();
    let to = (depth * quarters / 4).clamp(1, most);
    let why = match total.is_bad() {
        true => DepthChange::OwnTargetMissed { quarters },
        false => DepthChange::DeviceTooSlow { quarters },
    };
    (to != depth).then_some((to, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(from: u32, bucket: u32, device_has_too_much: bool) -> u32 {
        decide(from, 256, Judged(bucket), device_has_too_much).map_or(from, |(to, _)| to)
    }

    #[test]
    fn a_quick_domain_shrinks_to_a_quarter_at_least_and_only_while_the_device_has_too_much() {
        assert_eq!([0, 1, 2, 3].map(|bucket| depth(100, bucket, true)), [25, 50, 75, 100]);
        assert_eq!([0, 1, 2, 3].map(|bucket| depth(100, bucket, false)), [100; 4]);
    }

    #[test]
    fn a_slow_domain_grows_to_twice_at_most_whatever_the_device_does() {
        for too_much in [true, false] {
            assert_eq!([4, 5, 6, 7].map(|bucket| depth(100, bucket, too_much)), [125, 150, 175, 200]);
        }
    }

    #[test]
    fn a_depth_stays_between_one_and_what_it_was_at_first() {
        assert_eq!((depth(1, 0, true), depth(3, 0, true), depth(200, 7, false)), (1, 1, 256));
    }

    #[test]
    fn the_last_judgement_counts_once_while_the_device_has_too_much() {
        let mut remembered = Remembered::default();
        assert_eq!(remembered.go_by(Some(Judged(1)), false), Some(Judged(1)));
        assert_eq!(remembered.go_by(None, false), None);
        assert_eq!(remembered.go_by(None, true), Some(Judged(1)));
        assert_eq!(remembered.go_by(None, true), None);
        assert_eq!(remembered.go_by(Some(Judged(2)), true), Some(Judged(2)));
        assert_eq!(remembered.go_by(None, true), None, "what was judged in bad times is not remembered");
    }
}
