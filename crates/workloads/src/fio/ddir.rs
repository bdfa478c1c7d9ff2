//! fio's data directions: reads, writes and trims each have their own block sizes, rates and random numbers.

use core::ops::{Index, IndexMut};

use blksched::Op;

/// The direction of an I/O, as options distinguish them: `bs=4k,8k,1m` is for these three, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ddir {
    Read,
    Write,
    Trim,
}

impl Ddir {
    pub const ALL: [Ddir; 3] = [Ddir::Read, Ddir::Write, Ddir::Trim];

    pub fn op(self) -> Op {
        match self {
            Ddir::Read => Op::Read,
            Ddir::Write => Op::Write,
            Ddir::Trim => Op::Discard,
        }
    }
}

/// One value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerDdir<T> {
    pub read: T,
    pub write: T,
    pub trim: T,
}

impl<T> PerDdir<T> {
    /// Calls the function for each direction.
    pub fn from_fn(mut make: impl FnMut(Ddir) -> T) -> PerDdir<T> {
        PerDdir { read: make(Ddir::Read), write: make(Ddir::Write), trim: make(Ddir::Trim) }
    }
}

impl<T> Index<Ddir> for PerDdir<T> {
    type Output = T;
    fn index(&self, ddir: Ddir) -> &T {
        match ddir {
            Ddir::Read => &self.read,
            Ddir::Write => &self.write,
            Ddir::Trim => &self.trim,
        }
    }
}

impl<T> IndexMut<Ddir> for PerDdir<T> {
    fn index_mut(&mut self, ddir: Ddir) -> &mut T {
        match ddir {
            Ddir::Read => &mut self.read,
            Ddir::Write => &mut self.write,
            Ddir::Trim => &mut self.trim,
        }
    }
}
