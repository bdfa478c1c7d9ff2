//! The rule that looks for a queued request that starts where a bio ends.
//!
//! **Rule** An exact look-up by first sector, in the wrong tree: there is a tree for synchronous and one for
//! asynchronous requests, but the look-up is indexed by read and write. A read is looked up among the asynchronous
//! writes, which it may not join; any write among the synchronous requests. So only writes ever join in front this way,
//! and only synchronous ones. (The queue checks the request merged last first, whatever it is.)
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.1: an old bug of the kernel's, kept because decisions depend on it.
//! **Costs when wrong** A process that reads backwards gets front merges only with its own last request.
//! **In the kernel** `as_merge`.

use crate::request::{Dir, Waiter};

/// The tree in which a bio of this direction is looked up.
pub(super) fn tree_for(dir: Dir) -> Waiter {
    match dir {
        Dir::Read => Waiter::Async,
        Dir::Write => Waiter::Sync,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_looked_up_where_no_read_ever_is() {
        assert_eq!((tree_for(Dir::Read), tree_for(Dir::Write)), (Waiter::Async, Waiter::Sync));
    }
}
