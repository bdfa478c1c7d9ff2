//! `rate` and `rate_iops`: a schedule that begins with the job limits the rate.
//!
//! **Rule** an I/O may be submitted when `done / rate` has passed since the beginning, where `done` is the amount this
//! direction has submitted before it. So a job that fell behind catches up, as fio's manual says. For a Poisson process
//! the gaps between I/Os are drawn from the exponential distribution with the same mean.

use blksched::{Instant, Span};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::fio::settings::RateProcess;

/// What limits a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateLimit {
    None,
    BytesPerSecond(u64),
    IosPerSecond(u64),
}

impl RateLimit {
    fn rate(self) -> Option<u64> {
        match self {
            RateLimit::None => None,
            RateLimit::BytesPerSecond(rate) | RateLimit::IosPerSecond(rate) => Some(rate),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pace {
    limit: RateLimit,
    began: Instant,
    done: u64,
    poisson: Option<Arrivals>,
}

#[derive(Clone, Debug)]
struct Arrivals {
    random: Pcg64Mcg,
    next: Instant,
}

impl Pace {
    pub fn new(limit: RateLimit, process: RateProcess, seed: u64) -> Pace {
        let arrivals = || Arrivals { random: Pcg64Mcg::seed_from_u64(seed), next: Instant::ZERO };
        let poisson = (process == RateProcess::Poisson).then(arrivals);
        Pace { limit, began: Instant::ZERO, done: 0, poisson }
    }

    pub fn begin(&mut self, now: Instant) {
        self.began = now;
        if let Some(arrivals) = &mut self.poisson {
            arrivals.next = now;
        }
    }

    pub fn submitted(&mut self, bytes: u64) {
        let amount = if matches!(self.limit, RateLimit::IosPerSecond(_)) { 1 } else { bytes };
        self.done = self.done.saturating_add(amount);
        if let (Some(arrivals), Some(rate)) = (&mut self.poisson, self.limit.rate()) {
            let mean_ns = amount as f64 * 1e9 / rate as f64;
            let gap_ns = -libm::log(1.0 - arrivals.random.random::<f64>()) * mean_ns;
            arrivals.next += Span::from_ns(gap_ns as u64);
        }
    }

    /// Shifts the schedule by this much.
    pub fn moved(&mut self, by: Span) {
        self.began += by;
        if let Some(arrivals) = &mut self.poisson {
            arrivals.next += by;
        }
    }

    /// When its next I/O may go.
    pub fn due(&self) -> Instant {
        let Some(rate) = self.limit.rate() else { return Instant::ZERO };
        if let Some(arrivals) = &self.poisson {
            return arrivals.next;
        }
        let ns = u128::from(self.done) * 1_000_000_000 / u128::from(rate);
        self.began + Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
