//! One job's work in one direction.

use std::collections::BTreeMap;

use blksched::Priority;

use super::rate::Rate;
use crate::histogram::Histogram;
use crate::moments::Moments;

/// The results of one job's reads, writes, discards or flushes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Submission latency \[ns\]: the submission's sleep for a request slot. Only for engines that queue.
    pub slat: Moments,
    /// Completion latency: from the end of the submission (its begin, for blocking engines) to the completion.
    pub clat: Histogram,
    /// Both together \[ns\].
    pub lat: Moments,
    /// The part in the scheduler \[ns\]: from when it was queued until the disk got it.
    pub waiting: Moments,
    /// The part at the disk \[ns\].
    pub service: Moments,
    /// Bandwidth and I/Os per second over time.
    pub rate: Rate,
    /// Every submission latency; `None` unless their percentiles are reported.
    pub slats: Option<Box<Histogram>>,
    /// Every latency; `None` unless their percentiles are reported.
    pub lats: Option<Box<Histogram>>,
    /// Completion latencies by priority; empty unless they are reported separately.
    pub by_priority: BTreeMap<Priority, Histogram>,
}

impl Direction {
    pub(crate) fn merge(&mut self, other: &Direction) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        self.waiting.merge(&other.waiting);
        self.service.merge(&other.service);
        self.rate.merge(&other.rate);
        for (ours, theirs) in [(&mut self.slats, &other.slats), (&mut self.lats, &other.lats)] {
            theirs.iter().for_each(|theirs| ours.get_or_insert_default().merge(theirs));
        }
        for (priority, clat) in &other.by_priority {
            self.by_priority.entry(*priority).or_default().merge(clat);
        }
    }
}
