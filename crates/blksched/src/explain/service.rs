//! Types for reasons of schedulers that give each process slices of the disk's time.

use crate::time::Span;

/// Why a queue became the one being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceStart {
    /// It was first in its service tree.
    InOrder,
    /// It reads close by the queue that was served before it.
    Cooperator,
}

/// Why a queue is no longer the one being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceEnd {
    /// Its time was up.
    Used,
    /// Its next request does not fit into what is left of its budget.
    BudgetUsed,
    /// It had nothing queued and was not worth waiting for.
    NothingQueued,
    /// A cooperator goes on where it stopped.
    Cooperator,
    /// The disk idled for it, and nothing came.
    IdledInVain,
    /// The disk idled beyond its slice because no other queue was there, and its request came.
    WaitedBusy,
    /// Write-back has had its share of requests while others wait.
    AsyncShare,
    /// The idle class gets one request at a time while others wait.
    IdleClass,
    /// 2.6.31: a real-time queue has requests.
    RealTimeWaits,
    /// A request came that goes first.
    Preempted(Preempt),
    /// Its process is gone.
    Gone,
}

/// Why a request that came took the disk from the queue being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preempt {
    /// That queue's time was up anyway.
    SliceUsed,
    /// That queue is of the idle class.
    IdleClass,
    /// This one is synchronous, and that queue is write-back.
    SyncOverAsync,
    /// It is metadata, and that queue has none.
    Metadata,
    /// It is real time, and that queue is not.
    RealTime,
    /// Both queues seek, no other is in their tree, and that one is empty.
    FellowSeeker,
    /// That queue is empty and not worth idling for (4.20).
    Abandoned,
    /// The disk idles, and this one is close by.
    Close,
    /// This one had budget left and comes back in time.
    WaitedFor,
    /// This one is of a higher class.
    HigherClass,
    /// This one weighs more.
    Heavier,
    /// That queue itself goes over to another group.
    Moved,
    /// The disk would not be left idle for that one anyway.
    NotWorthIdling,
}

/// Why the disk was not left idle for a queue that ran empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotIdled {
    /// Idling is off, or the queue seeks or thinks too long for it.
    NotWorthIt,
    /// A solid-state disk that queues: there is no arm to keep in place.
    NoArm,
    /// The disk still has requests.
    DiskBusy,
    /// Its process is gone.
    Gone,
    /// Its slice ends before it will have thought.
    SliceTooShort,
    /// The disk would idle for its group, but that has other queues (4.20).
    NotAloneInGroup,
}

/// Why the queue being served may not send a request although it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldBack {
    /// The disk still has write-back, and this queue is worth a quiet disk.
    AsyncInFlight,
    /// This is write-back, and the disk has synchronous requests.
    SyncInFlight,
    /// `quantum` requests are in flight.
    Quantum,
    /// As much write-back is in flight as may be.
    AsyncDepth,
    /// What is in flight will take the rest of its slice (4.20).
    SliceShort,
}

/// What a group was charged for a slice of one of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charged {
    /// The time that it had.
    Time(Span),
    /// The requests that it sent: the disk neither idles nor takes one at a time.
    Requests(u32),
}

/// Which formula said how much write-back may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthRule {
    /// The time since a synchronous request ended.
    SinceLastSync,
    /// The time since such a request ended late.
    SinceDelayedSync,
    /// That, times what is left of the slice.
    RemainingSlice,
}

/// The kinds of load that 2.6.33 keeps apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServiceType {
    /// Write-back.
    #[default]
    Async,
    /// Synchronous, and the disk does not idle for any one queue.
    SyncNoIdle,
    /// Synchronous, and the disk idles for each queue.
    Sync,
}
