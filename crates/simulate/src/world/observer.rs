//! The onlookers of a world.

use blksched::{Command, Instant, Listener, Op};
use blksched_measure::Completion;

use super::World;
use crate::story::{Happening, IoId};

/// Is told what happens to bios; the world itself keeps no statistics.
pub trait Observer {
    /// Source number `source` submits an I/O of `bytes` bytes.
    fn submitted(&mut self, now: Instant, source: usize, op: Op, bytes: u64);
    /// It is complete.
    fn completed(&mut self, now: Instant, source: usize, done: &Completion);
    /// The disk gets this command.
    fn issued(&mut self, _command: &Command) {}
    /// Source number `source` has exited.
    fn exited(&mut self, now: Instant, source: usize);
    /// Everything that a story of an I/O needs besides the queue's reasons, if the observer
    /// [watches](Observer::is_watching).
    fn happens(&mut self, _now: Instant, _what: Happening) {}
    /// False if it does not want events: they are then not even created.
    fn is_watching(&self) -> bool {
        false
    }
}

/// No observer.
impl Observer for () {
    fn submitted(&mut self, _: Instant, _: usize, _: Op, _: u64) {}
    fn completed(&mut self, _: Instant, _: usize, _: &Completion) {}
    fn exited(&mut self, _: Instant, _: usize) {}
}

impl<L: Listener, O: Observer> World<L, O> {
    /// Reports an event, if there is an observer.
    pub(super) fn tells(&mut self, what: impl FnOnce() -> Happening) {
        if self.observer.is_watching() {
            self.observer.happens(self.now, what());
        }
    }

    /// Reports the command that the disk gets, and what it carries.
    pub(super) fn tells_start(&mut self, command: Command) {
        if self.observer.is_watching() {
            let carried =
                self.here.queue.tags(command.rq).map(|tag| Happening::Carried { rq: command.rq, io: IoId(tag.0) });
            carried.for_each(|carried| self.observer.happens(self.now, carried));
            self.observer.happens(self.now, Happening::Started { command });
        }
    }
}
