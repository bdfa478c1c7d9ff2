//! The types of the contract: an elevator's answers, and the insert positions that it is given.

use crate::request::{GroupId, RequestId, SubmitterId};
use crate::time::Instant;

/// An elevator's answer to "what should the disk do next?"
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Send this to the device.
    Issue(RequestId),
    /// Requests may be queued, but a deadline can change the answer: leave the disk alone on purpose.
    Idle {
        /// When the answer may change by itself.
        until: Instant,
        /// The process, group or purpose that it is left idle for.
        why: IdleFor,
    },
    /// A queued request that the elevator kept out of its order goes through the insertion again, merging included;
    /// then the question is asked anew.
    Reinsert(RequestId),
    /// Requests are queued, but one in flight must complete first.
    Wait,
    /// Nothing is queued.
    Empty,
}

/// The process or group that a disk is left idle for, or what else a deadline is for.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleFor {
    /// The next request of this submitter, expected close by.
    Submitter(SubmitterId),
    /// The next request of a group.
    Group(GroupId),
    /// None: the next request seems to come from the future, because a time was lowered since it came (mq-deadline).
    AheadOfTime,
    /// None: the elevator looks at its statistics then.
    Statistics,
    /// Enough requests to make one run worth while (a test's or example's own rule).
    Company,
}

/// A wish to be run. A plugged queue obeys `Now` and `Soon`; a driver that never plugs may ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Run {
    /// No wish.
    #[default]
    No,
    /// After this event (the kernel schedules work).
    Soon,
    /// Inside this event.
    Now,
}

/// Where a new request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// Where the elevator's own order puts it.
    Sorted,
    /// Before every other: what an earlier elevator issued and the device handed back; 2.5: before every other queued
    /// request of its direction.
    First,
    /// 2.5: behind every other queued request of its direction.
    Last,
    /// 2.5: right behind this request, in whatever list that is.
    After(RequestId),
    /// 2.5: right before this request, in whatever list that is.
    Before(RequestId),
}

/// What an elevator's own look-up found for a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing to say.
    Nothing,
    /// The bio starts where this request ends.
    Back(RequestId),
    /// The bio ends where this request starts.
    Front(RequestId),
    /// Nothing to join, but the search passed the place where it belongs (2.5).
    Place(Insert),
}

/// The queued requests next to one in the elevator's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The one before it.
    pub before: Option<RequestId>,
    /// The one behind it.
    pub behind: Option<RequestId>,
}

/// A call of an elevator that many have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `Elevator::deadline`, and so `Elevator::elapse`: asked before everything else. An elevator that does not name it
    /// may say instead whenever its deadline moves (`Cx::wake_at`).
    Deadline,
    /// `Merges::meet`.
    Meet,
    /// `Admits::admit`.
    Admit,
    /// `Merges::prepare`.
    Prepare,
    /// `Merges::may_merge`.
    MayMerge,
    /// `Merges::may_merge` changes something: it is asked even of a request that the bio does not adjoin.
    MergeChanges,
    /// `Merges::may_append`.
    MayAppend,
    /// `Merges::look_up`.
    LookUp,
    /// `Elevator::complete`.
    Complete,
}

/// Which of the calls that many elevators have not this one has: the others are not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooks(u16);

impl Hooks {
    /// Every one: right for any elevator.
    pub const ALL: Hooks = Hooks(u16::MAX);

    /// These.
    pub const fn of(hooks: &[Hook]) -> Hooks {
        let (mut set, mut nth) = (0, 0);
        while nth < hooks.len() {
            set |= 1 << hooks[nth] as u8;
            nth += 1;
        }
        Hooks(set)
    }

    /// Is it among them?
    #[inline]
    pub const fn has(self, hook: Hook) -> bool {
        self.0 >> hook as u8 & 1 != 0
    }
}

/// How deep a request may go into the queue's tags: the wish behind `limit_depth`. How such a number is meant changed
/// between 6.6 and 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// As many as there are.
    Unlimited,
    /// At most this many of a tag word at a time (6.6 and earlier).
    Shallow(u32),
    /// At most this many of all tags at a time (6.12 and later).
    AtMost(u32),
}
