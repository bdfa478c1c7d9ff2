//! How long a synchronous change waits for company.
//!
//! **Rule** a call whose change is to be stable, and which is not of the process that made the last such change, keeps
//! its handle open for as long as commits take on average, within `min_batch_time` and `max_batch_time`, unless its
//! transaction is older than that. The transaction cannot commit before all handles are closed, so that those of others
//! come with it. Each commit counts for a quarter of the average; its time is from its last handle's end to its own.
//! **Origin** `Documentation/admin-guide/ext4.rst`, `max_batch_time`; recording 36: 40 of 43 commits begin within
//! 0.15 ms of the end of the last sleep, if commits took 0.3 ms on average before.

use blksched::{Instant, Span};

use super::super::outbox::{FsOutbox, FsTask, FsWish};
use super::Journal;

/// What it knows about commits, and who waits.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitBatching {
    /// How long commits take.
    average: Span,
    /// The process that made the last synchronous change.
    last: Option<u32>,
    /// When calls that keep their handles open go on.
    sleepers: Vec<(Instant, FsTask)>,
}

impl CommitBatching {
    /// A commit took this long.
    pub fn committed(&mut self, took: Span) {
        let average = (took.as_ns() + 3 * self.average.as_ns()) / 4;
        self.average = if self.average.is_zero() { took } else { Span::from_ns(average) };
    }

    pub fn next(&self) -> Option<Instant> {
        self.sleepers.iter().map(|(until, _)| *until).min()
    }

    /// Lets those go on whose time has come.
    pub fn elapse(&mut self, now: Instant, out: &mut FsOutbox) {
        self.sleepers.retain(|&(until, task)| {
            if until <= now {
                out.push(FsWish::Go(task));
            }
            until > now
        });
    }
}

impl Journal {
    /// Commits took this long before the beginning.
    pub(in super::super) fn set_average(&mut self, average: Span) {
        self.batching.average = average;
    }

    /// A call of this process has made a synchronous change. True if it sleeps, with its handle open.
    pub(in super::super) fn batches(&mut self, now: Instant, task: FsTask, process: u32) -> bool {
        self.open.insert(task);
        let (least, most) = self.settings.batch;
        if self.batching.last == Some(process) || most.is_zero() {
            return false;
        }
        self.batching.last = Some(process);
        let time = self.batching.average.max(least).min(most);
        let sleeps = self.running.as_ref().is_some_and(|running| now.since(running.begun) < time);
        if sleeps {
            self.batching.sleepers.push((now + time, task));
        }
        sleeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_for_a_quarter_of_the_average_and_the_first_for_all() {
        let mut batching = CommitBatching::default();
        batching.committed(Span::from_us(800));
        assert_eq!(batching.average, Span::from_us(800));
        batching.committed(Span::from_us(1600));
        assert_eq!(batching.average, Span::from_us(1000));
    }
}
