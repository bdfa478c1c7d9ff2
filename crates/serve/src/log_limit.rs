//! The lines that clients cause in the log: each origin has its part, so that none fills the disk.
//!
//! **Rule** An origin may cause [`BURST`] lines at once, and one per [`REFILL`]; what is beyond is counted, and the
//! count is logged every [`REPORT`]. So one client causes some 12 MB a day at most, however often it connects.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{AUDIT, origin};

/// How many lines an origin may cause at once.
const BURST: u32 = 100;
/// How often it may cause one more.
const REFILL: Duration = Duration::from_secs(1);
/// How often what was left out is counted.
const REPORT: Duration = Duration::from_secs(10);
/// How many origins are told apart; all others have one part together.
const ORIGINS: usize = 1024;
/// How many origins a report names.
const NAMED: usize = 16;
/// The origins that are not told apart.
const OTHERS: &str = "others";

static LINES: Mutex<Buckets> = Mutex::new(Buckets { by_origin: BTreeMap::new(), reported: None });

/// Whether a client that the log names like this may cause a line.
pub fn admits(peer: &str) -> bool {
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines.admit(Instant::now(), origin::of(peer))
}

/// Logs how many lines were left out, if it is time. To be called now and then.
pub fn report() {
    log(LINES.lock().unwrap_or_else(PoisonError::into_inner).report(Instant::now()));
}

/// The same at the end.
pub fn report_at_last() {
    log(LINES.lock().unwrap_or_else(PoisonError::into_inner).left_out());
}

fn log(left_out: Vec<(String, u64)>) {
    for (origin, more) in left_out {
        tracing::warn!(target: AUDIT, origin, more, "more lines of its clients were left out");
    }
}

struct Bucket {
    /// How many lines it may still cause.
    left: u32,
    refilled: Instant,
    left_out: u64,
}

struct Buckets {
    by_origin: BTreeMap<String, Bucket>,
    reported: Option<Instant>,
}

impl Buckets {
    fn admit(&mut self, now: Instant, origin: String) -> bool {
        let known = self.by_origin.contains_key(&origin);
        if !known && self.by_origin.len() >= ORIGINS {
            self.by_origin.retain(|_, bucket| {
                bucket.refill(now);
                bucket.left < BURST || bucket.left_out > 0
            });
        }
        let full = !known && self.by_origin.len() >= ORIGINS;
        let origin = if full { OTHERS.to_owned() } else { origin };
        let fresh = Bucket { left: BURST, refilled: now, left_out: 0 };
        let bucket = self.by_origin.entry(origin).or_insert(fresh);
        bucket.refill(now);
        let admitted = bucket.left > 0;
        match admitted {
            true => bucket.left -= 1,
            false => bucket.left_out += 1,
        }
        admitted
    }

    fn report(&mut self, now: Instant) -> Vec<(String, u64)> {
        if now.duration_since(*self.reported.get_or_insert(now)) < REPORT {
            return Vec::new();
        }
        self.reported = Some(now);
        self.left_out()
    }

    /// How many lines were left out since the last call, those with the most first.
    fn left_out(&mut self) -> Vec<(String, u64)> {
        let counts = self.by_origin.iter_mut().filter(|(_, bucket)| bucket.left_out > 0);
        let counts = counts.map(|(origin, bucket)| (origin.clone(), core::mem::take(&mut bucket.left_out)));
        let mut counts: Vec<(String, u64)> = counts.collect();
        counts.sort_unstable_by_key(|(_, count)| core::cmp::Reverse(*count));
        if counts.len() > NAMED {
            let rest = counts.drain(NAMED..).map(|(_, count)| count).sum();
            counts.push((OTHERS.to_owned(), rest));
        }
        counts
    }
}

impl Bucket {
    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.refilled);
        let more = (passed.as_nanos() / REFILL.as_nanos()).min(u128::from(BURST)) as u32;
        if more > 0 {
            self.left = (self.left + more).min(BURST);
            self.refilled = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_causes_a_burst_and_then_a_line_a_second_and_the_rest_is_counted() {
        let begin = Instant::now();
        let mut lines = Buckets { by_origin: BTreeMap::new(), reported: None };
        let mut admitted = |ms: u64, origin: &str| lines.admit(begin + Duration::from_millis(ms), origin.to_owned());
        assert!((0..BURST).all(|_| admitted(0, "a")));
        assert!(!admitted(0, "a") && !admitted(999, "a"));
        assert!(admitted(0, "b"), "another one's lines are its own");
        assert!(admitted(1000, "a") && !admitted(1000, "a"));
        assert_eq!(lines.report(begin), [], "it begins to count");
        assert_eq!(lines.report(begin + Duration::from_millis(9_999)), []);
        assert_eq!(lines.report(begin + REPORT), [("a".to_owned(), 3)]);
        assert_eq!(lines.report(begin + REPORT * 2), []);
    }

    #[test]
    fn many_origins_take_no_memory_without_a_bound_and_are_reported_together() {
        let begin = Instant::now();
        let mut lines = Buckets { by_origin: BTreeMap::new(), reported: Some(begin) };
        for nth in 0..3000 {
            for _ in 0..=BURST {
                lines.admit(begin, format!("o{nth}"));
            }
        }
        assert!(lines.by_origin.len() <= ORIGINS + 1);
        let report = lines.report(begin + REPORT);
        assert_eq!(report.len(), NAMED + 1);
        let all: u64 = report.iter().map(|(_, count)| count).sum();
        assert_eq!(all, 3000 + 1975 * u64::from(BURST), "the last 1976 had one part together");
    }
}
