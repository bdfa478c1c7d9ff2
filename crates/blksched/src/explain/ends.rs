//! Where something joined or was searched for, and what ends a wait or a plug.

/// The end of a request that something joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum End {
    /// Behind its last sector.
    Back,
    /// Before its first sector.
    Front,
}

/// Why the disk is not, or no longer, left idle for the next request of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum WaitEnd {
    /// It arrived.
    Arrived,
    /// The wait has lasted long enough.
    TimeIsUp,
    /// Its submitter has other requests in flight.
    HasMore,
    /// A request of another process is as near as it would be.
    CloseEnough,
    /// Its submitter has exited, and requests of others seldom follow such a submitter's.
    Gone,
    /// Its submitter is new, and new ones mostly exit.
    LikelyGone,
    /// Its submitter's think time is longer than the wait, or it is new, and new ones' think times are.
    ThinksLonger,
    /// A request had to go out of turn.
    OutOfTurn,
}

/// Why a plugged queue was unplugged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Unplug {
    /// Enough requests are queued.
    Threshold,
    /// It has been plugged long enough.
    Timer,
    /// A submitter waits for its I/O.
    Waiting,
    /// The elevator requested a run.
    Wished,
}

/// The index that a search used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Index {
    /// A sorted list: nodes visited.
    List,
    /// A balanced tree: comparisons made.
    Tree,
    /// The merge hash: entries examined in the bucket.
    Hash,
}
