//! Which process waited for which, under which rule, over a whole run.

use std::collections::BTreeMap;

use blksched::{Span, SubmitterId};

use super::part::{Part, Piece};

/// One cell: a waiter, and what its time went to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blamed {
    /// The total time.
    pub time: Span,
    /// The number of I/Os.
    pub ios: u64,
}

/// The whole run's time of all I/Os, by the process that waited and what it waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    cells: BTreeMap<(SubmitterId, Part), Blamed>,
    totals: BTreeMap<SubmitterId, Blamed>,
}

impl Blame {
    /// Adds an I/O of `by` by its pieces.
    pub(super) fn add(&mut self, by: SubmitterId, pieces: &[Piece]) {
        for (nth, piece) in pieces.iter().enumerate() {
            let cell = self.cells.entry((by, piece.part)).or_default();
            cell.time += piece.length();
            cell.ios += u64::from(!pieces[..nth].iter().any(|before| before.part == piece.part));
        }
        let total = self.totals.entry(by).or_default();
        total.ios += 1;
        total.time += pieces.iter().fold(Span::ZERO, |sum, piece| sum + piece.length());
    }

    /// Every cell, by waiter.
    pub fn cells(&self) -> impl Iterator<Item = (SubmitterId, Part, Blamed)> + '_ {
        self.cells.iter().map(|(&(by, part), &cell)| (by, part, cell))
    }

    /// The total time of each process's I/Os, which is the sum of its cells.
    pub fn totals(&self) -> impl Iterator<Item = (SubmitterId, Blamed)> + '_ {
        self.totals.iter().map(|(&by, &total)| (by, total))
    }
}
