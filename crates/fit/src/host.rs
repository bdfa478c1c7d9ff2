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
}

const LEGACY: &str = "128 requests for each direction; who waited may take 32 within 20 ms";
const TAGS: &str = "blk-mq: the tags of the disk";
const SCHEDULED: &str = "blk-mq: twice the tags, at most 256";

impl PathHost {
    /// Those in question. The kernels before 5.0 had a pool of requests in front of every elevator; most published
    /// grids were measured on one of those.
    pub const ALL: [PathHost; 5] = [
        PathHost { elevator: "noop@4.20", pool: LEGACY },
        PathHost { elevator: "deadline@4.20", pool: LEGACY },
        PathHost { elevator: "cfq@4.20", pool: LEGACY },
        PathHost { elevator: "none", pool: TAGS },
        PathHost { elevator: "mq-deadline", pool: SCHEDULED },
    ];

    /// What runs it.
    pub(crate) fn elevator(self) -> Choice {
        Catalogue::builtin().parse(self.elevator).expect("a test parses every host")
    }

    /// Whether it idles for a process, so that rare events take a long run to see.
    pub(crate) fn has_slices(self) -> bool {
        self.elevator.starts_with("cfq")
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
        PathHost::ALL.iter().for_each(|host| drop(host.elevator()));
    }
}
