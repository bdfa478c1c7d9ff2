//! Calls on the host's memory: which transfers they waited for, one after the other.

use std::collections::BTreeMap;

use blksched::{Instant, Op, Span, SubmitterId};

use super::part::{Leg, Part, Piece, add};

/// A completed transfer.
#[derive(Debug)]
pub(super) struct Landed {
    /// Its pieces, without a gap.
    pub(super) pieces: Vec<Piece>,
    /// It stood in the elevator until its deadline.
    pub(super) expired: bool,
}

/// The part of a call's time in which it waited for the file system's journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForJournal {
    /// For the journal's writes, from their submission to their end.
    pub waited: Span,
    /// That part of it in which one stood in the elevator until its deadline.
    pub until_deadline: Span,
    /// How many transfers the call waited for, one after the other, its own data's among them.
    pub trips: u32,
}

/// Whose transfers a call may wait for besides its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    pub(super) flusher: SubmitterId,
    pub(super) journal: SubmitterId,
}

/// Transfers that a current call may have waited for, by submitter.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    by: BTreeMap<SubmitterId, Vec<Landed>>,
}

impl Transfers {
    /// Adds a transfer, the last to complete so far. One that began no later and ended earlier delayed no call longer.
    pub(super) fn landed(&mut self, by: SubmitterId, transfer: Landed) {
        let Some(began) = transfer.pieces.first().map(|first| first.from) else { return };
        let landed = self.by.entry(by).or_default();
        while landed.last().is_some_and(|last| last.pieces[0].from >= began) {
            landed.pop();
        }
        landed.push(transfer);
    }

    /// Forgets what ended before `oldest`, since no current call began before it.
    pub(super) fn forget(&mut self, oldest: Instant) {
        for landed in self.by.values_mut() {
            landed.retain(|transfer| end(transfer) > oldest);
        }
    }

    /// The pieces of a call: going back from its end, the last transfer completed by then; the rest is the host's
    /// memory. And what of it was for the journal.
    pub(super) fn pieces(
        &self,
        of: (SubmitterId, Op),
        others: Others,
        span: (Instant, Instant),
    ) -> (Vec<Piece>, ForJournal) {
        let (by, op) = of;
        let (from, to) = span;
        let all = [by, others.flusher, others.journal];
        let may_wait_for = if op == Op::Read { &all[..1] } else { &all[..] };
        let mut backward: Vec<Piece> = Vec::new();
        let mut journal = ForJournal::default();
        let mut now = to;
        while now > from {
            // Of two that end together, its own.
            let ended = may_wait_for.iter().rev().filter_map(|&whose| Some((self.last(whose, now)?, whose)));
            let last = ended.max_by_key(|(transfer, _)| end(transfer));
            let Some((transfer, whose)) = last.filter(|(transfer, _)| end(transfer) > from) else { break };
            push(&mut backward, memory(end(transfer), now));
            journal.trips += 1;
            for piece in transfer.pieces.iter().rev().filter(|piece| piece.to > from) {
                let piece = Piece { from: piece.from.max(from), ..*piece };
                if whose == others.journal {
                    journal.waited += piece.length();
                    let stood = transfer.expired && piece.part.leg() == Leg::Elevator;
                    journal.until_deadline += if stood { piece.length() } else { Span::ZERO };
                }
                push(&mut backward, piece);
            }
            now = transfer.pieces[0].from.max(from);
        }
        push(&mut backward, memory(from, now));
        let mut pieces = Vec::with_capacity(backward.len());
        backward.into_iter().rev().for_each(|piece| add(&mut pieces, piece));
        (pieces, journal)
    }

    /// The last transfer of this submitter's that had ended by `now`.
    fn last(&self, whose: SubmitterId, now: Instant) -> Option<&Landed> {
        let landed = self.by.get(&whose)?;
        landed.get(landed.partition_point(|transfer| end(transfer) <= now).checked_sub(1)?)
    }
}

fn end(transfer: &Landed) -> Instant {
    transfer.pieces.last().map_or(Instant::ZERO, |last| last.to)
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
        let (own, flusher, journal) = (SubmitterId(1), SubmitterId(9), SubmitterId(10));
        let mut transfers = Transfers::default();
        let landed = |pieces| Landed { pieces, expired: false };
        transfers.landed(own, landed(vec![piece(12, 20, Part::Seek)]));
        transfers.landed(own, landed(vec![piece(10, 30, Part::Seek), piece(30, 40, Part::Transfer)]));
        transfers.landed(flusher, landed(vec![piece(5, 45, Part::Rotation)]));
        transfers.landed(own, landed(vec![piece(42, 90, Part::Flush)]));
        let others = Others { flusher, journal };
        let told = |op, from, to| {
            let span = (Instant::from_ns(from), Instant::from_ns(to));
            let (pieces, journal) = transfers.pieces((own, op), others, span);
            assert!(journal.waited.is_zero() && journal.until_deadline.is_zero(), "it wrote nothing");
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

    #[test]
    fn what_a_sync_waits_for_the_journal_is_told_apart() {
        let (own, flusher, journal) = (SubmitterId(1), SubmitterId(9), SubmitterId(10));
        let mut transfers = Transfers::default();
        transfers.landed(own, Landed { pieces: vec![piece(10, 20, Part::Transfer)], expired: false });
        let log = vec![piece(25, 75, Part::Free), piece(75, 80, Part::Transfer)];
        transfers.landed(journal, Landed { pieces: log, expired: true });
        let commit = vec![piece(80, 82, Part::Free), piece(82, 85, Part::Transfer)];
        transfers.landed(journal, Landed { pieces: commit, expired: false });
        let told = |op, from| {
            let span = (Instant::from_ns(from), Instant::from_ns(85));
            let (pieces, journal) = transfers.pieces((own, op), Others { flusher, journal }, span);
            assert_eq!(pieces.iter().map(|piece| piece.length().as_ns()).sum::<u64>(), 85 - from);
            (journal.waited.as_ns(), journal.until_deadline.as_ns(), journal.trips)
        };
        assert_eq!(told(Op::Flush, 8), (60, 50, 3), "its data, the log write and the commit block");
        assert_eq!(told(Op::Flush, 30), (55, 45, 2), "what was before it came does not count");
        assert_eq!(told(Op::Read, 8), (0, 0, 1), "a read needs no journal");
    }
}
