//! The cookie that siblings share: how far those with longer targets are throttled.
//!
//! **Origin** docs/behaviour/cgroup-io.md#l.
//! **In the kernel** `scale_cookie`, `scale_cookie_change`, `check_scale_change`, `scale_amount`, `child_latency_info`.

use crate::request::GroupId;
use crate::time::{Instant, Span};

/// The value at which no group is throttled.
const HIGHEST: u32 = 1_000_000;
/// A group with at most this part of all samples is not throttled \[%\].
const FEW: u64 = 5;

#[derive(Clone, Copy, Debug)]
pub(super) struct Cookie {
    pub(super) value: u32,
    pub(super) changed: Instant,
    /// The suffering group, and its target.
    pub(super) sufferer: Option<(GroupId, Span)>,
    /// The samples of all siblings' last windows.
    pub(super) samples: u64,
}

impl Default for Cookie {
    fn default() -> Cookie {
        Cookie { value: HIGHEST, changed: Instant::ZERO, sufferer: None, samples: 0 }
    }
}

impl Cookie {
    pub(super) fn is_highest(&self) -> bool {
        self.value == HIGHEST
    }

    /// Rises by a sixteenth of the queue; far below the top, by one.
    pub(super) fn up(&mut self, q: u32) {
        let step = if HIGHEST - self.value > q { 1 } else { (q / 16).max(1) };
        self.value = (self.value + step).min(HIGHEST);
    }

    /// Falls by a quarter of the queue; far below the top, by one, down to a limit.
    pub(super) fn down(&mut self, q: u32) {
        let step = if HIGHEST - self.value > q { 1 } else { (q / 4).max(1) };
        self.value = self.value.saturating_sub(step).max(HIGHEST.saturating_sub(2 * q));
    }

    /// Whether a group with this target and this many samples is among those throttled now.
    pub(super) fn throttles(&self, target: Option<Span>, samples: u64) -> bool {
        let later = match (target, self.sufferer) {
            (None, _) => true,
            (Some(own), Some((_, lat))) => own > lat,
            (Some(_), None) => false,
        };
        later && samples_count(target, samples, self.samples)
    }
}

/// A group without a target has no samples by which to judge it.
fn samples_count(target: Option<Span>, samples: u64, all: u64) -> bool {
    target.is_none() || samples > (FEW * all / 100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_moves_fast_near_the_top_and_by_one_far_down() {
        let mut cookie = Cookie::default();
        cookie.down(128);
        assert_eq!(cookie.value, HIGHEST - 32);
        (0..4).for_each(|_| cookie.down(128));
        assert_eq!(cookie.value, HIGHEST - 160);
        (0..500).for_each(|_| cookie.down(128));
        assert_eq!(cookie.value, HIGHEST - 256);
        cookie.up(128);
        assert_eq!(cookie.value, HIGHEST - 255);
    }
}
