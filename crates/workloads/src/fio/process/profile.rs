//! `latency_target`: the greatest depth at which latencies stay below it.
//!
//! **Rule** Each `latency_window` is run at one depth, from 1 on. It is good if `latency_percentile` of its completions
//! took at most the target. The depth doubles while windows are good, up to `iodepth`; from the first bad one on it is
//! halfway between the greatest good and the smallest bad depth. When these are adjacent the job ends, or with
//! `latency_run` continues: at the greatest good depth, and one less after each bad window. (fio's manual says what is
//! sought, but not how.)

use blksched::{Instant, Span};

/// The job's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatencyTarget {
    pub target: Span,
    pub window: Span,
    /// \[%\]
    pub percentile: f64,
    /// The job's `iodepth`.
    pub most: u32,
    pub then: DepthFound,
}

/// What a job does when it has found its depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DepthFound {
    #[default]
    Ends,
    /// `latency_run`
    GoesOn,
}

#[derive(Clone, Debug)]
pub(super) struct Profile {
    said: LatencyTarget,
    began: Instant,
    depth: u32,
    good: u32,
    bad: Option<u32>,
    found: bool,
    done: u64,
    late: u64,
}

/// The result of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DepthVerdict {
    Depth(u32),
    Ends,
}

impl Profile {
    pub fn new(said: LatencyTarget) -> Profile {
        Profile { said, began: Instant::NEVER, depth: 1, good: 0, bad: None, found: false, done: 0, late: 0 }
    }

    pub fn begin(&mut self, now: Instant) {
        self.began = now;
    }

    /// Handles a completed I/O with this latency.
    pub fn completed(&mut self, now: Instant, took: Span) -> DepthVerdict {
        self.done += 1;
        self.late += u64::from(took > self.said.target);
        if now < self.began + self.said.window {
            return DepthVerdict::Depth(self.depth);
        }
        let good = (self.done - self.late) as f64 * 100.0 >= self.said.percentile * self.done as f64;
        (self.began, self.done, self.late) = (now, 0, 0);
        if self.found {
            self.depth = if good { self.depth } else { (self.depth - 1).max(1) };
            return DepthVerdict::Depth(self.depth);
        }
        self.search(good);
        match (self.found, self.said.then) {
            (true, DepthFound::Ends) => DepthVerdict::Ends,
            _ => DepthVerdict::Depth(self.depth),
        }
    }

    fn search(&mut self, good: bool) {
        if good {
            self.good = self.depth;
        } else {
            self.bad = Some(self.depth);
        }
        self.depth = match self.bad {
            None => self.depth.saturating_mul(2).min(self.said.most),
            Some(bad) => (self.good + bad) / 2,
        }
        .max(1);
        self.found = self.bad.map_or(self.good == self.said.most, |bad| bad <= self.good + 1);
        if self.found {
            self.depth = self.good.max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depths that windows ran at, if windows are good up to this depth.
    fn depths(limit: u32, most: u32) -> Vec<u32> {
        let target = Span::from_ms(1);
        let said = LatencyTarget { target, window: Span::from_ms(10), percentile: 100.0, most, then: DepthFound::Ends };
        let mut profile = Profile::new(said);
        let mut now = Instant::ZERO;
        profile.begin(now);
        let mut tried = vec![profile.depth];
        loop {
            now += Span::from_ms(10);
            let took = if profile.depth <= limit { target } else { target * 2 };
            match profile.completed(now, took) {
                DepthVerdict::Depth(depth) => tried.push(depth),
                DepthVerdict::Ends => return [tried, vec![profile.depth]].concat(),
            }
        }
    }

    #[test]
    fn the_depth_doubles_and_is_then_halved_in() {
        assert_eq!(depths(5, 32), [1, 2, 4, 8, 6, 5, 5]);
        assert_eq!(depths(100, 8), [1, 2, 4, 8, 8]);
        assert_eq!(depths(0, 8), [1, 1]);
    }
}
