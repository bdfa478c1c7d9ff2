//! Calls on the host's memory: which transfers they waited for, one after the other.

use std::collections::BTreeMap;
use std::rc::Rc;

use blksched::{Dir, Instant, Op, Span, SubmitterId};

use super::part::{Leg, Part, Piece, Whose, add};

/// A completed transfer.
#[derive(Debug)]
pub(super) struct Landed {
    /// Its pieces, without a gap.
    pub(super) pieces: Vec<Piece>,
    /// It stood in the elevator until its deadline.
    pub(super) expired: bool,
    /// It was the file system's metadata or its log, which others than its submitter may wait for.
    pub(super) is_metadata: bool,
}

/// The part of a call's time in which it waited for the file system's journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForJournal {
    /// For the journal's writes, from their submission to their end.
    pub waited: Span,
    /// That part of it in which one stood in the elevator until its deadline.
    pub until_deadline: Span,
    /// For whom the disk worked for most of that time at a stretch; `None` if there was no such time.
    pub behind: Option<Whose>,
    /// How many transfers the call waited for, one after the other, its own data's among them.
    pub trips: u32,
}

/// The places of its own transfers and of the flusher's among those that a call may wait for.
const OWN: usize = 0;
const FLUSHERS: usize = 1;

/// Transfers that a current call may have waited for, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// By submitter.
    by: BTreeMap<SubmitterId, Vec<Rc<Landed>>>,
    /// Metadata, whoever submitted them.
    metadata: Vec<Rc<Landed>>,
    kept: usize,
}

impl Transfers {
    /// Adds a transfer, the last to complete so far.
    pub(super) fn landed(&mut self, by: SubmitterId, transfer: Landed) {
        if transfer.pieces.is_empty() {
            return;
        }
        let transfer = Rc::new(transfer);
        if transfer.is_metadata {
            self.metadata.push(transfer.clone());
        }
        self.by.entry(by).or_default().push(transfer);
        self.kept += 1;
    }

    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        self.kept
    }

    /// Forgets what ended before `oldest`, since no current call began before it.
    pub(super) fn forget(&mut self, oldest: Instant) {
        for landed in self.by.values_mut().chain([&mut self.metadata]) {
            landed.drain(..landed.partition_point(|transfer| end(transfer) <= oldest));
        }
        self.kept = self.by.values().map(Vec::len).sum();
    }

    /// The pieces of a call: going back from its end, the last transfer completed by then, but of another's only what
    /// was after the last of its own; the rest is the host's memory. And what of it was for the journal. A read waits
    /// for its own transfers alone, other calls for the flusher's and for everybody's metadata as well.
    pub(super) fn pieces(
        &self,
        of: (SubmitterId, Op),
        flusher: SubmitterId,
        span: (Instant, Instant),
    ) -> (Vec<Piece>, ForJournal) {
        let (by, op) = of;
        let (from, to) = span;
        let of = |whose: SubmitterId| self.by.get(&whose).map_or(&[][..], Vec::as_slice);
        let all = [of(by), of(flusher), &self.metadata[..]];
        let may_wait_for = if op == Op::Read { &all[..1] } else { &all[..] };
        let mut backward: Vec<Piece> = Vec::new();
        let mut journal = ForJournal::default();
        let mut now = to;
        let (mut after, mut longest) = (None, Span::ZERO);
        while now > from {
            // Of two that end together, its own.
            let ended = may_wait_for.iter().enumerate().rev();
            let ended = ended.filter_map(|(whose, landed)| Some((whose, last(landed, now)?)));
            let latest = ended.max_by_key(|(_, transfer)| end(transfer));
            let Some((whose, transfer)) = latest.filter(|(_, transfer)| end(transfer) > from) else { break };
            push(&mut backward, memory(end(transfer), now));
            // Until its own transfer ended it waited for that, whatever others had under way beside it.
            let own = last(of(by), end(transfer)).filter(|_| whose != OWN).map(end);
            let from = own.map_or(from, |own| own.max(from));
            // Of the flusher's in a row, the last is what it waited for; the disk was busy with the others.
            let is_other = whose == FLUSHERS && after == Some(FLUSHERS);
            journal.trips += u32::from(!is_other);
            after = Some(whose);
            for piece in transfer.pieces.iter().rev().filter(|piece| piece.to > from) {
                let piece = Piece { from: piece.from.max(from), ..*piece };
                let piece = if is_other { anothers(piece, flusher) } else { piece };
                if transfer.is_metadata {
                    journal.waited += piece.length();
                    if transfer.expired && piece.part.leg() == Leg::Elevator {
                        journal.until_deadline += piece.length();
                        if piece.length() > longest {
                            (longest, journal.behind) = (piece.length(), Some(piece.part.whose()));
                        }
                    }
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
}

/// A piece of a transfer that the call did not wait for itself: what the disk served was another's.
fn anothers(piece: Piece, flusher: SubmitterId) -> Piece {
    match piece.part.is_service() {
        true => Piece { part: Part::Drive(Whose::Process(flusher), Dir::Write), commands: 1, ..piece },
        false => piece,
    }
}

/// The last of these that had ended by `now`.
fn last(landed: &[Rc<Landed>], now: Instant) -> Option<&Landed> {
    landed.get(landed.partition_point(|transfer| end(transfer) <= now).checked_sub(1)?).map(Rc::as_ref)
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
    use super::super::part::Rule;
    use super::*;

    fn piece(from: u64, to: u64, part: Part) -> Piece {
        Piece { from: Instant::from_ns(from), to: Instant::from_ns(to), part, commands: 0 }
    }

    #[test]
    fn a_call_is_a_chain_of_the_transfers_that_ended_before_it_went_on() {
        let (own, flusher) = (SubmitterId(1), SubmitterId(9));
        let mut transfers = Transfers::default();
        let landed = |pieces| Landed { pieces, expired: false, is_metadata: false };
        transfers.landed(own, landed(vec![piece(12, 20, Part::Seek)]));
        transfers.landed(own, landed(vec![piece(10, 30, Part::Seek), piece(30, 40, Part::Transfer)]));
        transfers.landed(flusher, landed(vec![piece(5, 45, Part::Rotation)]));
        transfers.landed(own, landed(vec![piece(42, 90, Part::Flush)]));
        let told = |op, from, to| {
            let span = (Instant::from_ns(from), Instant::from_ns(to));
            let (pieces, journal) = transfers.pieces((own, op), flusher, span);
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
        let landed = |pieces, expired, is_metadata| Landed { pieces, expired, is_metadata };
        transfers.landed(own, landed(vec![piece(10, 20, Part::Transfer)], false, false));
        let behind = Part::Behind(Whose::Process(flusher), Rule::First);
        let log = vec![piece(25, 30, Part::Free), piece(30, 75, behind), piece(75, 80, Part::Transfer)];
        transfers.landed(journal, landed(log, true, true));
        let commit = vec![piece(80, 82, Part::Free), piece(82, 85, Part::Transfer)];
        transfers.landed(journal, landed(commit, false, true));
        let told = |op, from| {
            let span = (Instant::from_ns(from), Instant::from_ns(85));
            let (pieces, journal) = transfers.pieces((own, op), flusher, span);
            assert_eq!(pieces.iter().map(|piece| piece.length().as_ns()).sum::<u64>(), 85 - from);
            assert_eq!(journal.behind, (op == Op::Flush).then_some(Whose::Process(flusher)));
            (journal.waited.as_ns(), journal.until_deadline.as_ns(), journal.trips)
        };
        assert_eq!(told(Op::Flush, 8), (60, 50, 3), "its data, the log write and the commit block");
        assert_eq!(told(Op::Flush, 30), (55, 45, 2), "what was before it came does not count");
        assert_eq!(told(Op::Read, 8), (0, 0, 1), "a read needs no journal");
    }

    #[test]
    fn another_processs_metadata_is_waited_for_and_its_data_is_not() {
        let (own, other, flusher) = (SubmitterId(1), SubmitterId(2), SubmitterId(9));
        let mut transfers = Transfers::default();
        let capped = Part::Max(blksched::GroupId(1));
        let landed = |pieces, is_metadata| Landed { pieces, expired: false, is_metadata };
        transfers.landed(other, landed(vec![piece(5, 60, capped), piece(60, 70, Part::Transfer)], true));
        transfers.landed(other, landed(vec![piece(5, 75, capped)], false));
        let (pieces, _) = transfers.pieces((own, Op::Flush), flusher, (Instant::from_ns(10), Instant::from_ns(80)));
        assert_eq!(pieces, [piece(10, 60, capped), piece(60, 70, Part::Transfer), piece(70, 80, Part::Memory)]);
    }

    #[test]
    fn while_its_own_data_are_under_way_it_does_not_wait_for_anothers_log() {
        let (own, flusher, journal) = (SubmitterId(1), SubmitterId(9), SubmitterId(10));
        let mut transfers = Transfers::default();
        let capped = Part::Max(blksched::GroupId(1));
        let landed = |pieces, is_metadata| Landed { pieces, expired: false, is_metadata };
        transfers.landed(journal, landed(vec![piece(20, 30, Part::Transfer)], true));
        transfers.landed(own, landed(vec![piece(5, 60, capped), piece(60, 70, Part::Transfer)], false));
        transfers.landed(journal, landed(vec![piece(62, 70, Part::Free), piece(70, 75, Part::Flush)], true));
        let span = (Instant::from_ns(5), Instant::from_ns(80));
        let (pieces, of_journal) = transfers.pieces((own, Op::Flush), flusher, span);
        let after = [piece(70, 75, Part::Flush), piece(75, 80, Part::Memory)];
        assert_eq!(pieces, [&[piece(5, 60, capped), piece(60, 70, Part::Transfer)], &after[..]].concat()[..]);
        assert_eq!((of_journal.waited.as_ns(), of_journal.trips), (5, 2));
    }

    #[test]
    fn of_the_flushers_transfers_in_a_row_the_disks_service_of_the_last_alone_is_the_calls() {
        let (own, flusher) = (SubmitterId(1), SubmitterId(9));
        let mut transfers = Transfers::default();
        let landed = |pieces| Landed { pieces, expired: false, is_metadata: false };
        transfers.landed(flusher, landed(vec![piece(10, 20, Part::Free), piece(20, 30, Part::Transfer)]));
        transfers.landed(flusher, landed(vec![piece(30, 40, Part::Free), piece(40, 50, Part::Transfer)]));
        let span = (Instant::from_ns(10), Instant::from_ns(50));
        let (pieces, journal) = transfers.pieces((own, Op::Flush), flusher, span);
        let behind = Part::Drive(Whose::Process(flusher), Dir::Write);
        let parts = [Part::Free, behind, Part::Free, Part::Transfer];
        assert_eq!(pieces.iter().map(|piece| piece.part).collect::<Vec<_>>(), parts);
        assert_eq!(journal.trips, 1);
    }

    #[test]
    fn a_transfer_that_ended_in_time_counts_whatever_ended_later() {
        let (own, flusher) = (SubmitterId(1), SubmitterId(9));
        let mut transfers = Transfers::default();
        let landed = |pieces, is_metadata| Landed { pieces, expired: false, is_metadata };
        transfers.landed(flusher, landed(vec![piece(20, 50, Part::Seek)], false));
        // It stood in the queue all the time, and nobody waited for it.
        transfers.landed(flusher, landed(vec![piece(10, 75, Part::Rotation)], false));
        transfers.landed(own, landed(vec![piece(50, 80, Part::Transfer)], true));
        let span = (Instant::from_ns(15), Instant::from_ns(80));
        let (pieces, journal) = transfers.pieces((own, Op::Flush), flusher, span);
        assert_eq!(pieces, [piece(15, 20, Part::Memory), piece(20, 50, Part::Seek), piece(50, 80, Part::Transfer)]);
        assert_eq!(journal.trips, 2);
        transfers.forget(Instant::from_ns(50));
        assert_eq!(transfers.len(), 2);
    }
}
