//! Types for reasons of schedulers that give each process slices of the disk's time.

use crate::time::Span;

/// Why a queue became the one being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum SliceStart {
    /// It was first in its service tree.
    InOrder,
    /// Its next request is close to where the previous queue stopped.
    Cooperator,
}

/// Why a queue is no longer the one being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum SliceEnd {
    /// Its slice was used up.
    Used,
    /// Its next request does not fit into what is left of its budget.
    BudgetUsed,
    /// It had no request, and idling for it is not worthwhile.
    NothingQueued,
    /// A cooperator continues where it stopped.
    Cooperator,
    /// The disk idled for it, and no request arrived.
    IdledInVain,
    /// The disk idled beyond its slice because there was no other queue, and its request arrived.
    WaitedBusy,
    /// Write-back has sent its number of requests while others wait.
    AsyncShare,
    /// The idle class gets one request at a time while others wait.
    IdleClass,
    /// 2.6.31: a real-time queue has requests.
    RealTimeWaits,
    /// An arriving request preempts it.
    Preempted(Preempt),
    /// Its process has exited.
    Gone,
}

/// Why an arriving request preempts the queue being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Preempt {
    /// That queue's slice was used up.
    SliceUsed,
    /// That queue is of the idle class.
    IdleClass,
    /// This one is synchronous, and that queue is write-back.
    SyncOverAsync,
    /// It is metadata, and that queue has none.
    Metadata,
    /// It is real time, and that queue is not.
    RealTime,
    /// Both queues seek, no other queue is in their tree, and the one being served is empty.
    FellowSeeker,
    /// That queue is empty, and idling for it is not worthwhile (4.20).
    Abandoned,
    /// The disk idles, and this request is close.
    Close,
    /// This queue had budget left, and its request arrived in time.
    WaitedFor,
    /// This queue is of a higher class.
    HigherClass,
    /// This queue has a greater weight.
    Heavier,
    /// That queue is being moved to another group.
    Moved,
    /// The disk would not be left idle for that queue anyway.
    NotWorthIdling,
}

/// Why the disk was not left idle for a queue that ran empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum NotIdled {
    /// Idling is disabled, or the queue seeks, or its think time is too long.
    NotWorthIt,
    /// The disk is non-rotational and has NCQ: there is no arm to keep in place.
    NoArm,
    /// The disk still has requests.
    DiskBusy,
    /// Its process has exited.
    Gone,
    /// Its slice would end within its think time.
    SliceTooShort,
    /// The disk would idle for its group, but that has other queues (4.20).
    NotAloneInGroup,
}

/// Why the queue being served may not send a request although it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum HeldBack {
    /// The disk still has write-back, and this queue should have the disk for itself.
    AsyncInFlight,
    /// This is write-back, and the disk has synchronous requests.
    SyncInFlight,
    /// `quantum` requests are in flight.
    Quantum,
    /// As much write-back is in flight as is allowed.
    AsyncDepth,
    /// The requests in flight will take the rest of its slice (4.20).
    SliceShort,
}

/// What a group was charged for a slice of one of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Charged {
    /// The time of the slice.
    Time(Span),
    /// The number of requests sent, in IOPS mode: with NCQ and without idling.
    Requests(u32),
}

/// The formula that limits write-back in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum DepthRule {
    /// The time since a synchronous request completed.
    SinceLastSync,
    /// The time since a synchronous request completed late.
    SinceDelayedSync,
    /// As above, times the rest of the slice.
    RemainingSlice,
}

/// The kinds of load that are kept apart since 2.6.33.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum ServiceType {
    /// Write-back.
    #[default]
    Async,
    /// Synchronous, and the disk does not idle for any one queue.
    SyncNoIdle,
    /// Synchronous, and the disk idles for each queue.
    Sync,
}
