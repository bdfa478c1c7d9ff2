//! Types for reasons of a scheduler that gives each kind of operation a number of tokens.

use core::fmt;

/// A kind of operation with tokens of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Domain {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards.
    Discard,
    /// Anything else.
    Other,
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Domain::Read => "read",
            Domain::Write => "write",
            Domain::Discard => "discard",
            Domain::Other => "other",
        })
    }
}

/// Why a domain's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum DomainTurn {
    /// Its batch is complete.
    BatchUsed,
    /// It has nothing queued, or no token.
    NothingToSend,
}

/// Which of a request's two latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Latency {
    /// Since its allocation: the 99th percentile.
    Total,
    /// Since its issue: the 90th percentile.
    Device,
}

/// A mean latency against its target (4.19), the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum LatencyStatus {
    /// At most half of it.
    Great,
    /// At most the target.
    Good,
    /// Above it.
    Bad,
    /// Twice the target or more.
    Awful,
}

/// Why a domain's number of tokens changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum DepthChange {
    /// Its requests take too long in total, so it gets more tokens.
    OwnTargetMissed {
        /// The 99th percentile was within this many quarters of its target (8 means 8 or more).
        quarters: u32,
    },
    /// Some domain's requests take too long in the device, and this domain's are fast, so it gets fewer tokens.
    DeviceTooSlow {
        /// The 99th percentile was within this many quarters of its target.
        quarters: u32,
    },
    /// 4.19: by mean latencies in the device. `None`: nothing of it completed.
    Means {
        /// Its own; of requests that have no target of their own, that of reads.
        own: Option<LatencyStatus>,
        /// That of the other direction.
        other: Option<LatencyStatus>,
    },
}
