//! Calls on the host's memory: which transfers they waited for, one after the other.

use std::collections::BTreeMap;

use blksched::{Instant, Op, SubmitterId};

use super::part::{Part, Piece, add};

/// A completed transfer: its pieces, without a gap.
pub(super) type Landed = Vec<Piece>;

/// Transfers that a current call may have waited for, by submitter.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    by: BTreeMap<SubmitterId, Vec<Landed>>,
}

impl Transfers {
    /// Adds a transfer, the last to complete so far. One that began no later and ended earlier delayed no call longer.
    pub(super) fn landed(&mut self, by: SubmitterId, pieces: Landed) {
        let Some(began) = pieces.first().map(|first| first.from) else { return };
        let landed = self.by.entry(by).or_default();
        while landed.last().is_some_and(|last| last[0].from >= began) {
            landed.pop();
        }
        landed.push(pieces);
    }

    /// Forgets what ended before `oldest`, since no current call began before it.
    pub(super) fn forget(&mut self, oldest: Instant) {
        for landed in self.by.values_mut() {
            landed.retain(|pieces| end(pieces) > oldest);
        }
    }

    /// The pieces of a call: going back from its end, the last transfer completed by then; the rest is the host's
    /// memory.
    pub(super) fn pieces(&self, of: (SubmitterId, Op), flusher: SubmitterId, span: (Instant, Instant)) -> Vec<Piece> {
        let (by, op) = of;
        let (from, to) = span;
        let none = Vec::new();
        let own = self.by.get(&by).unwrap_or(&none);
        let others = if op == Op::Read { &none } else { self.by.get(&flusher).unwrap_or(&none) };
        let mut backward: Vec<Piece> = Vec::new();
        let mut now = to;
        while now > from {
            let last = |landed: &'_ [Landed]| {
                let before = landed.partition_point(|pieces| end(pieces) <= now);
                before.checked_sub(1).map(|nth| (end(&landed[nth]), nth))
            };
            let (own_last, other_last) = (last(own), last(others));
            let chosen = match (own_last, other_last) {
                (Some((at, nth)), other) if other.is_none_or(|(other, _)| other <= at) => Some((at, &own[nth])),
                (_, Some((at, nth))) => Some((at, &others[nth])),
                _ => None,
            };
            let Some((landed_at, transfer)) = chosen.filter(|(at, _)| *at > from) else { break };
            push(&mut backward, memory(landed_at, now));
            for piece in transfer.iter().rev().filter(|piece| piece.to > from) {
                push(&mut backward, Piece { from: piece.from.max(from), ..*piece });
            }
            now = transfer[0].from.max(from);
        }
        push(&mut backward, memory(from, now));
        let mut pieces = Vec::with_capacity(backward.len());
        backward.into_iter().rev().for_each(|piece| add(&mut pieces, piece));
        pieces
    }
}

fn end(pieces: &Landed) -> Instant {
    pieces.last().map_or(Instant::ZERO, |last| last.to)
}

fn memory(from: Instant, to: Instant) -> Piece {
    Piece { from, to, part: Part::Memory, commands: 0 }
}

fn push(backward: &mut Vec<Piece>, piece: Piece) {
    if piece.from < piece.to {
        backward.push(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(from: u64, to: u64, part: Part) -> Piece {
        Piece { from: Instant::from_ns(from), to: Instant::from_ns(to), part, commands: 0 }
    }

    #[test]
    fn a_call_is_a_chain_of_the_transfers_that_ended_before_it_went_on() {
        let (own, flusher) = (SubmitterId(1), SubmitterId(9));
        let mut transfers = Transfers::default();
        transfers.landed(own, vec![piece(12, 20, Part::Seek)]);
        transfers.landed(own, vec![piece(10, 30, Part::Seek), piece(30, 40, Part::Transfer)]);
        transfers.landed(flusher, vec![piece(5, 45, Part::Rotation)]);
        transfers.landed(own, vec![piece(42, 90, Part::Flush)]);
        let told = |op, from, to| {
            let pieces = transfers.pieces((own, op), flusher, (Instant::from_ns(from), Instant::from_ns(to)));
            pieces.iter().map(|piece| (piece.from.as_ns(), piece.to.as_ns(), piece.part)).collect::<Vec<_>>()
        };
        let read = [
            (8, 10, Part::Memory),
            (10, 30, Part::Seek),
            (30, 40, Part::Transfer),
            (40, 42, Part::Memory),
            (42, 90, Part::Flush),
            (90, 93, Part::Memory),
        ];
        assert_eq!(told(Op::Read, 8, 93), read);
        assert_eq!(told(Op::Flush, 8, 93)[0], (8, 10, Part::Memory));
        assert_eq!(told(Op::Write, 44, 60), [(44, 45, Part::Rotation), (45, 60, Part::Memory)]);
        assert_eq!(told(Op::Read, 95, 96), [(95, 96, Part::Memory)]);
    }
}
