//! Types for reasons of schedulers that serve one priority class before the other.

use crate::time::Span;

/// Why a priority class had the next request while others have some too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassTurn {
    /// No higher class has any.
    Highest,
    /// Its request has waited so long that the higher classes no longer go first.
    Aged {
        /// How long it has waited, in whole ticks.
        waited: Span,
    },
}
