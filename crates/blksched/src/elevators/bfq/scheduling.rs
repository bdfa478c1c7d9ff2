//! What eras of BFQ do differently.

use super::groups::Groups;
use super::symmetry::Competition;
use crate::elevators::tags::Tags;

/// One choice of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduling {
    pub(super) groups: Groups,
    pub(super) competition: Competition,
    pub(super) newcomer: Newcomer,
    pub(super) tags: Tags,
}

/// A new queue has nothing injected yet; since when?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newcomer {
    /// For ever: its first request starts injection anew, and stops whatever measurement is on, somebody else's too
    /// (6.1).
    StartsAnew,
    /// Since it was made (6.6 and later).
    IsNew,
}

impl Newcomer {
    pub(super) fn of(variant: &str) -> Newcomer {
        if variant == "starts_anew" { Newcomer::StartsAnew } else { Newcomer::IsNew }
    }
}
