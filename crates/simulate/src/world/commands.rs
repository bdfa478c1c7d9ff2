//! Commands on their way from the driver to the drive: at once, or through the drive's submission queues.

use std::num::NonZeroU32;

use blksched::{Command, Instant, Listener, SubmitterId};

use super::submission_queues::SubmissionQueues;
use super::{Observer, StandsStill, World};

impl<L: Listener, O: Observer> World<L, O> {
    /// The drive gets a submission queue for each of this many hardware queues, of which it fetches so many commands in
    /// a turn, and the queue of each submitter.
    pub(crate) fn set_submission_queues(&mut self, queues: u32, burst: NonZeroU32, places: Vec<(SubmitterId, u32)>) {
        self.here.submission = Some(Box::new(SubmissionQueues::new(queues, burst, places)));
    }

    /// The driver hands a command to the drive.
    pub(super) fn hand_to_disk(&mut self, command: Command) {
        match &mut self.here.submission {
            None => {
                self.here.disk.start(self.now, command);
                self.tell_work();
            }
            Some(queues) => {
                queues.push(command);
                self.fetch_commands();
            }
        }
    }

    /// The drive fetches what it has room and time for.
    pub(super) fn fetch_commands(&mut self) {
        let Some(queues) = &mut self.here.submission else { return };
        let depth = self.here.disk.facts().depth;
        while self.here.disk.in_flight() < depth
            && self.here.disk.fetches() <= self.now
            && let Some(command) = queues.fetch()
        {
            self.here.disk.start(self.now, command);
        }
        let may = !queues.is_empty() && self.here.disk.in_flight() < depth;
        self.here.fetches_at = if may { self.here.disk.fetches() } else { Instant::NEVER };
        self.tell_work();
    }

    /// Does what happens now in queue and disk.
    #[inline(always)]
    pub(super) fn device_moment(&mut self) -> Result<(), StandsStill> {
        if self.here.queue.upcoming() <= self.now {
            self.here.queue.elapse(self.now);
            self.run_queue();
        }
        if self.here.fetches_at <= self.now {
            self.fetch_commands();
        }
        while self.here.disk.upcoming() <= self.now {
            let finished = self.here.disk.finish(self.now);
            self.tell_work();
            let Some(finished) = finished else { break };
            self.finished(finished);
            self.step()?;
        }
        Ok(())
    }
}
