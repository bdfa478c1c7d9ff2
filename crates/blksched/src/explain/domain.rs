//! Types for reasons of a scheduler that gives each kind of operation a number of tokens.

use core::fmt;

/// A kind of operation with tokens of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
pub enum DomainTurn {
    /// It has had its batch.
    BatchUsed,
    /// It has nothing queued, or no token.
    NothingToSend,
}

/// Which of a request's latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Since it was made: 99 of 100.
    Total,
    /// Since the device has it: 90 of 100.
    Device,
}

/// Why a domain's number of tokens changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthChange {
    /// Its own requests take too long in all: more of them at a time.
    OwnTargetMissed {
        /// 99 of 100 were within this many quarters of its target (8 and more count as 8).
        quarters: u32,
    },
    /// Some domain's requests take too long in the device, and this one's are quick: fewer of them at a time.
    DeviceTooSlow {
        /// 99 of 100 were within this many quarters of its target.
        quarters: u32,
    },
}
