//! The types of the contract: an elevator's answers, and the insert positions that it is given.

use crate::request::{GroupId, RequestId, SubmitterId};
use crate::time::Instant;

/// An elevator's answer to the question what the disk should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Send this to the device.
    Issue(RequestId),
    /// Requests may be queued, but a deadline can change the answer: the disk is left idle on purpose.
    Idle {
        /// When the answer may change without another event.
        until: Instant,
        /// The process, group or purpose for which it is left idle.
        why: IdleFor,
    },
    /// A queued request that the elevator kept out of its order is inserted again, with merging; then the elevator is
    /// asked again.
    Reinsert(RequestId),
    /// Requests are queued, but one in flight must complete first.
    Wait,
    /// Nothing is queued.
    Empty,
}

/// The process or group for which a disk is left idle, or another purpose of a deadline.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleFor {
    /// The next request of this submitter, expected nearby.
    Submitter(SubmitterId),
    /// The next request of a group.
    Group(GroupId),
    /// None: the next request seems to come from the future, because an expiry time was lowered after it arrived
    /// (mq-deadline).
    AheadOfTime,
    /// None: the elevator evaluates its statistics then.
    Statistics,
    /// Enough requests to make a run worthwhile (a rule of a test or example).
    Company,
}

/// A request for a run. A plugged queue obeys `Now` and `Soon`; a driver that never plugs may ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Run {
    /// None.
    #[default]
    No,
    /// After this event (the kernel schedules work).
    Soon,
    /// Inside this event.
    Now,
}

/// The place of a new request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// In the elevator's own order.
    Sorted,
    /// Before all others: a request that an earlier elevator issued and the device returned; 2.5: before all other
    /// queued requests of its direction.
    First,
    /// 2.5: behind all other queued requests of its direction.
    Last,
    /// 2.5: directly behind this request, in whichever list that is.
    After(RequestId),
    /// 2.5: directly before this request, in whichever list that is.
    Before(RequestId),
}

/// What an elevator's own look-up found for a bio. Its tag is separate from that of [`Insert`], so that one comparison
/// tells whether anything was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Lookup {
    /// Nothing.
    Nothing,
    /// The bio starts where this request ends.
    Back(RequestId),
    /// The bio ends where this request starts.
    Front(RequestId),
    /// No request to join, but the search passed the bio's place (2.5).
    Place(Insert),
}

/// The queued requests adjacent to a request in the elevator's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The one before it.
    pub before: Option<RequestId>,
    /// The one behind it.
    pub behind: Option<RequestId>,
}

/// How deep into the queue's tags a request may go: the number behind `limit_depth`, whose meaning changed between 6.6
/// and 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// As many tags as there are.
    Unlimited,
    /// At most this many of a tag word at a time (6.6 and earlier).
    Shallow(u32),
    /// At most this many of all tags at a time (6.12 and later).
    AtMost(u32),
}
