//! A command in the device: the token that represents it until it is completed or handed back.
//!
//! **Rule** One token, one end. [`BlockQueue::next`](crate::BlockQueue::next) makes it; `complete` or `requeue`
//! consumes it. It cannot be copied, so no I/O ends twice: a second answer of the device for a reused slot would
//! acknowledge another submitter's I/O.

use core::ops::Deref;

use super::{Command, RequestId};

/// A command in flight. It reads as its [`Command`] (`token.start`); the device's answer goes to
/// [`BlockQueue::complete`](crate::BlockQueue::complete) or [`BlockQueue::requeue`](crate::BlockQueue::requeue), which
/// consume it.
///
/// ```compile_fail,E0382
/// # use blksched::*;
/// # let mut queue = Catalogue::builtin().build("noop").unwrap().queue(Limits::default(), 1);
/// # let now = Instant::ZERO;
/// let Next::Issue(command) = queue.next(now) else { return };
/// queue.complete(now, command, Outcome::Ok);
/// queue.complete(now, command, Outcome::Ok); // a command ends once
/// ```
///
/// ```compile_fail,E0599
/// # use blksched::*;
/// # let mut queue = Catalogue::builtin().build("noop").unwrap().queue(Limits::default(), 1);
/// # let now = Instant::ZERO;
/// let Next::Issue(command) = queue.next(now) else { return };
/// let another: InFlight = command.clone(); // nor are there two of one
/// ```
///
/// ```compile_fail,E0308
/// # use blksched::*;
/// # let mut queue = Catalogue::builtin().build("noop").unwrap().queue(Limits::default(), 1);
/// # let now = Instant::ZERO;
/// let Next::Issue(command) = queue.next(now) else { return };
/// queue.complete(now, command.rq, Outcome::Ok); // the number of a slot ends nothing: slots are used again
/// ```
///
/// # What a driver may do wrong
///
/// * *Complete a command twice*: does not compile, as above. By its key: [`NotInFlight`]; a second token made from a
///   key panics with that.
/// * *Complete a slot's number*: does not compile, as above.
/// * *Complete another queue's command*: panics with [`NotInFlight`]. Each queue counts the uses of its slots from a
///   number of its own; of ten thousand queues no two start within a hundred thousand uses of each other.
/// * *Drop the token*: the command stays in flight and keeps its place, which [`Next::Full`](crate::Next::Full) shows
///   in the end; a key that was taken before makes a new token.
/// * *Forget `waits`*: [`Next::Plugged`](crate::Next::Plugged) says until when the queue holds what was submitted; it
///   is released after 100 ms. A [`Burst`](crate::Burst) ends by itself.
/// * *Cancel what has completed*: [`Cancelled::Stays`](crate::Cancelled::Stays), and nothing changes.
///
/// Each is a test: an example above, or one in `tests/it/contract.rs`.
#[must_use = "the device owes an answer: give it to `complete` or to `requeue`"]
#[derive(Eq)]
pub struct InFlight {
    command: Command,
    generation: u32,
}

/// Two tokens are equal if they request the same from the device: two queues that decide alike answer alike.
impl PartialEq for InFlight {
    fn eq(&self, other: &InFlight) -> bool {
        self.command == other.command
    }
}

/// Without the generation, which differs from run to run.
impl core::fmt::Debug for InFlight {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("InFlight").field(&self.command).finish()
    }
}

/// A token as a number, for carriers of numbers (a ring's user data, a protocol, a device's tag): the slot in the lower
/// half, the generation of its use in the upper. Generations differ from queue to queue and from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlightKey(pub u64);

/// There is no such command in flight: it was completed or returned before, or another queue issued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInFlight(pub FlightKey);

impl core::fmt::Display for NotInFlight {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let slot = self.0.slot().index();
        write!(
            f,
            "slot {slot} has no such command in flight: it was completed or handed back before, or another queue \
             issued it"
        )
    }
}

impl core::error::Error for NotInFlight {}

impl InFlight {
    pub(crate) fn new(command: Command, generation: u32) -> InFlight {
        InFlight { command, generation }
    }

    /// The operation that the device is to perform.
    pub fn command(&self) -> Command {
        self.command
    }

    /// The token as a number; [`BlockQueue::in_flight_as`](crate::BlockQueue::in_flight_as) makes it a token again.
    #[inline]
    pub fn key(&self) -> FlightKey {
        FlightKey(u64::from(self.generation) << 32 | u64::from(self.command.rq.0))
    }
}

impl Deref for InFlight {
    type Target = Command;
    #[inline]
    fn deref(&self) -> &Command {
        &self.command
    }
}

impl FlightKey {
    #[inline(always)]
    pub(crate) fn slot(self) -> RequestId {
        RequestId(self.0 as u32)
    }

    #[inline(always)]
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
