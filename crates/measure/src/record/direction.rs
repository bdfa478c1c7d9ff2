//! One job's work in one direction.

use std::collections::BTreeMap;

use blksched::{Priority, Span};

use super::rate::Rate;
use crate::histogram::Histogram;
use crate::moments::Moments;

/// Latencies up to this are counted without allocating.
const ROOM: Span = Span::from_secs(60);

/// What came of one job's reads, writes, discards or flushes.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Submission latency \[ns\]: what the submission slept for want of a request slot. Only of engines that queue.
    pub slat: Moments,
    /// Completion latency: from the end of the submission (its begin, for blocking engines) to the completion.
    pub clat: Histogram,
    /// Both together \[ns\].
    pub lat: Moments,
    /// Of that, waiting in the scheduler \[ns\]: from when it was queued until the disk got it.
    pub waiting: Moments,
    /// Of that, with the disk \[ns\].
    pub service: Moments,
    /// Bandwidth and I/Os per second over time.
    pub rate: Rate,
    /// Every submission latency; none unless percentiles of it are reported.
    pub slats: Option<Box<Histogram>>,
    /// Every latency; none unless percentiles of it are reported.
    pub lats: Option<Box<Histogram>>,
    /// Completion latencies by priority; empty unless they are reported apart.
    pub by_priority: BTreeMap<Priority, Histogram>,
}

impl Default for Direction {
    fn default() -> Direction {
        Direction::with(Histogram::with_room_for(ROOM))
    }
}

impl Direction {
    /// One that is seldom used, and so reserves no room.
    pub(super) fn rare() -> Direction {
        Direction::with(Histogram::new())
    }

    fn with(clat: Histogram) -> Direction {
        Direction {
            ios: 0,
            bytes: 0,
            slat: Moments::default(),
            clat,
            lat: Moments::default(),
            waiting: Moments::default(),
            service: Moments::default(),
            rate: Rate::default(),
            slats: None,
            lats: None,
            by_priority: BTreeMap::new(),
        }
    }

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
