//! Types for reasons of schedulers that serve priority classes in order.

use crate::time::Span;

/// Why a priority class has the next request while others also have requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum ClassTurn {
    /// No higher class has requests.
    Highest,
    /// Its request has waited so long that it is dispatched before those of higher classes.
    Aged {
        /// How long it has waited, in whole ticks.
        waited: Span,
    },
}
