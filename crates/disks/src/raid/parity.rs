//! **What for**: what a write to a stripe with parity must read first, and what it writes.
//!
//! **Rule**: the new parity is worked out from the old data, the old parity and the new data (read-modify-write), or
//! from the stripe's other data and the new data (reconstruct-write), whichever reads fewer pieces, the latter if
//! equal. A write of a full stripe has no other data, and so reads nothing. With failed members only a way that reads
//! none of them will do; if neither does, all that is left of the stripe is read. Without any parity left nothing is.
//!
//! **Origin**: MEMORY, as Linux's md counts.

use super::layout::{Layout, Part};

/// A piece of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) member: u32,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The parity that `parts` of one stripe touch, as one range of a chunk or two.
fn touched(parts: &[Part]) -> [(u64, u64); 2] {
    match *parts {
        [first, last] if last.high < first.low => [(last.low, last.high), (first.low, first.high)],
        _ => {
            let low = parts.iter().map(|part| part.low).min().unwrap_or(0);
            let high = parts.iter().map(|part| part.high).max().unwrap_or(0);
            [(low, high), (0, 0)]
        }
    }
}

fn piece(layout: &Layout, stripe: u64, member: u32, low: u64, high: u64) -> Piece {
    Piece { member, start: stripe * layout.chunk + low, end: stripe * layout.chunk + high }
}

/// Data and parity that a write of `parts`, all of one stripe, writes; failed members are left out.
pub(super) fn writes(layout: &Layout, parts: &[Part], out: &mut Vec<Piece>) {
    let begin = out.len();
    write_all(layout, parts, out);
    let mut at = 0;
    out.retain(|piece| {
        at += 1;
        at <= begin || !layout.has_failed(piece.member)
    });
}

/// The data of a failed member, from what is left of its stripe.
pub(super) fn rebuild(layout: &Layout, part: &Part, out: &mut Vec<Piece>) {
    let chunk = |member| piece(layout, part.stripe, member, part.low, part.high);
    out.extend(left_of(layout, part.stripe).take(layout.columns() as usize).map(chunk));
}

/// What several parts of a command need is read once.
pub(super) fn read_once(pieces: &mut Vec<Piece>) {
    pieces.sort_by_key(|piece| (piece.member, piece.start));
    pieces.dedup_by(|next, piece| {
        let overlap = next.member == piece.member && next.start < piece.end;
        if overlap {
            piece.end = piece.end.max(next.end);
        }
        overlap
    });
}

/// The members of a stripe that have not failed, data first.
fn left_of(layout: &Layout, stripe: u64) -> impl Iterator<Item = u32> + '_ {
    let data = (0..layout.columns()).map(move |column| layout.data(stripe, column));
    let parity = (0..layout.parities()).map(move |which| layout.parity(stripe, which));
    data.chain(parity).filter(|member| !layout.has_failed(*member))
}

fn write_all(layout: &Layout, parts: &[Part], out: &mut Vec<Piece>) {
    for part in parts {
        out.push(piece(layout, part.stripe, layout.data(part.stripe, part.column), part.low, part.high));
    }
    let stripe = parts[0].stripe;
    for which in 0..layout.parities() {
        for (low, high) in touched(parts).into_iter().filter(|(low, high)| low < high) {
            out.push(piece(layout, stripe, layout.parity(stripe, which), low, high));
        }
    }
}

/// What must be read before that.
pub(super) fn reads(layout: &Layout, parts: &[Part], out: &mut Vec<Piece>) {
    let begin = out.len();
    let stripe = parts[0].stripe;
    for (low, high) in touched(parts).into_iter().filter(|(low, high)| low < high) {
        for column in 0..layout.columns() {
            let member = layout.data(stripe, column);
            let new =
                parts.iter().find(|part| part.column == column).map_or((high, high), |part| (part.low, part.high));
            let (new_low, new_high) = (new.0.clamp(low, high), new.1.clamp(low, high));
            let (before, behind) = ((low, new_low), (new_high, high));
            out.extend(
                [before, behind]
                    .iter()
                    .filter(|(low, high)| low < high)
                    .map(|&(low, high)| piece(layout, stripe, member, low, high)),
            );
        }
    }
    let reconstruct = out.len() - begin;
    let mut modify = Vec::new();
    writes(layout, parts, &mut modify);
    if layout.failed > 0 {
        return reads_degraded(layout, parts, (begin, modify), out);
    }
    if modify.len() < reconstruct {
        out.truncate(begin);
        out.append(&mut modify);
    }
}

/// `out` has the pieces for a reconstruct-write from `begin` on, `modify` those of a read-modify-write.
fn reads_degraded(layout: &Layout, parts: &[Part], (begin, modify): (usize, Vec<Piece>), out: &mut Vec<Piece>) {
    let stripe = parts[0].stripe;
    let has_parity = (0..layout.parities()).any(|which| !layout.has_failed(layout.parity(stripe, which)));
    if !has_parity {
        return out.truncate(begin);
    }
    let reconstructs = !out[begin..].iter().any(|piece| layout.has_failed(piece.member));
    let modifies = !parts.iter().any(|part| layout.has_failed(layout.data(stripe, part.column)));
    if reconstructs && (!modifies || out.len() - begin <= modify.len()) {
        return;
    }
    out.truncate(begin);
    if modifies {
        return out.extend(modify);
    }
    for (low, high) in touched(parts).into_iter().filter(|(low, high)| low < high) {
        out.extend(left_of(layout, stripe).map(|member| piece(layout, stripe, member, low, high)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    /// How many pieces a write of `start..end` reads and writes on `members` with chunks of 8.
    fn counts(level: Level, members: u32, start: u64, end: u64) -> (usize, usize) {
        let layout = Layout::new(level, members, 8, 800);
        let parts: Vec<Part> = layout.parts(start, end).collect();
        let (mut read, mut written) = (Vec::new(), Vec::new());
        reads(&layout, &parts, &mut read);
        writes(&layout, &parts, &mut written);
        (read.len(), written.len())
    }

    #[test]
    fn a_full_stripe_reads_nothing_and_a_small_write_two_pieces_or_three() {
        assert_eq!(counts(Level::Raid5, 5, 0, 32), (0, 5));
        assert_eq!(counts(Level::Raid5, 5, 0, 4), (2, 2));
        assert_eq!(counts(Level::Raid6, 8, 0, 4), (3, 3));
        assert_eq!(counts(Level::Raid6, 8, 0, 48), (0, 8));
    }

    #[test]
    fn a_large_write_reads_the_rest_of_the_stripe_rather_than_what_it_replaces() {
        assert_eq!(counts(Level::Raid5, 5, 0, 24), (1, 4));
        assert_eq!(counts(Level::Raid5, 3, 0, 4), (1, 2));
    }

    #[test]
    fn a_write_over_a_chunks_edge_touches_two_ranges_of_the_parity_and_not_what_lies_between() {
        let layout = Layout::new(Level::Raid5, 5, 8, 800);
        let parts: Vec<Part> = layout.parts(6, 10).collect();
        assert_eq!(touched(&parts), [(0, 2), (6, 8)]);
        assert_eq!(counts(Level::Raid5, 5, 6, 10), (4, 4));
    }
}
