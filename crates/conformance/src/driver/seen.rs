//! The events of a run that an observer sees, in order.

use blksched::reasons::NoListener;
use blksched::{Bio, Command, Delivery, Instant, Listener, Next, Outcome, Reason, Submitted};

use crate::laws::Violation;

/// One event at the queue's interface, or one of the queue's reasons.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// A call of the queue begins; the following events belong to it.
    CallBegins,
    /// The call is over; the state after it.
    CallOver(View),
    /// A bio was submitted.
    Submitted {
        /// The bio.
        bio: &'a Bio,
        /// The queue's answer.
        became: Submitted,
    },
    /// The queue gave a reason.
    Said(Reason),
    /// The device got a command.
    Issued(Command),
    /// The device completed a command.
    Ended(Command, Outcome),
    /// The device returned a command untried.
    Requeued(Command),
    /// The queue delivered something.
    Delivered(Delivery),
    /// A knob took a new value.
    KnobSet,
    /// A group was created, changed or removed.
    GroupsChanged,
    /// The queue was asked until it had nothing more to issue.
    Settled {
        /// Its last answer.
        answer: &'a Next,
        /// The state of the queue.
        view: View,
    },
    /// The elevator was replaced.
    Switched,
}

/// The state of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The number of requests in the device.
    pub in_flight: u32,
    /// The number of requests in the elevator.
    pub queued: u32,
    /// The queue's deadline.
    pub deadline: Option<Instant>,
    /// The elevator's deadline.
    pub elevator_deadline: Option<Instant>,
}

/// An observer of a run.
pub trait RunObserver {
    /// `seen` happened at `now`.
    ///
    /// # Errors
    /// If a law is broken; the run ends then.
    fn see(&mut self, now: Instant, seen: &Seen<'_>) -> Result<(), Violation>;

    /// Called at the end, when everything submitted should have completed.
    ///
    /// # Errors
    /// If something has not.
    fn finish(&mut self) -> Result<(), Violation> {
        Ok(())
    }
}

/// A listener that hands over the reasons it heard, if it keeps any.
pub trait KeepingListener: Listener {
    /// The reasons since the last call, in order.
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
