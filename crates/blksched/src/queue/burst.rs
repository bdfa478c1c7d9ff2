//! Bursts: bios that one submitter sends together, with an end that cannot be forgotten.
//!
//! **Rule** When a burst ends, its submitter waits: plugs are flushed, as by [`BlockQueue::waits`]. A submitter that
//! falls asleep for a request slot sends no more until it is awake.
//! **In the kernel** `blk_start_plug`, `blk_finish_plug`.

use super::steps::Caller;
use super::{BlockQueue, Listener, NoListener, Submitted};
use crate::request::{Bio, SubmitterId};
use crate::time::Instant;

/// A submitter's burst: when this is dropped, the burst ends and the submitter waits.
#[must_use = "a burst that is dropped at once is empty"]
pub struct Burst<'q, L: Listener = NoListener> {
    queue: &'q mut BlockQueue<L>,
    now: Instant,
    submitter: SubmitterId,
}

impl<L: Listener> Burst<'_, L> {
    /// As [`BlockQueue::submit`].
    ///
    /// # Panics
    /// As there, or if the bio is another submitter's.
    pub fn submit(&mut self, bio: Bio) -> Submitted {
        let Bio { submitter, .. } = bio;
        assert_eq!(submitter, self.submitter, "a bio of {submitter:?} in a burst of {:?}", self.submitter);
        self.queue.submit(self.now, bio)
    }
}

impl<L: Listener> Drop for Burst<'_, L> {
    fn drop(&mut self) {
        self.queue.waits(self.now, self.submitter);
    }
}

impl<L: Listener> BlockQueue<L> {
    /// Begins a burst of `submitter`, which ends when the guard is dropped.
    pub fn burst(&mut self, now: Instant, submitter: SubmitterId) -> Burst<'_, L> {
        Burst { queue: self, now, submitter }
    }

    /// Submits one bio, after which its submitter waits: a burst of one, in one step.
    ///
    /// # Panics
    /// As [`BlockQueue::submit`].
    #[inline]
    pub fn submit_alone(&mut self, now: Instant, bio: Bio) -> Submitted {
        let became = self.at(now).submit_compiled(&bio, Caller::Waits);
        self.waits(now, bio.submitter);
        became
    }

    /// Submits these bios in one call, after which their submitters wait. Returns how many were taken: all, unless a
    /// submitter fell asleep for a request slot (its bio counts); submit the rest when it is awake.
    ///
    /// # Panics
    /// As [`BlockQueue::submit`].
    pub fn submit_burst(&mut self, now: Instant, bios: &[Bio]) -> usize {
        if let [bio] = *bios {
            self.submit_alone(now, bio);
            return 1;
        }
        let asleep = bios.iter().position(|&bio| self.submit(now, bio) == Submitted::Asleep);
        let taken = asleep.map_or(bios.len(), |at| at + 1);
        let mut last = None;
        for &Bio { submitter, .. } in &bios[..taken] {
            if last.replace(submitter) != Some(submitter) {
                self.waits(now, submitter);
            }
        }
        taken
    }
}
