//! The kinds of request, each with a latency model of its own, and the two sides between which a batch is filled.
//!
//! **Origin** docs/behaviour/adios-3.1.md#a1.

use core::ops::{Index, IndexMut};

use crate::explain::Domain;
use crate::request::Op;

/// The kind of a request, for predicting its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Read,
    Write,
    Discard,
    /// Write-zeroes.
    Other,
}

impl Kind {
    /// All kinds, in the order in which models are updated.
    pub(super) const ALL: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Discard, Kind::Other];

    pub(super) fn of(op: Op) -> Kind {
        match op {
            Op::Read => Kind::Read,
            Op::Write => Kind::Write,
            Op::Discard => Kind::Discard,
            Op::WriteZeroes | Op::Flush => Kind::Other,
        }
    }

    /// The kind as named in reasons.
    pub(super) fn domain(self) -> Domain {
        match self {
            Kind::Read => Domain::Read,
            Kind::Write => Domain::Write,
            Kind::Discard => Domain::Discard,
            Kind::Other => Domain::Other,
        }
    }

    pub(super) fn side(self) -> Side {
        if self == Kind::Read { Side::Reads } else { Side::Others }
    }
}

/// Reads, or everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Reads,
    Others,
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::Reads => Side::Others,
            Side::Others => Side::Reads,
        }
    }
}

/// One `T` per kind.
#[derive(Clone, Debug, Default)]
pub(super) struct PerKind<T>([T; 4]);

impl<T> PerKind<T> {
    pub(super) fn from_fn(mut make: impl FnMut(Kind) -> T) -> PerKind<T> {
        PerKind(Kind::ALL.map(&mut make))
    }
}

impl<T> Index<Kind> for PerKind<T> {
    type Output = T;
    fn index(&self, kind: Kind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<Kind> for PerKind<T> {
    fn index_mut(&mut self, kind: Kind) -> &mut T {
        &mut self.0[kind as usize]
    }
}
