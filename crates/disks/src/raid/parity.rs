//! **What for**: the reads and writes needed for a write to a stripe with parity.
//!
//! **Rule**: it works page by page of the members. The new parity is computed from the old data, the old parity and the
//! new data (read-modify-write), or from the stripe's other data and the new data (reconstruct-write), whichever reads
//! fewer pages, the latter if equal. Pages that the stripe cache still holds need not be read. A write of all of a
//! stripe's data has no other data, and so reads nothing. If members are missing, only a method that does not read them
//! is possible; if neither is, the whole rest of the stripe is read. If no parity is left, only the remaining parts of
//! the written pages are read.
//!
//! **Origin**: MEMORY, as Linux's md counts.

use super::layout::{ChunkPart, Layout, PAGE};

/// A piece of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberPiece {
    pub(super) member: u32,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A set of an array's members, as bits: there are 64 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Members(u64);

impl Members {
    pub(super) fn of(members: impl Iterator<Item = u32>) -> Members {
        Members(members.fold(0, |bits, member| bits | 1 << member))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn and(self, other: Members) -> Members {
        Members(self.0 & other.0)
    }

    pub(super) fn or(self, other: Members) -> Members {
        Members(self.0 | other.0)
    }

    pub(super) fn without(self, other: Members) -> Members {
        Members(self.0 & !other.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u32> {
        let mut bits = self.0;
        core::iter::from_fn(move || {
            let member = (bits != 0).then(|| bits.trailing_zeros())?;
            bits &= bits - 1;
            Some(member)
        })
    }
}

/// The new data for one page of a stripe: the members whose pages are written completely, and those written in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fresh {
    pub(super) whole: Members,
    pub(super) part: Members,
}

impl Fresh {
    pub(super) fn any(self) -> Members {
        self.whole.or(self.part)
    }
}

/// One page of every member, and each member's role in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParityRow {
    data: Members,
    parity: Members,
    /// Members that cannot be written.
    gone: Members,
    /// Members that cannot be read.
    missing: Members,
}

impl ParityRow {
    /// The page number `row` of each member.
    pub(super) fn new(layout: &Layout, row: u64) -> ParityRow {
        let stripe = row * PAGE / layout.chunk;
        let all = || 0..layout.members;
        ParityRow {
            data: Members::of((0..layout.columns()).map(|column| layout.data(stripe, column))),
            parity: Members::of((0..layout.parities()).map(|which| layout.parity(stripe, which))),
            gone: Members::of(all().filter(|&member| layout.has_failed(member))),
            missing: Members::of(all().filter(|&member| layout.lacks(member, (row + 1) * PAGE))),
        }
    }

    /// The members whose pages must be read before `fresh` can be written, if the cache has those of `cached`.
    pub(super) fn reads(&self, fresh: Fresh, cached: Members) -> Members {
        if self.parity.without(self.missing).is_empty() {
            return fresh.part.without(cached).without(self.missing);
        }
        let reconstruct = self.data.without(fresh.whole).without(cached);
        let modify = fresh.any().or(self.parity.without(self.missing)).without(cached);
        let will_do = |reads: Members| reads.and(self.missing).is_empty();
        match (will_do(reconstruct), will_do(modify)) {
            (true, true) if modify.count() < reconstruct.count() => modify,
            (true, _) => reconstruct,
            (false, true) => modify,
            (false, false) => self.data.or(self.parity).without(self.missing).without(cached),
        }
    }

    /// The members whose pages are written.
    pub(super) fn writes(&self, fresh: Fresh) -> Members {
        fresh.any().or(self.parity).without(self.gone)
    }

    /// The members from whose pages a missing one is computed: as many as there are data pages.
    pub(super) fn survivors(&self) -> impl Iterator<Item = u32> {
        let order = self.data.iter().chain(self.parity.iter());
        let missing = self.missing;
        order
            .filter(move |&member| missing.and(Members::of([member].into_iter())).is_empty())
            .take(self.data.count() as usize)
    }
}

/// The reads that reconstruct a missing member's data from the rest of its stripe.
pub(super) fn rebuild(layout: &Layout, part: &ChunkPart, out: &mut Vec<MemberPiece>) {
    let start = part.stripe * layout.chunk;
    let row = ParityRow::new(layout, (start + part.high - 1) / PAGE);
    out.extend(row.survivors().map(|member| MemberPiece { member, start: start + part.low, end: start + part.high }));
}

/// Reads only once what several parts of a command need.
pub(super) fn read_once(pieces: &mut Vec<MemberPiece>) {
    pieces.sort_by_key(|piece| (piece.member, piece.start));
    pieces.dedup_by(|next, piece| {
        let overlap = next.member == piece.member && next.start < piece.end;
        if overlap {
            piece.end = piece.end.max(next.end);
        }
        overlap
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    /// How many pages are read and written for a write of this many data pages of stripe 0, from the first column on.
    fn counts(level: Level, members: u32, columns: u32) -> (u32, u32) {
        let layout = Layout::new(level, members, 8, 800);
        let row = ParityRow::new(&layout, 0);
        let fresh = Fresh { whole: Members::of((0..columns).map(|column| layout.data(0, column))), ..Fresh::default() };
        (row.reads(fresh, Members::default()).count(), row.writes(fresh).count())
    }

    #[test]
    fn a_full_stripe_reads_nothing_and_a_small_write_two_pages_or_three() {
        assert_eq!(counts(Level::Raid5, 5, 4), (0, 5));
        assert_eq!(counts(Level::Raid5, 5, 1), (2, 2));
        assert_eq!(counts(Level::Raid6, 8, 1), (3, 3));
        assert_eq!(counts(Level::Raid6, 8, 6), (0, 8));
    }

    #[test]
    fn a_large_write_reads_the_rest_of_the_stripe_rather_than_what_it_replaces() {
        assert_eq!(counts(Level::Raid5, 5, 3), (1, 4));
        assert_eq!(counts(Level::Raid5, 3, 1), (1, 2));
    }

    #[test]
    fn what_the_cache_holds_is_not_read_and_a_page_that_is_written_in_part_is() {
        let layout = Layout::new(Level::Raid5, 5, 8, 800);
        let row = ParityRow::new(&layout, 0);
        let one = Members::of([layout.data(0, 0)].into_iter());
        let (whole, part) = (Fresh { whole: one, ..Fresh::default() }, Fresh { part: one, ..Fresh::default() });
        assert_eq!(row.reads(whole, row.parity), one, "the old data alone");
        assert!(row.reads(whole, row.parity.or(one)).is_empty());
        assert!(row.reads(whole, row.data.without(one)).is_empty());
        assert_eq!(row.reads(part, row.data.without(one)), one);
    }

    #[test]
    fn without_a_parity_a_page_is_just_written_and_with_a_missing_one_all_survivors_are_read() {
        let layout = Layout::new(Level::Raid5, 5, 8, 800).without(1);
        let of = |row: u64, column: u32| {
            let data = layout.data(row, column);
            let fresh = Fresh { whole: Members::of([data].into_iter()), ..Fresh::default() };
            let row = ParityRow::new(&layout, row);
            (data, row.reads(fresh, Members::default()).count(), row.writes(fresh).count())
        };
        assert_eq!(of(0, 0), (0, 0, 1), "stripe 0's parity was on the last member");
        let stripe_1: Vec<_> = (0..4).map(|column| of(1, column)).collect();
        assert!(stripe_1.contains(&(4, 3, 1)), "of the missing one only the parity can be written: {stripe_1:?}");
    }
}
