//! The host's part of a path: its elevator and its request pool.

use std::fmt;

use blksched::{Catalogue, Choice};

/// An elevator with the pool of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathHost {
    /// As `--elevator` takes it.
    pub elevator: &'static str,
    /// Its request pool, in words.
    pub pool: &'static str,
    /// What is behind the pool.
    pub queue: HostQueue,
    /// Whether it gives processes slices, so that rare events take a long run to see.
    pub has_slices: bool,
}

/// The kernel's way to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostQueue {
    /// One queue with a pool of requests, until 4.20.
    Legacy,
    /// Tags, since 3.13.
    BlkMq,
}

impl PathHost {
    const fn legacy(elevator: &'static str, has_slices: bool) -> PathHost {
        let pool = "128 requests for each direction; who waited may take 32 within 20 ms";
        PathHost { elevator, pool, queue: HostQueue::Legacy, has_slices }
    }

    const fn blk_mq(elevator: &'static str, pool: &'static str) -> PathHost {
        PathHost { elevator, pool, queue: HostQueue::BlkMq, has_slices: false }
    }
}

impl PathHost {
    /// Those in question: the legacy elevators with their pool, behind which the grids in testdata/grids are best
    /// explained, and two of blk-mq.
    pub const ALL: [PathHost; 5] = [
        PathHost::legacy("noop@4.20", false),
        PathHost::legacy("deadline@4.20", false),
        PathHost::legacy("cfq@4.20", true),
        PathHost::blk_mq("none", "blk-mq: the tags of the disk"),
        PathHost::blk_mq("mq-deadline", "blk-mq: twice the tags, at most 256"),
    ];

    /// What runs it.
    pub(crate) fn elevator(self) -> Choice {
        Catalogue::builtin().parse(self.elevator).expect("a test parses every host")
    }
}

impl fmt::Display for PathHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.elevator, self.pool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_known() {
        let eras = PathHost::ALL.map(|host| host.elevator().build().slots.era().is_some());
        assert_eq!(eras, PathHost::ALL.map(|host| host.queue == HostQueue::BlkMq));
    }
}
