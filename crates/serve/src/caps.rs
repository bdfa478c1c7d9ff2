//! Caps: limits of a tenant, in bytes and operations per second, with a burst.
//!
//! **Rule** A bucket holds up to `burst` and fills at `rate` per second. A request may pass while the level is above
//! zero, and its whole cost is subtracted, even if the level then falls below zero: so a request larger than the burst
//! passes, and is paid for afterwards. Operations count as clients send them, because it is not known at this point
//! whether the queue merges them. Write-zeroes and trims cost the bytes that they cover.

use blksched::{Instant, Span};

const NS_PER_S: i128 = 1_000_000_000;

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Per second; not 0.
    pub rate: u64,
    /// How much may be saved up; not 0.
    pub burst: u64,
}

/// A bucket that fills with time. Its level is in billionths, so that no fraction is ever lost.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    limit: Limit,
    level: i128,
    at: Instant,
}

impl Bucket {
    fn full(limit: Limit, now: Instant) -> Bucket {
        Bucket { limit, level: i128::from(limit.burst) * NS_PER_S, at: now }
    }

    fn fill(&mut self, now: Instant) {
        let gained = i128::from(now.since(self.at).as_ns()) * i128::from(self.limit.rate);
        self.level = (self.level + gained).min(i128::from(self.limit.burst) * NS_PER_S);
        self.at = now;
    }

    /// When the level is above zero again.
    fn opens(&self) -> Option<Instant> {
        (self.level <= 0).then(|| {
            let wait = (1 - self.level).unsigned_abs().div_ceil(u128::from(self.limit.rate));
            self.at + Span::from_ns(u64::try_from(wait).unwrap_or(u64::MAX))
        })
    }

    fn take(&mut self, cost: u64) {
        self.level -= i128::from(cost) * NS_PER_S;
    }
}

/// A tenant's caps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caps {
    bytes: Option<Bucket>,
    ops: Option<Bucket>,
}

impl Caps {
    /// Changes the cap on bytes; `None` removes it. It starts with a full burst.
    pub fn set_bytes(&mut self, now: Instant, limit: Option<Limit>) {
        self.bytes = limit.map(|limit| Bucket::full(limit, now));
    }

    /// Changes the cap on operations.
    pub fn set_ops(&mut self, now: Instant, limit: Option<Limit>) {
        self.ops = limit.map(|limit| Bucket::full(limit, now));
    }

    /// Whether an operation may go now; if so, it is charged.
    pub fn admit(&mut self, now: Instant, bytes: u64) -> bool {
        if self.opens(now).is_some() {
            return false;
        }
        for (bucket, cost) in [(&mut self.bytes, bytes), (&mut self.ops, 1)] {
            if let Some(bucket) = bucket {
                bucket.take(cost);
            }
        }
        true
    }

    /// When the next operation may go; `None` for now.
    pub fn opens(&mut self, now: Instant) -> Option<Instant> {
        [&mut self.bytes, &mut self.ops]
            .into_iter()
            .filter_map(|bucket| {
                let bucket = bucket.as_mut()?;
                bucket.fill(now);
                bucket.opens()
            })
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * MS)
    }

    /// How many operations of `bytes` bytes go in `ms` milliseconds, if requested as early as possible.
    fn served(caps: &mut Caps, bytes: u64, ms: u64) -> u64 {
        let (mut now, mut count) = (Instant::ZERO, 0);
        while now <= at(ms) {
            match caps.opens(now) {
                Some(opens) => now = opens,
                None => {
                    assert!(caps.admit(now, bytes));
                    count += 1;
                }
            }
        }
        count
    }

    #[test]
    fn the_rate_holds_in_the_long_run_and_the_burst_comes_first() {
        let mut caps = Caps::default();
        caps.set_ops(Instant::ZERO, Some(Limit { rate: 100, burst: 10 }));
        assert_eq!(served(&mut caps, 4096, 0), 10);
        let mut caps = Caps::default();
        caps.set_ops(Instant::ZERO, Some(Limit { rate: 100, burst: 10 }));
        let in_ten_seconds = served(&mut caps, 4096, 10_000);
        assert!((1009..=1011).contains(&in_ten_seconds), "{in_ten_seconds}");
    }

    #[test]
    fn a_request_larger_than_the_burst_passes_and_is_paid_for_afterwards() {
        let mut caps = Caps::default();
        caps.set_bytes(Instant::ZERO, Some(Limit { rate: 1 << 20, burst: 4096 }));
        assert!(caps.admit(Instant::ZERO, 1 << 20));
        assert!(!caps.admit(at(900), 512));
        assert!(caps.admit(at(1000), 512));
    }

    #[test]
    fn both_caps_hold_and_none_is_no_cap() {
        let mut caps = Caps::default();
        assert!((0..1000).all(|_| caps.admit(Instant::ZERO, 1 << 30)));
        caps.set_bytes(Instant::ZERO, Some(Limit { rate: 1 << 20, burst: 1 << 20 }));
        caps.set_ops(Instant::ZERO, Some(Limit { rate: 1, burst: 1 }));
        assert!(caps.admit(Instant::ZERO, 512) && !caps.admit(Instant::ZERO, 512));
        assert_eq!(caps.opens(Instant::ZERO), Some(Instant::from_ns(1)), "above zero is enough");
    }
}
