//! Plugs: holding requests back for a moment, so that more can merge.
//!
//! **Rule** Until 2.6.38 the *queue* is plugged when a request enters an empty one, and is unplugged when enough
//! requests are queued, when some milliseconds have passed, when a submitter waits, or when the elevator requests a
//! run. Since 2.6.39 each *submitter* collects its requests and hands them over together when it waits. In 2.4 it is
//! unplugged only when a task waits. A submitter that never says that it waits is assumed to wait after
//! [`LONGEST_BURST`]: a task that collects is running, and no task runs longer without the process scheduler, which
//! flushes its plug.
//! **Origin** 2.4: docs/behaviour/elevator-linus.md#q4 and #q5; 2.5 to 2.6.38: the queue; since
//! 2.6.39: the submitter. Thresholds: MEMORY of those kernels.
//! **In the kernel** `blk_plug`, `blk_start_plug`, `blk_finish_plug`, `blk_attempt_plug_merge`, `blk_plug_device`,
//! `generic_unplug_device`, `unplug_thresh`, `blk_add_rq_to_plug`, `blk_unplug`, `blk_mq_bio_list_merge`,
//! `blk_remove_plug`, `unplug_delay`.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::index::Numbers;
use crate::request::{RequestId, SubmitterId};
use crate::time::{Instant, Span};

/// Where requests are collected before they are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Plugging {
    /// Nowhere.
    Never,
    /// Behind the elevator: dispatch is held back.
    Queue {
        /// It opens when this many requests are queued.
        threshold: u32,
        /// It opens after this time.
        delay: Span,
    },
    /// Behind the elevator, as in 2.4: closed when a request enters an empty queue, and opened only when a process
    /// waits. A request in service on a disk that takes one at a time (IDE) is still in the queue.
    TaskQueue,
    /// In front of the elevator: a submitter's requests wait until its burst ends.
    Submitter {
        /// They are handed over when this many are collected.
        requests: u32,
    },
    /// The same since blk-mq: handed over before a request is added to this many, or to one of this size.
    Task {
        /// Requests.
        requests: u32,
        /// Length of the request added last \[sectors\].
        sectors: u32,
    },
}

/// Why a submitter's plug is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handover {
    /// The burst has ended, or the plug is full.
    Finish,
    /// The submitter goes to sleep.
    FromSchedule,
}

impl Plugging {
    /// 2.5: opens when a process waits, or after 3 ms (MEMORY; the tables of the mail do not depend on it).
    pub const LINUX_2_5: Plugging = Plugging::Queue { threshold: 32, delay: Span::from_ms(3) };
    /// 2.6 to 2.6.38: four requests or 3 ms.
    pub const LINUX_2_6: Plugging = Plugging::Queue { threshold: 4, delay: Span::from_ms(3) };
    /// Since 2.6.39: sixteen requests of one submitter.
    pub const LINUX_3: Plugging = Plugging::Submitter { requests: 16 };
    /// 6.1 and later: 32 requests, or one of 128 KiB.
    pub const LINUX_6: Plugging = Plugging::Task { requests: 32, sectors: 256 };
}

/// How long a submitter may collect requests: the longest default timeslice of a task, 100 ms (2.6; MEMORY). The limit
/// is ours: in kernels, the task that runs a burst bounds it; here, the embedder's call does.
pub(super) const LONGEST_BURST: Span = Span::from_ms(100);

/// The requests that one submitter has collected, oldest first, and since when.
#[derive(Debug, Default)]
struct Collected {
    began: Instant,
    requests: Vec<RequestId>,
}

/// The requests collected by each submitter.
#[derive(Debug, Default)]
struct Collections {
    places: Numbers,
    rows: Vec<Collected>,
    /// Rows of submitters that have exited.
    free: Vec<u32>,
}

impl Collections {
    fn get(&self, submitter: SubmitterId) -> Option<&Collected> {
        self.places.get(submitter.0).map(|place| &self.rows[place as usize])
    }

    fn get_mut(&mut self, submitter: SubmitterId) -> Option<&mut Collected> {
        self.places.get(submitter.0).map(|place| &mut self.rows[place as usize])
    }

    /// The submitter's row, made if it does not exist.
    fn row(&mut self, submitter: SubmitterId) -> &mut Collected {
        let place = self.places.get(submitter.0).unwrap_or_else(|| {
            let place = self.free.pop().unwrap_or_else(|| {
                self.rows.push(Collected::default());
                self.rows.len() as u32 - 1
            });
            self.places.insert(submitter.0, place);
            place
        });
        &mut self.rows[place as usize]
    }

    fn remove(&mut self, submitter: SubmitterId) {
        if let Some(place) = self.places.get(submitter.0) {
            self.places.remove(submitter.0);
            self.rows[place as usize] = Collected::default();
            self.free.push(place);
        }
    }
}

/// The state of the era's plug.
pub(super) struct Plug {
    kind: Plugging,
    /// When a closed queue plug opens by timeout, if it does.
    closed_until: Option<Instant>,
    closed: bool,
    /// The requests collected by each submitter.
    collected: Collections,
    /// How many requests all of them hold.
    held: u32,
    /// Bursts in the order of their beginnings; those that have ended remain until they come to the front.
    bursts: VecDeque<(Instant, SubmitterId)>,
}

impl Plug {
    pub(super) fn new(kind: Plugging) -> Plug {
        Plug {
            kind,
            closed_until: None,
            closed: false,
            collected: Collections::default(),
            held: 0,
            bursts: VecDeque::new(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let burst = self.bursts.front().map(|&(began, _)| began + LONGEST_BURST);
        // An era has at most one of the two.
        burst.or(self.closed_until)
    }

    pub(super) fn kind(&self) -> Plugging {
        self.kind
    }

    /// Closes the queue's plug, until this moment if there is one; false if it was closed.
    pub(super) fn close(&mut self, until: Option<Instant>) -> bool {
        if self.closed {
            return false;
        }
        (self.closed, self.closed_until) = (true, until);
        true
    }

    /// Opens the queue's plug; false if it was open.
    pub(super) fn open(&mut self) -> bool {
        self.closed_until = None;
        core::mem::take(&mut self.closed)
    }

    /// The burst that began first: when, and whose.
    pub(super) fn first_burst(&self) -> Option<(Instant, SubmitterId)> {
        self.bursts.front().copied()
    }

    /// Adds a request to its submitter's burst; true if that begins one.
    pub(super) fn collect(&mut self, now: Instant, submitter: SubmitterId, rq: RequestId) -> bool {
        let burst = self.collected.row(submitter);
        burst.requests.push(rq);
        let begins = burst.requests.len() == 1;
        if begins {
            burst.began = now;
            self.bursts.push_back((now, submitter));
        }
        self.held += 1;
        begins
    }

    /// Takes a submitter's burst, which is to be [returned](Self::keep) empty; `None` if it has collected nothing.
    pub(super) fn take(&mut self, submitter: SubmitterId) -> Option<Vec<RequestId>> {
        let burst = self.collected.get_mut(submitter)?;
        if burst.requests.is_empty() {
            return None;
        }
        let taken = core::mem::take(&mut burst.requests);
        self.burst_is_over(taken.len());
        Some(taken)
    }

    /// Keeps the allocation for the submitter's next burst.
    pub(super) fn keep(&mut self, submitter: SubmitterId, emptied: Vec<RequestId>) {
        if let Some(burst) = self.collected.get_mut(submitter) {
            burst.requests = emptied;
        }
    }

    /// How many requests `submitter` has collected.
    pub(super) fn count_of(&self, submitter: SubmitterId) -> usize {
        self.collected.get(submitter).map_or(0, |burst| burst.requests.len())
    }

    /// Whether a closed queue plug times out now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.closed_until.is_some_and(|until| until <= now)
    }

    /// Whether submitters have collected anything.
    pub(super) fn holds(&self) -> bool {
        self.held > 0
    }

    /// Whether enough requests are queued to open it.
    #[inline]
    pub(super) fn is_reached(&self, queued: u32) -> bool {
        self.is_closed() && matches!(self.kind, Plugging::Queue { threshold, .. } if queued >= threshold)
    }

    /// Whether it closes when a request enters an empty queue.
    #[inline]
    pub(super) fn closes(&self) -> bool {
        matches!(self.kind, Plugging::Queue { .. } | Plugging::TaskQueue)
    }

    /// Whether a new request waits with its submitter.
    #[inline]
    pub(super) fn collects(&self) -> bool {
        matches!(self.kind, Plugging::Submitter { .. } | Plugging::Task { .. })
    }

    /// `submitter` has exited, and its collected requests were handed over. Submitters are never reused, so nothing may
    /// stay.
    pub(super) fn forget(&mut self, submitter: SubmitterId) {
        self.collected.remove(submitter);
    }

    /// The requests that `submitter` has collected, newest first.
    pub(super) fn collected(&self, submitter: SubmitterId) -> impl Iterator<Item = RequestId> + '_ {
        self.collected.get(submitter).into_iter().flat_map(|burst| burst.requests.iter().rev().copied())
    }

    /// A burst of this many requests is handed over: bursts that have ended leave the front.
    fn burst_is_over(&mut self, requests: usize) {
        self.held -= requests as u32;
        if self.held == 0 {
            return self.bursts.clear();
        }
        while let Some((began, submitter)) = self.bursts.front() {
            let burst = self.collected.get(*submitter);
            if burst.is_some_and(|burst| burst.began == *began && !burst.requests.is_empty()) {
                break;
            }
            self.bursts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::BlockQueue;
    use crate::{Bio, Catalogue, QueueConfig, Sector};

    #[test]
    fn a_submitter_that_is_gone_leaves_no_list_behind() {
        let config = QueueConfig { plugging: Plugging::LINUX_3, ..QueueConfig::default() };
        let mut queue = BlockQueue::new(config, Catalogue::builtin().build("noop").unwrap().elevator);
        for nth in 0..100 {
            queue.submit(Instant::ZERO, Bio::read(1, SubmitterId(nth), Sector(0), 8));
            queue.forget(Instant::ZERO, SubmitterId(nth));
        }
        assert_eq!((queue.queued(), queue.state.plug.collected.rows.len()), (100, 1));
    }
}
