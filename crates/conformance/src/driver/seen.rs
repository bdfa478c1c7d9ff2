//! The events of a run that an observer sees, in order.

use blksched::reasons::NoListener;
use blksched::{Bio, Command, Delivery, Instant, Listener, Next, Outcome, Reason, Submitted};

use crate::laws::Violation;

/// One thing that happened at the queue's edge, or that the queue said.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// A call of the queue begins; what follows belongs to it.
    CallBegins,
    /// It is over, and this is how things stand.
    CallOver(View),
    /// A bio went in.
    Submitted {
        /// The bio.
        bio: &'a Bio,
        /// What became of it.
        became: Submitted,
    },
    /// The queue gave a reason.
    Said(Reason),
    /// The device got a command.
    Issued(Command),
    /// The device was done with one.
    Ended(Command, Outcome),
    /// The device handed one back untried.
    Requeued(Command),
    /// Something came back.
    Delivered(Delivery),
    /// A knob took a new value.
    KnobSet,
    /// A group was made, changed or removed.
    GroupsChanged,
    /// The queue was asked until it had nothing more to issue.
    Settled {
        /// Its last answer.
        answer: &'a Next,
        /// How things stand.
        view: View,
    },
    /// Another elevator took over.
    Switched,
}

/// How things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Requests the device has.
    pub in_flight: u32,
    /// Requests the elevator has.
    pub queued: u32,
    /// When the queue wants to be told the time.
    pub deadline: Option<Instant>,
    /// When the elevator does.
    pub elevator_deadline: Option<Instant>,
}

/// The onlooker of a run.
pub trait RunObserver {
    /// `seen` happened at `now`.
    ///
    /// # Errors
    /// If a law is broken; the run ends then.
    fn see(&mut self, now: Instant, seen: &Seen<'_>) -> Result<(), Violation>;

    /// Everything that was submitted should be back.
    ///
    /// # Errors
    /// If it is not.
    fn finish(&mut self) -> Result<(), Violation> {
        Ok(())
    }
}

/// A listener that hands over what it heard; a deaf one has nothing to hand over.
pub trait KeepingListener: Listener {
    /// What was said since the last time, in order.
    fn heard(&mut self) -> Vec<(Instant, Reason)>;
}

impl KeepingListener for Vec<(Instant, Reason)> {
    fn heard(&mut self) -> Vec<(Instant, Reason)> {
        core::mem::take(self)
    }
}

impl KeepingListener for NoListener {
    fn heard(&mut self) -> Vec<(Instant, Reason)> {
        Vec::new()
    }
}
